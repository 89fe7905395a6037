/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfsd-io/server/conf_read.h"
#include "nfsd-io/server/exports.h"
#include "nfsd-io/server/exports_client.h"

static void read_one(struct export_table *t, const char *path, bool may_lack, struct conf_errors *e)
{
	char *text;
	size_t len;
	int err = conf_read_all(path, &text, &len);

	if (err) {
		if (err != -ENOENT || !may_lack)
			conf_error(e, false, "%s: %s", path, strerror(-err));
		return;
	}
	exports_parse(t, text, len, path, e);
	free(text);
}

static void read_dir(struct export_table *t, const char *dir, struct conf_errors *e)
{
	char **paths;
	unsigned n;
	int err = conf_read_names(dir, ".exports", &paths, &n);

	if (err && err != -ENOENT && err != -ENOTDIR)
		conf_error(e, false, "%s: %s", dir, strerror(-err));
	for (unsigned i = 0; i < n; i++) {
		read_one(t, paths[i], false, e);
		free(paths[i]);
	}
	free(paths);
}

/* Every place an export can come from.  /etc/exports may be missing, a file somebody named may not.
 */
static void read_all(struct export_table *t, const struct conf *c, struct conf_errors *e)
{
	if (c->exports_file)
		read_one(t, c->exports_file, !strcmp(c->exports_file, "/etc/exports"), e);
	if (c->exports_dir)
		read_dir(t, c->exports_dir, e);
	for (unsigned i = 0; i < c->nexport_args; i++)
		exports_arg(t, c->export_args[i], e);
	if (c->embedded_dir)
		exports_arg(t, c->embedded_dir, e);
}

static bool listed(const struct export_table *t, const char *path)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!strcmp(t->exports[i].path, path))
			return true;
	return false;
}

static void not_exported(const struct conf_export *x, struct conf_errors *e)
{
	char line[16] = "";

	if (x->line) /* -o has none */
		snprintf(line, sizeof(line), ":%u", x->line);
	conf_error(e, false, "%s%s: [export \"%s\"]: this path is not exported", x->file, line,
		   x->path);
}

static void check_sections(const struct export_table *t, const struct conf *c,
			   struct conf_errors *e)
{
	for (unsigned i = 0; i < c->nexports; i++)
		if (!listed(t, c->exports[i].path))
			not_exported(&c->exports[i], e);
}

static void host_lost(void *arg, const struct export_client *c, const char *why)
{
	char at[PATH_MAX];

	exports_client_where(c, at, sizeof(at));
	conf_error(arg, true, "%s: host %s: %s: it will match nobody", at, c->pattern, why);
}

static uint32_t fsid_of(const struct export *x)
{
	for (unsigned i = 0; i < x->nclients; i++)
		if (x->clients[i].opts.fsid)
			return x->clients[i].opts.fsid;
	return 0;
}

static bool is_mountpoint(const char *path)
{
	struct stat here, up;
	char *parent;
	bool yes = false;

	if (asprintf(&parent, "%s/..", path) < 0)
		return false;
	if (!stat(path, &here) && !stat(parent, &up))
		yes = here.st_dev != up.st_dev || here.st_ino == up.st_ino;
	free(parent);
	return yes;
}

/* mp: what must be mounted before the export may be used; NULL when all is. */
static const char *not_mounted(const struct export *x, const char *real)
{
	for (unsigned i = 0; i < x->nclients; i++) {
		const struct export_opts *o = &x->clients[i].opts;
		const char *mp = *o->mountpoint ? o->mountpoint : real;

		if (o->mountpoint_required && !is_mountpoint(mp))
			return mp;
	}
	return NULL;
}

static bool same_io(const struct root_io *a, const struct root_io *b)
{
	return a->read_mode == b->read_mode && a->write_mode == b->write_mode &&
	       a->rule == b->rule && a->read_direct_min == b->read_direct_min &&
	       a->min_middle == b->min_middle && a->fail_unsupported == b->fail_unsupported &&
	       a->reply == b->reply && a->splice_buffered == b->splice_buffered &&
	       a->receive == b->receive;
}

/* The old table's root for the same path, id and settings, when the directory is still the same
 * one. */
static struct root *keep(const struct export_table *old, const struct export *x,
			 const struct root_params *p)
{
	struct stat st;

	for (unsigned i = 0; old && i < old->n; i++) {
		const struct export *o = &old->exports[i];

		if (!o->root || strcmp(o->path, x->path) || fsid_of(o) != p->id ||
		    !same_io(&o->root->io, &p->io))
			continue;
		if (stat(p->path, &st) || st.st_dev != o->root->dev || st.st_ino != o->root->ino)
			return NULL;
		return root_get(o->root);
	}
	return NULL;
}

static void open_root(struct export *x, const struct conf *c, const struct export_table *old)
{
	char *real = NULL;
	const char *why = "", *mp;
	int err;

	if (asprintf(&real, "%s%s", c->rootdir ? c->rootdir : "", x->path) < 0)
		return;
	struct root_params p = {.path = real,
				.id = fsid_of(x),
				.io = conf_io_for(c, x->path),
				.state_dir = c->state_dir};

	mp = not_mounted(x, real);
	if (mp) {
		if (asprintf(&x->down, "nothing is mounted on %s", mp) < 0)
			x->down = NULL;
		free(real);
		return;
	}
	if (geteuid() == 0 && export_all_are_server(x)) {
		x->down = strdup("every caller would be root: the server lacks CAP_SETUID or "
				 "CAP_SETGID, and not all clients have all_squash,anonuid=0");
		free(real);
		return;
	}
	x->root = keep(old, x, &p);
	if (!x->root) {
		err = root_open(&x->root, &p, &why);
		if (err) {
			x->root = NULL;
			x->down = why && *why ? strdup(why) : strdup(strerror(-err));
		}
	}
	free(real);
}

static void check_ids(const struct export_table *t, struct conf_errors *e)
{
	char at[PATH_MAX], before[PATH_MAX];

	for (unsigned i = 0; i < t->n; i++) {
		for (unsigned j = 0; j < i; j++) {
			const struct export *a = &t->exports[j], *b = &t->exports[i];

			if (!a->root || !b->root || a->root->id != b->root->id)
				continue;
			exports_client_where(b->clients, at, sizeof(at));
			exports_client_where(a->clients, before, sizeof(before));
			conf_error(
				e, false,
				"%s: %s has the same id (%u) as %s at %s: give one another fsid=",
				at, b->path, b->root->id, a->path, before);
		}
	}
}

static void check_usable(const struct export_table *t, const struct conf *c, struct conf_errors *e)
{
	unsigned up = 0;

	for (unsigned i = 0; i < t->n; i++)
		up += t->exports[i].root != NULL;
	if (up)
		return;
	for (unsigned i = 0; i < t->n; i++)
		conf_error(e, false, "%s: %s", t->exports[i].path,
			   t->exports[i].down ? t->exports[i].down : "down");
	if (!t->n)
		conf_error(e, false, "nothing to export: no path in %s, %s or --export",
			   c->exports_file ? c->exports_file : "any file",
			   c->exports_dir ? c->exports_dir : "any directory");
	else
		conf_error(e, false,
			   "nothing to export: not one of the exported paths can be used");
}

int exports_load(struct export_table **out, const struct conf *c, const struct export_table *old,
		 struct conf_errors *e)
{
	struct export_table *t = calloc(1, sizeof(*t));
	unsigned before = conf_nerrors(e);

	if (!t) {
		conf_error(e, false, "out of memory");
		return -1;
	}
	t->refs = 1;
	t->generation = old ? old->generation + 1 : 1;
	read_all(t, c, e);
	check_sections(t, c, e);
	if (conf_nerrors(e) == before) {
		exports_client_resolve(t, host_lost, e);
		for (unsigned i = 0; i < t->n; i++)
			open_root(&t->exports[i], c, old);
		check_ids(t, e);
		/* A reload may take the last export away; a start with none is a mistake. */
		if (!old)
			check_usable(t, c, e);
	}
	if (conf_nerrors(e) > before) {
		export_table_put(t);
		return -1;
	}
	*out = t;
	return 0;
}
