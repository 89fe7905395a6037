/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells the service manager (sd_notify); nothing without one or without libsystemd.  Any thread. */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

/* Listening on all ports; `status` is the line systemctl shows. */
void notify_ready(const char *status);
void notify_reloading(void);
void notify_stopping(void);

#endif
