/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What ring.c shares with its engines, ring_uring.c, ring_threads.c and ring_inline.c.
 * An engine only moves finished operations to the ready list; ring.c alone
 * calls done(), so no callback ever runs inside a start function or a reap.
 */
#ifndef CORE_RING_INT_H
#define CORE_RING_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "nfsd-io/core/ring.h"

struct ring_engine_ops {
	const char *name;
	/* op's kind and fields are set; never fails (errors go to ring_ready). */
	void (*start)(struct ring *r, struct op *op);
	void (*cancel)(struct ring *r, struct op *op);
	/*
	 * Submit what is queued; move what is finished to the
	 * ready list; `wait`: for at least one event.
	 */
	void (*collect)(struct ring *r, bool wait);
	int (*buffer_register)(struct ring *r, unsigned index, void *base, size_t len);
	void (*free)(struct ring *r);
};

struct ring {
	const struct ring_engine_ops *engine;
	char why[160];
	int unbound; /* see ring_unbound() */
	pthread_t owner;
	unsigned inflight;
	int event_fd;		     /* wakes the owner out of collect() */
	_Atomic(struct op *) posted; /* LIFO, pushed by any thread, taken whole by the owner */
	/* threads between push and wake-up: ring_free() waits for them */
	_Atomic unsigned posting;
	atomic_bool stop;
	struct op *ready, **ready_tail;
	bool nonblock, zerocopy;     /* see ring_nonblock(), ring_zerocopy() */
};

/* Fill the common part; 0 or -errno. */
int ring_init(struct ring *r, const struct ring_engine_ops *engine);
void ring_fini(struct ring *r);

/* Owner's thread: `op` is over with `res`. */
void ring_ready(struct ring *r, struct op *op, int res);
/* Any other thread: likewise, and wake the owner. */
void ring_ready_remote(struct ring *r, struct op *op, int res);

/*
 * One attempt at a SPLICE_OUT or SPLICE_RECV that does not block: bytes, or -errno (-EAGAIN: wait
 * for the socket).
 */
int ring_splice_attempt(const struct op *op);
/* The whole of a SPLICE_IN or SPLICE_WRITE, on a thread that may block. */
int ring_splice_carry(const struct op *op);
/* The same of any operation on a file, as its identity, which this thread keeps. */
int ring_inline_carry(const struct op *op);

/* 0, or -errno with the reason in `why` (io_uring only). */
int ring_uring_new(struct ring **out, const struct ring_params *p, char *why, size_t whysize);
int ring_threads_new(struct ring **out, const struct ring_params *p);
int ring_inline_new(struct ring **out);

#endif
