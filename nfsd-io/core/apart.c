/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/apart.h"

#include <pthread.h>
#include <stddef.h>

#define BUCKETS 64
/* The page cache's folios are naturally aligned and at most this large (a huge page). */
#define FOLIO_SHIFT 21

/* All stretches of the files that hash here, oldest first. */
struct bucket {
	pthread_mutex_t lock;
	struct apart *head;
	unsigned waiting;
};

static struct bucket buckets[BUCKETS] = {
	[0 ... BUCKETS - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER },
};

static struct bucket *bucket_of(const struct apart *a)
{
	uint64_t h = ((uint64_t)a->ino ^ (uint64_t)a->dev << 32) * 0x9e3779b97f4a7c15u;

	return &buckets[h >> 58];
}

static uint64_t last_folio(const struct apart *a)
{
	return (a->offset + a->len - 1) >> FOLIO_SHIFT;
}

static bool exclude(const struct apart *a, const struct apart *b)
{
	return a->direct != b->direct && a->ino == b->ino && a->dev == b->dev &&
	       a->offset >> FOLIO_SHIFT <= last_folio(b) &&
	       b->offset >> FOLIO_SHIFT <= last_folio(a);
}

/* Must `a` wait for somebody older? */
static bool blocked(const struct bucket *b, const struct apart *a)
{
	for (const struct apart *o = b->head; o && o != a; o = o->next)
		if (exclude(o, a))
			return true;
	return false;
}

bool apart_enter(struct apart *a)
{
	struct bucket *b = bucket_of(a);
	struct apart **end = &b->head;
	bool wait;

	pthread_mutex_lock(&b->lock);
	wait = blocked(b, a);
	while (*end)
		end = &(*end)->next;
	*end = a;
	a->next = NULL;
	a->waiting = wait;
	b->waiting += wait;
	pthread_mutex_unlock(&b->lock);
	return !wait;
}

void apart_leave(struct apart *a)
{
	struct apart **p, *woken = NULL, **tail = &woken, *next;
	struct bucket *b = bucket_of(a);

	pthread_mutex_lock(&b->lock);
	for (p = &b->head; *p != a; p = &(*p)->next)
		;
	*p = a->next;
	/* Whoever came after it, waited for it and waits for nobody else. */
	for (struct apart *w = b->waiting ? *p : NULL; w; w = w->next) {
		if (!w->waiting || !exclude(a, w) || blocked(b, w))
			continue;
		w->waiting = false;
		b->waiting--;
		w->wake = NULL;
		*tail = w;
		tail = &w->wake;
	}
	pthread_mutex_unlock(&b->lock);
	/* Once told to go it may be over, and its memory gone, before go() returns. */
	for (; woken; woken = next) {
		next = woken->wake;
		woken->go(woken);
	}
}
