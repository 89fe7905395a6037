/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/pathmap_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PATHMAP_TABLE_BUCKETS 1024 /* at first */

static uint64_t pathmap_table_hash(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return h ^ h >> 32;
}

static uint64_t pathmap_table_hash_id(const struct pathmap_table *t, const struct khandle *id)
{
	return pathmap_table_hash(t->seed ^ id->type, id->data, id->len);
}

static uint64_t pathmap_table_hash_name(const struct pathmap_table *t, const struct khandle *parent,
					const char *name)
{
	return pathmap_table_hash(pathmap_table_hash_id(t, parent), name, strlen(name));
}

int pathmap_table_init(struct pathmap_table *t, unsigned max)
{
	*t = (struct pathmap_table){ .buckets = PATHMAP_TABLE_BUCKETS, .max = max };
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) < 0)
		t->seed = (uintptr_t)t;
	t->by_id = calloc(t->buckets, sizeof(*t->by_id));
	t->by_name = calloc(t->buckets, sizeof(*t->by_name));
	if (t->by_id && t->by_name)
		return 0;
	pathmap_table_fini(t);
	return -ENOMEM;
}

void pathmap_table_fini(struct pathmap_table *t)
{
	struct pathlink *l, *newer;

	for (l = t->oldest; l; l = newer) {
		newer = l->newer;
		free(l);
	}
	free(t->by_id);
	free(t->by_name);
	*t = (struct pathmap_table){ 0 };
}

static void pathmap_table_hang(struct pathmap_table *t, struct pathlink *l)
{
	struct pathlink **id = &t->by_id[l->id_hash & (t->buckets - 1)];
	struct pathlink **name = &t->by_name[l->name_hash & (t->buckets - 1)];

	l->id_next = *id;
	*id = l;
	l->name_next = *name;
	*name = l;
}

/* Twice the buckets; without memory the chains just get longer. */
static void pathmap_table_grow(struct pathmap_table *t)
{
	size_t buckets = t->buckets * 2;
	struct pathlink **by_id = calloc(buckets, sizeof(*by_id));
	struct pathlink **by_name = calloc(buckets, sizeof(*by_name));

	if (!by_id || !by_name) {
		free(by_id);
		free(by_name);
		return;
	}
	free(t->by_id);
	free(t->by_name);
	t->by_id = by_id;
	t->by_name = by_name;
	t->buckets = buckets;
	for (struct pathlink *l = t->oldest; l; l = l->newer)
		pathmap_table_hang(t, l);
}

static void pathmap_table_unage(struct pathmap_table *t, struct pathlink *l)
{
	*(l->newer ? &l->newer->older : &t->newest) = l->older;
	*(l->older ? &l->older->newer : &t->oldest) = l->newer;
}

static void pathmap_table_age(struct pathmap_table *t, struct pathlink *l)
{
	l->newer = NULL;
	l->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = l;
	t->newest = l;
}

void pathmap_table_touch(struct pathmap_table *t, struct pathlink *l)
{
	if (t->newest == l)
		return;
	pathmap_table_unage(t, l);
	pathmap_table_age(t, l);
}

struct pathlink *pathmap_table_id(const struct pathmap_table *t, const struct khandle *id,
				  unsigned nth)
{
	struct pathlink *l = t->by_id[pathmap_table_hash_id(t, id) & (t->buckets - 1)];

	for (; l; l = l->id_next)
		if (khandle_equal(&l->id, id) && nth-- == 0)
			return l;
	return NULL;
}

struct pathlink *pathmap_table_name(const struct pathmap_table *t, const struct khandle *parent,
				    const char *name)
{
	struct pathlink *l =
		t->by_name[pathmap_table_hash_name(t, parent, name) & (t->buckets - 1)];

	while (l && !(khandle_equal(&l->parent, parent) && !strcmp(l->name, name)))
		l = l->name_next;
	return l;
}

void pathmap_table_drop(struct pathmap_table *t, struct pathlink *l)
{
	struct pathlink **p;

	for (p = &t->by_id[l->id_hash & (t->buckets - 1)]; *p != l; p = &(*p)->id_next)
		;
	*p = l->id_next;
	for (p = &t->by_name[l->name_hash & (t->buckets - 1)]; *p != l; p = &(*p)->name_next)
		;
	*p = l->name_next;
	pathmap_table_unage(t, l);
	t->count--;
	free(l);
}

int pathmap_table_set(struct pathmap_table *t, const struct khandle *id,
		      const struct khandle *parent, const char *name)
{
	struct pathlink *l = pathmap_table_name(t, parent, name);
	size_t len = strlen(name) + 1;

	if (l && khandle_equal(&l->id, id)) {
		pathmap_table_touch(t, l);
		return 0;
	}
	if (l)
		pathmap_table_drop(t, l);
	while (t->count >= t->max)
		pathmap_table_drop(t, t->oldest);
	if (t->count >= t->buckets)
		pathmap_table_grow(t);
	l = malloc(sizeof(*l) + len);
	if (!l)
		return -ENOMEM;
	*l = (struct pathlink){ .id = *id, .parent = *parent };
	memcpy(l->name, name, len);
	l->id_hash = pathmap_table_hash_id(t, id);
	l->name_hash = pathmap_table_hash_name(t, parent, name);
	pathmap_table_hang(t, l);
	pathmap_table_age(t, l);
	t->count++;
	return 1;
}
