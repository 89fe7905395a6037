/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the server asks of its own process before it starts a thread: signals, limits, capabilities.
 */
#ifndef SERVER_PROCESS_H
#define SERVER_PROCESS_H

#include <signal.h>

/* How descriptors are shared out, from RLIMIT_NOFILE. */
struct process_fds {
	unsigned connections; /* at most what was asked */
	unsigned files;	      /* open files (three descriptors each) */
};

/*
 * Descriptors 0 to 2 that came closed become /dev/null: else the next file
 * opened is standard error, and what is printed goes into it.  First in main().
 */
void process_hold_std(void);
/*
 * A reload asked for while the server still starts waits until it can be done,
 * and does not end it.  First of all, for a server.
 */
void process_hold_hup(void);
/*
 * Block the signals the server waits for (into *waited), ignore SIGPIPE and
 * SIGXFSZ (a WRITE past RLIMIT_FSIZE answers EFBIG), clear the umask, raise
 * RLIMIT_NOFILE to its hard limit, and drop CAP_SYS_RESOURCE, so that no
 * user's data takes the blocks a file system reserves for root or ignores a
 * quota.
 */
void process_prepare(sigset_t *waited);
/* After process_prepare(); an export keeps one. */
void process_share_fds(unsigned connections, unsigned exports, struct process_fds *out);
/* strerror(-err), but of -EMFILE which limit it is.  Valid until the next call in this thread. */
const char *process_why(int err);
/* In a child made by fork(): undo what exec would hand on. */
void process_restore(void);

#endif
