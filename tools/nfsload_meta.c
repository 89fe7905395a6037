/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tools/nfsload_work.h"

#include <stdio.h>
#include <stdlib.h>

#define EXIST 17
#define PAGE_LEN 32768

struct meta {
	struct source source;
	struct work *work;
	enum op_kind kind;
	struct proto_fh dir;
	struct proto_fh *file; /* GETATTR: handles, looked up before the measured part */
	uint64_t issued;
	bool gathering;
};

static const struct {
	const char *name;
	enum op_kind kind;
} kinds[] = {
	{ "null", OP_NULL },	   { "create", OP_CREATE },   { "lookup", OP_LOOKUP },
	{ "getattr", OP_GETATTR }, { "readdir", OP_READDIR }, { "readdirplus", OP_READDIRPLUS },
	{ "remove", OP_REMOVE },
};

static struct meta meta;

static int kind_of(const char *name)
{
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].name, name))
			return kinds[i].kind;
	return -1;
}

bool meta_knows(const char *kind)
{
	return kind_of(kind) >= 0;
}

/* One call a name, in order. */
static bool name_next(struct source *s, struct lane *l)
{
	struct work *w = meta.work;
	bool round = w->seconds > 0 && !meta.gathering;

	(void)s;
	if (round ? work_over(w) : meta.issued == w->count)
		return false;
	l->record = meta.issued++ % w->count;
	snprintf(l->name, sizeof l->name, "f%07llu", (unsigned long long)l->record);
	l->op.kind = meta.gathering ? OP_LOOKUP : meta.kind;
	l->op.fh = meta.kind == OP_GETATTR && !meta.gathering ? &meta.file[l->record] : &meta.dir;
	l->op.name = l->name;
	return true;
}

static bool name_done(struct source *s, struct lane *l)
{
	struct work *w = meta.work;

	(void)s;
	if (l->op.status)
		w->errors++;
	else if (meta.gathering)
		meta.file[l->record] = l->op.got;
	else
		w->ops++;
	return false;
}

/*
 * A walk through the directory is a chain of calls, as a
 * client's is: a page's cookie begins the next.
 */
static bool walk_next(struct source *s, struct lane *l)
{
	struct work *w = meta.work;

	(void)s;
	if (w->seconds > 0 ? work_over(w) : meta.issued == w->count)
		return false;
	meta.issued++;
	l->op = (struct op){ .kind = meta.kind, .fh = &meta.dir, .len = PAGE_LEN };
	return true;
}

static bool walk_done(struct source *s, struct lane *l)
{
	struct work *w = meta.work;

	(void)s;
	if (l->op.status || (!l->op.count && !l->op.eof)) {
		w->errors++;
		return false;
	}
	w->ops += l->op.count;
	l->op.offset = l->op.cookie;
	return !l->op.eof;
}

static int directory(struct work *w)
{
	struct client *c = w->client;
	struct op op = { .kind = OP_MKDIR, .fh = &c->root, .name = w->name };

	if (meta.kind == OP_CREATE && loop_call(c, &op) && op.status != EXIST) {
		snprintf(c->error, sizeof c->error, "mkdir %.80s: status %d", w->name, op.status);
		return -1;
	}
	return c->proto->open(c, w->name, false, &meta.dir);
}

int meta_prepare(struct work *w)
{
	bool pages;

	meta.work = w;
	meta.kind = kind_of(w->kind);
	pages = meta.kind == OP_READDIR || meta.kind == OP_READDIRPLUS;
	meta.source = pages ? (struct source){walk_next, walk_done}
			    : (struct source){name_next, name_done};
	if (meta.kind != OP_NULL && directory(w))
		return -1;
	if (meta.kind != OP_GETATTR)
		return 0;
	meta.file = calloc(w->count, sizeof *meta.file);
	if (!meta.file)
		return -1;
	meta.gathering = true;
	if (loop_run(w->client, &meta.source, NULL))
		return -1;
	meta.gathering = false;
	return 0;
}

int meta_run(struct work *w)
{
	meta.issued = 0;
	return loop_run(w->client, &meta.source, w->hist);
}
