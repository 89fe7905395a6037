/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/nfs4state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/state4_show.h"
#include "nfsd-io/server/grid.h"

static void put(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

static json_t *owner_json(const uint8_t *owner, uint32_t len)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	json_t *j;

	if (!f)
		return json_string("?");
	state4_show_quoted(f, owner, len);
	j = json_string(fclose(f) ? "?" : text);
	free(text);
	return j;
}

static void add_client(void *arg, const struct state4_client_info *c)
{
	json_t *o = json_object();
	char id[24];

	snprintf(id, sizeof(id), "0x%016llx", (unsigned long long)c->id);
	put(o, "number", c->number);
	json_object_set_new(o, "clientid", json_string(id));
	put(o, "minor_version", c->minor);
	json_object_set_new(o, "address", json_string(c->addr));
	json_object_set_new(o, "name", owner_json(c->owner, c->owner_len));
	json_object_set_new(o, "status",
			    json_string(!c->confirmed ? "unconfirmed"
					: c->courtesy ? "courtesy"
						      : "confirmed"));
	json_object_set_new(o, "recorded", json_boolean(c->recorded));
	put(o, "seconds_from_last_renew", c->idle_s);
	put(o, "sessions", c->sessions);
	put(o, "opens", c->opens);
	put(o, "locks", c->locks);
	json_array_append_new(arg, o);
}

void nfs4state_clients(struct state4 *state, json_t *lines)
{
	state4_client_each(state, add_client, lines);
}

/* Numbers of confirmed clients, so that each can be shown without the lock of all. */
static void add_number(void *arg, const struct state4_client_info *c)
{
	if (c->confirmed)
		json_array_append_new(arg, json_integer(c->number));
}

static void add_states(struct state4 *state, uint32_t number, json_t *lines)
{
	char *info = NULL, *states = NULL;
	size_t ninfo, nstates;
	FILE *f = open_memstream(&info, &ninfo), *g = open_memstream(&states, &nstates);
	int err = f && g ? state4_show(state, number, f, g) : -ENOMEM;

	if (f && fclose(f))
		err = -ENOMEM;
	if (g && fclose(g))
		err = -ENOMEM;
	if (!err)
		json_array_append_new(lines,
				      json_pack("{s:I, s:s, s:s}", "number", (json_int_t)number,
						"info", info, "states", states));
	free(info);
	free(states);
}

int nfs4state_states(struct state4 *state, const char *number, json_t *lines)
{
	json_t *all = json_array(), *one;
	size_t i, before = json_array_size(lines);

	state4_client_each(state, add_number, all);
	json_array_foreach(all, i, one)
	{
		char text[24];

		snprintf(text, sizeof(text), "%u", (unsigned)json_integer_value(one));
		if (!number || !strcmp(number, text))
			add_states(state, (uint32_t)json_integer_value(one), lines);
	}
	json_decref(all);
	return number && json_array_size(lines) == before ? -ENOENT : 0;
}

json_t *nfs4state_grace(struct state4 *state)
{
	struct state4_grace_info g;
	json_t *o = json_object();

	state4_grace_info(state, &g);
	json_object_set_new(o, "grace", json_boolean(g.on));
	json_object_set_new(o, "records", json_boolean(g.records));
	put(o, "seconds_left", g.left_s);
	put(o, "clients", g.known);
	put(o, "reclaimed", g.done);
	return o;
}

int nfs4state_expire(struct state4 *state, const char *number)
{
	char *end;
	unsigned long n = strtoul(number, &end, 10);

	if (!*number || *end || n > UINT32_MAX)
		return -ENOENT;
	return state4_client_expire(state, (uint32_t)n);
}

/* --- for people -------------------------------------------------------------------- */

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static uint64_t num(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

void nfs4state_print_clients(FILE *out, const json_t *clients)
{
	struct grid g = {.right = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 7};
	const json_t *c;
	size_t i;

	grid_row(&g, "CLIENT", "VERS", "ADDRESS", "STATUS", "SILENT", "SESSIONS", "OPENS", "LOCKS",
		 "NAME", NULL);
	json_array_foreach(clients, i, c)
	{
		char number[24], vers[8];

		snprintf(number, sizeof(number), "%u", (unsigned)num(c, "number"));
		snprintf(vers, sizeof(vers), "4.%u", (unsigned)num(c, "minor_version"));
		grid_row(&g, number, vers, str(c, "address"), str(c, "status"),
			 grid_span(num(c, "seconds_from_last_renew")),
			 grid_count(num(c, "sessions")), grid_count(num(c, "opens")),
			 grid_count(num(c, "locks")), str(c, "name"), NULL);
	}
	grid_print(&g, out, 0);
}

void nfs4state_print_states(FILE *out, const json_t *clients)
{
	const json_t *c;
	size_t i;

	json_array_foreach(clients, i, c)
		fprintf(out, "%s# client %u\n%s%s", i ? "\n" : "", (unsigned)num(c, "number"),
			str(c, "info"), str(c, "states"));
}

void nfs4state_print_grace(FILE *out, const json_t *g)
{
	if (json_is_true(json_object_get(g, "grace")))
		fprintf(out, "grace: %s of %s clients have reclaimed, %s left\n",
			grid_count(num(g, "reclaimed")), grid_count(num(g, "clients")),
			grid_span(num(g, "seconds_left")));
	else
		fprintf(out, "no grace%s\n",
			json_is_true(json_object_get(g, "records")) ? ""
								    : "; clients are not recorded");
}
