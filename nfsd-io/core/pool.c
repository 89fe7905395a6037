/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/pool.h"

#include <assert.h>
#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nfsd-io/core/ring.h"

#define NODES_MAX 1024
#define BITS (8 * sizeof(unsigned long))

enum { SMALL, LARGE, CLASSES };

/* Buffers of one size, carved from one mapping that costs nothing until touched. */
struct class {
	size_t size; /* bytes of a buffer, whole pages */
	unsigned n;
	uint8_t *map;
	struct buf *bufs, *free; /* free: the one used last first, so that the rest stays cold */
	struct pool_waiter *waiting, **waiting_tail;
};

struct pool {
	struct ring *ring; /* NULL: register nothing (or no longer) */
	struct class class[CLASSES];
	unsigned in_use;
	unsigned registered;
	int unbound;
	bool handing;
};

/*
 * Preferred, not required: a full node gives memory from elsewhere, not an error.  mbind itself,
 * as libnuma's wrapper prints to stderr where a seccomp filter or cpuset forbids it.
 */
static int bind_memory(void *map, size_t len, unsigned node)
{
	unsigned long mask[NODES_MAX / BITS] = {0};

	if (node >= NODES_MAX)
		return -EINVAL;
	mask[node / BITS] = 1ul << node % BITS;
	/* The kernel looks at one bit less than it is told of. */
	return mbind(map, len, MPOL_PREFERRED, mask, NODES_MAX + 1, 0) ? -errno : 0;
}

static int class_init(struct pool *p, unsigned c, size_t size, unsigned n, int node)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct class *k = &p->class[c];
	void *map;

	k->size = (size + page - 1) & ~(page - 1);
	k->n = n;
	k->waiting_tail = &k->waiting;
	k->bufs = calloc(n, sizeof(*k->bufs));
	if (!k->bufs)
		return -ENOMEM;
	map = mmap(NULL, k->size * n, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return -errno;
	k->map = map;
	if (node >= 0 && !p->unbound)
		p->unbound = bind_memory(map, k->size * n, (unsigned)node);
	for (unsigned i = n; i-- > 0;) {
		k->bufs[i] = (struct buf){ k->map + i * k->size, k->size, -1, p, k->free, c };
		k->free = &k->bufs[i];
	}
	return 0;
}

int pool_new(struct pool **out, const struct pool_params *pp)
{
	struct pool *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return -ENOMEM;
	p->ring = pp->ring;
	ret = class_init(p, SMALL, pp->small ? pp->small : 72 * 1024, pp->nsmall ? pp->nsmall : 128,
			 pp->node);
	if (ret == 0)
		ret = class_init(p, LARGE, pp->large ? pp->large : 1024 * 1024 + 64 * 1024,
				 pp->nlarge ? pp->nlarge : 24, pp->node);
	if (ret < 0)
		pool_free(p);
	else
		*out = p;
	return ret;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	assert(p->in_use == 0);
	for (unsigned c = 0; c < CLASSES; c++) {
		if (p->class[c].map)
			munmap(p->class[c].map, p->class[c].size * p->class[c].n);
		free(p->class[c].bufs);
	}
	free(p);
}

static struct class *class_for(struct pool *p, size_t size)
{
	if (size <= p->class[SMALL].size)
		return &p->class[SMALL];
	return size <= p->class[LARGE].size ? &p->class[LARGE] : NULL;
}

/* On a buffer's first use.  One refusal (no slots, locked-memory limit) speaks for all. */
static void register_once(struct pool *p, struct buf *b)
{
	if (b->index >= 0 || !p->ring)
		return;
	if (ring_buffer_register(p->ring, p->registered, b->base, b->size) < 0)
		p->ring = NULL;
	else
		b->index = (int)p->registered++;
}

static struct buf *take(struct pool *p, struct class *k)
{
	struct buf *b = k->free;

	if (!b)
		return NULL;
	k->free = b->next;
	b->next = NULL;
	p->in_use++;
	register_once(p, b);
	return b;
}

struct buf *pool_borrow(struct pool *p, size_t size)
{
	struct class *k = class_for(p, size);

	/* Those who wait come first. */
	return k && !k->waiting ? take(p, k) : NULL;
}

struct buf *pool_borrow_or_wait(struct pool *p, size_t size, struct pool_waiter *w)
{
	struct class *k = class_for(p, size);
	struct buf *b = pool_borrow(p, size);

	assert(k && !w->queued);
	if (b)
		return b;
	w->size = size;
	w->next = NULL;
	w->queued = true;
	*k->waiting_tail = w;
	k->waiting_tail = &w->next;
	return NULL;
}

static void unlink_waiter(struct class *k, struct pool_waiter **pw)
{
	struct pool_waiter *w = *pw;

	*pw = w->next;
	if (!*pw)
		k->waiting_tail = pw;
	w->queued = false;
}

void pool_unwait(struct pool *p, struct pool_waiter *w)
{
	struct pool_waiter **pw;
	struct class *k;

	if (!w->queued)
		return;
	k = class_for(p, w->size);
	for (pw = &k->waiting; *pw != w; pw = &(*pw)->next)
		;
	unlink_waiter(k, pw);
}

/* Serve the next waiter there is a buffer for; false: none. */
static bool hand_on(struct pool *p)
{
	for (unsigned c = 0; c < CLASSES; c++) {
		struct class *k = &p->class[c];
		struct pool_waiter *w = k->waiting;

		if (w && k->free) {
			unlink_waiter(k, &k->waiting);
			w->ready(w, take(p, k));
			return true;
		}
	}
	return false;
}

void buf_return(struct buf *b)
{
	struct pool *p;
	struct class *k;

	if (!b)
		return;
	p = b->pool;
	k = &p->class[b->slab];
	b->next = k->free;
	k->free = b;
	p->in_use--;
	/*
	 * ready() may return its buffer at once: that one is
	 * handed on by the loop, not by recursion.
	 */
	if (p->handing)
		return;
	p->handing = true;
	while (hand_on(p))
		;
	p->handing = false;
}

size_t pool_max(const struct pool *p)
{
	return p->class[LARGE].size;
}

int pool_unbound(const struct pool *p)
{
	return p->unbound;
}

unsigned pool_in_use(const struct pool *p)
{
	return p->in_use;
}

void pool_trim(struct pool *p)
{
	for (unsigned c = 0; c < CLASSES; c++)
		for (struct buf *b = p->class[c].free; b; b = b->next)
			if (b->index < 0)
				madvise(b->base, b->size, MADV_DONTNEED);
}
