/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A histogram of latencies in nanoseconds, of bounded relative error (1/128)
 * over their whole range, as HdrHistogram's: each power of two is cut into
 * 128 equal steps.  One thread.
 */
#ifndef TOOLS_NFSLOAD_HIST_H
#define TOOLS_NFSLOAD_HIST_H

#include <stdint.h>

#define HIST_STEP_BITS 7
#define HIST_CELLS ((64 - HIST_STEP_BITS + 1) << HIST_STEP_BITS)

struct hist {
	uint64_t n, max, sum; /* ns */
	uint64_t cell[HIST_CELLS];
};

void hist_add(struct hist *h, uint64_t ns);
/* The latency that `share` (0..1) of all did not pass, in ns; 0 when there is none. */
uint64_t hist_quantile(const struct hist *h, double share);
double hist_mean(const struct hist *h);

#endif
