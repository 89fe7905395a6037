/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/status.h"

#include <errno.h>

#include "tests/lib/unit.h"

enum {
	GETATTR = 1,
	SETATTR,
	LOOKUP,
	ACCESS,
	READLINK,
	READ,
	WRITE,
	CREATE,
	MKDIR,
	SYMLINK,
	MKNOD,
	REMOVE,
	RMDIR,
	RENAME,
	LINK,
	READDIR,
	READDIRPLUS,
	FSSTAT,
	FSINFO,
	PATHCONF,
	COMMIT
};

static const struct {
	int err;
	uint32_t proc, st;
} table[] = {
	{0, WRITE, 0},           {-ENOENT, LOOKUP, 2},          {-EACCES, LOOKUP, 13},
	{-ENOTDIR, LOOKUP, 20},  {-ENAMETOOLONG, LOOKUP, 63},   {-EXDEV, LOOKUP, 13},
	{-ENOSPC, WRITE, 28},    {-EDQUOT, WRITE, 69},          {-EFBIG, WRITE, 27},
	{-EIO, WRITE, 5},        {-EROFS, WRITE, 30},           {-EISDIR, WRITE, 22},
	{-EFBIG, SETATTR, 22},   {-EPERM, SETATTR, 1},          {-EPERM, CREATE, 13},
	{-EISDIR, REMOVE, 21},   {-ENOTEMPTY, RMDIR, 66},       {-ENOTEMPTY, RENAME, 66},
	{-EXDEV, LINK, 18},      {-EMLINK, LINK, 31},           {-EXDEV, RENAME, 18},
	{-ENOENT, CREATE, 70},   {-ENOENT, READDIR, 70},        {-ENOTDIR, READDIR, 20},
	{-EISDIR, READ, 22},     {-ENOSPC, COMMIT, 5},          {-EDQUOT, COMMIT, 5},
	{-EIO, COMMIT, 5},       {-EBADMSG, GETATTR, 10001},    {-ESTALE, GETATTR, 70},
	{-EMFILE, READ, 10008},  {-ENOMEM, GETATTR, 10008},     {-EPERM, GETATTR, 10006},
	{-EINVAL, READLINK, 22}, {-EOPNOTSUPP, SYMLINK, 10004}, {-EINVAL, COMMIT, 10006},
};

START_TEST(each_errno_has_the_status_of_its_procedures_list)
{
	ck_assert_uint_eq(status_nfs3(table[_i].err, table[_i].proc), table[_i].st);
}
END_TEST

START_TEST(nfsv4_says_more_plainly_what_went_wrong)
{
	ck_assert_uint_eq(status_nfs4(0), 0);
	ck_assert_uint_eq(status_nfs4(-ENOENT), 2);
	ck_assert_uint_eq(status_nfs4(-ELOOP), 10029);
	ck_assert_uint_eq(status_nfs4(-EKEYREJECTED), 10016);
	ck_assert_uint_eq(status_nfs4(-ENOMEM), 10008);
	ck_assert_uint_eq(status_nfs4(-EL2HLT), 5);
}
END_TEST

START_TEST(no_error_ever_becomes_success)
{
	for (int err = 1; err < 140; err++) {
		ck_assert_uint_ne(status_nfs4(-err), 0);
		for (uint32_t proc = 0; proc < 24; proc++)
			ck_assert_uint_ne(status_nfs3(-err, proc), 0);
		ck_assert_uint_ne(status_mount3(-err), 0);
	}
}
END_TEST

/* RFC 1813 s.3.3.21 gives COMMIT four errors; JUKEBOX goes with all (s.2.6). */
START_TEST(commit_answers_only_what_its_list_has)
{
	for (int err = 1; err < 140; err++) {
		uint32_t st = status_nfs3(-err, COMMIT);

		ck_assert(st == 5 || st == 70 || st == 10001 || st == 10006 || st == 10008);
	}
}
END_TEST

START_TEST(a_mount_tells_missing_file_and_forbidden_apart)
{
	ck_assert_uint_eq(status_mount3(0), 0);
	ck_assert_uint_eq(status_mount3(-ENOENT), 2);
	ck_assert_uint_eq(status_mount3(-ENOTDIR), 20);
	ck_assert_uint_eq(status_mount3(-EACCES), 13);
	ck_assert_uint_eq(status_mount3(-ENOMEM), 10006);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("status");
	TCase *t = tcase_create("status");

	tcase_add_loop_test(t, each_errno_has_the_status_of_its_procedures_list, 0,
			    (int)(sizeof(table) / sizeof(table[0])));
	tcase_add_test(t, no_error_ever_becomes_success);
	tcase_add_test(t, nfsv4_says_more_plainly_what_went_wrong);
	tcase_add_test(t, commit_answers_only_what_its_list_has);
	tcase_add_test(t, a_mount_tells_missing_file_and_forbidden_apart);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
