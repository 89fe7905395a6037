/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nfsd-io/core/compat.h"
#include "nfsd-io/core/probe.h"
#include "nfsd-io/core/root.h"
#include "nfsd-io/server/explain.h"

enum { OPT_FILE = 256, OPT_ALIGN, OPT_MODE, OPT_RULE, OPT_NO_DONTCACHE, OPT_JSON };

static const struct argp_option options[] = {
	{"file", OPT_FILE, "FILE", 0, "Take alignment and size from this file", 0},
	{"align", OPT_ALIGN, "MEM,OFF,READ", 0,
	 "Alignment of memory, file offset and READs in bytes (default 512,512,512; 0 = no direct "
	 "I/O)",
	 0},
	{"mode", OPT_MODE, "MODE", 0, "buffered, dontcache or direct (default), or 0, 1, 2", 0},
	{"rule", OPT_RULE, "RULE", 0,
	 "seed, page, mainline or dontcache-ends (default: each of them)", 0},
	{"no-dontcache", OPT_NO_DONTCACHE, 0, 0, "As on a file system without RWF_DONTCACHE", 0},
	{"json", OPT_JSON, 0, 0, "One JSON object a line", 0},
	{0},
};

struct args {
	struct dio_facts facts;
	const char *file;
	bool align, rule, json, no_dontcache;
	unsigned nwords;
};

/* A decimal number with an optional K, M or G (1024); false: not one, or above max. */
static bool parse_size(const char *s, uint64_t max, uint64_t *out)
{
	static const char suffixes[] = "KMG";
	unsigned long long v;
	const char *at;
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno)
		return false;
	at = *end ? strchr(suffixes, *end) : NULL;
	if (at) {
		unsigned shift = 10 * (unsigned)(at - suffixes + 1);

		if (v > UINT64_MAX >> shift)
			return false;
		v <<= shift;
		end++;
	}
	*out = v;
	return !*end && v <= max;
}

static bool parse_align(const char *arg, struct dio_facts *f)
{
	uint32_t *const to[] = {&f->mem_align, &f->offset_align, &f->read_align};
	char copy[64], *rest = copy, *word;
	unsigned n = 0;
	uint64_t v;

	if (strlen(arg) >= sizeof(copy))
		return false;
	strcpy(copy, arg);
	while ((word = strsep(&rest, ","))) {
		if (n == 3 || !parse_size(word, UINT32_MAX, &v))
			return false;
		*to[n++] = (uint32_t)v;
	}
	return n == 3;
}

/* What a file system can say: three powers of two, or none of them. */
static bool possible_align(const struct dio_facts *f)
{
	const uint32_t a[] = {f->mem_align, f->offset_align, f->read_align};
	unsigned powers = 0, none = 0;

	for (unsigned i = 0; i < 3; i++) {
		powers += a[i] && !(a[i] & (a[i] - 1));
		none += !a[i];
	}
	return powers == 3 || none == 3;
}

/* RFC 1813 s.3.3.7: FBIG comes before any plan. */
static bool beyond_files(const struct dio_facts *f)
{
	return f->op == DIO_WRITE && f->offset > INT64_MAX - (uint64_t)f->len;
}

static void parse_word(struct args *a, const char *arg, struct argp_state *state)
{
	struct dio_facts *f = &a->facts;
	uint64_t v;

	switch (a->nwords++) {
	case 0:
		if (strcmp(arg, "read") && strcmp(arg, "write"))
			argp_error(state, "read or write was expected first");
		f->op = strcmp(arg, "read") ? DIO_WRITE : DIO_READ;
		break;
	case 1:
		if (!parse_size(arg, INT64_MAX, &f->offset))
			argp_error(state, "%s: not an offset below 2^63", arg);
		break;
	case 2:
		if (!parse_size(arg, UINT32_MAX, &v))
			argp_error(state, "%s: not a length below 4G", arg);
		f->len = (uint32_t)v;
		break;
	default:
		argp_error(state, "%s: too many words", arg);
	}
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_FILE:
		a->file = arg;
		break;
	case OPT_ALIGN:
		a->align = true;
		if (!parse_align(arg, &a->facts))
			argp_error(state, "--align=%s: three sizes MEM,OFF,READ were expected",
				   arg);
		if (!possible_align(&a->facts))
			argp_error(state, "--align=%s: three powers of two, or 0,0,0", arg);
		break;
	case OPT_MODE:
		if (!dio_mode_parse(arg, &a->facts.mode))
			argp_error(state, "--mode=%s: buffered, dontcache or direct was expected",
				   arg);
		break;
	case OPT_RULE:
		a->rule = true;
		if (!dio_rule_parse(arg, &a->facts.rule))
			argp_error(state,
				   "--rule=%s: seed, page, mainline or dontcache-ends was expected",
				   arg);
		break;
	case OPT_NO_DONTCACHE:
		a->no_dontcache = true;
		break;
	case OPT_JSON:
		a->json = true;
		break;
	case ARGP_KEY_ARG:
		parse_word(a, arg, state);
		break;
	case ARGP_KEY_END:
		if (a->nwords < 3)
			argp_error(state, "read or write, an offset and a length were expected");
		if (beyond_files(&a->facts))
			argp_error(state, "that ends beyond the largest file, of 2^63-1 bytes: "
					  "such a WRITE is answered FBIG");
		if (a->file && a->align)
			argp_error(state, "--file and --align exclude each other");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Size, alignment and DONTCACHE of a real file; the last is told by reading one byte. */
static int facts_from_file(const char *path, struct dio_facts *f)
{
	struct probe_align align;
	struct stat st;
	char byte;
	struct iovec iov = {&byte, 1};
	int rc, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? probe_file_align(fd, &align) : -EINVAL;
	if (rc)
		goto fail;
	f->size = (uint64_t)st.st_size;
	f->mem_align = align.mem;
	f->offset_align = align.offset;
	f->read_align = align.read;
	f->dontcache_ok = preadv2(fd, &iov, 1, 0, RWF_DONTCACHE) >= 0;
fail:
	close(fd);
	return rc;
}

int explain_main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_opt,
		.args_doc = "read|write OFFSET LENGTH",
		.doc = "Say how a READ or WRITE would be carried out, and why.  Sizes take K, M "
		       "and G.",
	};
	static char name[] = "nfsd-io explain";
	const struct root_io io = ROOT_IO_DEFAULT;
	struct args a = {.facts = {.mode = DIO_MODE_DIRECT,
				   .rule = io.rule,
				   .mem_align = 512,
				   .offset_align = 512,
				   .read_align = 512,
				   .page_size = (uint32_t)sysconf(_SC_PAGESIZE),
				   .dontcache_ok = true,
				   .read_direct_min = io.read_direct_min,
				   .min_middle = io.min_middle}};
	int rc;

	argv[0] = name; /* what usage texts begin with */
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	rc = a.file ? facts_from_file(a.file, &a.facts) : 0;
	if (rc) {
		fprintf(stderr, "nfsd-io explain: %s: %s\n", a.file,
			rc == -EINVAL ? "not a regular file" : strerror(-rc));
		return 1;
	}
	if (a.no_dontcache)
		a.facts.dontcache_ok = false;
	a.facts.mem_phase = (uint32_t)(a.facts.offset % a.facts.page_size); /* in-phase receive */
	rc = a.rule ? explain_plan(stdout, &a.facts, a.json)
		    : explain_all_rules(stdout, &a.facts, a.json);
	return rc ? 1 : 0;
}
