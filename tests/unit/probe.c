/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/probe.h"

#include <dirent.h>
#include <grp.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <time.h>

#include "tests/lib/everyfs.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"

static bool kernel_at_least(int major, int minor)
{
	struct utsname u;
	int a = 0, b = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &a, &b);
	return a > major || (a == major && b >= minor);
}

static struct probe probe_of(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct probe p;

	ck_assert_int_eq(probe_run(fd, &p), 0);
	close(fd);
	return p;
}

START_TEST(tells_the_file_system_and_what_it_can)
{
	const char *dir = scratch_dir(everyfs_dir(_i)), *why;
	struct probe p = probe_of(dir);
	bool disk = _i == EVERYFS_EXT4 || _i == EVERYFS_XFS;

	ck_assert_str_eq(p.fstype, everyfs[_i].fstype);
	ck_assert(p.measured);
	ck_assert(p.handles);
	ck_assert_str_eq(p.handles_why, "");
	ck_assert(!p.read_only);
	ck_assert_int_eq(p.uuid_stable, _i != EVERYFS_TMPFS);
	ck_assert_int_eq(p.align.offset > 0, disk && kernel_at_least(6, 1));
	if (disk && kernel_at_least(6, 14)) {
		ck_assert(p.dontcache_read);
		ck_assert(p.dontcache_write);
		ck_assert(p.dontcache_drops);
	}
	if (!disk) {
		ck_assert(!p.dontcache_read);
		ck_assert(!p.dontcache_write);
		/* O_DIRECT opens and writes there, but it is no direct I/O */
		ck_assert_int_eq(probe_effective(&p, DIO_READ, DIO_MODE_DIRECT, &why),
				 DIO_MODE_BUFFERED);
		ck_assert_str_ne(why, "");
		ck_assert_int_eq(probe_effective(&p, DIO_WRITE, DIO_MODE_DONTCACHE, &why),
				 DIO_MODE_BUFFERED);
		ck_assert_str_ne(why, "");
	}
	if (kernel_at_least(6, 13))
		ck_assert(p.ctime_moves);
	scratch_remove(dir);
}
END_TEST

START_TEST(leaves_nothing_behind_and_is_quick)
{
	const char *dir = scratch_dir(everyfs_dir(_i));
	struct stat before, after;
	struct timespec a, b;
	DIR *d;

	ck_assert_int_eq(stat(dir, &before), 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	probe_of(dir);
	clock_gettime(CLOCK_MONOTONIC, &b);
	ck_assert_int_eq(stat(dir, &after), 0);
	ck_assert_int_eq(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	ck_assert_int_lt((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000, 1000);
	d = opendir(dir);
	for (struct dirent *e; (e = readdir(d));)
		ck_assert(e->d_name[0] == '.' && strlen(e->d_name) < 3);
	closedir(d);
	scratch_remove(dir);
}
END_TEST

START_TEST(identity_survives_a_remount_on_another_device)
{
	struct probe a = probe_of(everyfs_dir(_i)), b;

	ck_assert_int_eq(loopfs_remount(&everyfs[_i], true), 0);
	b = probe_of(everyfs_dir(_i));
	ck_assert_mem_eq(a.uuid, b.uuid, sizeof(a.uuid));
}
END_TEST

START_TEST(file_systems_have_different_identities)
{
	for (int i = 0; i < EVERYFS; i++)
		for (int j = 0; j < i; j++) {
			struct probe a = probe_of(everyfs_dir(i)), b = probe_of(everyfs_dir(j));

			ck_assert_mem_ne(a.uuid, b.uuid, sizeof(a.uuid));
		}
}
END_TEST

START_TEST(without_a_uuid_file_systems_are_still_told_apart)
{
	struct loopfs l[2];
	struct probe p[2];

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(loopfs_up_nameless(&l[i]), 0);
		p[i] = probe_of(l[i].dir);
		ck_assert(!p[i].uuid_stable);
	}
	ck_assert_mem_ne(p[0].uuid, p[1].uuid, sizeof(p[0].uuid));
	ck_assert_uint_ne(p[0].dev, p[1].dev);
	for (int i = 0; i < 2; i++)
		loopfs_down(&l[i]);
}
END_TEST

START_TEST(read_only_is_examined_by_a_file_that_is_there)
{
	const char *top = everyfs_dir(_i);
	struct probe rw, ro;
	char path[300];

	snprintf(path, sizeof(path), "%s/deep", top);
	ck_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
	strcat(path, "/file");
	scratch_write(AT_FDCWD, path, "x");
	rw = probe_of(top);
	ck_assert_int_eq(mount(NULL, top, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
	ro = probe_of(top);
	ck_assert(ro.read_only);
	ck_assert(!ro.measured);
	ck_assert_uint_eq(ro.align.offset, rw.align.offset);
	ck_assert_int_eq(ro.dontcache_read, rw.dontcache_read);
	ck_assert(!ro.dontcache_write);
	ck_assert_int_eq(mount(NULL, top, NULL, MS_REMOUNT | MS_BIND, NULL), 0);
}
END_TEST

START_TEST(without_privilege_there_are_no_handles)
{
	const char *dir = scratch_dir(NULL);
	struct probe p;

	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setgid(65534), 0);
	ck_assert_int_eq(setuid(65534), 0);
	p = probe_of(dir);
	ck_assert(!p.handles);
	ck_assert_ptr_nonnull(strstr(p.handles_why, "CAP_DAC_READ_SEARCH"));
	ck_assert(p.measured);
	rmdir(dir);
}
END_TEST

START_TEST(alignment_is_seen_to_change_with_a_reflink)
{
	const char *dir = scratch_dir(everyfs_dir(EVERYFS_XFS));
	struct probe_align before, after;
	static char block[65536];
	char path[300];
	int a, b;

	snprintf(path, sizeof(path), "%s/a", dir);
	a = open(path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(write(a, block, sizeof(block)), sizeof(block));
	snprintf(path, sizeof(path), "%s/b", dir);
	b = open(path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(probe_file_align(a, &before), 0);
	ck_assert_int_eq(ioctl(b, FICLONE, a), 0);
	ck_assert_int_eq(probe_file_align(a, &after), 0);
	ck_assert_uint_eq(after.read, before.read);
	if (kernel_at_least(6, 14))
		ck_assert_uint_gt(after.offset, before.offset);
	close(a);
	close(b);
	scratch_remove(dir);
}
END_TEST

START_TEST(effective_mode_says_why_it_is_not_what_was_asked)
{
	struct probe none = { .measured = true };
	struct probe all = { .align = { 512, 512, 512 }, .measured = true, .dontcache_read = true,
			     .dontcache_write = true, .dontcache_drops = true };
	struct probe keeps = { .measured = true, .dontcache_read = true, .dontcache_write = true };
	const char *why;

	for (int op = DIO_READ; op <= DIO_WRITE; op++)
		for (int m = DIO_MODE_BUFFERED; m <= DIO_MODE_DIRECT; m++) {
			ck_assert_int_eq(probe_effective(&all, op, m, &why), m);
			ck_assert_str_eq(why, "");
			ck_assert_int_eq(probe_effective(&none, op, m, &why), DIO_MODE_BUFFERED);
			ck_assert_int_eq(*why == 0, m == DIO_MODE_BUFFERED);
		}
	ck_assert_int_eq(probe_effective(&keeps, DIO_READ, DIO_MODE_DONTCACHE, &why),
			 DIO_MODE_DONTCACHE);
	ck_assert_int_eq(probe_effective(&keeps, DIO_WRITE, DIO_MODE_DONTCACHE, &why),
			 DIO_MODE_BUFFERED);
	ck_assert_ptr_nonnull(strstr(why, "stay"));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("probe");
	TCase *tc = tcase_create("probe"), *files = tcase_create("files");

	tcase_add_test(tc, effective_mode_says_why_it_is_not_what_was_asked);
	if (geteuid() == 0)
		tcase_add_test(tc, without_privilege_there_are_no_handles);
	suite_add_tcase(s, tc);
	if (!everyfs_able)
		return s;
	tcase_add_unchecked_fixture(files, everyfs_up, everyfs_down);
	tcase_add_loop_test(files, tells_the_file_system_and_what_it_can, 0, EVERYFS);
	tcase_add_loop_test(files, leaves_nothing_behind_and_is_quick, 0, EVERYFS);
	tcase_add_loop_test(files, read_only_is_examined_by_a_file_that_is_there, 0, EVERYFS);
	tcase_add_test(files, file_systems_have_different_identities);
	tcase_add_test(files, without_a_uuid_file_systems_are_still_told_apart);
	tcase_add_test(files, alignment_is_seen_to_change_with_a_reflink);
	tcase_add_loop_test(files, identity_survives_a_remount_on_another_device, 0, EVERYFS_TMPFS);
	suite_add_tcase(s, files);
	return s;
}

int main(void)
{
	everyfs_init();
	return unit_run(suite());
}
