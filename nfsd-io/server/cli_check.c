/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `check`: everything serve would do before it serves. */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "nfsd-io/core/handle.h"
#include "nfsd-io/server/cli.h"
#include "nfsd-io/server/conf_dirs.h"
#include "nfsd-io/server/congestion.h"
#include "nfsd-io/server/exports.h"
#include "nfsd-io/server/health.h"

static unsigned print_errors(const struct cli *c, const struct conf_errors *e)
{
	unsigned problems = 0;

	for (unsigned i = 0; i < e->n; i++) {
		bool only_warning = e->warning[i] && !c->strict;

		printf("  %s: %s\n", e->warning[i] ? "warning" : "error", e->line[i]);
		problems += !only_warning;
	}
	return problems;
}

/* Which engine the workers would run on, found by trying. */
static unsigned check_engine(const struct conf *conf)
{
	struct ring_params p = {
		.engine = conf->engine, .depth = conf->queue_depth, .name = "nfsd-io/check"};
	struct utsname u;
	struct ring *r;
	int err = ring_new(&r, &p);

	uname(&u);
	printf("Linux %s\n", u.release);
	if (err) {
		printf("  error: [io] engine: no I/O engine can be started: %s\n", strerror(-err));
		return 1;
	}
	printf("  engine %s: %s\n", ring_engine_name(r), ring_engine_why(r));
	ring_free(r);
	return 0;
}

/* A line that names nobody exports to the world: serve warns, as exportfs does; here it is an
 * error. */
static unsigned check_table(const struct cli *c, const struct export_table *t)
{
	json_t *exports = health_exports_json(t), *warnings = json_array(), *w;
	unsigned problems = 0;
	size_t i;

	printf("\nexports\n");
	health_print_exports(stdout, exports);
	for (unsigned x = 0; x < t->n; x++) {
		problems += !t->exports[x].root;
		for (unsigned n = 0; n < t->exports[x].nclients; n++)
			problems += t->exports[x].clients[n].match == EXPORT_ANY &&
				    !*t->exports[x].clients[n].pattern;
	}
	health_warnings(t, warnings);
	if (json_array_size(warnings))
		putchar('\n');
	json_array_foreach(warnings, i, w) printf("  problem: %s\n", json_string_value(w));
	if (c->strict && json_array_size(warnings) > problems)
		problems = (unsigned)json_array_size(warnings);
	json_decref(exports);
	json_decref(warnings);
	return problems;
}

static unsigned problem(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static unsigned problem(const char *fmt, ...)
{
	va_list ap;

	fputs("  problem: ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	return 1;
}

/* The directory is there and ours to write to, or could be made. */
static unsigned check_state_dir(const char *dir)
{
	char *copy = strdup(dir);
	const char *in = dir;
	unsigned n = 0;

	if (copy && access(dir, F_OK) && errno == ENOENT)
		in = dirname(copy);
	if (access(in, W_OK | X_OK))
		n = problem("[nfsd] state-directory-path: %s: %s", in, strerror(errno));
	free(copy);
	return n;
}

/* What serve needs of this host besides the exports; nothing is made here. */
static unsigned check_host(const struct conf *c)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *list;
	unsigned n = check_state_dir(c->state_dir);
	struct handle_key *key;
	char why[320];
	int err;

	for (unsigned i = 0; i < c->nhosts; i++) {
		err = getaddrinfo(c->hosts[i], "0", &hints, &list);
		if (err)
			n += problem("[nfsd] host: %s: %s", c->hosts[i], gai_strerror(err));
		else
			freeaddrinfo(list);
	}
	err = congestion_check(c->congestion);
	if (err) {
		congestion_why(c->congestion, err, why, sizeof(why));
		n += problem("[nfsd] congestion-control: %s", why);
	}
	if (access(c->key_file, F_OK)) /* else loading would make it */
		return n;
	err = handle_key_load(&key, c->key_file);
	if (err)
		return n +
		       problem("[filehandle] key-file: %s: %s", c->key_file, handle_key_why(err));
	handle_key_free(key);
	return n;
}

int cli_check_run(const struct cli *c)
{
	struct conf_options o = {.file = c->file,
				 .overrides = c->overrides,
				 .noverrides = c->noverrides,
				 .export_args = c->exports,
				 .nexport_args = c->nexports};
	struct conf_errors e = {0};
	struct export_table *t = NULL;
	unsigned problems = 0;
	struct conf conf;
	int code = CLI_OK;

	if (conf_load(&conf, &o, &e) || exports_load(&t, &conf, NULL, &e))
		code = CLI_CONFIG;
	printf("configuration%s\n", e.n ? "" : ": no problem");
	problems += print_errors(c, &e);
	if (t) {
		problems += check_engine(&conf);
		problems += check_host(&conf);
		problems += check_table(c, t);
		export_table_put(t);
	}
	conf_free(&conf);
	conf_errors_free(&e);
	conf_dirs_cleanup();
	if (problems || code)
		printf("\n%u problem%s\n", problems, problems == 1 ? "" : "s");
	else
		printf("\nno problem\n");
	return code ? code : problems ? CLI_FAILED : CLI_OK;
}
