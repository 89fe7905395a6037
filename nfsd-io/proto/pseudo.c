/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/pseudo.h"

#include <stdlib.h>
#include <string.h>

struct pseudo {
	struct pseudo_node *root;
	struct timespec built;
};

/* FNV-1a with a final mix, as for the numbers of roots. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash(uint64_t h, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)s[i]) * UINT64_C(0x100000001b3);
	return h;
}

/* 1 and 2 are no cookies (RFC 8881 s.18.23.3), and the high bit is nobody's. */
static uint64_t number(uint64_t h)
{
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	h = (h ^ h >> 33) & INT64_MAX;
	return h < 3 ? h + 3 : h;
}

/* The next component of `*path`, which moves on behind it; NULL at the end. */
static const char *component(const char **path, uint32_t *len)
{
	const char *start;

	while (**path == '/')
		(*path)++;
	start = *path;
	while (**path && **path != '/')
		(*path)++;
	*len = (uint32_t)(*path - start);
	return *len ? start : NULL;
}

static uint64_t step(uint64_t h, const char *name, uint32_t len)
{
	return hash(hash(h, "/", 1), name, len);
}

uint64_t pseudo_fileid(const struct export *e)
{
	const char *path = e->path, *name;
	uint64_t h = HASH_START;
	uint32_t len;

	while ((name = component(&path, &len)))
		h = step(h, name, len);
	return number(h);
}

/* --- building --- */

static void node_free(struct pseudo_node *n)
{
	for (unsigned i = 0; i < n->nchildren; i++)
		node_free(n->children[i]);
	free(n->children);
	free(n);
}

void pseudo_free(struct pseudo *p)
{
	if (!p)
		return;
	if (p->root)
		node_free(p->root);
	free(p);
}

static struct pseudo_node *node_new(struct pseudo_node *parent, const char *name, uint32_t len,
				    uint64_t id)
{
	struct pseudo_node *n = calloc(1, sizeof(*n) + len + 1), **list;
	unsigned at;

	if (!n)
		return NULL;
	n->id = id;
	n->parent = parent;
	n->name_len = len;
	memcpy(n->name, name, len);
	if (!parent)
		return n;
	list = realloc(parent->children, (parent->nchildren + 1) * sizeof(struct pseudo_node *));
	if (!list) {
		free(n);
		return NULL;
	}
	parent->children = list;
	for (at = parent->nchildren; at > 0 && list[at - 1]->id > id; at--)
		list[at] = list[at - 1];
	list[at] = n;
	parent->nchildren++;
	return n;
}

static struct pseudo_node *child(const struct pseudo_node *n, const char *name, uint32_t len)
{
	for (unsigned i = 0; i < n->nchildren; i++)
		if (n->children[i]->name_len == len && !memcmp(n->children[i]->name, name, len))
			return n->children[i];
	return NULL;
}

/* Where the tree begins: the export with fsid=0, or "/". */
static const char *base_of(const struct export_table *t)
{
	for (unsigned i = 0; i < t->n; i++)
		for (unsigned j = 0; j < t->exports[i].nclients; j++)
			if (t->exports[i].clients[j].opts.fsid_root)
				return t->exports[i].path;
	return "/";
}

/* `*path` moves behind `base`; false: it is not below it.  *h: the hash so far. */
static bool below(const char **path, const char *base, uint64_t *h)
{
	const char *b, *p;
	uint32_t nb, np;

	*h = HASH_START;
	while ((b = component(&base, &nb))) {
		p = component(path, &np);
		if (!p || np != nb || memcmp(p, b, nb))
			return false;
		*h = step(*h, b, nb);
	}
	return true;
}

static bool add(struct pseudo_node *root, struct export *e, const char *base)
{
	const char *path = e->path, *name;
	struct pseudo_node *n = root, *next;
	uint32_t len;
	uint64_t h;

	if (!below(&path, base, &h))
		return true;
	while ((name = component(&path, &len))) {
		h = step(h, name, len);
		next = child(n, name, len);
		if (!next)
			next = node_new(n, name, len, number(h));
		if (!next)
			return false;
		n = next;
	}
	n->export = e;
	return true;
}

static struct pseudo *build(struct export_table *t)
{
	struct pseudo *p = calloc(1, sizeof(*p));
	const char *base = base_of(t), *path = base;
	uint64_t h;

	if (!p)
		return NULL;
	clock_gettime(CLOCK_REALTIME, &p->built);
	below(&path, base, &h);
	p->root = node_new(NULL, "", 0, number(h));
	for (unsigned i = 0; p->root && i < t->n; i++)
		if (!add(p->root, &t->exports[i], base))
			goto fail;
	if (p->root)
		return p;
fail:
	pseudo_free(p);
	return NULL;
}

const struct pseudo *pseudo_of(struct export_table *t)
{
	struct pseudo *p = atomic_load_explicit(&t->pseudo, memory_order_acquire), *other = NULL;

	if (p)
		return p;
	p = build(t);
	/* Two threads may have built it: one tree stays. */
	if (p && !atomic_compare_exchange_strong(&t->pseudo, &other, p)) {
		pseudo_free(p);
		p = other;
	}
	return p;
}

/* --- looking --- */

const struct pseudo_node *pseudo_root(const struct pseudo *p)
{
	return p->root;
}

struct timespec pseudo_built(const struct pseudo *p)
{
	return p->built;
}

static const struct pseudo_node *find(const struct pseudo_node *n, uint64_t id)
{
	const struct pseudo_node *found = n->id == id ? n : NULL;

	for (unsigned i = 0; !found && i < n->nchildren; i++)
		found = find(n->children[i], id);
	return found;
}

const struct pseudo_node *pseudo_find(const struct pseudo *p, uint64_t id)
{
	return find(p->root, id);
}

const struct pseudo_node *pseudo_child(const struct pseudo_node *n, const char *name)
{
	return child(n, name, (uint32_t)strlen(name));
}

static const struct pseudo_node *find_export(const struct pseudo_node *n, const struct export *e)
{
	const struct pseudo_node *found = n->export == e ? n : NULL;

	for (unsigned i = 0; !found && i < n->nchildren; i++)
		found = find_export(n->children[i], e);
	return found;
}

const struct pseudo_node *pseudo_of_export(const struct pseudo *p, const struct export *e)
{
	return find_export(p->root, e);
}
