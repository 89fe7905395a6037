/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* READ, WRITE, COMMIT as calls; the I/O itself is tested in read.c, write.c and commit.c. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"
#include "tests/lib/v3play.h"

static struct v3play p;
static struct fh root_fh, file_fh;
static nfs_fh3 root, file;
static char path[512];

static void setup(void)
{
	v3play_start(&p, scratch_dir(NULL));
	umask(0);
	root = v3play_root(&p, &root_fh);
	ck_assert_int_eq(v3play_create(&p, &root, "f", 0644, &file_fh), NFS3_OK);
	file = v3play_fh(&file_fh);
	snprintf(path, sizeof(path), "%s/f", p.dir);
}

static void teardown(void)
{
	v3play_stop(&p);
	scratch_remove(p.dir);
}

static nfsstat3 write_at(uint64_t offset, const void *data, uint32_t len, stable_how how)
{
	WRITE3res res;
	nfsstat3 st = v3play_write(&p, &file, offset, data, len, how, &res);

	if (st == NFS3_OK) {
		ck_assert_uint_eq(res.WRITE3res_u.resok.count, len);
		ck_assert_int_ge(res.WRITE3res_u.resok.committed, how);
		ck_assert(res.WRITE3res_u.resok.file_wcc.after.attributes_follow);
	}
	return st;
}

static nfsstat3 read_at(uint64_t offset, uint32_t n, READ3res *res)
{
	READ3args a = {.file = file, .offset = offset, .count = n};

	ck_assert_uint_eq(v3play_do(&p, READ, &a, res), 0);
	return res->status;
}

static void expect_read(uint64_t offset, uint32_t n, const void *want, uint32_t len, bool eof)
{
	READ3res res;

	ck_assert_int_eq(read_at(offset, n, &res), NFS3_OK);
	ck_assert_uint_eq(res.READ3res_u.resok.count, len);
	ck_assert_uint_eq(res.READ3res_u.resok.data.data_len, len);
	ck_assert_int_eq(res.READ3res_u.resok.eof, eof);
	ck_assert(res.READ3res_u.resok.file_attributes.attributes_follow);
	if (len)
		ck_assert_mem_eq(res.READ3res_u.resok.data.data_val, want, len);
	codec_free(V3PLAY_RES(READ), &res);
}

static nfsstat3 commit(uint64_t offset, uint32_t n, COMMIT3res *res)
{
	COMMIT3args a = {.file = file, .offset = offset, .count = n};

	ck_assert_uint_eq(v3play_do(&p, COMMIT, &a, res), 0);
	return res->status;
}

START_TEST(what_is_written_is_read_at_every_edge)
{
	static const uint32_t sizes[] = {1, 5, 511, 4096, 4097, 47008, 100003, 1 << 20};
	uint8_t *data = malloc(1 << 20);

	for (unsigned i = 0; i < 1 << 20; i++)
		data[i] = (uint8_t)(i * 7 + i / 255);
	for (unsigned i = 0; i < 8; i++)
		for (unsigned how = UNSTABLE; how <= FILE_SYNC; how++) {
			uint64_t at = 1000 * i + how;

			ck_assert_int_eq(truncate(path, 0), 0);
			ck_assert_int_eq(write_at(at, data, sizes[i], (stable_how)how), NFS3_OK);
			expect_read(at, sizes[i], data, sizes[i], true);
			if (sizes[i] > 1)
				expect_read(at, sizes[i] - 1, data, sizes[i] - 1, false);
		}
	free(data);
}
END_TEST

START_TEST(end_of_file_is_exact)
{
	ck_assert_int_eq(write_at(0, "hello", 5, FILE_SYNC), NFS3_OK);
	expect_read(0, 5, "hello", 5, true);
	expect_read(3, 2, "lo", 2, true);
	expect_read(0, 2, "he", 2, false);
	expect_read(0, 100, "hello", 5, true);
	expect_read(5, 1, "", 0, true);
	expect_read(0, 0, "", 0, false);
	expect_read(5, 0, "", 0, true);
}
END_TEST

START_TEST(reading_past_every_end_is_end_of_file_never_an_error)
{
	static const uint64_t at[] = {INT64_MAX - 1, INT64_MAX, (uint64_t)INT64_MAX + 1,
				      UINT64_MAX};

	for (unsigned i = 0; i < 4; i++) {
		expect_read(at[i], 4096, "", 0, true);
		expect_read(at[i], 0, "", 0, true);
	}
}
END_TEST

START_TEST(writing_past_every_end_is_too_big)
{
	ck_assert_int_eq(write_at(INT64_MAX, "x", 1, FILE_SYNC), NFS3ERR_FBIG);
	ck_assert_int_eq(write_at((uint64_t)INT64_MAX + 1, "x", 1, FILE_SYNC), NFS3ERR_FBIG);
	ck_assert_int_eq(write_at(UINT64_MAX, "x", 1, FILE_SYNC), NFS3ERR_FBIG);
	ck_assert_int_eq(write_at((uint64_t)INT64_MAX - 4095, "x", 1, FILE_SYNC), NFS3ERR_FBIG);
}
END_TEST

START_TEST(a_count_above_the_limit_is_a_short_read)
{
	READ3res res;

	ck_assert_int_eq(truncate(path, 8 << 20), 0);
	ck_assert_int_eq(read_at(0, UINT32_MAX, &res), NFS3_OK);
	ck_assert_uint_le(res.READ3res_u.resok.count, p.env.max_read);
	ck_assert_uint_gt(res.READ3res_u.resok.count, 0);
	ck_assert(!res.READ3res_u.resok.eof);
	codec_free(V3PLAY_RES(READ), &res);
}
END_TEST

START_TEST(writing_nothing_changes_nothing)
{
	struct stat a, b;

	ck_assert_int_eq(write_at(0, "hello", 5, FILE_SYNC), NFS3_OK);
	ck_assert_int_eq(stat(path, &a), 0);
	ck_assert_int_eq(write_at(0, "", 0, FILE_SYNC), NFS3_OK);
	ck_assert_int_eq(write_at(1 << 20, "", 0, UNSTABLE), NFS3_OK);
	ck_assert_int_eq(stat(path, &b), 0);
	ck_assert_mem_eq(&a.st_mtim, &b.st_mtim, sizeof(a.st_mtim));
	ck_assert_int_eq(b.st_size, 5);
}
END_TEST

/* fh, offset, count, stable, then data of `len` bytes of which `have` are there. */
static unsigned raw_write(uint32_t n, uint32_t len, uint32_t have, uint32_t stable)
{
	uint8_t args[512] = {0};
	struct cursor c;

	cursor_init(&c, args, sizeof(args));
	cursor_put_opaque(&c, file_fh.data, file_fh.len);
	cursor_put_u64(&c, 0);
	cursor_put_u32(&c, n);
	cursor_put_u32(&c, stable);
	cursor_put_u32(&c, len);
	return v3play_raw(&p, 7, args, cursor_pos(&c) + have);
}

START_TEST(a_count_that_lies_is_garbage)
{
	ck_assert_uint_eq(raw_write(10, 5, 8, 0), MSG_GARBAGE_ARGS);
	ck_assert_uint_eq(raw_write(5, 10, 12, 0), MSG_GARBAGE_ARGS);
	ck_assert_uint_eq(raw_write(5, 0, 0, 0), MSG_GARBAGE_ARGS);
	ck_assert_uint_eq(raw_write(8, 8, 4, 0), MSG_GARBAGE_ARGS);
	ck_assert_uint_eq(raw_write(8, 8, 8, 3), MSG_GARBAGE_ARGS);
	ck_assert_uint_eq(raw_write(UINT32_MAX, UINT32_MAX, 8, 0), MSG_GARBAGE_ARGS);
	ck_assert_uint_eq(raw_write(8, 8, 8, 2), MSG_SUCCESS);
}
END_TEST

START_TEST(a_directory_is_neither_read_nor_written)
{
	READ3res res;
	WRITE3res wres;

	file = root;
	ck_assert_int_eq(read_at(0, 10, &res), NFS3ERR_INVAL);
	ck_assert_int_eq(v3play_write(&p, &root, 0, "x", 1, FILE_SYNC, &wres), NFS3ERR_INVAL);
}
END_TEST

START_TEST(the_owner_may_whatever_the_mode_others_may_not)
{
	READ3res res;

	if (!cred_switchable())
		return;
	p.uid = p.gid = 1000;
	ck_assert_int_eq(v3play_create(&p, &root, "ro", 0444, &file_fh), NFS3_OK);
	file = v3play_fh(&file_fh);
	snprintf(path, sizeof(path), "%s/ro", p.dir);
	ck_assert_int_eq(write_at(0, "hello", 5, FILE_SYNC), NFS3_OK);
	ck_assert_int_eq(chmod(path, 0), 0);
	expect_read(0, 5, "hello", 5, true);
	p.uid = p.gid = 1001;
	ck_assert_int_eq(write_at(0, "x", 1, FILE_SYNC), NFS3ERR_ACCES);
	ck_assert_int_eq(read_at(0, 5, &res), NFS3ERR_ACCES);
	ck_assert_int_eq(chmod(path, 0040), 0);
	ck_assert_int_eq(read_at(0, 5, &res), NFS3ERR_ACCES);
	p.ngids = 1;
	p.gids[0] = 1000;
	expect_read(0, 5, "hello", 5, true);
	ck_assert_int_eq(write_at(0, "x", 1, FILE_SYNC), NFS3ERR_ACCES);
}
END_TEST

/* manage-gids: uid 1001 is in group 1000, whatever the wire says. */
static unsigned lookups;

static int groups_of(void *arg, uid_t uid, gid_t gid, gid_t **gids, unsigned *n)
{
	(void)arg;
	(void)gid;
	lookups++;
	if (uid != 1001)
		return -ENOENT;
	*gids = malloc(sizeof(**gids));
	(*gids)[0] = 1000;
	*n = 1;
	return 0;
}

START_TEST(groups_looked_up_replace_the_wires_and_are_remembered)
{
	READ3res res;

	if (!cred_switchable())
		return;
	ck_assert_int_eq(write_at(0, "hello", 5, FILE_SYNC), NFS3_OK);
	ck_assert_int_eq(chown(path, 0, 1000), 0);
	ck_assert_int_eq(chmod(path, 0040), 0);
	p.env.manage_gids = true;
	p.env.groups = groups_of;
	p.uid = p.gid = 1001;
	for (unsigned i = 0; i < 10; i++)
		expect_read(0, 5, "hello", 5, true);
	ck_assert_uint_eq(lookups, 1);
	p.uid = 1002;
	p.ngids = 1;
	p.gids[0] = 1000;
	ck_assert_int_eq(read_at(0, 5, &res), NFS3ERR_ACCES);
	p.table.generation++;
	p.uid = 1001;
	expect_read(0, 5, "hello", 5, true);
	ck_assert_uint_eq(lookups, 3);
}
END_TEST

START_TEST(what_may_be_run_may_be_read)
{
	if (!cred_switchable())
		return;
	ck_assert_int_eq(write_at(0, "hello", 5, FILE_SYNC), NFS3_OK);
	ck_assert_int_eq(chmod(path, 0711), 0);
	p.uid = p.gid = 1001;
	expect_read(0, 5, "hello", 5, true);
	ck_assert_int_eq(write_at(0, "x", 1, FILE_SYNC), NFS3ERR_ACCES);
}
END_TEST

START_TEST(an_acl_decides_as_the_kernel_does)
{
	char cmd[600];
	READ3res res;

	if (!cred_switchable())
		return;
	snprintf(cmd, sizeof(cmd), "setfacl -m u:1001:rw,u:1002:- '%s' 2>/dev/null", path);
	ck_assert_int_eq(chmod(path, 0644), 0);
	if (system(cmd))
		return; /* no setfacl, or no ACLs here */
	p.uid = p.gid = 1001;
	ck_assert_int_eq(write_at(0, "hello", 5, FILE_SYNC), NFS3_OK);
	expect_read(0, 5, "hello", 5, true);
	p.uid = p.gid = 1002;
	ck_assert_int_eq(read_at(0, 5, &res), NFS3ERR_ACCES);
	p.uid = p.gid = 1003;
	expect_read(0, 5, "hello", 5, true);
	ck_assert_int_eq(write_at(0, "x", 1, FILE_SYNC), NFS3ERR_ACCES);
}
END_TEST

START_TEST(a_write_by_another_clears_setuid)
{
	struct stat st;

	if (!cred_switchable())
		return;
	ck_assert_int_eq(chmod(path, 06777), 0);
	p.uid = p.gid = 1001;
	ck_assert_int_eq(write_at(0, "x", 1, UNSTABLE), NFS3_OK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0777);
}
END_TEST

START_TEST(a_read_only_export_is_read_and_committed_only)
{
	COMMIT3res res;

	ck_assert_int_eq(write_at(0, "hello", 5, FILE_SYNC), NFS3_OK);
	p.client.opts.rw = false;
	ck_assert_int_eq(write_at(0, "x", 1, FILE_SYNC), NFS3ERR_ROFS);
	expect_read(0, 5, "hello", 5, true);
	ck_assert_int_eq(commit(0, 0, &res), NFS3_OK);
}
END_TEST

START_TEST(commit_gives_the_verifier_writes_gave_until_a_restart)
{
	WRITE3res w;
	COMMIT3res a, b;

	ck_assert_int_eq(v3play_write(&p, &file, 0, "hello", 5, UNSTABLE, &w), NFS3_OK);
	ck_assert_int_eq(commit(0, 0, &a), NFS3_OK);
	ck_assert_mem_eq(w.WRITE3res_u.resok.verf, a.COMMIT3res_u.resok.verf, 8);
	ck_assert_int_eq(commit(UINT64_MAX, UINT32_MAX, &b), NFS3_OK);
	ck_assert_mem_eq(a.COMMIT3res_u.resok.verf, b.COMMIT3res_u.resok.verf, 8);
	v3play_restart(&p);
	ck_assert_int_eq(commit(0, 0, &b), NFS3_OK);
	ck_assert_mem_ne(a.COMMIT3res_u.resok.verf, b.COMMIT3res_u.resok.verf, 8);
}
END_TEST

START_TEST(a_removed_file_is_stale_for_io_and_gives_its_descriptor_up)
{
	COMMIT3res cres;
	READ3res res;

	ck_assert_int_eq(write_at(0, "hello", 5, FILE_SYNC), NFS3_OK);
	ck_assert_int_eq(unlink(path), 0); /* behind the server's back */
	ck_assert_int_eq(read_at(0, 5, &res), NFS3ERR_STALE);
	ck_assert_int_eq(write_at(0, "x", 1, FILE_SYNC), NFS3ERR_STALE);
	ck_assert_int_eq(commit(0, 0, &cres), NFS3ERR_STALE);
}
END_TEST

START_TEST(reads_leave_no_buffer_behind)
{
	for (unsigned i = 0; i < 200; i++)
		expect_read(0, 100000, "", 0, true);
	ck_assert_uint_eq(pool_in_use(p.pool), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfs3_io");
	TCase *t = tcase_create("io");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, what_is_written_is_read_at_every_edge);
	tcase_add_test(t, end_of_file_is_exact);
	tcase_add_test(t, reading_past_every_end_is_end_of_file_never_an_error);
	tcase_add_test(t, writing_past_every_end_is_too_big);
	tcase_add_test(t, a_count_above_the_limit_is_a_short_read);
	tcase_add_test(t, writing_nothing_changes_nothing);
	tcase_add_test(t, a_count_that_lies_is_garbage);
	tcase_add_test(t, a_directory_is_neither_read_nor_written);
	tcase_add_test(t, the_owner_may_whatever_the_mode_others_may_not);
	tcase_add_test(t, groups_looked_up_replace_the_wires_and_are_remembered);
	tcase_add_test(t, what_may_be_run_may_be_read);
	tcase_add_test(t, an_acl_decides_as_the_kernel_does);
	tcase_add_test(t, a_write_by_another_clears_setuid);
	tcase_add_test(t, a_read_only_export_is_read_and_committed_only);
	tcase_add_test(t, commit_gives_the_verifier_writes_gave_until_a_restart);
	tcase_add_test(t, a_removed_file_is_stale_for_io_and_gives_its_descriptor_up);
	tcase_add_test(t, reads_leave_no_buffer_behind);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
