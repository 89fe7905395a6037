/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A worker's I/O buffers: page-aligned slabs, registered with the ring when it
 * can, bounded in number.  pool.c alone includes numa.h.  One thread only.
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;
struct pool;

struct buf {
	uint8_t *base; /* page-aligned */
	size_t size;   /* bytes */
	int index;     /* ring's registered buffer, or -1 */
	/* pool's own */
	struct pool *pool;
	struct buf *next;
	unsigned slab;
};

/* Somebody waiting for a buffer; embedded in its owner. */
struct pool_waiter {
	void (*ready)(struct pool_waiter *w, struct buf *b); /* takes `b` */
	size_t size;
	struct pool_waiter *next;
	bool queued;
};

struct pool_params {
	struct ring *ring;   /* has nlarge + nsmall `buffers`; NULL: nothing is registered */
	size_t large;	     /* bytes of a large buffer (max I/O + 2 pages); 0 = 1 MiB + 64 KiB */
	unsigned nlarge;     /* how many; 0 = 24 */
	size_t small;	     /* bytes of a small one; 0 = 72 KiB */
	unsigned nsmall;     /* how many; 0 = 128 */
	int node;	     /* NUMA node to take memory from, or -1; a wish */
};

int pool_new(struct pool **out, const struct pool_params *p);
void pool_free(struct pool *p); /* all buffers must be back */

/* A buffer of at least `size` bytes, or NULL: none free (or `size` above the large size). */
struct buf *pool_borrow(struct pool *p, size_t size);
/*
 * As borrow, else queue: w->ready() is called once, from a later buf_return(),
 * FIFO per class.  `size` must not pass pool_max().
 */
struct buf *pool_borrow_or_wait(struct pool *p, size_t size, struct pool_waiter *w);
void pool_unwait(struct pool *p, struct pool_waiter *w); /* leave the queue; fine if not queued */
void buf_return(struct buf *b); /* NULL is fine */

size_t pool_max(const struct pool *p);	   /* largest size that can be borrowed */
int pool_unbound(const struct pool *p);	   /* 0, or -errno: memory is not bound to `node` */
unsigned pool_in_use(const struct pool *p);
/* Give idle memory back to the system (MADV_DONTNEED of free, unregistered slabs). */
void pool_trim(struct pool *p);

#endif
