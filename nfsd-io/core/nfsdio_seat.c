/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <stdlib.h>

#include "nfsd-io/core/nfsdio_int.h"

static struct nfsdio_seat *seat_new(void)
{
	const struct ring_params p = { .engine = RING_INLINE };
	struct nfsdio_seat *s = calloc(1, sizeof(*s));

	if (s && ring_new(&s->ring, &p) < 0) {
		free(s);
		s = NULL;
	}
	return s;
}

/* Under the lock.  One operation always has room. */
static void wait_for_room(struct nfsdio *n, uint32_t count)
{
	uint64_t number = n->asked++;

	while (n->served != number || (n->seated && n->seated + count > n->p.max_bytes))
		pthread_cond_wait(&n->room, &n->lock);
	n->served++;
	n->seated += count;
	if (n->served != n->asked)
		pthread_cond_broadcast(&n->room);
}

/* Under the lock. */
static void give_up_room(struct nfsdio *n, uint32_t count)
{
	n->seated -= count;
	if (n->served != n->asked)
		pthread_cond_broadcast(&n->room);
}

struct nfsdio_seat *nfsdio_seat_take(struct nfsdio *n, uint32_t count)
{
	struct nfsdio_seat *s;

	pthread_mutex_lock(&n->lock);
	wait_for_room(n, count);
	s = n->seats;
	if (s)
		n->seats = s->next;
	pthread_mutex_unlock(&n->lock);
	if (!s)
		s = seat_new();
	if (!s) {
		pthread_mutex_lock(&n->lock);
		give_up_room(n, count);
		pthread_mutex_unlock(&n->lock);
	}
	return s;
}

/* As large as any may be: memory that nobody touches is none. */
struct buf *nfsdio_seat_buf(struct nfsdio *n, struct nfsdio_seat *s)
{
	size_t size = (read_space(n->p.max_io) + 4095) & ~(size_t)4095;

	if (!s->buf.base)
		s->buf = (struct buf){.base = aligned_alloc(4096, size), .size = size, .index = -1};
	return s->buf.base ? &s->buf : NULL;
}

void nfsdio_seat_leave(struct nfsdio *n, struct nfsdio_seat *s, uint32_t count)
{
	pthread_mutex_lock(&n->lock);
	s->next = n->seats;
	n->seats = s;
	give_up_room(n, count);
	pthread_mutex_unlock(&n->lock);
}

void nfsdio_seat_drop(struct nfsdio *n)
{
	struct nfsdio_seat *s;

	while ((s = n->seats)) {
		n->seats = s->next;
		ring_free(s->ring);
		free(s->buf.base);
		free(s);
	}
}
