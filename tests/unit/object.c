/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/object.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/lib/everyfs.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"

static const char *dir; /* holds "root", which is exported, and "out", which is not */
static struct root *root;

static void make(const char *base)
{
	struct root_params p = { 0 };
	const char *why;
	char path[300];
	int fd;

	dir = scratch_dir(base);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(mkdirat(fd, "root", 0755), 0);
	ck_assert_int_eq(mkdirat(fd, "out", 0755), 0);
	scratch_write(fd, "out/secret", "s");
	ck_assert_int_eq(mkdirat(fd, "root/sub", 0755), 0);
	scratch_write(fd, "root/file", "f");
	scratch_write(fd, "root/sub/file", "g");
	ck_assert_int_eq(symlinkat("../out", fd, "root/link"), 0);
	ck_assert_int_eq(mkfifoat(fd, "root/fifo", 0600), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/root", dir);
	p.path = path;
	ck_assert_int_eq(root_open(&root, &p, &why), 0);
}

static void end(void)
{
	root_put(root);
	scratch_remove(dir);
}

static int must_find(int dirfd, const char *name)
{
	int fd = object_lookup(root, dirfd, name);

	ck_assert_msg(fd >= 0, "%s: %s", name, strerror(-fd));
	return fd;
}

START_TEST(names_are_checked_as_one_component)
{
	char longest[257];

	memset(longest, 'x', sizeof(longest));
	ck_assert_int_eq(object_name_check("a", 1), 0);
	ck_assert_int_eq(object_name_check("...", 3), 0);
	ck_assert_int_eq(object_name_check(".a", 2), 0);
	ck_assert_int_eq(object_name_check(longest, 255), 0);
	ck_assert_int_eq(object_name_check(longest, 256), -ENAMETOOLONG);
	ck_assert_int_eq(object_name_check("", 0), -EACCES);
	ck_assert_int_eq(object_name_check(".", 1), -EINVAL);
	ck_assert_int_eq(object_name_check("..", 2), -EINVAL);
	ck_assert_int_eq(object_name_check("a/b", 3), -EACCES);
	ck_assert_int_eq(object_name_check("a\0b", 3), -EACCES);
}
END_TEST

static void check_lookups(void)
{
	int sub, fd, same;

	make(NULL);
	sub = must_find(root->fd, "sub");
	fd = must_find(sub, "file");
	close(fd);
	same = must_find(sub, ".");
	ck_assert(scratch_same(sub, same));
	close(same);
	ck_assert_int_eq(object_lookup(root, root->fd, "none"), -ENOENT);
	fd = must_find(root->fd, "file");
	ck_assert_int_eq(object_lookup(root, fd, "x"), -ENOTDIR);
	ck_assert_int_eq(object_lookup(root, fd, "."), -ENOTDIR);
	close(fd);
	close(sub);
}

START_TEST(lookup_goes_one_step)
{
	check_lookups();
	end();
}
END_TEST

START_TEST(lookup_works_where_openat2_is_unknown)
{
	struct sock_filter prog[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (_i ? EPERM : ENOSYS)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog fprog = { sizeof(prog) / sizeof(*prog), prog };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog), 0);
	check_lookups();
	end();
}
END_TEST

START_TEST(a_symlink_is_found_itself_and_never_followed)
{
	struct stat st;
	int fd;

	make(NULL);
	fd = must_find(root->fd, "link");
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(object_lookup(root, fd, "secret"), -ENOTDIR);
	close(fd);
	end();
}
END_TEST

START_TEST(the_parent_of_the_root_is_the_root)
{
	int sub, up, top;

	make(NULL);
	sub = must_find(root->fd, "sub");
	up = must_find(sub, "..");
	ck_assert(scratch_same(up, root->fd));
	top = must_find(up, "..");
	ck_assert(scratch_same(top, root->fd));
	close(sub);
	close(up);
	close(top);
	end();
}
END_TEST

START_TEST(a_directory_moved_out_is_no_way_up)
{
	char from[300], to[300];
	int sub;

	make(NULL);
	sub = must_find(root->fd, "sub");
	snprintf(from, sizeof(from), "%s/root/sub", dir);
	snprintf(to, sizeof(to), "%s/out/sub", dir);
	ck_assert_int_eq(rename(from, to), 0);
	ck_assert_int_eq(object_lookup(root, sub, ".."), -ESTALE);
	/* a sibling whose name merely begins like the root's */
	snprintf(from, sizeof(from), "%s/rootlike", dir);
	ck_assert_int_eq(mkdir(from, 0755), 0);
	strcat(from, "/sub");
	ck_assert_int_eq(rename(to, from), 0);
	ck_assert_int_eq(object_lookup(root, sub, ".."), -ESTALE);
	close(sub);
	end();
}
END_TEST

START_TEST(a_renamed_root_still_knows_what_is_in_it)
{
	char from[300], to[300];
	int sub, up;

	make(NULL);
	sub = must_find(root->fd, "sub");
	snprintf(from, sizeof(from), "%s/root", dir);
	snprintf(to, sizeof(to), "%s/renamed", dir);
	ck_assert_int_eq(rename(from, to), 0);
	up = must_find(sub, "..");
	ck_assert(scratch_same(up, root->fd));
	close(up);
	close(sub);
	end();
}
END_TEST

START_TEST(another_file_system_below_is_refused_and_the_same_one_crossed)
{
	char at[300], same[300];
	int fd;

	make(everyfs_dir(EVERYFS_EXT4));
	snprintf(at, sizeof(at), "%s/root/sub", dir);
	ck_assert_int_eq(mount("tmpfs", at, "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(object_lookup(root, root->fd, "sub"), -EXDEV);
	ck_assert_int_eq(umount(at), 0);
	snprintf(same, sizeof(same), "%s/out", dir);
	ck_assert_int_eq(mount(same, at, NULL, MS_BIND, NULL), 0);
	fd = must_find(root->fd, "sub");
	close(must_find(fd, "secret"));
	close(fd);
	ck_assert_int_eq(umount(at), 0);
	end();
}
END_TEST

START_TEST(everything_can_be_asked_to_sync)
{
	static const char *const names[] = { "file", "sub", "link", "fifo", "." };
	int fd;

	make(everyfs_dir(_i));
	for (int i = 0; i < 5; i++) {
		fd = must_find(root->fd, names[i]);
		ck_assert_int_eq(object_sync(fd), 0);
		close(fd);
	}
	fd = openat(root->fd, "file", O_RDWR);
	ck_assert_int_eq(object_sync(fd), 0);
	close(fd);
	end();
}
END_TEST

START_TEST(reopen_gives_the_same_object_whatever_its_name_now)
{
	int fd, real;

	make(NULL);
	fd = must_find(root->fd, "file");
	ck_assert_int_eq(unlinkat(root->fd, "file", 0), 0);
	scratch_write(root->mount_fd < 0 ? root->fd : root->mount_fd, "file", "other");
	real = object_reopen(fd, O_RDONLY);
	ck_assert_int_ge(real, 0);
	ck_assert(scratch_same(fd, real));
	ck_assert(fcntl(real, F_GETFD) & FD_CLOEXEC);
	close(real);
	close(fd);
	end();
}
END_TEST

static struct handle_key *some_key(void)
{
	static const uint8_t secret[HANDLE_KEY_LEN] = "some secret";
	struct handle_key *k;

	ck_assert_int_eq(handle_key_new(&k, secret), 0);
	return k;
}

/* As object_lookup() and object_tell() say it; a name that is not there has no handle. */
static void look_up(const struct handle_key *k, struct root *r, int dirfd, const char *name,
		    struct stat *st, struct fh *fh)
{
	int fd = object_lookup(r, dirfd, name);
	bool have_st = false;

	fh->len = 0;
	if (fd < 0)
		return;
	ck_assert_int_eq(object_tell(k, r, dirfd, name, fd, st, &have_st, fh), 0);
	ck_assert(have_st);
	close(fd);
}

/* Until it is old enough for its handle to be kept. */
static void look_until_known(const struct handle_key *k, struct root *r, int dirfd,
			     const char *name)
{
	time_t deadline = time(NULL) + 20;
	struct statx x;
	struct stat st;
	struct fh fh;

	while (!handle_glance(k, r, dirfd, name, &x, &fh)) {
		ck_assert_msg(time(NULL) < deadline, "%s on %s is never known", name,
			      r->probe.fstype);
		look_up(k, r, dirfd, name, &st, &fh);
		usleep(20000);
	}
}

static void glance_agrees(const struct handle_key *k, struct root *r, int dirfd, const char *name)
{
	struct statx x;
	struct stat st;
	struct fh seen, found;

	ck_assert_msg(handle_glance(k, r, dirfd, name, &x, &seen), "%s on %s", name,
		      r->probe.fstype);
	look_up(k, r, dirfd, name, &st, &found);
	ck_assert_uint_eq(seen.len, found.len);
	ck_assert_mem_eq(seen.data, found.data, seen.len);
	ck_assert_uint_eq(x.stx_ino, st.st_ino);
}

START_TEST(a_glance_tells_what_a_lookup_does)
{
	static const char *const names[] = { "file", "sub", "link", "fifo" };
	struct handle_key *k = some_key();
	struct root *roots[EVERYFS] = { NULL };
	const char *dirs[EVERYFS] = { NULL };
	struct statx x;
	struct fh fh;

	for (int i = 0; i < EVERYFS; i++) {
		if (!everyfs[i].dir[0])
			continue;
		make(everyfs[i].dir);
		roots[i] = root;
		dirs[i] = strdup(dir);
	}
	for (int i = 0; i < EVERYFS; i++) {
		struct root *r = roots[i];

		if (!r)
			continue;
		/* Where inodes have no birth time nothing is ever known, and nothing wrong. */
		ck_assert(root_tells_births(r));
		for (unsigned n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			look_until_known(k, r, r->fd, names[n]);
		for (unsigned n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			glance_agrees(k, r, r->fd, names[n]);
		/* Another object of that name, perhaps of that number, has not been seen. */
		ck_assert_int_eq(unlinkat(r->fd, "file", 0), 0);
		ck_assert(!handle_glance(k, r, r->fd, "file", &x, &fh));
		scratch_write(r->fd, "file", "another");
		ck_assert(!handle_glance(k, r, r->fd, "file", &x, &fh));
		ck_assert_int_eq(renameat(r->fd, "fifo", r->fd, "file"), 0);
		glance_agrees(k, r, r->fd, "file");
		root_put(r);
		scratch_remove(dirs[i]);
		free((char *)dirs[i]);
	}
	handle_key_free(k);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("object");
	TCase *tc = tcase_create("object");

	tcase_add_unchecked_fixture(tc, everyfs_up, everyfs_down);
	tcase_add_test(tc, names_are_checked_as_one_component);
	tcase_add_test(tc, lookup_goes_one_step);
	tcase_add_loop_test(tc, lookup_works_where_openat2_is_unknown, 0, 2);
	tcase_add_test(tc, a_symlink_is_found_itself_and_never_followed);
	tcase_add_test(tc, the_parent_of_the_root_is_the_root);
	tcase_add_test(tc, a_directory_moved_out_is_no_way_up);
	tcase_add_test(tc, a_renamed_root_still_knows_what_is_in_it);
	tcase_add_test(tc, reopen_gives_the_same_object_whatever_its_name_now);
	if (everyfs_able) {
		tcase_add_test(tc, another_file_system_below_is_refused_and_the_same_one_crossed);
		tcase_add_test(tc, a_glance_tells_what_a_lookup_does);
		tcase_add_loop_test(tc, everything_can_be_asked_to_sync, 0, EVERYFS);
	}
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	everyfs_init();
	return unit_run(suite());
}
