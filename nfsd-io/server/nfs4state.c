/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/nfs4state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/server/grid.h"

static void put(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

/* Owners are any bytes: what is not printable becomes \xNN, as nfsd shows it. */
static json_t *owner_json(const uint8_t *owner, uint32_t len)
{
	char *text = malloc(4 * (size_t)len + 1), *p = text;
	json_t *j;
	uint32_t i;

	if (!text)
		return json_string("?");
	for (i = 0; i < len; i++) {
		if (owner[i] >= 0x20 && owner[i] < 0x7f && owner[i] != '\\' && owner[i] != '"')
			*p++ = (char)owner[i];
		else
			p += sprintf(p, "\\x%02x", owner[i]);
	}
	*p = '\0';
	j = json_string(text);
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
			    json_string(!c->confirmed ? "unconfirmed" : c->courtesy ? "courtesy" : "confirmed"));
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

	grid_row(&g, "CLIENT", "VERS", "ADDRESS", "STATUS", "SILENT", "SESSIONS", "OPENS", "LOCKS", "NAME", NULL);
	json_array_foreach(clients, i, c)
	{
		char number[24], vers[8];

		snprintf(number, sizeof(number), "%u", (unsigned)num(c, "number"));
		snprintf(vers, sizeof(vers), "4.%u", (unsigned)num(c, "minor_version"));
		grid_row(&g, number, vers, str(c, "address"), str(c, "status"),
			 grid_span(num(c, "seconds_from_last_renew")), grid_count(num(c, "sessions")),
			 grid_count(num(c, "opens")), grid_count(num(c, "locks")), str(c, "name"), NULL);
	}
	grid_print(&g, out, 0);
}

void nfs4state_print_grace(FILE *out, const json_t *g)
{
	if (json_is_true(json_object_get(g, "grace")))
		fprintf(out, "grace: %s of %s clients have reclaimed, %s left\n", grid_count(num(g, "reclaimed")),
			grid_count(num(g, "clients")), grid_span(num(g, "seconds_left")));
	else
		fprintf(out, "no grace%s\n",
			json_is_true(json_object_get(g, "records")) ? "" : "; clients are not recorded");
}
