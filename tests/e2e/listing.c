/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* listing HOST PORT DIR MINOR: READDIR of DIR/list, a directory that is empty at first. */
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"

#define NAMES 100

static struct v4c c;
static struct v4c_fh root, list, file;
static const char *dir;

struct ask {
	uint64_t cookie, verf;
	uint32_t dircount, maxcount, w[3];
};

static uint32_t readdir_as(const struct v4c_fh *in, const struct ask *k)
{
	READDIR4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, in);
	a = &v4c_op(&c, OP_READDIR)->nfs_argop4_u.opreaddir;
	a->cookie = k->cookie;
	memcpy(a->cookieverf, &k->verf, sizeof(k->verf));
	a->dircount = k->dircount;
	a->maxcount = k->maxcount;
	a->attr_request.bitmap4_len = 3;
	memcpy(a->attr_request.bitmap4_val, k->w, sizeof(k->w));
	return v4c_run(&c);
}

static const dirlist4 *page(void)
{
	return &v4c_res(&c, OP_READDIR)->nfs_resop4_u.opreaddir.READDIR4res_u.resok4.reply;
}

/* Bytes of READDIR4resok as it went over the wire. */
static uint32_t page_bytes(void)
{
	const entry4 *e;
	uint32_t n = 16;

	for (e = page()->entries; e; e = e->nextentry)
		n += 4 + 8 + 4 + ((e->name.component4_len + 3) & ~3u) + 4 +
		     4 * e->attrs.attrmask.bitmap4_len + 4 +
		     ((e->attrs.attr_vals.attrlist4_len + 3) & ~3u);
	return n;
}

/* All of it in pages; how many names, each once; *pages how many it took. */
static unsigned all(const struct ask *first, unsigned *pages)
{
	static bool seen[NAMES];
	struct ask k = *first;
	unsigned names = 0;

	memset(seen, 0, sizeof(seen));
	for (*pages = 0; *pages < 2 * NAMES; (*pages)++) {
		if (readdir_as(&list, &k) || page_bytes() > k.maxcount)
			return 0;
		for (const entry4 *e = page()->entries; e; e = e->nextentry) {
			unsigned n = e->name.component4_len == 5
					     ? (unsigned)atoi(e->name.component4_val + 3)
					     : NAMES;

			if (n >= NAMES || seen[n] || e->cookie < 3)
				return 0;
			seen[n] = true;
			names++;
			k.cookie = e->cookie;
		}
		if (page()->eof)
			break;
		if (!page()->entries)
			return 0;
	}
	return names;
}

static void empty(void)
{
	struct ask k = {.maxcount = 15};

	tap_is(readdir_as(&list, &k), NFS4ERR_TOOSMALL,
	       "15 bytes are too small for an empty directory");
	k.maxcount = 16;
	tap_is(readdir_as(&list, &k), NFS4_OK, "16 are not");
	tap_ok(!page()->entries && page()->eof, "no entries, not even dots");
	k.maxcount = 0;
	tap_is(readdir_as(&list, &k), NFS4ERR_TOOSMALL, "none at all are too small");
}

static void pages(void)
{
	struct ask k = {.maxcount = 64 << 10};
	unsigned n;

	tap_is(all(&k, &n), NAMES, "all names in one page");
	for (uint32_t max = 64; max <= 512; max *= 2) {
		k.maxcount = max;
		tap_is(all(&k, &n), NAMES, "all names in pages of few bytes");
		tap_ok(n > 1, "more than one of them");
	}
	k.maxcount = 40;
	tap_is(readdir_as(&list, &k), NFS4ERR_TOOSMALL, "a page that no entry fits is too small");
	k = (struct ask){.maxcount = 64 << 10, .dircount = 200};
	tap_is(all(&k, &n), NAMES, "all names, dircount asks for few at once");
	tap_ok(n > 5, "few at once they are");
}

static void attributes(void)
{
	const struct ask k = {.maxcount = 64 << 10,
			      .w = {1 << 4 | 1 << 11 | 1 << 19 | 1 << 20, 1u << 1 | 1u << 23}};
	const struct ask ids = {.maxcount = 64 << 10, .w = {1 << 11, 1u << 23}};
	const entry4 *e;
	struct v4c_fh fh;
	struct cursor vals;
	uint64_t id = 0;
	uint32_t len = 0;
	bool good = true;

	tap_is(readdir_as(&list, &k), NFS4_OK, "with attributes");
	for (e = page()->entries; e; e = e->nextentry)
		good = good && e->attrs.attrmask.bitmap4_val[0] == k.w[0] &&
		       e->attrs.attrmask.bitmap4_val[1] == k.w[1];
	tap_ok(good && page()->entries, "each entry has those asked for and no other");
	e = page()->entries;
	cursor_init_const(&vals, e->attrs.attr_vals.attrlist4_val,
			  e->attrs.attr_vals.attrlist4_len);
	cursor_get_u64(&vals);
	tap_is(cursor_get_u32(&vals), 0, "no error");
	memcpy(fh.data, cursor_get_opaque(&vals, sizeof(fh.data), &len), sizeof(fh.data));
	fh.len = len;
	id = cursor_get_u64(&vals);
	tap_is((long long)v4f_number(&c, &fh, FATTR4_FILEID), (long long)id,
	       "its handle has its fileid");
	tap_is(readdir_as(&list, &ids), NFS4_OK, "numbers only");
	e = page()->entries;
	cursor_init_const(&vals, e->attrs.attr_vals.attrlist4_val,
			  e->attrs.attr_vals.attrlist4_len);
	cursor_get_u32(&vals);
	tap_is((long long)cursor_get_u64(&vals), (long long)id,
	       "mounted_on_fileid of a plain object is its fileid");
}

static void refused(void)
{
	struct ask k = {.maxcount = 4096};

	for (k.cookie = 1; k.cookie <= 2; k.cookie++)
		tap_is(readdir_as(&list, &k), NFS4ERR_BAD_COOKIE, "a reserved cookie");
	k.cookie = UINT64_MAX;
	tap_is(readdir_as(&list, &k), NFS4ERR_BAD_COOKIE, "a cookie nobody gave");
	k = (struct ask){.maxcount = 4096, .verf = 1};
	tap_is(readdir_as(&list, &k), NFS4ERR_BAD_COOKIE, "a verifier at the start");
	k.cookie = 77;
	tap_is(readdir_as(&list, &k), NFS4ERR_NOT_SAME, "another verifier");
	k = (struct ask){.maxcount = 4096, .w = {0, 1u << 16}};
	tap_is(readdir_as(&list, &k), NFS4ERR_INVAL, "an attribute that is only to be set");
	k.w[1] = 0;
	tap_is(readdir_as(&file, &k), NFS4ERR_NOTDIR, "of a file");
}

/*
 * Who may list, but not search, is told names and why there
 * is no more; who may not list is told that.
 */
static void forbidden(void)
{
	struct ask k = {.maxcount = 64 << 10, .w = {1 << 1}};
	const uint32_t uid = c.raw.uid;
	char path[4096];
	const entry4 *e;

	snprintf(path, sizeof(path), "%s/list", dir);
	chmod(path, 0744);
	c.raw.uid = 12345;
	tap_is(readdir_as(&list, &k), NFS4ERR_ACCESS,
	       "without search permission attributes fail all");
	k.w[0] |= 1 << 11;
	tap_is(readdir_as(&list, &k), NFS4_OK, "but with rdattr_error");
	e = page()->entries;
	tap_ok(e && e->attrs.attrmask.bitmap4_val[0] == 1 << 11 &&
		       !memcmp(e->attrs.attr_vals.attrlist4_val, "\0\0\0\r", 4),
	       "each entry says why");
	chmod(path, 0700);
	tap_is(readdir_as(&list, &k), NFS4ERR_ACCESS, "without read permission");
	c.raw.uid = uid;
	chmod(path, 0755);
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc != 5 || v4c_open(&c, argv[1], atoi(argv[2]), (uint32_t)atoi(argv[4])))
		return 1;
	dir = argv[3];
	tap_is(v4c_mount(&c, dir, &root), 0, "the export's root");
	if (c.minor)
		tap_is(v4c_hello(&c, c.minor == 1 ? "listing 4.1" : "listing 4.2"), 0, "a session");
	tap_is(v4f_lookup(&c, &root, "list", &list), 0, "the directory");
	v4f_lookup(&c, &root, "file", &file);
	empty();
	for (int i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "%s/list/dir%02d", dir, i);
		mkdir(path, 0755);
	}
	pages();
	attributes();
	refused();
	forbidden();
	v4c_close(&c);
	return tap_done();
}
