/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "nfsd-io/server/cli.h"
#include "nfsd-io/server/ctlclient.h"
#include "nfsd-io/server/grid.h"

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void print_script(const json_t *x)
{
	const json_t *c;
	size_t i;

	json_array_foreach(json_object_get(x, "clients"), i, c)
		printf("%s\t%s(%s)\n", str(x, "word"), str(c, "client"), str(c, "options"));
}

static void add_rows(struct grid *g, const json_t *x, bool verbose)
{
	const json_t *c;
	size_t i;

	json_array_foreach(json_object_get(x, "clients"), i, c)
		grid_row(g, i ? "" : str(x, "path"), str(c, "client"),
			 verbose ? str(c, "options") : NULL, NULL);
	if (strcmp(str(x, "state"), "up"))
		grid_row(g, "", "DOWN:", str(x, "why"), NULL);
}

int cli_exports(const struct cli *c)
{
	struct grid g = {0};
	json_t *answer, *x;
	int code = ctlclient_ask(c->name, c->socket, "exports", &answer);
	size_t i;

	if (!code && c->json)
		json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	json_array_foreach(answer, i, x)
	{
		if (c->script)
			print_script(x);
		else if (!c->json)
			add_rows(&g, x, c->verbose);
	}
	grid_print(&g, stdout, 0);
	json_decref(answer);
	return code;
}
