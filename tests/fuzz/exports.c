/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* exports(5): any text gives clients in match order whose options print and read back, or errors
 * that name a line. */
#include "config.h"

#include <string.h>

#include "nfsd-io/server/exports.h"
#include "nfsd-io/server/exports_opts.h"
#include "tests/lib/fuzz.h"

static void check_client(const struct export_client *c)
{
	FUZZ_CHECK(c->pattern && c->line > 0 && c->file);
	FUZZ_CHECK((c->match == EXPORT_NETWORK) == (c->naddrs == 1 && strchr(c->pattern, '/')));
	FUZZ_CHECK(c->prefix <= 128);
	FUZZ_CHECK(c->opts.anonuid != UINT32_MAX && c->opts.anongid != UINT32_MAX);
	FUZZ_CHECK(c->opts.sec_sys || c->opts.sec_none || c->opts.sec_other);
}

/* What one client may do, written and read again, is the same. */
static void check_round_trip(const struct export_client *c)
{
	struct export_table *t = calloc(1, sizeof(*t));
	struct conf_errors e = {0};
	char opts[1024], line[1200];

	FUZZ_CHECK(t);
	t->refs = 1;
	exports_opts_print(&c->opts, opts, sizeof(opts));
	snprintf(line, sizeof(line), "/x *(%s)", opts);
	/* A mount point with blanks or commas in it cannot be written as an option. */
	if (!*c->opts.mountpoint && !exports_parse(t, line, strlen(line), "again", &e)) {
		const struct export_opts *o = &t->exports[0].clients[0].opts;

		FUZZ_CHECK(o->rw == c->opts.rw && o->secure == c->opts.secure &&
			   o->sync == c->opts.sync);
		FUZZ_CHECK(o->root_squash == c->opts.root_squash &&
			   o->all_squash == c->opts.all_squash);
		FUZZ_CHECK(o->sec_other == c->opts.sec_other && o->fsid == c->opts.fsid);
	} else {
		FUZZ_CHECK(*c->opts.mountpoint);
	}
	export_table_put(t);
	conf_errors_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct export_table *t = calloc(1, sizeof(*t));
	struct conf_errors e = {0};
	int err;

	if (!t)
		return 0;
	t->refs = 1;
	err = exports_parse(t, (const char *)data, size, "seed", &e);
	FUZZ_CHECK(!err == !conf_nerrors(&e));
	for (unsigned i = 0; i < t->n; i++) {
		const struct export *x = &t->exports[i];

		FUZZ_CHECK(x->path[0] == '/');
		for (unsigned j = 0; j < x->nclients; j++) {
			check_client(&x->clients[j]);
			FUZZ_CHECK(!j || x->clients[j - 1].match <= x->clients[j].match);
		}
		if (x->nclients)
			check_round_trip(&x->clients[0]);
	}
	export_table_put(t);
	conf_errors_free(&e);
	return 0;
}
