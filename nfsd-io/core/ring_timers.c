/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/ring_timers.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static bool before(const struct op *a, const struct op *b)
{
	if (a->ts.tv_sec != b->ts.tv_sec)
		return a->ts.tv_sec < b->ts.tv_sec;
	return a->ts.tv_nsec < b->ts.tv_nsec;
}

/* op->engine remembers the place, counted from 1: NULL is "not in the heap". */
static void put(struct ring_timers *t, unsigned i, struct op *op)
{
	t->heap[i] = op;
	op->engine = (void *)(uintptr_t)(i + 1);
}

static void sift_up(struct ring_timers *t, unsigned i, struct op *op)
{
	for (; i && before(op, t->heap[(i - 1) / 2]); i = (i - 1) / 2)
		put(t, i, t->heap[(i - 1) / 2]);
	put(t, i, op);
}

static void sift_down(struct ring_timers *t, unsigned i, struct op *op)
{
	for (unsigned c; (c = 2 * i + 1) < t->n; i = c) {
		if (c + 1 < t->n && before(t->heap[c + 1], t->heap[c]))
			c++;
		if (!before(t->heap[c], op))
			break;
		put(t, i, t->heap[c]);
	}
	put(t, i, op);
}

int ring_timers_add(struct ring_timers *t, struct op *op)
{
	unsigned room = t->room ? t->room * 2 : 64;
	struct timespec now;
	struct op **heap;

	if (t->n == t->room) {
		heap = realloc(t->heap, room * sizeof(*heap));
		if (!heap)
			return -ENOMEM;
		t->heap = heap;
		t->room = room;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	op->ts.tv_sec += now.tv_sec;
	op->ts.tv_nsec += now.tv_nsec;
	if (op->ts.tv_nsec >= 1000000000) {
		op->ts.tv_nsec -= 1000000000;
		op->ts.tv_sec++;
	}
	sift_up(t, t->n++, op);
	return 0;
}

bool ring_timers_remove(struct ring_timers *t, struct op *op)
{
	unsigned i = (unsigned)(uintptr_t)op->engine;
	struct op *last;

	if (!i--)
		return false;
	op->engine = NULL;
	last = t->heap[--t->n];
	if (last == op)
		return true;
	if (i && before(last, t->heap[(i - 1) / 2]))
		sift_up(t, i, last);
	else
		sift_down(t, i, last);
	return true;
}

struct op *ring_timers_expired(struct ring_timers *t)
{
	struct op now = { .ts = { 0, 0 } };
	struct op *op;

	if (!t->n)
		return NULL;
	clock_gettime(CLOCK_MONOTONIC, &now.ts);
	op = t->heap[0];
	if (before(&now, op))
		return NULL;
	ring_timers_remove(t, op);
	return op;
}

int ring_timers_wait_ms(const struct ring_timers *t)
{
	struct timespec now;
	int64_t ms;

	if (!t->n)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (int64_t)(t->heap[0]->ts.tv_sec - now.tv_sec) * 1000 +
	     (t->heap[0]->ts.tv_nsec - now.tv_nsec + 999999) / 1000000;
	return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

void ring_timers_fini(struct ring_timers *t)
{
	free(t->heap);
}
