/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/lib/fakeserver.h"

#include <stdlib.h>
#include <string.h>

void fakeserver_init(struct server *s)
{
	struct drc_params dp = {.max_entries = 16};
	struct fdcache_params fp = {.max_files = 16};

	memset(s, 0, sizeof(*s));
	s->table = calloc(1, sizeof(*s->table));
	s->table->refs = 1;
	strcpy(s->worker.engine, "threads");
	strcpy(s->worker.engine_why, "as asked");
	verifier_init(&s->env.verifier);
	fp.verifier = &s->env.verifier;
	if (offload_new(&s->env.offload, 1) || drc_new(&s->env.drc, &dp))
		abort();
	fp.offload = s->env.offload;
	if (fdcache_new(&s->env.files, &fp))
		abort();
}

void fakeserver_fini(struct server *s)
{
	fdcache_free(s->env.files);
	offload_free(s->env.offload);
	drc_free(s->env.drc);
	export_table_put(s->table);
}

struct root *fakeserver_export(struct server *s, const char *path)
{
	struct export_table *t = s->table;
	struct root_io io = ROOT_IO_DEFAULT;
	struct export *x;
	struct root *r = calloc(1, sizeof(*r));

	t->exports = realloc(t->exports, (t->n + 1) * sizeof(*t->exports));
	x = &t->exports[t->n++];
	memset(x, 0, sizeof(*x));
	x->path = strdup(path);
	x->root = r;
	r->fd = -1;
	r->refs = 2; /* never freed by the table: it is not of root.c's making */
	r->path = strdup(path);
	r->io = io;
	r->stats = aligned_alloc(64, ROOT_WORKERS * sizeof(*r->stats));
	memset(r->stats, 0, ROOT_WORKERS * sizeof(*r->stats));
	r->probe.align = (struct probe_align){512, 512, 512};
	strcpy(r->probe.fstype, "ext4");
	return r;
}

struct export_table *server_exports(struct server *s)
{
	return export_table_get(s->table);
}

const struct conf *server_conf(struct server *s)
{
	return &s->conf;
}

int server_reload(struct server *s, struct conf_errors *e)
{
	s->reloads++;
	if (s->reload_result)
		conf_error(e, false, "exports:3: wrong");
	return s->reload_result;
}

void server_stop(struct server *s)
{
	s->stops++;
}

unsigned server_workers(struct server *s)
{
	(void)s;
	return 1;
}

void server_placement(struct server *s, struct placement_info *out)
{
	(void)s;
	*out = (struct placement_info){"auto", "0", ""};
}

void server_worker_info(struct server *s, unsigned n, struct worker_info *out)
{
	(void)n;
	*out = s->worker;
}

void server_replies(struct server *s, struct reply_info *out)
{
	*out = s->replies;
}

void server_connections(struct server *s, struct connection_info *out)
{
	*out = s->connections;
}

void server_req_stats(struct server *s, struct req_stats *sum)
{
	*sum = s->stats;
}

const struct proto_env *server_env(struct server *s)
{
	return &s->env;
}

unsigned server_listeners(struct server *s, char ***out)
{
	(void)s;
	*out = malloc(sizeof(**out));
	**out = strdup("127.0.0.1:20490");
	return 1;
}

uint64_t server_start_time(struct server *s)
{
	(void)s;
	return 1000;
}
