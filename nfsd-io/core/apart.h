/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps direct and cached WRITEs of nearby bytes apart.  A synchronous direct
 * write holds the inode's lock until the data is on disk and the page cache
 * is invalidated; io_uring's does not: the lock is gone once it is queued.  A
 * cached write to the same folio meanwhile can carry the old bytes back over
 * the new ones, or make the invalidation fail, which the kernel reports as
 * EIO to a later fsync.  Knows no rings or files' insides; any thread.
 */
#ifndef CORE_APART_H
#define CORE_APART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One stretch being written, or waiting for its turn; embedded in its owner. */
struct apart {
	/* Set by the owner. */
	dev_t dev;
	ino_t ino;
	uint64_t offset; /* bytes */
	uint32_t len;	 /* bytes, > 0 */
	bool direct;
	/* your turn; called once, on any thread, when enter said false */
	void (*go)(struct apart *a);
	/* private */
	struct apart *next, *wake;
	bool waiting;
};

/*
 * True: write now.  False: wait for go().  First come, first
 * served among those that exclude each other.
 */
bool apart_enter(struct apart *a);
/* It is written (or failed). */
void apart_leave(struct apart *a);

#endif
