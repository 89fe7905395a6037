/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much a connection and its worker may have in flight, and so when to
 * stop reading: shortage is back-pressure, never an error.  A connection may
 * hold as much as is still free at its worker, so n clients that never read
 * their replies leave 1/(n+1) of everything to the others.  Counts only:
 * knows no sockets, buffers or clocks.  Belongs to the worker's thread.
 */
#ifndef POLICY_BUDGET_H
#define POLICY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget_use {
	uint32_t reqs;  /* requests from PARSE to FREE */
	uint32_t bufs;  /* large pool buffers held: payloads and READ data */
	uint64_t bytes; /* reply bytes not sent and memory outside the pool */
};

struct budget {
	struct budget *parent; /* the worker's budget; NULL in the worker's own */
	struct budget_use max; /* a member of 0 is no limit */
	struct budget_use used;
};

/* Nothing in use.  `parent` (may be NULL) outlives `b`; `max` is copied. */
void budget_init(struct budget *b, struct budget *parent, const struct budget_use *max);

/*
 * May another request be read?  Nothing is reserved: the largest request may
 * overshoot a limit once.  Ask again after any credit to `b` or its parent.
 */
bool budget_may_read(const struct budget *b);

/* Take or give back, here and at the parent.  Giving back more than was taken is the caller's bug:
 * asserted. */
void budget_charge(struct budget *b, const struct budget_use *u);
void budget_credit(struct budget *b, const struct budget_use *u);

#endif
