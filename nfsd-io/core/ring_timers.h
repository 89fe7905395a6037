/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The threads engine's timeouts: a binary heap by due time.  The ring's thread only. */
#ifndef CORE_RING_TIMERS_H
#define CORE_RING_TIMERS_H

#include "nfsd-io/core/ring.h"

struct ring_timers {
	struct op **heap;
	unsigned n, room;
};

/* op->ts is how long from now, and becomes the due time (CLOCK_MONOTONIC).  0 or -ENOMEM. */
int ring_timers_add(struct ring_timers *t, struct op *op);
/* False when it has expired already. */
bool ring_timers_remove(struct ring_timers *t, struct op *op);
/* The next operation that is due, taken out; or NULL. */
struct op *ring_timers_expired(struct ring_timers *t);
/* Milliseconds until the next is due, rounded up; -1: none. */
int ring_timers_wait_ms(const struct ring_timers *t);
void ring_timers_fini(struct ring_timers *t);

#endif
