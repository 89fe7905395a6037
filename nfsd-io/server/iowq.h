/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names for io-wq's threads.  The kernel calls each iou-wrk-TID after the
 * thread that owns the ring, which tells nobody anything; they belong to this
 * process, so that it may rename them: nfsd-io/q3 for worker 3.
 */
#ifndef SERVER_IOWQ_H
#define SERVER_IOWQ_H

#include <sys/types.h>

/* Rename those that bear the kernel's name; owner[i]: worker i's thread.  Any thread. */
void iowq_name(const pid_t *owner, unsigned n);

#endif
