/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The byte ranges one lock owner holds on one file: sorted, disjoint, equal
 * neighbours merged, as POSIX has them.  Pure; offsets are the protocol's 64
 * bits, the last byte included.
 */
#ifndef PROTO_STATE4_RANGE_H
#define PROTO_STATE4_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct state4_range {
	uint64_t first, last;
	bool write;
};

/* All zeros is empty. */
struct state4_ranges {
	struct state4_range *v; /* malloc'd */
	unsigned n, max;
};

enum state4_lock_kind { STATE4_UNLOCK, STATE4_LOCK_READ, STATE4_LOCK_WRITE };

/*
 * The bytes of offset and length (all ones: to the end of any file); false:
 * a length of 0, or past 2^64 (RFC 8881 s.18.10.3).
 */
bool state4_range_of(uint64_t offset, uint64_t length, struct state4_range *out);
/* The length that tells `g` on the wire. */
uint64_t state4_range_length(const struct state4_range *g);

/* Room for what one state4_ranges_set() may add.  0 or -ENOMEM. */
int state4_ranges_reserve(struct state4_ranges *r);
/* The bytes first to last become `kind`; room was reserved. */
void state4_ranges_set(struct state4_ranges *r, uint64_t first, uint64_t last,
		       enum state4_lock_kind kind);
/* The first range that keeps another owner from first to last, or NULL. */
const struct state4_range *state4_ranges_conflict(const struct state4_ranges *r, uint64_t first,
						  uint64_t last, bool write);
void state4_ranges_fini(struct state4_ranges *r);

#endif
