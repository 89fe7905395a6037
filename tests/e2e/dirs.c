/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory too large for one reply, holding files f1..fN made elsewhere:
 * listed by READDIR and READDIRPLUS at several reply sizes, resumed after each
 * entry of a page, reply limits kept.  Usage: dirs HOST PORT PATH N
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

static struct v3c c;
static unsigned n;

static void dir_reset(struct v3c_dir *d)
{
	d->n = 0;
	d->eof = false;
	memset(d->verf, 0, 8);
}

/* Sizes of READDIR3resok and READDIRPLUS3resok (RFC 1813 3.3.16, 3.3.17), XDR overhead included. */
static size_t entry_bytes(const struct v3c_entry *e, bool plus)
{
	size_t len = 4 + 8 + 4 + (strlen(e->name) + 3) / 4 * 4 + 8;

	if (plus)
		len += 4 + (e->has_attr ? 84 : 0) + 4 + (e->has_fh ? 4 + c.root.len : 0);
	return len;
}

static size_t page_bytes(const struct v3c_dir *d, size_t from, bool plus)
{
	size_t len = 4 + 84 + 8 + 4 + 4; /* attributes, verifier, end of list, eof */

	for (size_t i = from; i < d->n; i++)
		len += entry_bytes(&d->entry[i], plus);
	return len;
}

static bool complete(const struct v3c_dir *d)
{
	bool *seen = calloc(n + 1, sizeof *seen), good = d->eof;
	unsigned count = 0, dots = 0;

	for (size_t i = 0; i < d->n && good; i++) {
		const char *name = d->entry[i].name;
		unsigned k = name[0] == 'f' ? strtoul(name + 1, NULL, 10) : 0;

		if (!k) {
			dots += !strcmp(name, ".") || !strcmp(name, "..");
			continue;
		}
		good = k <= n && !seen[k];
		if (good)
			seen[k] = true;
		count++;
	}
	free(seen);
	if (!good || count != n || dots != 2)
		printf("# %u of %u names, %u dots, eof %d\n", count, n, dots, d->eof);
	return good && count == n && dots == 2;
}

static bool list(struct v3c_dir *d, bool plus, uint32_t bytes)
{
	uint64_t cookie = 0;

	dir_reset(d);
	while (!d->eof) {
		size_t from = d->n;
		int status = plus ? v3c_readdirplus(&c, &c.root, cookie, bytes, bytes, d)
				  : v3c_readdir(&c, &c.root, cookie, bytes, d);

		if (status || (d->n == from && !d->eof)) {
			printf("# status %d after %zu entries\n", status, d->n);
			return false;
		}
		if (page_bytes(d, from, plus) > bytes) {
			printf("# a page of %zu bytes where %u were allowed\n",
			       page_bytes(d, from, plus), bytes);
			return false;
		}
		if (d->n > from)
			cookie = d->entry[d->n - 1].cookie;
	}
	return complete(d);
}

/* Any cookie resumes right after its entry, in whatever order they are used. */
static bool resume_everywhere(struct v3c_dir *page, bool plus)
{
	struct v3c_dir d = { 0 };
	bool good = true;

	dir_reset(page);
	if (v3c_readdir(&c, &c.root, 0, 8192, page) || page->n < 20)
		return false;
	for (size_t i = page->n - 1; i-- > 0 && good;) {
		dir_reset(&d);
		memcpy(d.verf, page->verf, 8);
		if (plus)
			v3c_readdirplus(&c, &c.root, page->entry[i].cookie, 4096, 4096, &d);
		else
			v3c_readdir(&c, &c.root, page->entry[i].cookie, 4096, &d);
		good = !c.r.status && d.n && !strcmp(d.entry[0].name, page->entry[i + 1].name);
		for (size_t k = 0; k < d.n && i + 1 + k < page->n && good; k++)
			good = !strcmp(d.entry[k].name, page->entry[i + 1 + k].name);
		if (!good)
			printf("# after entry %zu (%s): status %d, %s\n", i, page->entry[i].name,
			       c.r.status, d.n ? d.entry[0].name : "nothing");
	}
	free(d.entry);
	return good;
}

int main(int argc, char **argv)
{
	static const uint32_t bytes[] = { 4096, 65536, 1 << 20 };
	static const uint32_t small[] = { 0, 1, 64, 100 };
	struct v3c_dir d = { 0 };

	if (argc != 5)
		return 2;
	n = atoi(argv[4]);
	if (v3c_open(&c, argv[1], atoi(argv[2]), 0, 0, 0, NULL) || v3c_mnt(&c, argv[3]))
		return !tap_ok(false, "connect and mount") && tap_done();
	for (unsigned i = 0; i < 3; i++) {
		tap_ok(list(&d, false, bytes[i]), "READDIR by %u bytes: each of %u names once",
		       bytes[i], n);
		tap_ok(list(&d, true, bytes[i]), "READDIRPLUS by %u bytes: each of %u names once",
		       bytes[i], n);
	}
	size_t full = 0;

	for (size_t i = 0; i < d.n; i++)
		full += d.entry[i].has_attr && d.entry[i].has_fh;
	tap_ok(full >= n, "READDIRPLUS gives attributes and handle of every entry");
	dir_reset(&d);
	tap_ok(!v3c_readdir(&c, &c.root, 0, 512, &d) && d.n && page_bytes(&d, 0, false) <= 512,
	       "READDIR by 512 bytes");
	tap_ok(resume_everywhere(&d, false), "READDIR resumes after every entry of a page");
	tap_ok(resume_everywhere(&d, true), "READDIRPLUS resumes after every entry of a page");
	for (unsigned i = 0; i < 4; i++) {
		dir_reset(&d);
		v3c_readdir(&c, &c.root, 0, small[i], &d);
		tap_ok(c.r.status == NFS3ERR_TOOSMALL, "READDIR by %u bytes is TOOSMALL", small[i]);
	}
	dir_reset(&d);
	tap_is(v3c_readdirplus(&c, &c.root, 0, 512, 128, &d), NFS3ERR_TOOSMALL,
	       "READDIRPLUS by 128 bytes is TOOSMALL");
	dir_reset(&d);
	tap_ok(!v3c_readdirplus(&c, &c.root, 0, UINT32_MAX, UINT32_MAX, &d) && d.n > 2,
	       "READDIRPLUS with no limit gives a page");
	dir_reset(&d);
	tap_ok(!v3c_readdir(&c, &c.root, 0, UINT32_MAX, &d) && d.n > 2,
	       "READDIR with no limit gives a page");
	free(d.entry);
	v3c_close(&c);
	return tap_done();
}
