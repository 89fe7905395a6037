/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/server/current.h"
#include "nfsd-io/server/log.h"
#include "nfsd-io/server/worker.h"

#define KEEP_NS (60ull * 1000000000)

/* A configuration, and when it was replaced. */
struct held_conf {
	struct conf conf;
	uint64_t replaced_ns;
	struct held_conf *next;
};

struct current {
	struct conf_options options;
	pthread_mutex_t lock;	/* table, conf; for pointer moves */
	pthread_mutex_t reload; /* one reload at a time */
	struct export_table *table;
	struct held_conf *conf; /* in force */
	struct held_conf *old;	/* replaced; somebody may still look */
};

static struct held_conf *load(const struct conf_options *o, const struct export_table *old,
			      struct export_table **table, struct conf_errors *e)
{
	struct held_conf *h = calloc(1, sizeof(*h));

	if (!h) {
		conf_error(e, false, "out of memory");
		return NULL;
	}
	if (conf_load(&h->conf, o, e) || exports_load(table, &h->conf, old, e)) {
		conf_free(&h->conf);
		free(h);
		return NULL;
	}
	return h;
}

int current_new(struct current **out, const struct server_options *o, struct conf_errors *e)
{
	struct current *c = calloc(1, sizeof(*c));

	if (!c) {
		conf_error(e, false, "out of memory");
		return -1;
	}
	c->options = (struct conf_options){.file = o->conf_file,
					   .overrides = o->overrides,
					   .noverrides = o->noverrides,
					   .export_args = o->export_args,
					   .nexport_args = o->nexport_args};
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->reload, NULL);
	c->conf = load(&c->options, NULL, &c->table, e);
	if (!c->conf) {
		current_free(c);
		return -1;
	}
	*out = c;
	return 0;
}

static void free_confs(struct held_conf *h)
{
	struct held_conf *next;

	for (; h; h = next) {
		next = h->next;
		conf_free(&h->conf);
		free(h);
	}
}

void current_free(struct current *c)
{
	if (!c)
		return;
	if (c->table)
		export_table_put(c->table);
	free_confs(c->conf);
	free_confs(c->old);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->reload);
	free(c);
}

struct export_table *current_exports(struct current *c)
{
	struct export_table *t;

	pthread_mutex_lock(&c->lock);
	t = export_table_get(c->table);
	pthread_mutex_unlock(&c->lock);
	return t;
}

const struct conf *current_conf(struct current *c)
{
	const struct conf *conf;

	pthread_mutex_lock(&c->lock);
	conf = &c->conf->conf;
	pthread_mutex_unlock(&c->lock);
	return conf;
}

static bool has_root(const struct export_table *t, const struct root *r)
{
	unsigned i;

	for (i = 0; i < t->n; i++)
		if (t->exports[i].root == r)
			return true;
	return false;
}

static void purge_gone(struct fdcache *files, const struct export_table *old,
		       const struct export_table *new)
{
	unsigned i;

	for (i = 0; i < old->n; i++)
		if (old->exports[i].root && !has_root(new, old->exports[i].root))
			fdcache_purge(files, old->exports[i].root);
}

/*
 * Other options make another root of the same files: their handles and state are as good as before.
 */
static bool still_there(const struct export_table *t, const struct root *r)
{
	const struct export *e = export_by_root_id(t, r->id);

	return e && e->root && !memcmp(e->root->fskey, r->fskey, sizeof(r->fskey));
}

/* After purge_gone(): what is opened later finds its root retired. */
static void revoke_gone(struct state4 *state, const struct export_table *old,
			const struct export_table *new)
{
	unsigned i, n;

	for (i = 0; i < old->n; i++) {
		if (!old->exports[i].root || still_there(new, old->exports[i].root))
			continue;
		n = state4_revoke_root(state, old->exports[i].root->id);
		if (n)
			log_line(LOG_NOTICE, "%s: no longer exported: %u opens and locks revoked",
				 old->exports[i].path, n);
	}
}

/* Those replaced a minute ago and more; whoever looked at them has long finished. */
static struct held_conf *expired(struct current *c, uint64_t now)
{
	struct held_conf **p = &c->old, *gone;

	while (*p && (*p)->replaced_ns + KEEP_NS > now)
		p = &(*p)->next;
	gone = *p;
	*p = NULL;
	return gone;
}

int current_reload(struct current *c, struct fdcache *files, struct state4 *state,
		   struct conf_errors *e)
{
	struct export_table *table = NULL, *old;
	uint64_t now = worker_clock_ns();
	struct held_conf *h;

	pthread_mutex_lock(&c->reload);
	h = load(&c->options, c->table, &table, e);
	if (!h) {
		pthread_mutex_unlock(&c->reload);
		return -1;
	}
	conf_note_restart(&c->conf->conf, &h->conf, e);
	pthread_mutex_lock(&c->lock);
	free_confs(expired(c, now));
	c->conf->replaced_ns = now;
	c->conf->next = c->old;
	c->old = c->conf;
	c->conf = h;
	old = c->table;
	c->table = table;
	pthread_mutex_unlock(&c->lock);
	purge_gone(files, old, table);
	if (state)
		revoke_gone(state, old, table);
	export_table_put(old);
	pthread_mutex_unlock(&c->reload);
	return 0;
}
