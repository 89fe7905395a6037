/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A hash table that grows, of nodes embedded in what it finds.  The caller locks. */
#ifndef PROTO_STATE4_MAP_H
#define PROTO_STATE4_MAP_H

#include <stddef.h>
#include <stdint.h>

struct state4_node {
	struct state4_node *next;
	uint64_t hash;
};

struct state4_map {
	struct state4_node **bucket;
	unsigned buckets; /* power of two */
	unsigned n;
	uint64_t seed; /* so that nobody outside can choose who shares a bucket */
};

int state4_map_init(struct state4_map *m); /* 0 or -ENOMEM */
void state4_map_fini(struct state4_map *m); /* empty, or never begun (all zeros) */
uint64_t state4_map_hash(const struct state4_map *m, const void *data, size_t len);
void state4_map_add(struct state4_map *m, struct state4_node *n, uint64_t hash);
void state4_map_del(struct state4_map *m, struct state4_node *n);
/* Those of one hash, in turn; NULL at the end. */
struct state4_node *state4_map_first(const struct state4_map *m, uint64_t hash);
struct state4_node *state4_map_next(const struct state4_node *n);

#endif
