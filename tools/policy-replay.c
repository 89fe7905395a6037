/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs recorded READs and WRITEs through policy/dio and says what each rule
 * would have done with them.  Uses libpolicy only: no file is touched.
 */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/dio.h"

#define NFIELDS 7
#define MAX_ERRORS 20 /* a file that is not ours at all is told once, not a million times */

enum { OPT_ALL_RULES = 256, OPT_READ_DIRECT_MIN, OPT_MIN_MIDDLE, OPT_NO_DONTCACHE, OPT_PHASE };

static const struct argp_option options[] = {
	{"rule", 'r', "RULE", 0, "seed, page (default), mainline or dontcache-ends", 0},
	{"mode", 'm', "MODE", 0, "buffered, dontcache or direct (default), or 0, 1, 2", 0},
	{"all-rules", OPT_ALL_RULES, 0, 0, "Only totals, one column a rule", 0},
	{"quiet", 'q', 0, 0, "Only totals", 0},
	{"read-direct-min", OPT_READ_DIRECT_MIN, "BYTES", 0,
	 "Misaligned READs below go buffered (32768)", 0},
	{"min-middle", OPT_MIN_MIDDLE, "BYTES", 0, "Smaller middles are not worth a split (0)", 0},
	{"no-dontcache", OPT_NO_DONTCACHE, 0, 0, "As on a file system without RWF_DONTCACHE", 0},
	{"phase", OPT_PHASE, "BYTES", 0,
	 "Where in a page WRITE payloads start (default: in phase with the file)", 0},
	{0},
};

/* What one rule made of everything, a row of the totals each. */
enum {
	ROW_OPS,
	ROW_BYTES = ROW_OPS + DIO_DISPOSITION_COUNT,
	ROW_SEGS = ROW_BYTES + DIO_KIND_COUNT,
	ROW_DROPPED = ROW_SEGS + DIO_KIND_COUNT, /* READ bytes beyond what was asked */
	NROWS
};

struct replay {
	struct dio_facts base; /* what is the same for every line */
	bool all_rules, quiet, phase_set;
	const char *path; /* NULL or "-": standard input */
	unsigned errors;
	uint64_t totals[DIO_RULE_COUNT][NROWS];
};

static bool parse_number(const char *s, uint64_t max, uint64_t *out)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, &end, 10);
	return !errno && !*end && *out <= max;
}

/* Cut a line into trimmed fields; returns how many there are, at most NFIELDS + 1. */
static unsigned split_fields(char *line, char **field)
{
	unsigned n = 0;
	char *word;

	while (n <= NFIELDS && (word = strsep(&line, ","))) {
		word += strspn(word, " \t");
		word[strcspn(word, " \t\r\n")] = '\0';
		field[n++] = word;
	}
	return n;
}

static void complain(struct replay *r, unsigned lineno, const char *what, const char *value)
{
	r->errors++;
	fprintf(stderr, "%s:%u: %s%s%s\n", r->path, lineno, value, *value ? ": " : "", what);
}

/* One line into facts; false after a complaint. */
static bool parse_facts(struct replay *r, unsigned lineno, char **field, unsigned n,
			struct dio_facts *f)
{
	static const char *const names[NFIELDS] = {"",          "offset",       "length",    "size",
						   "mem_align", "offset_align", "read_align"};
	static const uint64_t max[NFIELDS] = {0,          UINT64_MAX, UINT32_MAX, UINT64_MAX,
					      UINT32_MAX, UINT32_MAX, UINT32_MAX};
	uint64_t v[NFIELDS];

	if (n != NFIELDS) {
		complain(r, lineno,
			 "op,offset,length,size,mem_align,offset_align,read_align was expected",
			 "");
		return false;
	}
	if (strcasecmp(field[0], "read") && strcasecmp(field[0], "write")) {
		complain(r, lineno, "read or write was expected", field[0]);
		return false;
	}
	for (unsigned i = 1; i < NFIELDS; i++) {
		char what[64];

		if (parse_number(field[i], max[i], &v[i]))
			continue;
		snprintf(what, sizeof(what), "not a number of bytes for %s", names[i]);
		complain(r, lineno, what, field[i]);
		return false;
	}
	*f = r->base;
	f->op = strcasecmp(field[0], "read") ? DIO_WRITE : DIO_READ;
	f->offset = v[1];
	f->len = (uint32_t)v[2];
	f->size = v[3];
	f->mem_align = (uint32_t)v[4];
	f->offset_align = (uint32_t)v[5];
	f->read_align = (uint32_t)v[6];
	if (!r->phase_set)
		f->mem_phase = (uint32_t)(f->offset % f->page_size);
	return true;
}

static void print_plan(const struct dio_facts *f, const struct dio_plan *p)
{
	printf("%s %" PRIu64 " %u: %s", f->op == DIO_READ ? "read" : "write", f->offset, f->len,
	       dio_disposition_name(p->why));
	for (unsigned i = 0; i < p->nsegs; i++)
		printf("%s[%" PRIu64 ",%" PRIu64 ") %s", i ? " | " : " ", p->seg[i].offset,
		       p->seg[i].offset + p->seg[i].len, dio_kind_name(p->seg[i].kind));
	putchar('\n');
}

static void count(uint64_t *t, const struct dio_facts *f, const struct dio_plan *p)
{
	t[ROW_OPS + p->why]++;
	for (unsigned i = 0; i < p->nsegs; i++) {
		t[ROW_BYTES + p->seg[i].kind] += p->seg[i].len;
		t[ROW_SEGS + p->seg[i].kind]++;
	}
	if (f->op == DIO_READ && p->nsegs)
		t[ROW_DROPPED] += p->seg[0].len - p->keep;
}

static void replay_facts(struct replay *r, const struct dio_facts *f)
{
	struct dio_facts each = *f;
	struct dio_plan p;

	if (!r->all_rules) {
		dio_plan(f, &p);
		count(r->totals[f->rule], f, &p);
		if (!r->quiet)
			print_plan(f, &p);
		return;
	}
	for (each.rule = 0; each.rule < DIO_RULE_COUNT; each.rule++) {
		dio_plan(&each, &p);
		count(r->totals[each.rule], &each, &p);
	}
}

static void replay_file(struct replay *r, FILE *in)
{
	char *line = NULL, *field[NFIELDS + 1];
	struct dio_facts f;
	unsigned lineno = 0, n;
	size_t size = 0;
	bool seen = false; /* the header is the first line that says anything */

	while (r->errors < MAX_ERRORS && getline(&line, &size, in) > 0) {
		lineno++;
		line[strcspn(line, "#")] = '\0';
		if (!line[strspn(line, " \t\r\n")])
			continue;
		n = split_fields(line, field);
		if (!seen && !strcasecmp(field[0], "op")) {
			seen = true;
			continue;
		}
		seen = true;
		if (parse_facts(r, lineno, field, n, &f))
			replay_facts(r, &f);
	}
	if (ferror(in)) {
		r->errors++;
		fprintf(stderr, "%s: %s\n", r->path, strerror(errno));
	}
	free(line);
}

static uint64_t total_ops(const uint64_t *t)
{
	uint64_t n = 0;

	for (unsigned d = 0; d < DIO_DISPOSITION_COUNT; d++)
		n += t[ROW_OPS + d];
	return n;
}

/* A row of one number for each rule shown; nothing when all are zero. */
static void print_row(const struct replay *r, const char *name, const char *unit, unsigned row)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < DIO_RULE_COUNT; i++)
		sum += r->totals[i][row];
	if (!sum)
		return;
	printf("%-14s %-8s", name, unit);
	for (unsigned i = 0; i < DIO_RULE_COUNT; i++) {
		if (r->all_rules || i == r->base.rule)
			printf(" %20" PRIu64, r->totals[i][row]);
	}
	putchar('\n');
}

static void print_totals(const struct replay *r)
{
	printf("%s%" PRIu64 " requests, mode %s\n%-23s", r->all_rules || r->quiet ? "" : "\n",
	       total_ops(r->totals[r->base.rule]), dio_mode_name(r->base.mode), "rule");
	for (unsigned i = 0; i < DIO_RULE_COUNT; i++) {
		if (r->all_rules || i == r->base.rule)
			printf(" %20s", dio_rule_name(i));
	}
	putchar('\n');
	for (unsigned d = 0; d < DIO_DISPOSITION_COUNT; d++)
		print_row(r, dio_disposition_name(d), "requests", ROW_OPS + d);
	for (unsigned k = 0; k < DIO_KIND_COUNT; k++) {
		print_row(r, dio_kind_name(k), "bytes", ROW_BYTES + k);
		print_row(r, dio_kind_name(k), "segments", ROW_SEGS + k);
	}
	print_row(r, "dropped", "bytes", ROW_DROPPED);
}

static uint32_t bytes_arg(const char *arg, struct argp_state *state)
{
	uint64_t v = 0;

	if (!parse_number(arg, UINT32_MAX, &v))
		argp_error(state, "%s: not a number of bytes", arg);
	return (uint32_t)v;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct replay *r = state->input;

	switch (key) {
	case 'r':
		if (!dio_rule_parse(arg, &r->base.rule))
			argp_error(state, "%s: seed, page, mainline or dontcache-ends was expected",
				   arg);
		break;
	case 'm':
		if (!dio_mode_parse(arg, &r->base.mode))
			argp_error(state, "%s: buffered, dontcache or direct was expected", arg);
		break;
	case 'q':
		r->quiet = true;
		break;
	case OPT_ALL_RULES:
		r->all_rules = true;
		break;
	case OPT_READ_DIRECT_MIN:
		r->base.read_direct_min = bytes_arg(arg, state);
		break;
	case OPT_MIN_MIDDLE:
		r->base.min_middle = bytes_arg(arg, state);
		break;
	case OPT_NO_DONTCACHE:
		r->base.dontcache_ok = false;
		break;
	case OPT_PHASE:
		r->base.mem_phase = bytes_arg(arg, state) % r->base.page_size;
		r->phase_set = true;
		break;
	case ARGP_KEY_ARG:
		if (r->path)
			argp_error(state, "%s: one file at a time", arg);
		r->path = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_opt,
		.args_doc = "[FILE]",
		.doc = "Run recorded READs and WRITEs (CSV: op,offset,length,size,mem_align,"
		       "offset_align,read_align) through a rule of the direct I/O policy.",
	};
	struct replay r = {.base = {.mode = DIO_MODE_DIRECT,
				    .rule = DIO_RULE_PAGE,
				    .page_size = 4096,
				    .dontcache_ok = true,
				    .read_direct_min = 32768}};
	FILE *in = stdin;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &r);
	if (r.path && strcmp(r.path, "-")) {
		in = fopen(r.path, "re");
		if (!in) {
			fprintf(stderr, "%s: %s\n", r.path, strerror(errno));
			return 1;
		}
	} else {
		r.path = "standard input";
	}
	replay_file(&r, in);
	if (in != stdin)
		fclose(in);
	print_totals(&r);
	return r.errors || fflush(stdout) || ferror(stdout) ? 1 : 0;
}
