/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Self-describing file contents: a file is tiled by slots of aligned and
 * misaligned sizes (neighbours share blocks), and each byte of a slot tells
 * which slot and which generation wrote it.  The map follows from the seed
 * alone, so that any client can check what any other wrote.
 */
#ifndef TESTS_LIB_STAMP_H
#define TESTS_LIB_STAMP_H

#include <stdint.h>

struct stamp_slot {
	uint64_t offset; /* bytes */
	uint32_t len;	 /* bytes, at most STAMP_MAX */
};

#define STAMP_MAX (256 * 1024)

struct stamp_map {
	unsigned n;
	struct stamp_slot *slot;
	uint64_t size; /* bytes */
};

/* Slots for about `size` bytes; free with stamp_map_fini.  0 or -ENOMEM. */
int stamp_map_init(struct stamp_map *m, uint64_t seed, uint64_t size);
void stamp_map_fini(struct stamp_map *m);

/* splitmix64: the tests' only source of chance, printable as one number. */
uint64_t stamp_random(uint64_t *state);

void stamp_fill(void *buf, const struct stamp_slot *s, unsigned gen);
/* Index of the first byte that is not what (slot, gen) wrote, or -1. */
long stamp_check(const void *buf, const struct stamp_slot *s, unsigned gen);

#endif
