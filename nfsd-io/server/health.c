/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/health.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/server/exports_client.h"
#include "nfsd-io/server/exports_opts.h"

static void put(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

/* A word of exports(5): what would end it is octal, and with `ascii` all that is not ASCII. */
static json_t *word(const char *s, bool ascii)
{
	char *copy = malloc(4 * strlen(s) + 1), *p = copy;
	json_t *j;

	if (!copy)
		return NULL;
	for (; *s; s++) {
		unsigned char b = (unsigned char)*s;

		if (b <= ' ' || b == 0x7f || strchr("\"\\#", b) || (ascii && b & 0x80))
			p += sprintf(p, "\\%03o", b);
		else
			*p++ = *s;
	}
	*p = '\0';
	j = json_string(copy);
	free(copy);
	return j;
}

json_t *health_text(const char *s)
{
	json_t *j = json_string(s ? s : "");

	return j ? j : word(s, true);
}

static void put_text(json_t *o, const char *key, const char *s)
{
	json_object_set_new(o, key, health_text(s));
}

static json_t *mode_json(const struct root *r, enum dio_op op, enum dio_mode asked)
{
	json_t *o = json_object();
	const char *why = "";

	put_text(o, "asked", dio_mode_name(asked));
	put_text(o, "effective", dio_mode_name(probe_effective(&r->probe, op, asked, &why)));
	put_text(o, "why", why);
	return o;
}

static json_t *clients_json(const struct export *x)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < x->nclients; i++) {
		const struct export_client *c = &x->clients[i];
		json_t *o = json_object();
		char opts[512];

		exports_opts_print(&c->opts, opts, sizeof(opts));
		put_text(o, "client", *c->pattern ? c->pattern : "*");
		put_text(o, "options", opts);
		json_object_set_new(o, "addresses", json_integer(c->naddrs));
		put_text(o, "file", c->file);
		put(o, "line", c->line);
		json_array_append_new(list, o);
	}
	return list;
}

static void put_root(json_t *o, const struct root *r)
{
	json_t *align = json_object();

	put_text(o, "fstype", r->probe.fstype);
	json_object_set_new(o, "read_only", json_boolean(r->probe.read_only));
	put(o, "id", r->id);
	put_text(o, "handles", r->path_mode ? "paths" : "kernel");
	json_object_set_new(o, "survive_remount", json_boolean(r->probe.uuid_stable));
	json_object_set_new(o, "measured", json_boolean(r->probe.measured));
	put(align, "memory", r->probe.align.mem);
	put(align, "offset", r->probe.align.offset);
	put(align, "read", r->probe.align.read ? r->probe.align.read : r->probe.align.offset);
	json_object_set_new(o, "alignment", align);
	put_text(o, "rule", dio_rule_name(r->io.rule));
	put(o, "read_direct_min", r->io.read_direct_min);
	put(o, "min_middle", r->io.min_middle);
	put_text(o, "reply", reply_name(r->io.reply));
	put_text(o, "receive", receive_name(r->io.receive));
	json_object_set_new(o, "read", mode_json(r, DIO_READ, r->io.read_mode));
	json_object_set_new(o, "write", mode_json(r, DIO_WRITE, r->io.write_mode));
}

/* Why an export is not served; NULL: it is. */
static const char *down_why(const struct export *x)
{
	struct stat st;

	if (!x->root)
		return x->down ? x->down : "cannot be opened";
	/* Removed since: every call on it fails, but a reload is what takes notice. */
	if (!fstat(x->root->fd, &st) && !st.st_nlink)
		return "the directory was removed";
	return NULL;
}

json_t *health_exports_json(const struct export_table *t)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < t->n; i++) {
		const struct export *x = &t->exports[i];
		json_t *o = json_object();
		json_t *plain = word(x->path, false);
		const char *why = down_why(x);

		put_text(o, "path", x->path);
		json_object_set_new(o, "word", plain ? plain : word(x->path, true));
		put_text(o, "state", why ? "down" : "up");
		if (why)
			put_text(o, "why", why);
		else
			put_root(o, x->root);
		json_object_set_new(o, "clients", clients_json(x));
		json_array_append_new(list, o);
	}
	return list;
}

static void warn(json_t *warnings, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void warn(json_t *warnings, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	json_array_append_new(warnings, health_text(s));
	free(s);
}

/* As exports(5) asks for; what a tmpfs holds does not outlive its mount either. */
static bool wants_fsid(const struct export *x)
{
	const struct probe *p = &x->root->probe;

	if (p->uuid_stable || !strcmp(p->fstype, "tmpfs") || !strcmp(p->fstype, "ramfs"))
		return false;
	for (unsigned i = 0; i < x->nclients; i++)
		if (x->clients[i].opts.fsid)
			return false;
	return true;
}

static void warn_export(const struct export *x, json_t *warnings)
{
	const char *why = down_why(x);

	if (why) {
		warn(warnings, "%s is down: %s", x->path, why);
		return;
	}
	if (x->root->path_mode)
		warn(warnings,
		     "%s: no kernel file handles (%s): handles are names here, and a rename on "
		     "this host makes them stale",
		     x->path, x->root->probe.handles_why);
	if (wants_fsid(x))
		warn(warnings,
		     "%s: its file system (%s) has no UUID: handles are stale when it comes with "
		     "another device number; fsid= keeps them",
		     x->path, x->root->probe.fstype);
	if (export_all_are_server(x))
		warn(warnings,
		     "%s: every caller acts as uid %u, whatever squashing says: the server lacks "
		     "CAP_SETUID or CAP_SETGID",
		     x->path, geteuid());
	for (unsigned i = 0; i < x->nclients; i++) {
		char at[4096];

		if (x->clients[i].match != EXPORT_ANY || *x->clients[i].pattern)
			continue;
		exports_client_where(&x->clients[i], at, sizeof(at));
		warn(warnings, "%s: %s is exported to the world: no client is named", at, x->path);
	}
}

void health_warnings(const struct export_table *t, json_t *warnings)
{
	for (unsigned i = 0; i < t->n; i++)
		warn_export(&t->exports[i], warnings);
}

static json_t *workers_json(struct server *s, bool *degraded, json_t *warnings)
{
	json_t *list = json_array();
	unsigned asked_io_uring = server_conf(s)->engine == RING_IO_URING;

	for (unsigned i = 0; i < server_workers(s); i++) {
		struct worker_info w = {0};
		json_t *o = json_object();

		server_worker_info(s, i, &w);
		put(o, "number", w.number);
		json_object_set_new(o, "cpu", json_integer(w.cpu));
		json_object_set_new(o, "node", json_integer(w.node));
		json_object_set_new(o, "memory", json_integer(w.memory));
		put_text(o, "unbound", w.unbound);
		put_text(o, "engine", w.engine);
		put_text(o, "engine_why", w.engine_why);
		put(o, "connections", w.connections);
		put(o, "accepted", w.accepted);
		put(o, "inflight", w.inflight);
		put(o, "buffers_in_use", w.buffers_in_use);
		json_array_append_new(list, o);
		if (*w.unbound)
			warn(warnings, "worker %u: %s", w.number, w.unbound);
		if (asked_io_uring && strcmp(w.engine, "io_uring")) {
			*degraded = true;
			warn(warnings, "worker runs on %s: %s", w.engine, w.engine_why);
		}
	}
	return list;
}

static json_t *placement_json(struct server *s, json_t *warnings)
{
	struct placement_info p;
	json_t *o = json_object();

	server_placement(s, &p);
	put_text(o, "asked", p.asked);
	put_text(o, "nodes", p.nodes);
	put_text(o, "why", p.why);
	if (*p.why)
		warn(warnings, "numa = %s: %s", p.asked, p.why);
	return o;
}

static json_t *listeners_json(struct server *s)
{
	json_t *list = json_array();
	char **names = NULL;
	unsigned n = server_listeners(s, &names);

	for (unsigned i = 0; i < n; i++) {
		json_array_append_new(list, health_text(names[i]));
		free(names[i]);
	}
	free(names);
	return list;
}

json_t *health_json(struct server *s)
{
	struct export_table *t = server_exports(s);
	json_t *o = json_object(), *warnings = json_array();
	time_t now = time(NULL);
	bool degraded = false;
	unsigned long long since = server_start_time(s);

	put_text(o, "version", PACKAGE_VERSION);
	put(o, "pid", (uint64_t)getpid());
	put(o, "since", since);
	put(o, "uptime", (unsigned long long)now > since ? (unsigned long long)now - since : 0);
	json_object_set_new(o, "listeners", listeners_json(s));
	json_object_set_new(o, "numa", placement_json(s, warnings));
	json_object_set_new(o, "workers", workers_json(s, &degraded, warnings));
	json_object_set_new(o, "exports", health_exports_json(t));
	for (unsigned i = 0; i < t->n; i++)
		degraded |= down_why(&t->exports[i]) != NULL;
	health_warnings(t, warnings);
	json_object_set_new(o, "warnings", warnings);
	put_text(o, "state", degraded ? "degraded" : "ok");
	export_table_put(t);
	return o;
}
