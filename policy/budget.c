/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <stddef.h>

#include "policy/budget.h"

/* One quantity: below the own limit, and no more held than the worker has left. */
static bool below(uint64_t used, uint64_t max, uint64_t parent_used, uint64_t parent_max)
{
	if (max && used >= max)
		return false;
	if (!parent_max)
		return true;
	return parent_used < parent_max && used < parent_max - parent_used;
}

void budget_init(struct budget *b, struct budget *parent, const struct budget_use *max)
{
	*b = (struct budget){.parent = parent, .max = *max};
}

bool budget_may_read(const struct budget *b)
{
	static const struct budget nothing;
	const struct budget *p = b->parent ? b->parent : &nothing;

	return below(b->used.reqs, b->max.reqs, p->used.reqs, p->max.reqs) &&
	       below(b->used.bufs, b->max.bufs, p->used.bufs, p->max.bufs) &&
	       below(b->used.bytes, b->max.bytes, p->used.bytes, p->max.bytes);
}

void budget_charge(struct budget *b, const struct budget_use *u)
{
	for (; b; b = b->parent) {
		b->used.reqs += u->reqs;
		b->used.bufs += u->bufs;
		b->used.bytes += u->bytes;
	}
}

void budget_credit(struct budget *b, const struct budget_use *u)
{
	for (; b; b = b->parent) {
		assert(b->used.reqs >= u->reqs && b->used.bufs >= u->bufs &&
		       b->used.bytes >= u->bytes);
		b->used.reqs -= u->reqs;
		b->used.bufs -= u->bufs;
		b->used.bytes -= u->bytes;
	}
}
