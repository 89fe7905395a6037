/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>
#include <time.h>

#include "nfsd-io/server/grid.h"
#include "nfsd-io/server/health.h"

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static uint64_t num(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

/* "direct", or "direct -> buffered" when the file system cannot. */
static void mode_text(const json_t *m, char *out, size_t len)
{
	const char *asked = str(m, "asked"), *effective = str(m, "effective");

	if (strcmp(asked, effective))
		snprintf(out, len, "%s -> %s", asked, effective);
	else
		snprintf(out, len, "%s", asked);
}

/* Bytes that direct I/O must be aligned to: memory / offset. */
static void align_text(const json_t *x, char *out, size_t len)
{
	const json_t *a = json_object_get(x, "alignment");
	unsigned long long mem = num(a, "memory"), off = num(a, "offset"), rd = num(a, "read");

	if (!off)
		snprintf(out, len, "none");
	else if (rd != off)
		snprintf(out, len, "%llu/%llu r%llu", mem, off, rd);
	else
		snprintf(out, len, "%llu/%llu", mem, off);
}

static void export_row(struct grid *g, const json_t *x)
{
	char rd[32], wr[32], align[48];

	if (strcmp(str(x, "state"), "up")) {
		grid_row(g, str(x, "path"), "DOWN", str(x, "why"), NULL);
		return;
	}
	mode_text(json_object_get(x, "read"), rd, sizeof(rd));
	mode_text(json_object_get(x, "write"), wr, sizeof(wr));
	align_text(x, align, sizeof(align));
	grid_row(g, str(x, "path"), "up", str(x, "fstype"), align, rd, wr, str(x, "rule"),
		 str(x, "handles"), NULL);
}

static void print_whys(FILE *out, const json_t *x, unsigned indent)
{
	static const char *const ops[] = {"read", "write"};

	for (unsigned i = 0; i < 2; i++) {
		const char *why = str(json_object_get(x, ops[i]), "why");

		if (*why)
			fprintf(out, "%*s%s %s: %s\n", (int)indent, "", str(x, "path"), ops[i],
				why);
	}
}

static void print_table(FILE *out, const json_t *exports)
{
	struct grid g = {0};
	const json_t *x;
	size_t i;

	grid_row(&g, "EXPORT", "STATE", "FS", "ALIGN", "READ", "WRITE", "RULE", "HANDLES", NULL);
	json_array_foreach(exports, i, x) export_row(&g, x);
	grid_print(&g, out, 2);
	json_array_foreach(exports, i, x) print_whys(out, x, 4);
}

void health_print_exports(FILE *out, const json_t *exports)
{
	const json_t *x, *c;
	size_t i, j;

	print_table(out, exports);
	json_array_foreach(exports, i, x)
	{
		struct grid g = {0};

		fprintf(out, "\n  %s\n", str(x, "path"));
		json_array_foreach(json_object_get(x, "clients"), j, c)
		{
			char where[300];

			if (num(c, "line"))
				snprintf(where, sizeof(where), "%s:%u", str(c, "file"),
					 (unsigned)num(c, "line"));
			else
				snprintf(where, sizeof(where), "%s", str(c, "file"));
			grid_row(&g, str(c, "client"), str(c, "options"), where, NULL);
		}
		grid_print(&g, out, 4);
	}
}

static void print_workers(FILE *out, const json_t *workers)
{
	const json_t *w;
	uint64_t connections = 0, inflight = 0;
	const char *engine = "", *why = "";
	bool mixed = false;
	size_t i;

	json_array_foreach(workers, i, w)
	{
		mixed |= i && strcmp(engine, str(w, "engine"));
		engine = str(w, "engine");
		why = str(w, "engine_why");
		connections += num(w, "connections");
		inflight += num(w, "inflight");
	}
	fprintf(out, "  workers      %zu, %s%s%s\n", json_array_size(workers),
		mixed ? "several engines" : engine, !mixed && *why ? ": " : "", mixed ? "" : why);
	fprintf(out, "  connections  %s, %s operations in flight\n", grid_count(connections),
		grid_count(inflight));
}

static const char *number_text(const json_t *w, const char *key, char *out, size_t len)
{
	json_int_t n = json_integer_value(json_object_get(w, key));

	if (n < 0)
		return "any";
	snprintf(out, len, "%" JSON_INTEGER_FORMAT, n);
	return out;
}

/* A row a worker: where it is, and whose connections it has. */
static void print_placement(FILE *out, const json_t *a)
{
	struct grid g = {.right = 31};
	const json_t *numa = json_object_get(a, "numa"), *w;
	size_t i;

	fprintf(out, "  numa         %s%s%s\n", str(numa, "asked"),
		*str(numa, "nodes") ? ": workers on node " : "", str(numa, "nodes"));
	grid_row(&g, "WORKER", "CPU", "NODE", "MEMORY", "CONNECTIONS", NULL);
	json_array_foreach(json_object_get(a, "workers"), i, w)
	{
		char number[24], cpu[24], node[24], memory[24];

		snprintf(number, sizeof(number), "w%u", (unsigned)num(w, "number"));
		grid_row(&g, number, number_text(w, "cpu", cpu, sizeof(cpu)),
			 number_text(w, "node", node, sizeof(node)),
			 number_text(w, "memory", memory, sizeof(memory)),
			 grid_count(num(w, "connections")), NULL);
	}
	fputc('\n', out);
	grid_print(&g, out, 2);
}

static void print_listeners(FILE *out, const json_t *listeners)
{
	const json_t *l;
	size_t i;

	fprintf(out, "  listening    ");
	json_array_foreach(listeners, i, l)
		fprintf(out, "%s%s", i ? ", " : "", json_string_value(l));
	fputc('\n', out);
}

void health_print(FILE *out, const json_t *a)
{
	time_t since = (time_t)num(a, "since");
	const json_t *warnings = json_object_get(a, "warnings"), *w;
	struct tm tm;
	char when[32];
	size_t i;

	localtime_r(&since, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(out, "nfsd-io %s: %s, pid %u, since %s (%s)\n", str(a, "version"),
		strcmp(str(a, "state"), "ok") ? "DEGRADED" : "serving", (unsigned)num(a, "pid"),
		when, grid_span(num(a, "uptime")));
	print_listeners(out, json_object_get(a, "listeners"));
	print_workers(out, json_object_get(a, "workers"));
	print_placement(out, a);
	fputc('\n', out);
	print_table(out, json_object_get(a, "exports"));
	if (json_array_size(warnings))
		fputc('\n', out);
	json_array_foreach(warnings, i, w) fprintf(out, "  warning: %s\n", json_string_value(w));
}
