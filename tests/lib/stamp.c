/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/stamp.h"

#include <errno.h>
#include <stdlib.h>

uint64_t stamp_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint32_t slot_len(uint64_t *state, uint64_t offset)
{
	static const uint32_t len[] = {1,     511,    512,    1000,     4095,  4096,
				       4097,  8192,   31744,  32768,    33792, 47008,
				       65536, 100003, 131072, STAMP_MAX};
	uint64_t r = stamp_random(state);

	/* come back to a block boundary, so that aligned slots exist */
	if (r % 4 == 0 && offset % 4096)
		return 4096 - offset % 4096;
	return len[(r >> 8) % (sizeof len / sizeof *len)];
}

int stamp_map_init(struct stamp_map *m, uint64_t seed, uint64_t size)
{
	unsigned room = 0;

	*m = (struct stamp_map){ 0 };
	while (m->size < size) {
		if (m->n == room) {
			struct stamp_slot *s =
				realloc(m->slot, (room = room ? 2 * room : 256) * sizeof *s);

			if (!s) {
				stamp_map_fini(m);
				return -ENOMEM;
			}
			m->slot = s;
		}
		m->slot[m->n].offset = m->size;
		m->slot[m->n].len = slot_len(&seed, m->size);
		m->size += m->slot[m->n++].len;
	}
	return 0;
}

void stamp_map_fini(struct stamp_map *m)
{
	free(m->slot);
	*m = (struct stamp_map){ 0 };
}

static unsigned char stamp_byte(const struct stamp_slot *s, unsigned gen, uint32_t i)
{
	uint64_t at = s->offset + i;
	uint64_t h = (at / 8 + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)(gen + 1) * 0xd6e8feb86659fd93u;

	h ^= h >> 29;
	return h >> (at % 8 * 8);
}

void stamp_fill(void *buf, const struct stamp_slot *s, unsigned gen)
{
	unsigned char *p = buf;

	for (uint32_t i = 0; i < s->len; i++)
		p[i] = stamp_byte(s, gen, i);
}

long stamp_check(const void *buf, const struct stamp_slot *s, unsigned gen)
{
	const unsigned char *p = buf;

	for (uint32_t i = 0; i < s->len; i++)
		if (p[i] != stamp_byte(s, gen, i))
			return i;
	return -1;
}
