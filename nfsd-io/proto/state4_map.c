/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/state4_map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS 64 /* at first */

int state4_map_init(struct state4_map *m)
{
	m->n = 0;
	m->buckets = BUCKETS;
	m->bucket = calloc(BUCKETS, sizeof(struct state4_node *));
	if (!m->bucket)
		return -ENOMEM;
	if (getrandom(&m->seed, sizeof(m->seed), 0) != sizeof(m->seed))
		m->seed = (uintptr_t)m->bucket;
	return 0;
}

void state4_map_fini(struct state4_map *m)
{
	assert(m->n == 0);
	free(m->bucket);
	m->bucket = NULL;
}

static uint64_t mix(uint64_t h, uint64_t w)
{
	__uint128_t p = (__uint128_t)(h ^ w) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t state4_map_hash(const struct state4_map *m, const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = m->seed ^ len, w;

	for (; len >= sizeof(w); p += sizeof(w), len -= sizeof(w)) {
		memcpy(&w, p, sizeof(w));
		h = mix(h, w);
	}
	w = 0;
	memcpy(&w, p, len);
	return mix(mix(h, w), m->seed);
}

static struct state4_node **bucket_of(const struct state4_map *m, uint64_t hash)
{
	return &m->bucket[hash & (m->buckets - 1)];
}

/* Without memory for it the chains are longer, no more. */
static void grow(struct state4_map *m)
{
	struct state4_node **old = m->bucket, *n, *next;
	unsigned count = m->buckets;

	m->bucket = calloc((size_t)count * 2, sizeof(struct state4_node *));
	if (!m->bucket) {
		m->bucket = old;
		return;
	}
	m->buckets = count * 2;
	for (unsigned i = 0; i < count; i++)
		for (n = old[i]; n; n = next) {
			struct state4_node **b = bucket_of(m, n->hash);

			next = n->next;
			n->next = *b;
			*b = n;
		}
	free(old);
}

void state4_map_add(struct state4_map *m, struct state4_node *n, uint64_t hash)
{
	struct state4_node **b;

	if (m->n >= m->buckets && m->buckets < 1u << 30)
		grow(m);
	b = bucket_of(m, hash);
	n->hash = hash;
	n->next = *b;
	*b = n;
	m->n++;
}

void state4_map_del(struct state4_map *m, struct state4_node *n)
{
	struct state4_node **p = bucket_of(m, n->hash);

	while (*p != n)
		p = &(*p)->next;
	*p = n->next;
	n->next = NULL;
	m->n--;
}

static struct state4_node *same(struct state4_node *n, uint64_t hash)
{
	while (n && n->hash != hash)
		n = n->next;
	return n;
}

struct state4_node *state4_map_first(const struct state4_map *m, uint64_t hash)
{
	return same(*bucket_of(m, hash), hash);
}

struct state4_node *state4_map_next(const struct state4_node *n)
{
	return same(n->next, n->hash);
}
