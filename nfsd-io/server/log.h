/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Log lines: to standard error (with journald's priority prefixes when it
 * reads there) or to syslog.  Any thread.  A reader that stalls costs lines,
 * counted, never a worker's time.
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include <stdint.h>
#include <syslog.h>

/* target: "auto", "stderr" or "syslog"; level: LOG_ERR..LOG_DEBUG, more is dropped; ns: of
 * log_limited(), 0 = no limit. */
void log_open(const char *target, int level, uint64_t ratelimit_ns);
/* For reload. */
void log_set(int level, uint64_t ratelimit_ns);
int log_level(void);
void log_close(void);

/* One line; no newline in fmt. */
void log_line(int priority, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * One line for each `who` (a client's address, or "") and kind of message (the
 * fmt pointer) in the time set; the next one says how many were left out.
 */
void log_limited(const char *who, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* For struct proto_env.log: limited by kind and by whole text; arg is not used. */
void log_env(void *arg, int priority, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Lines that could not be written. */
uint64_t log_lost(void);

#endif
