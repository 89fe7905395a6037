/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* READDIR and READDIRPLUS over real directories, decoded by the generated codecs. */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/loopfs.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"
#include "tests/lib/v3play.h"

#define MANY 3000

static struct v3play p;
static struct fh root_fh;
static nfs_fh3 root;
static unsigned names;

static void fill(unsigned n)
{
	char name[600];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/name-%u%s", p.dir, i,
			 i % 7 ? "" : "-with-a-much-longer-tail");
		close(open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	}
	names = n + 2;
}

static void setup_in(const char *base)
{
	v3play_start(&p, scratch_dir(base));
	umask(0);
	root = v3play_root(&p, &root_fh);
}

static void setup(void)
{
	setup_in(NULL);
}

static void teardown(void)
{
	v3play_stop(&p);
	scratch_remove(p.dir);
}

/* One page; the caller frees. */
static nfsstat3 page(uint64_t cookie, uint32_t max, READDIR3res *res)
{
	READDIR3args a = {.dir = root, .cookie = cookie, .count = max};

	ck_assert_uint_eq(v3play_do(&p, READDIR, &a, res), 0);
	/* The size limit holds for resok: what follows RPC header and status. */
	if (res->status == NFS3_OK)
		ck_assert_uint_le(p.reply_len - MSG_REPLY_OK_LEN - 4, max);
	return res->status;
}

static nfsstat3 plus_page(uint64_t cookie, uint32_t dir_max, uint32_t max, READDIRPLUS3res *res)
{
	READDIRPLUS3args a = {.dir = root, .cookie = cookie, .dircount = dir_max, .maxcount = max};

	ck_assert_uint_eq(v3play_do(&p, READDIRPLUS, &a, res), 0);
	if (res->status == NFS3_OK)
		ck_assert_uint_le(p.reply_len - MSG_REPLY_OK_LEN - 4, max);
	return res->status;
}

struct seen {
	bool name[MANY], dot, dotdot;
	unsigned n;
};

static void see(struct seen *s, const char *name)
{
	unsigned i;

	s->n++;
	if (!strcmp(name, ".")) {
		ck_assert(!s->dot);
		s->dot = true;
	} else if (!strcmp(name, "..")) {
		ck_assert(!s->dotdot);
		s->dotdot = true;
	} else {
		ck_assert_int_eq(sscanf(name, "name-%u", &i), 1);
		ck_assert_uint_lt(i, MANY);
		ck_assert_msg(!s->name[i], "%s twice", name);
		s->name[i] = true;
	}
}

static unsigned list_from(uint64_t cookie, uint32_t max, struct seen *s)
{
	unsigned pages = 0;
	bool eof = false;

	while (!eof) {
		READDIR3res res;
		entry3 *e;

		ck_assert_int_eq(page(cookie, max, &res), NFS3_OK);
		e = res.READDIR3res_u.resok.reply.entries;
		eof = res.READDIR3res_u.resok.reply.eof;
		ck_assert_msg(e || eof, "an empty page that is not the last");
		for (; e; e = e->nextentry) {
			see(s, e->name);
			cookie = e->cookie;
		}
		codec_free(V3PLAY_RES(READDIR), &res);
		pages++;
	}
	return pages;
}

static void check_listing(void)
{
	static const uint32_t sizes[] = {512, 4096, 65536, 1 << 20};

	for (unsigned i = 0; i < 4; i++) {
		struct seen *s = calloc(1, sizeof(*s));

		list_from(0, sizes[i], s);
		ck_assert_uint_eq(s->n, names);
		ck_assert(s->dot && s->dotdot);
		free(s);
	}
}

static void check_every_cookie(void)
{
	READDIR3res all;
	unsigned at = 0;

	ck_assert_int_eq(page(0, 1 << 20, &all), NFS3_OK);
	ck_assert(all.READDIR3res_u.resok.reply.eof);
	for (entry3 *e = all.READDIR3res_u.resok.reply.entries; e; e = e->nextentry) {
		READDIR3res next;

		at++;
		ck_assert_int_eq(page(e->cookie, 512, &next), NFS3_OK);
		if (e->nextentry)
			ck_assert_str_eq(next.READDIR3res_u.resok.reply.entries->name,
					 e->nextentry->name);
		else
			ck_assert_ptr_null(next.READDIR3res_u.resok.reply.entries);
		codec_free(V3PLAY_RES(READDIR), &next);
	}
	ck_assert_uint_eq(at, names);
	codec_free(V3PLAY_RES(READDIR), &all);
}

static void check_plus(void)
{
	uint64_t cookie = 0;
	bool eof = false;
	struct seen *s = calloc(1, sizeof(*s));

	while (!eof) {
		READDIRPLUS3res res;

		ck_assert_int_eq(plus_page(cookie, 8192, 32768, &res), NFS3_OK);
		eof = res.READDIRPLUS3res_u.resok.reply.eof;
		for (entryplus3 *e = res.READDIRPLUS3res_u.resok.reply.entries; e;
		     e = e->nextentry) {
			see(s, e->name);
			cookie = e->cookie;
			ck_assert(e->name_attributes.attributes_follow);
			ck_assert(e->name_handle.handle_follows);
			ck_assert_uint_eq(e->name_attributes.post_op_attr_u.attributes.fileid,
					  e->fileid);
		}
		codec_free(V3PLAY_RES(READDIRPLUS), &res);
	}
	ck_assert_uint_eq(s->n, names);
	free(s);
}

START_TEST(pages_of_any_size_list_each_name_once)
{
	fill(MANY);
	check_listing();
	check_plus();
}
END_TEST

START_TEST(any_cookie_resumes_behind_its_entry)
{
	fill(500);
	check_every_cookie();
}
END_TEST

START_TEST(every_file_system_pages_the_same)
{
	static const char *const fstypes[] = {"ext4", "xfs", "btrfs", "tmpfs"};
	struct loopfs l;
	const char *why;

	if (!loopfs_able(&why) || loopfs_up(&l, fstypes[_i]))
		return;
	setup_in(l.dir);
	fill(500);
	check_listing();
	check_every_cookie();
	check_plus();
	teardown();
	loopfs_down(&l);
}
END_TEST

START_TEST(too_small_is_said_only_when_not_one_entry_fits)
{
	READDIR3res res;
	READDIRPLUS3res plus;
	uint32_t least;

	fill(3);
	ck_assert_int_eq(page(0, 4096, &res), NFS3_OK);
	least = 104 + 24 +
		(uint32_t)(strlen(res.READDIR3res_u.resok.reply.entries->name) + 3) / 4 * 4;
	codec_free(V3PLAY_RES(READDIR), &res);
	for (uint32_t max = 0; max < 2048; max++) {
		ck_assert_int_eq(page(0, max, &res), max < least ? NFS3ERR_TOOSMALL : NFS3_OK);
		if (res.status == NFS3_OK)
			ck_assert_ptr_nonnull(res.READDIR3res_u.resok.reply.entries);
		codec_free(V3PLAY_RES(READDIR), &res);
		plus_page(0, 0, max, &plus);
		ck_assert(plus.status == NFS3ERR_TOOSMALL || plus.status == NFS3_OK);
		codec_free(V3PLAY_RES(READDIRPLUS), &plus);
	}
	ck_assert_int_eq(page(0, UINT32_MAX, &res), NFS3_OK);
	codec_free(V3PLAY_RES(READDIR), &res);
	ck_assert_int_eq(plus_page(0, 1, UINT32_MAX, &plus), NFS3_OK);
	ck_assert_ptr_nonnull(plus.READDIRPLUS3res_u.resok.reply.entries);
	codec_free(V3PLAY_RES(READDIRPLUS), &plus);
}
END_TEST

START_TEST(the_root_hides_what_is_above)
{
	READDIRPLUS3res res;
	fattr3 a;

	ck_assert_int_eq(v3play_getattr(&p, &root, &a), NFS3_OK);
	ck_assert_int_eq(plus_page(0, 4096, 4096, &res), NFS3_OK);
	for (entryplus3 *e = res.READDIRPLUS3res_u.resok.reply.entries; e; e = e->nextentry) {
		const nfs_fh3 *f = &e->name_handle.post_op_fh3_u.handle;

		ck_assert_uint_eq(e->fileid, a.fileid);
		ck_assert_uint_eq(f->data.data_len, root_fh.len);
		ck_assert_mem_eq(f->data.data_val, root_fh.data, root_fh.len);
	}
	codec_free(V3PLAY_RES(READDIRPLUS), &res);
}
END_TEST

START_TEST(cookies_never_given_are_bad)
{
	READDIR3args a = {.dir = root, .cookie = UINT64_MAX, .count = 4096};
	READDIR3res res;

	ck_assert_uint_eq(v3play_do(&p, READDIR, &a, &res), 0);
	ck_assert_int_eq(res.status, NFS3ERR_BAD_COOKIE);
	a.cookie = 1;
	a.cookieverf[7] = 1;
	ck_assert_uint_eq(v3play_do(&p, READDIR, &a, &res), 0);
	ck_assert_int_eq(res.status, NFS3ERR_BAD_COOKIE);
}
END_TEST

START_TEST(a_file_is_no_directory)
{
	READDIR3args a = {.count = 4096};
	READDIR3res res;
	struct fh fh;

	ck_assert_int_eq(v3play_create(&p, &root, "name-1", 0644, &fh), NFS3_OK);
	a.dir = v3play_fh(&fh);
	ck_assert_uint_eq(v3play_do(&p, READDIR, &a, &res), 0);
	ck_assert_int_eq(res.status, NFS3ERR_NOTDIR);
}
END_TEST

START_TEST(listing_needs_read_and_attributes_need_search)
{
	READDIRPLUS3res res;

	if (!cred_switchable())
		return;
	fill(1);
	p.uid = p.gid = 1000;
	ck_assert_int_eq(chmod(p.dir, 0711), 0);
	ck_assert_int_eq(plus_page(0, 4096, 4096, &res), NFS3ERR_ACCES);
	ck_assert_int_eq(chmod(p.dir, 0744), 0);
	ck_assert_int_eq(plus_page(0, 4096, 4096, &res), NFS3_OK);
	for (entryplus3 *e = res.READDIRPLUS3res_u.resok.reply.entries; e; e = e->nextentry)
		if (e->name[0] != '.')
			ck_assert(!e->name_handle.handle_follows &&
				  !e->name_attributes.attributes_follow);
	codec_free(V3PLAY_RES(READDIRPLUS), &res);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfs3_dir");
	TCase *t = tcase_create("dir"), *f = tcase_create("file systems");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, pages_of_any_size_list_each_name_once);
	tcase_add_test(t, any_cookie_resumes_behind_its_entry);
	tcase_add_test(t, too_small_is_said_only_when_not_one_entry_fits);
	tcase_add_test(t, the_root_hides_what_is_above);
	tcase_add_test(t, cookies_never_given_are_bad);
	tcase_add_test(t, a_file_is_no_directory);
	tcase_add_test(t, listing_needs_read_and_attributes_need_search);
	suite_add_tcase(s, t);
	tcase_set_timeout(f, 60);
	tcase_add_loop_test(f, every_file_system_pages_the_same, 0, 4);
	suite_add_tcase(s, f);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
