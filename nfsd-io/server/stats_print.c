/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "nfsd-io/server/grid.h"
#include "nfsd-io/server/stats.h"

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static uint64_t num(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static void mode_text(const json_t *op, char *out, size_t len)
{
	const char *asked = str(op, "asked"), *effective = str(op, "effective");

	if (strcmp(asked, effective))
		snprintf(out, len, "%s -> %s", asked, effective);
	else
		snprintf(out, len, "%s", asked);
}

/* Why requests went the way they did; rows of zeros say nothing and are left out. */
static void disposition_rows(struct grid *g, const json_t *rd, const json_t *wr)
{
	const json_t *dr = json_object_get(rd, "dispositions"),
		     *dw = json_object_get(wr, "dispositions");

	for (unsigned i = 0; i < DIO_DISPOSITION_COUNT; i++) {
		const char *name = dio_disposition_name((enum dio_disposition)i);
		uint64_t r = num(dr, name), w = num(dw, name);
		char label[40];

		if (!r && !w)
			continue;
		snprintf(label, sizeof(label), "  %s", name);
		grid_row(g, label, r ? grid_count(r) : "-", grid_share(r, num(rd, "ops")),
			 w ? grid_count(w) : "-", grid_share(w, num(wr, "ops")), NULL);
	}
}

static void kind_rows(struct grid *g, const json_t *rd, const json_t *wr)
{
	const json_t *br = json_object_get(rd, "bytes"), *bw = json_object_get(wr, "bytes");

	for (unsigned i = 0; i < DIO_KIND_COUNT; i++) {
		const char *name = dio_kind_name((enum dio_kind)i);
		uint64_t r = num(br, name), w = num(bw, name);
		char label[40];

		if (!r && !w)
			continue;
		snprintf(label, sizeof(label), "  %s", name);
		grid_row(g, label, r ? grid_bytes(r) : "-", grid_share(r, num(rd, "moved")),
			 w ? grid_bytes(w) : "-", grid_share(w, num(wr, "moved")), NULL);
	}
}

static void split_line(FILE *out, const json_t *split)
{
	struct grid g = {.right = 1 << 1};
	uint64_t total = num(split, "payload");

	if (!num(split, "ops"))
		return;
	fprintf(out, "  split WRITEs  %s\n", grid_count(num(split, "ops")));
	grid_row(&g, "head", grid_count(num(split, "head")), "bytes",
		 grid_share(num(split, "head"), total), NULL);
	grid_row(&g, "middle", grid_count(num(split, "middle")), "bytes",
		 grid_share(num(split, "middle"), total), NULL);
	grid_row(&g, "tail", grid_count(num(split, "tail")), "bytes",
		 grid_share(num(split, "tail"), total), NULL);
	grid_row(&g, "together", grid_count(total), "bytes", NULL);
	grid_print(&g, out, 4);
}

static void print_export(FILE *out, const json_t *x)
{
	const json_t *rd = json_object_get(x, "read"), *wr = json_object_get(x, "write");
	const json_t *fb = json_object_get(x, "fallbacks");
	struct grid g = {.right = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4};
	char mr[32], mw[32];

	mode_text(rd, mr, sizeof(mr));
	mode_text(wr, mw, sizeof(mw));
	fprintf(out, "\n%s  (rule %s)\n", str(x, "path"), str(x, "rule"));
	grid_row(&g, "", "READ", "", "WRITE", NULL);
	grid_row(&g, "mode", mr, "", mw, NULL);
	grid_row(&g, "operations", grid_count(num(rd, "ops")), "", grid_count(num(wr, "ops")),
		 NULL);
	disposition_rows(&g, rd, wr);
	grid_row(&g, "client data", grid_bytes(num(rd, "payload")), "",
		 grid_bytes(num(wr, "payload")), NULL);
	grid_row(&g, "moved", grid_bytes(num(rd, "moved")), "", grid_bytes(num(wr, "moved")), NULL);
	kind_rows(&g, rd, wr);
	if (num(rd, "expand"))
		grid_row(&g, "read beyond", grid_bytes(num(rd, "expand")),
			 grid_share(num(rd, "expand"), num(rd, "moved")), NULL);
	grid_row(&g, "errors", grid_count(num(rd, "errors")), "", grid_count(num(wr, "errors")),
		 NULL);
	grid_print(&g, out, 2);
	split_line(out, json_object_get(wr, "split"));
	fprintf(out,
		"  syncs %s, short I/O continued %s, refused: direct %s, dontcache %s; direct "
		"READs failed %s\n",
		grid_count(num(x, "syncs")), grid_count(num(x, "continued")),
		grid_count(num(fb, "direct")), grid_count(num(fb, "dontcache")),
		grid_count(num(fb, "direct-eio")));
	if (*str(rd, "why"))
		fprintf(out, "  READ:  %s\n", str(rd, "why"));
	if (*str(wr, "why"))
		fprintf(out, "  WRITE: %s\n", str(wr, "why"));
}

static void print_procedures(FILE *out, const char *title, const json_t *procedures)
{
	struct grid g = {.right = 1 << 1 | 1 << 2};
	const json_t *p;
	size_t i;

	grid_row(&g, title, "CALLS", "ERRORS", NULL);
	json_array_foreach(procedures, i, p)
	{
		if (num(p, "calls"))
			grid_row(&g, str(p, "name"), grid_count(num(p, "calls")),
				 num(p, "errors") ? grid_count(num(p, "errors")) : "-", NULL);
	}
	fputc('\n', out);
	grid_print(&g, out, 0);
}

#define LINE 200

static void connection_lines(const json_t *a, char now[LINE], char trouble[LINE])
{
	const json_t *w, *c = json_object_get(a, "connections");
	uint64_t accepted = 0, inflight = 0, buffers = 0;
	size_t i;

	json_array_foreach(json_object_get(a, "workers"), i, w)
	{
		accepted += num(w, "accepted");
		inflight += num(w, "inflight");
		buffers += num(w, "buffers_in_use");
	}
	snprintf(now, LINE, "%s now of %s, %s in all; in flight %s, buffers %s",
		 grid_count(num(c, "open")), grid_count(num(c, "max")), grid_count(accepted),
		 grid_count(inflight), grid_count(buffers));
	snprintf(trouble, LINE,
		 "refused %s, closed for bad records %s, slow calls %s, replies not taken %s",
		 grid_count(num(c, "refused")), grid_count(num(c, "bad_record")),
		 grid_count(num(c, "slow_call")), grid_count(num(c, "slow_reply")));
}

static void print_rest(FILE *out, const json_t *a)
{
	const json_t *rpc = json_object_get(a, "rpc"), *f = json_object_get(a, "files"),
		     *d = json_object_get(a, "drc"), *p = json_object_get(a, "read_data");
	struct grid g = {0};
	char line[8][LINE];

	snprintf(line[0], sizeof(line[0]), "%s in, %s out; MOUNT calls %s",
		 grid_bytes(num(rpc, "bytes_in")), grid_bytes(num(rpc, "bytes_out")),
		 grid_count(num(rpc, "mount_calls")));
	snprintf(line[1], sizeof(line[1]),
		 "rejected %s, garbage %s, handles bad %s, stale %s, told to wait %s",
		 grid_count(num(rpc, "rejected")), grid_count(num(rpc, "garbage")),
		 grid_count(num(rpc, "bad_handles")), grid_count(num(rpc, "stale_handles")),
		 grid_count(num(rpc, "jukebox")));
	snprintf(line[2], sizeof(line[2]),
		 "%s received in place, %s copied, %s spliced (%s taken out again)",
		 grid_bytes(num(rpc, "payload_in_place")), grid_bytes(num(rpc, "payload_copied")),
		 grid_bytes(num(rpc, "payload_spliced")), grid_count(num(rpc, "payload_unpiped")));
	snprintf(line[3], sizeof(line[3]),
		 "%s open, hits %s, misses %s, evicted %s, failed syncs %s",
		 grid_count(num(f, "open")), grid_count(num(f, "hits")),
		 grid_count(num(f, "misses")), grid_count(num(f, "evictions")),
		 grid_count(num(f, "sync_failures")));
	snprintf(line[4], sizeof(line[4]), "%s kept (%s), replayed %s, in progress %s, evicted %s",
		 grid_count(num(d, "entries")), grid_bytes(num(d, "bytes")),
		 grid_count(num(d, "hits")), grid_count(num(d, "in_progress")),
		 grid_count(num(d, "evicted")));
	connection_lines(a, line[5], line[6]);
	snprintf(line[7], LINE, "%s sent, %s spliced (%s done again, %s for want of a pipe not), "
		 "%s without a copy",
		 grid_bytes(num(json_object_get(p, "sendmsg"), "bytes")),
		 grid_bytes(num(json_object_get(p, "splice"), "bytes")),
		 grid_count(num(p, "given_up")), grid_count(num(p, "no_pipe")),
		 grid_bytes(num(json_object_get(p, "zerocopy"), "bytes")));
	grid_row(&g, "rpc", line[0], NULL);
	grid_row(&g, "", line[1], NULL);
	grid_row(&g, "READ data", line[7], NULL);
	grid_row(&g, "WRITE data", line[2], NULL);
	grid_row(&g, "files", line[3], NULL);
	grid_row(&g, "replies", line[4], NULL);
	grid_row(&g, "connections", line[5], NULL);
	grid_row(&g, "", line[6], NULL);
	fputc('\n', out);
	grid_print(&g, out, 0);
}

static void print_state(FILE *out, const json_t *st)
{
	struct grid g = {0};
	char line[2][200];

	if (!st)
		return;
	snprintf(line[0], sizeof(line[0]),
		 "%s (%s by courtesy, %s unconfirmed), sessions %s, opens %s, locks %s%s",
		 grid_count(num(st, "clients")), grid_count(num(st, "courtesy")),
		 grid_count(num(st, "unconfirmed")), grid_count(num(st, "sessions")),
		 grid_count(num(st, "opens")), grid_count(num(st, "locks")),
		 json_is_true(json_object_get(st, "grace")) ? "; grace" : "");
	snprintf(line[1], sizeof(line[1]), "expired %s, evicted %s, replayed %s, reclaimed %s",
		 grid_count(num(st, "expired")), grid_count(num(st, "evicted")),
		 grid_count(num(st, "replays")), grid_count(num(st, "reclaims")));
	grid_row(&g, "NFSv4 clients", line[0], NULL);
	grid_row(&g, "", line[1], NULL);
	fputc('\n', out);
	grid_print(&g, out, 0);
}

void stats_print(FILE *out, const json_t *a)
{
	const json_t *v = json_object_get(a, "verifier"), *x;
	size_t i;

	fprintf(out, "nfsd-io %s, up %s, write verifier %s changed %s times\n", str(a, "version"),
		grid_span(num(a, "uptime")), str(v, "value"), grid_count(num(v, "bumps")));
	json_array_foreach(json_object_get(a, "exports"), i, x) print_export(out, x);
	print_procedures(out, "NFSv3", json_object_get(a, "procedures"));
	if (num(json_object_get(a, "rpc"), "compounds"))
		print_procedures(out, "NFSv4", json_object_get(a, "operations"));
	print_state(out, json_object_get(a, "state"));
	print_rest(out, a);
}
