/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/state4_range.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool state4_range_of(uint64_t offset, uint64_t length, struct state4_range *out)
{
	if (length == 0 || (length != UINT64_MAX && length > ~offset))
		return false;
	out->first = offset;
	out->last = length == UINT64_MAX ? UINT64_MAX : offset + length - 1;
	return true;
}

uint64_t state4_range_length(const struct state4_range *g)
{
	return g->last == UINT64_MAX ? UINT64_MAX : g->last - g->first + 1;
}

int state4_ranges_reserve(struct state4_ranges *r)
{
	unsigned max = r->max ? r->max * 2 : 4;
	struct state4_range *v;

	/* A range set inside another one makes two more. */
	if (r->n + 2 <= r->max)
		return 0;
	v = realloc(r->v, max * sizeof(*v));
	if (!v)
		return -ENOMEM;
	r->v = v;
	r->max = max;
	return 0;
}

/* The first range that ends at `at` or behind it. */
static unsigned range_from(const struct state4_ranges *r, uint64_t at)
{
	unsigned lo = 0, hi = r->n;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (r->v[mid].last >= at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* The first range that begins behind `at`. */
static unsigned range_behind(const struct state4_ranges *r, uint64_t at)
{
	unsigned i = range_from(r, at);

	while (i < r->n && r->v[i].first <= at)
		i++;
	return i;
}

static void range_put(struct state4_range *out, unsigned *n, struct state4_range g)
{
	struct state4_range *prev = *n ? &out[*n - 1] : NULL;

	if (prev && prev->write == g.write && prev->last + 1 == g.first)
		prev->last = g.last;
	else
		out[(*n)++] = g;
}

void state4_ranges_set(struct state4_ranges *r, uint64_t first, uint64_t last,
		       enum state4_lock_kind kind)
{
	/* A neighbour on each side, the rests of what is cut, and the new one. */
	struct state4_range piece[5];
	unsigned from = range_from(r, first), to = range_behind(r, last), n = 0;
	struct state4_range head, tail;
	bool has_head = from < to && r->v[from].first < first;
	bool has_tail = from < to && r->v[to - 1].last > last;

	if (has_head)
		head = (struct state4_range){r->v[from].first, first - 1, r->v[from].write};
	if (has_tail)
		tail = (struct state4_range){last + 1, r->v[to - 1].last, r->v[to - 1].write};
	if (from > 0)
		range_put(piece, &n, r->v[--from]);
	if (has_head)
		range_put(piece, &n, head);
	if (kind != STATE4_UNLOCK)
		range_put(piece, &n, (struct state4_range){first, last, kind == STATE4_LOCK_WRITE});
	if (has_tail)
		range_put(piece, &n, tail);
	if (to < r->n)
		range_put(piece, &n, r->v[to++]);
	assert(r->n - (to - from) + n <= r->max);
	if (to < r->n)
		memmove(&r->v[from + n], &r->v[to], (r->n - to) * sizeof(*r->v));
	if (n)
		memcpy(&r->v[from], piece, n * sizeof(*piece));
	r->n = r->n - (to - from) + n;
}

const struct state4_range *state4_ranges_conflict(const struct state4_ranges *r, uint64_t first,
						  uint64_t last, bool write)
{
	for (unsigned i = range_from(r, first); i < r->n && r->v[i].first <= last; i++)
		if (write || r->v[i].write)
			return &r->v[i];
	return NULL;
}

void state4_ranges_fini(struct state4_ranges *r)
{
	free(r->v);
	*r = (struct state4_ranges){0};
}
