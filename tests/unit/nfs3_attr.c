/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GETATTR, SETATTR, ACCESS, and the gate in front of them. */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
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

static nfsstat3 setattr(const sattr3 *a, const sattrguard3 *g)
{
	SETATTR3args args = {.object = file, .new_attributes = *a};
	SETATTR3res res;

	if (g)
		args.guard = *g;
	ck_assert_uint_eq(v3play_do(&p, SETATTR, &args, &res), 0);
	if (res.status == NFS3_OK) {
		ck_assert(!res.SETATTR3res_u.resok.obj_wcc.before.attributes_follow);
		ck_assert(res.SETATTR3res_u.resok.obj_wcc.after.attributes_follow);
	}
	return res.status;
}

static uint32_t rights(uint32_t asked)
{
	ACCESS3args args = {.object = file, .access = asked};
	ACCESS3res res;

	ck_assert_uint_eq(v3play_do(&p, ACCESS, &args, &res), 0);
	ck_assert_int_eq(res.status, NFS3_OK);
	ck_assert(res.ACCESS3res_u.resok.obj_attributes.attributes_follow);
	return res.ACCESS3res_u.resok.access;
}

START_TEST(attributes_are_those_of_the_file)
{
	struct stat st;
	fattr3 a;

	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3_OK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(a.type, NF3REG);
	ck_assert_uint_eq(a.mode, 0644);
	ck_assert_uint_eq(a.fileid, st.st_ino);
	ck_assert_uint_eq(a.nlink, 1);
	ck_assert_uint_eq(a.uid, st.st_uid);
	ck_assert_uint_eq(a.mtime.seconds, st.st_mtim.tv_sec);
	ck_assert_uint_eq(a.mtime.nseconds, st.st_mtim.tv_nsec);
	ck_assert_int_eq(v3play_getattr(&p, &root, &a), NFS3_OK);
	ck_assert_int_eq(a.type, NF3DIR);
}
END_TEST

START_TEST(a_removed_file_is_stale_even_while_open_in_the_cache)
{
	fattr3 a;

	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3_OK);
	unlink(path);
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3ERR_STALE);
}
END_TEST

START_TEST(mode_owner_times_and_size_are_set)
{
	sattr3 a = {0};
	struct stat st;

	a.mode.set_it = TRUE;
	a.mode.set_mode3_u.mode = 0600;
	a.size.set_it = TRUE;
	a.size.set_size3_u.size = 12345;
	a.atime.set_it = SET_TO_CLIENT_TIME;
	a.atime.set_atime_u.atime = (nfstime3){1000000000, 1};
	a.mtime.set_it = SET_TO_CLIENT_TIME;
	a.mtime.set_mtime_u.mtime = (nfstime3){1100000000, 999999999};
	if (!geteuid()) {
		a.uid.set_it = a.gid.set_it = TRUE;
		a.uid.set_uid3_u.uid = 1000;
		a.gid.set_gid3_u.gid = 1001;
	}
	ck_assert_int_eq(setattr(&a, NULL), NFS3_OK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(st.st_size, 12345);
	ck_assert_int_eq(st.st_atim.tv_sec, 1000000000);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 999999999);
	if (!geteuid())
		ck_assert(st.st_uid == 1000 && st.st_gid == 1001);
}
END_TEST

START_TEST(times_of_the_server_are_now)
{
	sattr3 a = {.mtime.set_it = SET_TO_SERVER_TIME, .atime.set_it = SET_TO_SERVER_TIME};
	struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct stat st;

	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	ck_assert_int_eq(setattr(&a, NULL), NFS3_OK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_gt(st.st_mtim.tv_sec, 1000000000);
	ck_assert_int_gt(st.st_atim.tv_sec, 1000000000);
}
END_TEST

START_TEST(values_nobody_can_have_are_invalid)
{
	sattr3 a = {0};

	a.size.set_it = TRUE;
	a.size.set_size3_u.size = UINT64_MAX;
	ck_assert_int_eq(setattr(&a, NULL), NFS3ERR_INVAL);
	a.size.set_size3_u.size = UINT64_C(1) << 63;
	ck_assert_int_eq(setattr(&a, NULL), NFS3ERR_INVAL);
	a.size.set_it = FALSE;
	a.mtime.set_it = SET_TO_CLIENT_TIME;
	a.mtime.set_mtime_u.mtime.nseconds = 1000000000;
	ck_assert_int_eq(setattr(&a, NULL), NFS3ERR_INVAL);
	a.mtime.set_it = DONT_CHANGE;
	a.uid.set_it = TRUE;
	a.uid.set_uid3_u.uid = (uint32_t)-1;
	ck_assert_int_eq(setattr(&a, NULL), NFS3ERR_INVAL);
}
END_TEST

START_TEST(size_of_a_directory_is_invalid)
{
	SETATTR3args args = {.object = root};
	SETATTR3res res;

	args.new_attributes.size.set_it = TRUE;
	ck_assert_uint_eq(v3play_do(&p, SETATTR, &args, &res), 0);
	ck_assert_int_eq(res.status, NFS3ERR_INVAL);
	ck_assert(res.SETATTR3res_u.resfail.obj_wcc.after.attributes_follow);
}
END_TEST

START_TEST(the_guard_compares_ctime)
{
	sattr3 a = {0};
	sattrguard3 g = {.check = TRUE};
	fattr3 now;

	a.mode.set_it = TRUE;
	a.mode.set_mode3_u.mode = 0600;
	ck_assert_int_eq(v3play_getattr(&p, &file, &now), NFS3_OK);
	g.sattrguard3_u.obj_ctime = now.ctime;
	g.sattrguard3_u.obj_ctime.nseconds ^= 1;
	ck_assert_int_eq(setattr(&a, &g), NFS3ERR_NOT_SYNC);
	g.sattrguard3_u.obj_ctime = now.ctime;
	ck_assert_int_eq(setattr(&a, &g), NFS3_OK);
	g.sattrguard3_u.obj_ctime.nseconds = 1000000000;
	ck_assert_int_eq(setattr(&a, &g), NFS3ERR_INVAL);
}
END_TEST

START_TEST(the_owner_may_truncate_whatever_the_mode_others_not)
{
	sattr3 a = {0};

	if (!cred_switchable())
		return;
	ck_assert_int_eq(chown(path, 1000, 1000), 0);
	ck_assert_int_eq(chmod(path, 0), 0);
	a.size.set_it = TRUE;
	p.uid = p.gid = 1000;
	ck_assert_int_eq(setattr(&a, NULL), NFS3_OK);
	p.uid = 1001;
	ck_assert_int_eq(setattr(&a, NULL), NFS3ERR_ACCES);
	a.size.set_it = FALSE;
	a.mode.set_it = TRUE;
	ck_assert_int_eq(setattr(&a, NULL), NFS3ERR_PERM);
}
END_TEST

START_TEST(truncating_another_ones_setuid_file_clears_the_bit)
{
	sattr3 a = {0};
	struct stat st;

	if (!cred_switchable())
		return;
	ck_assert_int_eq(chmod(path, 06777), 0);
	a.size.set_it = TRUE;
	p.uid = p.gid = 1001;
	ck_assert_int_eq(setattr(&a, NULL), NFS3_OK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0777);
}
END_TEST

START_TEST(access_follows_the_mode_without_owner_override)
{
	if (!cred_switchable())
		return;
	ck_assert_int_eq(chown(path, 1000, 1000), 0);
	ck_assert_int_eq(chmod(path, 0444), 0);
	p.uid = p.gid = 1000;
	ck_assert_uint_eq(rights(0x3f), ACCESS3_READ);
	ck_assert_int_eq(chmod(path, 0750), 0);
	ck_assert_uint_eq(rights(0x3f),
			  ACCESS3_READ | ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_EXECUTE);
	p.uid = 1001;
	p.gid = 1001;
	p.ngids = 1;
	p.gids[0] = 1000;
	ck_assert_uint_eq(rights(0x3f), ACCESS3_READ | ACCESS3_EXECUTE);
	p.ngids = 0;
	ck_assert_uint_eq(rights(0x3f), 0);
}
END_TEST

START_TEST(access_on_a_read_only_export_never_grants_change)
{
	p.client.opts.rw = false;
	ck_assert_uint_eq(rights(0x3f) & (ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE), 0);
	ck_assert_uint_eq(rights(ACCESS3_READ), ACCESS3_READ);
}
END_TEST

START_TEST(a_read_only_export_refuses_change)
{
	sattr3 a = {0};

	p.client.opts.rw = false;
	ck_assert_int_eq(setattr(&a, NULL), NFS3ERR_ROFS);
}
END_TEST

START_TEST(bad_handles_are_told_from_stale_ones)
{
	static const unsigned lens[] = {0, 1, 10, 63, 64};
	struct fh f = file_fh;
	nfs_fh3 wire;
	fattr3 a;

	for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		f.len = (uint8_t)lens[i];
		wire = v3play_fh(&f);
		ck_assert_int_eq(v3play_getattr(&p, &wire, &a), NFS3ERR_BADHANDLE);
	}
	f = file_fh;
	f.data[f.len - 1] ^= 1;
	wire = v3play_fh(&f);
	ck_assert_int_eq(v3play_getattr(&p, &wire, &a), NFS3ERR_STALE);
	ck_assert_uint_ge(p.stats.bad_handles, 5);
}
END_TEST

START_TEST(clients_ports_and_flavors_are_checked)
{
	GETATTR3args args = {.object = file};
	GETATTR3res res;
	fattr3 a;

	p.client.opts.secure = true;
	p.owner.peer.secure_port = false;
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3ERR_PERM);
	p.client.opts.secure = false;
	p.flavor = 0;
	ck_assert_uint_eq(v3play_do(&p, GETATTR, &args, &res), 105); /* AUTH_TOOWEAK */
	p.client.opts.sec_none = true;
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3_OK);
	p.flavor = 1;
	p.client.match = EXPORT_HOST;
	p.table.generation++;
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3ERR_ACCES);
	p.table.n = 0;
	ck_assert_int_eq(v3play_getattr(&p, &file, &a), NFS3ERR_STALE);
	p.table.n = 1;
}
END_TEST

START_TEST(handles_survive_a_restart)
{
	fattr3 before, after;

	ck_assert_int_eq(v3play_getattr(&p, &file, &before), NFS3_OK);
	v3play_restart(&p);
	ck_assert_int_eq(v3play_getattr(&p, &file, &after), NFS3_OK);
	ck_assert_uint_eq(before.fileid, after.fileid);
	ck_assert_uint_eq(before.fsid, after.fsid);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfs3_attr");
	TCase *t = tcase_create("attr");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, attributes_are_those_of_the_file);
	tcase_add_test(t, a_removed_file_is_stale_even_while_open_in_the_cache);
	tcase_add_test(t, mode_owner_times_and_size_are_set);
	tcase_add_test(t, times_of_the_server_are_now);
	tcase_add_test(t, values_nobody_can_have_are_invalid);
	tcase_add_test(t, size_of_a_directory_is_invalid);
	tcase_add_test(t, the_guard_compares_ctime);
	tcase_add_test(t, the_owner_may_truncate_whatever_the_mode_others_not);
	tcase_add_test(t, truncating_another_ones_setuid_file_clears_the_bit);
	tcase_add_test(t, access_follows_the_mode_without_owner_override);
	tcase_add_test(t, access_on_a_read_only_export_never_grants_change);
	tcase_add_test(t, a_read_only_export_refuses_change);
	tcase_add_test(t, bad_handles_are_told_from_stale_ones);
	tcase_add_test(t, clients_ports_and_flavors_are_checked);
	tcase_add_test(t, handles_survive_a_restart);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
