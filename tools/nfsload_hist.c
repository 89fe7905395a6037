/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/nfsload_hist.h"

#define STEPS (1u << HIST_STEP_BITS)

static unsigned cell_of(uint64_t ns)
{
	unsigned shift;

	if (ns < STEPS)
		return ns;
	shift = 63 - __builtin_clzll(ns) - HIST_STEP_BITS;
	return ((shift + 1) << HIST_STEP_BITS) + (ns >> shift) - STEPS;
}

/* The largest latency a cell holds. */
static uint64_t cell_top(unsigned cell)
{
	unsigned shift = cell >> HIST_STEP_BITS;

	if (!shift)
		return cell;
	return ((uint64_t)(cell % STEPS + STEPS + 1) << (shift - 1)) - 1;
}

void hist_add(struct hist *h, uint64_t ns)
{
	h->cell[cell_of(ns)]++;
	h->n++;
	h->sum += ns;
	if (ns > h->max)
		h->max = ns;
}

uint64_t hist_quantile(const struct hist *h, double share)
{
	uint64_t below = 0, want = share * h->n;

	if (want < share * h->n || !want)
		want++;
	for (unsigned i = 0; i < HIST_CELLS; i++) {
		below += h->cell[i];
		if (below >= want && below)
			return cell_top(i) < h->max ? cell_top(i) : h->max;
	}
	return h->max;
}

double hist_mean(const struct hist *h)
{
	return h->n ? (double)h->sum / h->n : 0;
}
