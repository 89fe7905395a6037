/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For tests of the engines: loop index 0 is io_uring, 1
 * threads, 2 (files only) inline; waiting for operations.
 */
#ifndef TESTS_LIB_RINGWAIT_H
#define TESTS_LIB_RINGWAIT_H

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/core/ring.h"

static const enum ring_engine engines[] = { RING_IO_URING, RING_THREADS, RING_INLINE };

struct wait {
	struct op op;
	struct ring *ring;
	int res, calls;
	int *left; /* stop the ring when it reaches 0 */
};

static struct ring *ring;

static inline void on_done(struct op *op, int res, bool more)
{
	struct wait *w = (struct wait *)op;

	ck_assert(!more);
	w->res = res;
	w->calls++;
	if (w->left && --*w->left == 0)
		ring_stop(w->ring);
}

static inline struct wait *waiting(struct wait *w, int *left)
{
	*w = (struct wait){ .op.done = on_done, .ring = ring, .left = left };
	return w;
}

static inline struct ring *make(enum ring_engine e, unsigned depth, unsigned buffers)
{
	struct ring_params p = {.engine = e, .depth = depth, .buffers = buffers, .name = "test/r0"};
	struct ring *r;
	int ret = ring_new(&r, &p);

	ck_assert_msg(ret == 0, "ring_new: %s", strerror(-ret));
	return r;
}

static inline void setup(int i)
{
	ring = make(engines[i], 0, 0);
}

static inline int temp_file(void)
{
	int fd = open(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", O_TMPFILE | O_RDWR, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Run one started operation to its end. */
static inline int finish(struct wait *w)
{
	int left = 1;

	w->left = &left;
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(w->calls, 1);
	return w->res;
}

#endif
