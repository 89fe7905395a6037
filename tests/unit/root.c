/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/root.h"

#include <grp.h>
#include <pthread.h>

#include "tests/lib/everyfs.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"

static const char *why;

static struct root *open_root(const char *path, uint32_t id)
{
	struct root_params p = { .path = path, .id = id, .io = ROOT_IO_DEFAULT };
	struct root *r;

	ck_assert_msg(root_open(&r, &p, &why) == 0, "%s", why);
	ck_assert_str_eq(why, "");
	return r;
}

START_TEST(says_why_it_cannot_be_opened)
{
	const char *dir = scratch_dir(NULL);
	struct root_params p = { 0 };
	char path[300];
	struct root *r;

	snprintf(path, sizeof(path), "%s/none", dir);
	p.path = path;
	ck_assert_int_eq(root_open(&r, &p, &why), -ENOENT);
	ck_assert_str_ne(why, "");
	scratch_write(AT_FDCWD, path, "x");
	ck_assert_int_eq(root_open(&r, &p, &why), -ENOTDIR);
	ck_assert_str_eq(why, "not a directory");
	scratch_remove(dir);
}
END_TEST

START_TEST(path_is_resolved_and_gives_the_id)
{
	const char *dir = scratch_dir(NULL);
	char a[300], b[300], link[300];
	struct root *ra, *rb, *rl;

	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/b", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	ck_assert_int_eq(mkdir(a, 0755), 0);
	ck_assert_int_eq(mkdir(b, 0755), 0);
	ck_assert_int_eq(symlink("a", link), 0);
	ra = open_root(a, 0);
	rb = open_root(b, 0);
	rl = open_root(link, 0);
	ck_assert_str_eq(rl->path, a);
	ck_assert_uint_eq(ra->id, rl->id);
	ck_assert_uint_ne(ra->id, rb->id);
	ck_assert_uint_ne(ra->id, 0);
	ck_assert_mem_eq(ra->fskey, rl->fskey, 8);
	root_put(ra);
	root_put(rb);
	root_put(rl);
	scratch_remove(dir);
}
END_TEST

START_TEST(id_given_is_kept)
{
	const char *dir = scratch_dir(NULL);
	struct root *r = open_root(dir, 42);

	ck_assert_uint_eq(r->id, 42);
	root_put(r);
	scratch_remove(dir);
}
END_TEST

/* What comes on another device is another file system, unless the operator says that it is not. */
START_TEST(without_a_uuid_another_device_is_another_file_system)
{
	struct loopfs l;
	struct root *r;
	uint8_t before[8];

	ck_assert_int_eq(loopfs_up_nameless(&l), 0);
	r = open_root(l.dir, _i);
	memcpy(before, r->fskey, sizeof(before));
	root_put(r);
	ck_assert_int_eq(loopfs_remount(&l, true), 0);
	r = open_root(l.dir, _i);
	ck_assert_int_eq(!memcmp(before, r->fskey, sizeof(before)), _i != 0);
	root_put(r);
	loopfs_down(&l);
}
END_TEST

START_TEST(on_unsupported_fail_refuses_what_cannot_be_done)
{
	struct root_params p = { .path = everyfs_dir(_i), .io = ROOT_IO_DEFAULT };
	bool disk = _i == EVERYFS_EXT4 || _i == EVERYFS_XFS;
	struct root *r;

	p.io.fail_unsupported = true;
	ck_assert_int_eq(root_open(&r, &p, &why), disk ? 0 : -ENOTSUP);
	if (disk) {
		root_put(r);
		return;
	}
	ck_assert_ptr_nonnull(strstr(why, "read-mode direct cannot be done"));
	p.io.read_mode = DIO_MODE_BUFFERED;
	ck_assert_int_eq(root_open(&r, &p, &why), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(why, "write-mode direct cannot be done"));
	p.io.write_mode = DIO_MODE_BUFFERED;
	ck_assert_int_eq(root_open(&r, &p, &why), 0);
	root_put(r);
}
END_TEST

START_TEST(privileged_opens_handles_unprivileged_takes_paths)
{
	const char *dir = scratch_dir(NULL);
	struct root *r = open_root(dir, 0);

	ck_assert(!r->path_mode);
	ck_assert_int_ge(r->mount_fd, 0);
	root_put(r);
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setgid(65534), 0);
	ck_assert_int_eq(setuid(65534), 0);
	r = open_root(dir, 0);
	ck_assert(r->path_mode);
	ck_assert_int_eq(r->mount_fd, -1);
	ck_assert_ptr_nonnull(r->paths);
	ck_assert(!r->probe.handles);
	root_put(r);
	rmdir(dir);
}
END_TEST

static void *count_in_bank(void *arg)
{
	struct root *r = arg;
	static _Atomic unsigned next;

	root_stats_bank_set(next++ + ROOT_WORKERS - 2); /* wraps */
	for (int i = 0; i < 1000; i++) {
		root_stats_here(r)->payload[DIO_WRITE] += 2;
		root_stats_here(r)->part[2]++;
	}
	return NULL;
}

START_TEST(counters_of_all_workers_add_up)
{
	const char *dir = scratch_dir(NULL);
	struct root *r = open_root(dir, 0);
	struct root_stats sum;
	pthread_t t[5];

	for (int i = 0; i < 5; i++)
		pthread_create(&t[i], NULL, count_in_bank, r);
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	root_stats_here(r)->errors[DIO_READ] = 7;
	root_stats_sum(r, &sum);
	ck_assert_uint_eq(sum.payload[DIO_WRITE], 10000);
	ck_assert_uint_eq(sum.part[2], 5000);
	ck_assert_uint_eq(sum.errors[DIO_READ], 7);
	ck_assert_uint_eq(sum.syncs, 0);
	root_put(r);
	scratch_remove(dir);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("root");
	TCase *tc = tcase_create("root");

	tcase_add_unchecked_fixture(tc, everyfs_up, everyfs_down);
	tcase_add_test(tc, says_why_it_cannot_be_opened);
	tcase_add_test(tc, path_is_resolved_and_gives_the_id);
	tcase_add_test(tc, id_given_is_kept);
	tcase_add_test(tc, counters_of_all_workers_add_up);
	if (geteuid() == 0)
		tcase_add_test(tc, privileged_opens_handles_unprivileged_takes_paths);
	if (everyfs_able) {
		tcase_add_loop_test(tc, on_unsupported_fail_refuses_what_cannot_be_done, 0,
				    EVERYFS);
		tcase_add_loop_test(tc, without_a_uuid_another_device_is_another_file_system, 0, 2);
	}
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	everyfs_init();
	return unit_run(suite());
}
