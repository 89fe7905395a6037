/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/pipe.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct pipe_pool {
	struct pipe *free;
	unsigned n, max, in_use;
	bool full; /* the system refused another: no more are tried until some were closed */
	uint32_t page, slots; /* bytes; what a new pipe is asked to hold */
	int null;	      /* where residue goes */
	_Atomic uint64_t refused;
};

/* Pages that a stretch of a file touches: each takes a slot of its own. */
static uint64_t pages(const struct pipe_pool *p, uint64_t offset, uint32_t len)
{
	return (offset % p->page + len + p->page - 1) / p->page;
}

int pipe_pool_new(struct pipe_pool **out, unsigned max, uint32_t len)
{
	struct pipe_pool *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->max = max;
	p->page = (uint32_t)sysconf(_SC_PAGESIZE);
	/*
	 * Power of two, as the kernel makes it: an odd start would
	 * double it, and what that fails for is read.
	 */
	for (p->slots = 1; p->slots < pages(p, 0, len); p->slots *= 2)
		;
	p->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (p->null < 0) {
		err = -errno;
		free(p);
		return err;
	}
	*out = p;
	return 0;
}

static void pipe_free(struct pipe *p)
{
	close(p->in);
	close(p->out);
	p->pool->n--;
	free(p);
}

void pipe_pool_trim(struct pipe_pool *p)
{
	struct pipe *i;

	while ((i = p->free)) {
		p->free = i->next;
		pipe_free(i);
	}
	p->full = false;
}

void pipe_pool_free(struct pipe_pool *p)
{
	if (!p)
		return;
	assert(!p->in_use);
	pipe_pool_trim(p);
	close(p->null);
	free(p);
}

/* A new pipe, or NULL: the system gives none, or none of use. */
static struct pipe *pipe_new(struct pipe_pool *pool)
{
	struct pipe *p = calloc(1, sizeof(*p));
	int fds[2], size;

	if (!p)
		return NULL;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(p);
		return NULL;
	}
	size = fcntl(fds[1], F_SETPIPE_SZ, (int)(pool->slots * pool->page));
	if (size < 0) {
		close(fds[0]);
		close(fds[1]);
		free(p);
		return NULL;
	}
	*p = (struct pipe){ fds[0], fds[1], (uint32_t)size / pool->page, 0, pool, NULL };
	pool->n++;
	return p;
}

struct pipe *pipe_borrow(struct pipe_pool *pool, uint64_t offset, uint32_t len)
{
	struct pipe *p = pool->free;

	if (pages(pool, offset, len) > pool->slots)
		return NULL;
	if (p) {
		pool->free = p->next;
	} else {
		if (pool->n >= pool->max || pool->full)
			return NULL;
		p = pipe_new(pool);
		if (!p) {
			pool->full = true;
			atomic_fetch_add_explicit(&pool->refused, 1, memory_order_relaxed);
			return NULL;
		}
	}
	p->next = NULL;
	pool->in_use++;
	return p;
}

/* Up to `n` bytes go nowhere: what is left of n, or -errno. */
static int64_t discard(struct pipe *p, uint32_t n)
{
	while (n) {
		ssize_t ret = splice(p->out, NULL, p->pool->null, NULL, n, SPLICE_F_NONBLOCK);

		if (ret == 0 || (ret < 0 && errno == EAGAIN))
			break;
		if (ret < 0 && errno != EINTR)
			return -errno;
		if (ret > 0)
			n -= (uint32_t)ret;
	}
	return n;
}

int pipe_drop(struct pipe *p, uint32_t n)
{
	int64_t left = discard(p, n);

	if (left)
		return left < 0 ? (int)left : -EIO;
	p->held -= n;
	return 0;
}

int pipe_write(struct pipe *p, const void *from, uint32_t n)
{
	ssize_t ret;

	do
		ret = write(p->in, from, n);
	while (ret < 0 && errno == EINTR);
	if (ret < 0)
		return -errno;
	p->held += (uint32_t)ret;
	return (int)ret;
}

int pipe_read(struct pipe *p, void *to, uint32_t n)
{
	while (n) {
		ssize_t ret = read(p->out, to, n);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return ret ? -errno : -EIO;
		to = (char *)to + ret;
		n -= (uint32_t)ret;
		p->held -= (uint32_t)ret;
	}
	return 0;
}

void pipe_return(struct pipe *p)
{
	struct pipe_pool *pool;

	if (!p)
		return;
	pool = p->pool;
	pool->in_use--;
	if (p->held && discard(p, p->slots * pool->page) < 0) {
		pipe_free(p);
		return;
	}
	p->held = 0;
	p->next = pool->free;
	pool->free = p;
}

unsigned pipe_pool_in_use(const struct pipe_pool *p)
{
	return p->in_use;
}

uint64_t pipe_pool_refused(const struct pipe_pool *p)
{
	return atomic_load_explicit(&p->refused, memory_order_relaxed);
}
