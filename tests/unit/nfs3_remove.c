/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* REMOVE, RMDIR, RENAME, LINK. */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"
#include "tests/lib/v3play.h"

static struct v3play p;
static struct fh root_fh, file_fh, dir_fh;
static nfs_fh3 root, file, dir;

static void setup(void)
{
	v3play_start(&p, scratch_dir(NULL));
	umask(0);
	root = v3play_root(&p, &root_fh);
	ck_assert_int_eq(v3play_create(&p, &root, "f", 0644, &file_fh), NFS3_OK);
	ck_assert_int_eq(v3play_mkdir(&p, &root, "d", 0755, &dir_fh), NFS3_OK);
	file = v3play_fh(&file_fh);
	dir = v3play_fh(&dir_fh);
}

static void teardown(void)
{
	v3play_stop(&p);
	scratch_remove(p.dir);
}

static nfsstat3 remove_name(const nfs_fh3 *d, const char *name)
{
	REMOVE3args a = {.object = {.dir = *d, .name = (char *)name}};
	REMOVE3res res;

	ck_assert_uint_eq(v3play_do(&p, REMOVE, &a, &res), 0);
	if (res.status == NFS3_OK)
		ck_assert(res.REMOVE3res_u.resok.dir_wcc.after.attributes_follow);
	return res.status;
}

static nfsstat3 rmdir_name(const nfs_fh3 *d, const char *name)
{
	RMDIR3args a = {.object = {.dir = *d, .name = (char *)name}};
	RMDIR3res res;

	ck_assert_uint_eq(v3play_do(&p, RMDIR, &a, &res), 0);
	return res.status;
}

static nfsstat3 rename_name(const nfs_fh3 *d, const char *from, const nfs_fh3 *e, const char *to)
{
	RENAME3args a = {.from = {.dir = *d, .name = (char *)from},
			 .to = {.dir = *e, .name = (char *)to}};
	RENAME3res res;

	ck_assert_uint_eq(v3play_do(&p, RENAME, &a, &res), 0);
	if (res.status == NFS3_OK) {
		ck_assert(res.RENAME3res_u.resok.fromdir_wcc.after.attributes_follow);
		ck_assert(res.RENAME3res_u.resok.todir_wcc.after.attributes_follow);
	}
	return res.status;
}

static nfsstat3 link_name(const nfs_fh3 *f, const nfs_fh3 *d, const char *name)
{
	LINK3args a = {.file = *f, .link = {.dir = *d, .name = (char *)name}};
	LINK3res res;

	ck_assert_uint_eq(v3play_do(&p, LINK, &a, &res), 0);
	return res.status;
}

static fsfilcnt_t open_files(void)
{
	return fdcache_count(p.env.files);
}

START_TEST(a_removed_file_is_gone_stale_and_closed)
{
	fattr3 a;

	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3_OK);
	ck_assert_int_eq(remove_name(&root, "f"), NFS3_OK);
	ck_assert_int_eq(remove_name(&root, "f"), NFS3ERR_NOENT);
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3ERR_STALE);
	ck_assert_uint_le(open_files(), 3);
}
END_TEST

START_TEST(wrong_kinds_are_told)
{
	ck_assert_int_eq(remove_name(&root, "d"), NFS3ERR_ISDIR);
	ck_assert_int_eq(rmdir_name(&root, "f"), NFS3ERR_NOTDIR);
	ck_assert_int_eq(remove_name(&file, "x"), NFS3ERR_NOTDIR);
	ck_assert_int_eq(rmdir_name(&root, "."), NFS3ERR_INVAL);
	ck_assert_int_eq(rmdir_name(&root, ".."), NFS3ERR_EXIST);
	ck_assert_int_eq(rmdir_name(&root, ""), NFS3ERR_ACCES);
	ck_assert_int_eq(remove_name(&root, "."), NFS3ERR_ACCES);
	ck_assert_int_eq(rename_name(&root, ".", &root, "x"), NFS3ERR_INVAL);
	ck_assert_int_eq(rename_name(&root, "f", &root, ".."), NFS3ERR_INVAL);
	ck_assert_int_eq(link_name(&file, &root, "."), NFS3ERR_EXIST);
}
END_TEST

START_TEST(a_directory_must_be_empty_to_go)
{
	struct fh fh;
	fattr3 a;

	ck_assert_int_eq(v3play_create(&p, &dir, "x", 0644, &fh), NFS3_OK);
	ck_assert_int_eq(rmdir_name(&root, "d"), NFS3ERR_NOTEMPTY);
	ck_assert_int_eq(remove_name(&dir, "x"), NFS3_OK);
	ck_assert_int_eq(rmdir_name(&root, "d"), NFS3_OK);
	ck_assert_int_eq(v3play_getattr(&p, &dir, &a), NFS3ERR_STALE);
	ck_assert_int_eq(v3play_create(&p, &dir, "y", 0644, &fh), NFS3ERR_STALE);
}
END_TEST

START_TEST(rename_moves_and_the_handle_stays)
{
	struct fh found;

	ck_assert_int_eq(rename_name(&root, "f", &dir, "g"), NFS3_OK);
	ck_assert_int_eq(v3play_lookup(&p, &root, "f", &found), NFS3ERR_NOENT);
	ck_assert_int_eq(v3play_lookup(&p, &dir, "g", &found), NFS3_OK);
	ck_assert_mem_eq(found.data, file_fh.data, file_fh.len);
	ck_assert_int_eq(rename_name(&root, "f", &dir, "g"), NFS3ERR_NOENT);
}
END_TEST

START_TEST(what_a_rename_replaces_is_stale)
{
	struct fh other, found;
	nfs_fh3 o;
	fattr3 a;

	ck_assert_int_eq(v3play_create(&p, &root, "f.lock", 0644, &other), NFS3_OK);
	o = v3play_fh(&other);
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3_OK);
	ck_assert_int_eq(rename_name(&root, "f.lock", &root, "f"), NFS3_OK);
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3ERR_STALE);
	ck_assert_int_eq(v3play_getattr(&p, &o, &a), NFS3_OK);
	ck_assert_int_eq(v3play_lookup(&p, &root, "f", &found), NFS3_OK);
	ck_assert_mem_eq(found.data, other.data, other.len);
}
END_TEST

START_TEST(renames_that_cannot_be_say_why)
{
	struct fh sub;
	nfs_fh3 s;

	ck_assert_int_eq(v3play_mkdir(&p, &dir, "sub", 0755, &sub), NFS3_OK);
	s = v3play_fh(&sub);
	ck_assert_int_eq(rename_name(&root, "d", &s, "in"), NFS3ERR_INVAL);
	ck_assert_int_eq(rename_name(&root, "f", &root, "d"), NFS3ERR_ISDIR);
	ck_assert_int_eq(rename_name(&dir, "sub", &root, "f"), NFS3ERR_NOTDIR);
	ck_assert_int_eq(rename_name(&root, "f", &file, "x"), NFS3ERR_NOTDIR);
	ck_assert_int_eq(v3play_mkdir(&p, &root, "e", 0755, &sub), NFS3_OK);
	ck_assert_int_eq(rename_name(&root, "e", &root, "d"), NFS3ERR_NOTEMPTY);
}
END_TEST

START_TEST(rename_of_a_handle_from_elsewhere_is_refused)
{
	struct fh bent = dir_fh;
	nfs_fh3 b;

	bent.data[bent.len - 1] ^= 1;
	b = v3play_fh(&bent);
	ck_assert_int_eq(rename_name(&root, "f", &b, "x"), NFS3ERR_STALE);
	bent.len = 5;
	b = v3play_fh(&bent);
	ck_assert_int_eq(rename_name(&root, "f", &b, "x"), NFS3ERR_BADHANDLE);
}
END_TEST

START_TEST(links_share_the_file)
{
	fattr3 a;
	struct fh found;

	ck_assert_int_eq(link_name(&file, &dir, "g"), NFS3_OK);
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3_OK);
	ck_assert_uint_eq(a.nlink, 2);
	ck_assert_int_eq(v3play_lookup(&p, &dir, "g", &found), NFS3_OK);
	ck_assert_mem_eq(found.data, file_fh.data, file_fh.len);
	ck_assert_int_eq(link_name(&file, &dir, "g"), NFS3ERR_EXIST);
	ck_assert_int_eq(link_name(&dir, &root, "h"), NFS3ERR_ACCES);
	ck_assert_int_eq(remove_name(&root, "f"), NFS3_OK);
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3_OK);
}
END_TEST

START_TEST(the_caller_needs_the_right_to_the_directory)
{
	if (!cred_switchable())
		return;
	ck_assert_int_eq(chmod(p.dir, 0755), 0);
	p.uid = 1000;
	ck_assert_int_eq(remove_name(&root, "f"), NFS3ERR_ACCES);
	ck_assert_int_eq(rmdir_name(&root, "d"), NFS3ERR_ACCES);
	ck_assert_int_eq(rename_name(&root, "f", &root, "g"), NFS3ERR_ACCES);
	ck_assert_int_eq(link_name(&file, &root, "g"), NFS3ERR_ACCES);
}
END_TEST

START_TEST(a_repeated_remove_is_answered_not_repeated)
{
	for (unsigned i = 0; i < 3; i++) {
		p.xid = 7000;
		p.owner.conn = 1 + i; /* over other connections too */
		ck_assert_int_eq(remove_name(&root, "f"), NFS3_OK);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfs3_remove");
	TCase *t = tcase_create("remove");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_removed_file_is_gone_stale_and_closed);
	tcase_add_test(t, wrong_kinds_are_told);
	tcase_add_test(t, a_directory_must_be_empty_to_go);
	tcase_add_test(t, rename_moves_and_the_handle_stays);
	tcase_add_test(t, what_a_rename_replaces_is_stale);
	tcase_add_test(t, renames_that_cannot_be_say_why);
	tcase_add_test(t, rename_of_a_handle_from_elsewhere_is_refused);
	tcase_add_test(t, links_share_the_file);
	tcase_add_test(t, the_caller_needs_the_right_to_the_directory);
	tcase_add_test(t, a_repeated_remove_is_answered_not_repeated);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
