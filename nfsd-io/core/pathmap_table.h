/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Path mode's table in memory: links (parent, name) -> identity, found from
 * either side, the longest unused dropped first.  Knows no files or locks;
 * the owner serializes.  An identity may have several links (hard links).
 */
#ifndef CORE_PATHMAP_TABLE_H
#define CORE_PATHMAP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsd-io/core/khandle.h"

struct pathlink {
	struct pathlink *id_next, *name_next; /* hash chains */
	struct pathlink *newer, *older;	      /* by last use */
	uint64_t id_hash, name_hash;
	struct khandle id, parent;
	char name[];
};

struct pathmap_table {
	struct pathlink **by_id, **by_name;
	size_t buckets; /* of each, power of two */
	unsigned count, max;
	uint64_t seed; /* clients choose names */
	struct pathlink *newest, *oldest;
};

int pathmap_table_init(struct pathmap_table *t, unsigned max); /* 0 or -ENOMEM */
void pathmap_table_fini(struct pathmap_table *t);

/* The nth link of an identity (the latest made first, as a rule); NULL. */
struct pathlink *pathmap_table_id(const struct pathmap_table *t, const struct khandle *id,
				  unsigned nth);
struct pathlink *pathmap_table_name(const struct pathmap_table *t, const struct khandle *parent,
				    const char *name);

/*
 * Make (parent, name) mean `id`.  1: the table changed; 0: it
 * was so already (now the newest); -ENOMEM.
 */
int pathmap_table_set(struct pathmap_table *t, const struct khandle *id,
		      const struct khandle *parent, const char *name);
void pathmap_table_drop(struct pathmap_table *t, struct pathlink *l);
void pathmap_table_touch(struct pathmap_table *t, struct pathlink *l); /* now the newest */

#endif
