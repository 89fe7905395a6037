/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/pathmap.h"

#include <grp.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "nfsd-io/core/handle.h"
#include "tests/lib/everyfs.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"

/* A root in path mode at DIR/root, its log in DIR/state. */
static const char *dir;
static char rootpath[300], statepath[300];
static struct root *root;
static struct handle_key *key;
static int top; /* real descriptor of the root directory */

static void start(void)
{
	struct root_params p = {
		.path = rootpath, .id = 1, .state_dir = statepath, .force_path_mode = true};
	const char *why;

	ck_assert_msg(root_open(&root, &p, &why) == 0, "%s", why);
	ck_assert(root->path_mode);
	top = open(rootpath, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(top, 0);
}

static void stop(void)
{
	close(top);
	root_put(root);
}

static void make(const char *base)
{
	dir = scratch_dir(base);
	snprintf(rootpath, sizeof(rootpath), "%s/root", dir);
	snprintf(statepath, sizeof(statepath), "%s/state", dir);
	ck_assert_int_eq(mkdir(rootpath, 0777), 0);
	ck_assert_int_eq(mkdir(statepath, 0777), 0);
	ck_assert_int_eq(handle_key_load(&key, NULL), 0);
	start();
}

static void end(void)
{
	stop();
	handle_key_free(key);
	scratch_remove(dir);
}

static void restart(void)
{
	stop();
	start();
}

/* The handle of a path, learnt step by step as a client would look it up. */
static struct fh fh_of(const char *path)
{
	char copy[1024], *save, *name;
	int at = dup(root->fd), next;
	struct fh fh;

	snprintf(copy, sizeof(copy), "%s", path);
	for (name = strtok_r(copy, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		next = scratch_path(at, name);
		ck_assert_int_eq(handle_of_child(key, root, at, name, next, &fh), 0);
		close(at);
		at = next;
	}
	close(at);
	return fh;
}

static int open_fh(const struct fh *fh)
{
	struct handle_parts p;

	ck_assert_int_eq(handle_decode(key, fh->data, fh->len, &p), 0);
	return handle_open(root, &p);
}

static void opens(const struct fh *fh, const char *path)
{
	int fd = open_fh(fh), want = scratch_path(top, path);

	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(-fd));
	ck_assert(scratch_same(fd, want));
	close(fd);
	close(want);
}

static void moved(const char *olddir, const char *oldname, const char *newdir, const char *newname)
{
	int a = *olddir ? scratch_path(top, olddir) : dup(top),
	    b = *newdir ? scratch_path(top, newdir) : dup(top);

	ck_assert_int_eq(renameat(a, oldname, b, newname), 0);
	handle_note_rename(root, a, oldname, b, newname);
	close(a);
	close(b);
}

static void check_every_kind(void)
{
	struct fh fh[5];
	static const char *const path[5] = { "d", "d/file", "d/link", "d/fifo", "d/e" };

	ck_assert_int_eq(mkdirat(top, "d", 0755), 0);
	scratch_write(top, "d/file", "x");
	ck_assert_int_eq(symlinkat("file", top, "d/link"), 0);
	ck_assert_int_eq(mkfifoat(top, "d/fifo", 0600), 0);
	ck_assert_int_eq(mkdirat(top, "d/e", 0755), 0);
	for (int i = 0; i < 5; i++)
		fh[i] = fh_of(path[i]);
	for (int i = 0; i < 5; i++)
		opens(&fh[i], path[i]);
	restart();
	for (int i = 0; i < 5; i++)
		opens(&fh[i], path[i]);
}

START_TEST(every_kind_of_object_opens_also_after_a_restart)
{
	make(everyfs_dir(_i));
	check_every_kind();
	end();
}
END_TEST

START_TEST(works_without_any_privilege)
{
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setgid(65534), 0);
	ck_assert_int_eq(setuid(65534), 0);
	make(NULL);
	check_every_kind();
	end();
}
END_TEST

START_TEST(works_on_overlayfs_also_after_copy_up)
{
	char opts[1200], merged[300], path[400];
	struct fh fh;
	int fd;

	make(everyfs_dir(EVERYFS_EXT4));
	snprintf(opts, sizeof(opts), "%s/lower", dir);
	ck_assert_int_eq(mkdir(opts, 0755), 0);
	snprintf(path, sizeof(path), "%s/lower/file", dir);
	scratch_write(AT_FDCWD, path, "x");
	snprintf(opts, sizeof(opts), "%s/upper", dir);
	ck_assert_int_eq(mkdir(opts, 0755), 0);
	snprintf(opts, sizeof(opts), "%s/work", dir);
	ck_assert_int_eq(mkdir(opts, 0755), 0);
	snprintf(merged, sizeof(merged), "%s/merged", dir);
	ck_assert_int_eq(mkdir(merged, 0755), 0);
	snprintf(opts, sizeof(opts), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dir,
		 dir, dir);
	if (mount("overlay", merged, "overlay", 0, opts) < 0) {
		end();
		return; /* no overlayfs in this kernel */
	}
	stop();
	strcpy(rootpath, merged);
	start();
	fh = fh_of("file");
	opens(&fh, "file");
	fd = openat(top, "file", O_WRONLY); /* copies up */
	ck_assert_int_eq(write(fd, "y", 1), 1);
	close(fd);
	opens(&fh, "file");
	restart();
	opens(&fh, "file");
	stop();
	umount2(merged, MNT_DETACH);
	snprintf(rootpath, sizeof(rootpath), "%s/root", dir);
	start();
	end();
}
END_TEST

START_TEST(what_we_rename_is_found_there)
{
	struct fh dir_fh, file;

	make(NULL);
	ck_assert_int_eq(mkdirat(top, "a", 0755), 0);
	ck_assert_int_eq(mkdirat(top, "b", 0755), 0);
	ck_assert_int_eq(mkdirat(top, "a/sub", 0755), 0);
	scratch_write(top, "a/sub/file", "x");
	file = fh_of("a/sub/file");
	dir_fh = fh_of("a/sub");
	moved("a", "sub", "b", "moved");
	opens(&dir_fh, "b/moved");
	opens(&file, "b/moved/file");
	moved("b/moved", "file", "", "top");
	opens(&file, "top");
	restart();
	opens(&dir_fh, "b/moved");
	opens(&file, "top");
	end();
}
END_TEST

START_TEST(what_is_replaced_by_rename_is_stale)
{
	struct fh old, next;

	make(NULL);
	scratch_write(top, "f", "old");
	scratch_write(top, "f.lock", "new");
	old = fh_of("f");
	next = fh_of("f.lock");
	moved("", "f.lock", "", "f");
	opens(&next, "f");
	ck_assert_int_eq(open_fh(&old), -ESTALE);
	end();
}
END_TEST

START_TEST(what_we_remove_or_make_anew_is_stale)
{
	struct fh fh;

	make(NULL);
	scratch_write(top, "f", "x");
	fh = fh_of("f");
	ck_assert_int_eq(unlinkat(top, "f", 0), 0);
	handle_note_remove(root, top, "f");
	ck_assert_uint_eq(pathmap_count(root->paths), 0);
	ck_assert_int_eq(open_fh(&fh), -ESTALE);
	scratch_write(top, "f", "y");
	ck_assert_int_eq(open_fh(&fh), -ESTALE);
	end();
}
END_TEST

START_TEST(renamed_behind_our_back_within_a_directory_is_found)
{
	struct fh file, deep;

	make(NULL);
	ck_assert_int_eq(mkdirat(top, "d", 0755), 0);
	scratch_write(top, "d/f", "x");
	scratch_write(top, "g", "x");
	deep = fh_of("d/f");
	file = fh_of("g");
	ck_assert_int_eq(renameat(top, "g", top, "h"), 0);
	opens(&file, "h");
	ck_assert_int_eq(renameat(top, "d", top, "e"), 0); /* its parent has another name now */
	opens(&deep, "e/f");
	opens(&deep, "e/f");
	end();
}
END_TEST

START_TEST(moved_behind_our_back_elsewhere_is_stale_until_seen_again)
{
	struct fh fh, again;

	make(NULL);
	ck_assert_int_eq(mkdirat(top, "d", 0755), 0);
	scratch_write(top, "f", "x");
	fh = fh_of("f");
	ck_assert_int_eq(renameat(top, "f", top, "d/f"), 0);
	ck_assert_int_eq(open_fh(&fh), -ESTALE);
	again = fh_of("d/f");
	ck_assert_mem_eq(&fh, &again, 1 + fh.len);
	opens(&fh, "d/f");
	end();
}
END_TEST

START_TEST(a_symlink_put_in_the_way_is_not_followed)
{
	struct fh fh;

	make(NULL);
	ck_assert_int_eq(mkdirat(top, "d", 0755), 0);
	scratch_write(top, "d/f", "x");
	fh = fh_of("d/f");
	ck_assert_int_eq(renameat(top, "d", top, "real"), 0);
	ck_assert_int_eq(symlinkat("real", top, "d"), 0);
	opens(&fh, "real/f"); /* by the directory's new name */
	end();
}
END_TEST

START_TEST(a_second_name_serves_when_the_first_goes)
{
	struct fh a, b;

	make(NULL);
	scratch_write(top, "a", "x");
	ck_assert_int_eq(linkat(top, "a", top, "b", 0), 0);
	a = fh_of("a");
	b = fh_of("b");
	ck_assert_mem_eq(&a, &b, 1 + a.len);
	ck_assert_int_eq(unlinkat(top, "b", 0), 0);
	handle_note_remove(root, top, "b");
	opens(&a, "a");
	end();
}
END_TEST

START_TEST(a_descriptor_alone_is_enough_to_learn_from)
{
	struct fh fh;
	int fd;

	make(NULL);
	ck_assert_int_eq(mkdirat(top, "d", 0755), 0);
	ck_assert_int_eq(mkdirat(top, "d/e", 0755), 0);
	scratch_write(top, "d/e/f", "x");
	fd = scratch_path(top, "d/e/f");
	ck_assert_int_eq(handle_of(key, root, fd, &fh), 0);
	close(fd);
	opens(&fh, "d/e/f");
	fd = scratch_path(AT_FDCWD, dir); /* not below the root */
	ck_assert_int_eq(handle_of(key, root, fd, &fh), -ESTALE);
	close(fd);
	end();
}
END_TEST

START_TEST(deep_trees_are_served)
{
	char path[1000] = "";
	struct fh fh;

	make(NULL);
	for (int i = 0; i < 200; i++) {
		strcat(path, i ? "/dd" : "dd");
		ck_assert_int_eq(mkdirat(top, path, 0755), 0);
	}
	fh = fh_of(path);
	opens(&fh, path);
	ck_assert_int_eq(renameat(top, "dd", top, "xx"), 0); /* repaired from the bottom up */
	memcpy(path, "xx", 2);
	opens(&fh, path);
	end();
}
END_TEST

START_TEST(short_of_descriptors_nothing_is_forgotten)
{
	struct rlimit lim, none;
	struct fh fh;

	make(NULL);
	scratch_write(top, "f", "x");
	fh = fh_of("f");
	getrlimit(RLIMIT_NOFILE, &lim);
	none = lim;
	none.rlim_cur = 1;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(open_fh(&fh), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &lim), 0);
	opens(&fh, "f");
	end();
}
END_TEST

static char *log_path(void)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/paths-%08x.log", statepath, 1);
	return path;
}

START_TEST(a_torn_log_loses_only_what_is_torn)
{
	struct stat before, after;
	struct fh a, b;

	make(NULL);
	scratch_write(top, "a", "x");
	scratch_write(top, "b", "x");
	a = fh_of("a");
	ck_assert_int_eq(stat(log_path(), &before), 0);
	ck_assert_int_gt(before.st_size, 0);
	b = fh_of("b");
	ck_assert_int_eq(stat(log_path(), &after), 0);
	for (off_t cut = after.st_size - 1; cut >= before.st_size; cut--) {
		stop();
		ck_assert_int_eq(truncate(log_path(), cut), 0);
		start();
		opens(&a, "a");
		ck_assert_int_eq(open_fh(&b), -ESTALE);
	}
	b = fh_of("b"); /* and what is appended afterwards counts */
	restart();
	opens(&a, "a");
	opens(&b, "b");
	end();
}
END_TEST

START_TEST(a_log_of_garbage_is_harmless)
{
	char garbage[5000];
	struct fh fh;

	make(NULL);
	stop();
	for (int i = 0; i < 5000; i++)
		garbage[i] = i * 7 + 1;
	garbage[4999] = 0;
	scratch_write(AT_FDCWD, log_path(), garbage);
	start();
	ck_assert_uint_eq(pathmap_count(root->paths), 0);
	scratch_write(top, "f", "x");
	fh = fh_of("f");
	restart();
	opens(&fh, "f");
	end();
}
END_TEST

START_TEST(what_was_learnt_is_made_durable_once)
{
	struct fh fh;

	make(NULL);
	scratch_write(top, "a", "x");
	fh = fh_of("a");
	ck_assert_int_eq(pathmap_sync(root->paths), 1);
	ck_assert_int_eq(pathmap_sync(root->paths), 0);
	moved("", "a", "", "b");
	ck_assert_int_eq(pathmap_sync(root->paths), 1);
	restart();
	opens(&fh, "b");
	end();
}
END_TEST

START_TEST(the_log_is_rewritten_when_mostly_dead)
{
	struct stat st;
	struct fh fh;

	make(NULL);
	scratch_write(top, "a", "x");
	fh = fh_of("a");
	for (int i = 0; i < 40000; i++)
		moved("", i & 1 ? "b" : "a", "", i & 1 ? "a" : "b");
	ck_assert_int_eq(stat(log_path(), &st), 0);
	ck_assert_int_lt(st.st_size, 40000 * 40);
	restart();
	opens(&fh, "a");
	ck_assert_uint_eq(pathmap_count(root->paths), 1);
	end();
}
END_TEST

START_TEST(a_log_in_use_is_left_to_its_owner)
{
	const char *why;
	struct pathmap *m;

	make(NULL);
	ck_assert_int_eq(pathmap_new(&m, root->fd, log_path(), &why), 0);
	ck_assert_ptr_nonnull(strstr(why, "in use"));
	pathmap_free(m);
	end();
}
END_TEST

/* --- one thread moves, others open: never a moment without the file --- */

static _Atomic bool race_over;
static struct fh race_fh;

static void *race_opener(void *arg)
{
	intptr_t bad = 0;

	(void)arg;
	while (!race_over) {
		int fd = open_fh(&race_fh);

		if (fd >= 0)
			close(fd);
		else
			bad++;
	}
	return (void *)bad;
}

START_TEST(what_is_being_renamed_is_never_missing)
{
	pthread_t t[3];
	void *bad;

	make(NULL);
	ck_assert_int_eq(mkdirat(top, "a", 0755), 0);
	ck_assert_int_eq(mkdirat(top, "b", 0755), 0);
	scratch_write(top, "a/f", "x");
	race_fh = fh_of("a/f");
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, race_opener, NULL), 0);
	for (int i = 0; i < 2000; i++) {
		handle_names_lock(root);
		moved(i & 1 ? "b" : "a", "f", i & 1 ? "a" : "b", "f");
		handle_names_unlock(root);
	}
	race_over = true;
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &bad);
		ck_assert_ptr_null(bad);
	}
	ck_assert_uint_eq(pathmap_count(root->paths), 3);
	end();
}
END_TEST

START_TEST(a_name_taken_again_is_not_forgotten_with_the_old)
{
	struct fh old, next;

	make(NULL);
	scratch_write(top, "a", "x");
	old = fh_of("a");
	ck_assert_int_eq(renameat(top, "a", top, "b"), 0);
	scratch_write(top, "a", "y"); /* by another thread, before ... */
	next = fh_of("a");
	handle_note_rename(root, top, "a", top, "b"); /* ... the first gets here */
	opens(&old, "b");
	opens(&next, "a");
	ck_assert_uint_eq(pathmap_count(root->paths), 2);
	end();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pathmap");
	TCase *tc = tcase_create("pathmap");

	tcase_add_unchecked_fixture(tc, everyfs_up, everyfs_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_we_rename_is_found_there);
	tcase_add_test(tc, what_is_replaced_by_rename_is_stale);
	tcase_add_test(tc, what_we_remove_or_make_anew_is_stale);
	tcase_add_test(tc, renamed_behind_our_back_within_a_directory_is_found);
	tcase_add_test(tc, moved_behind_our_back_elsewhere_is_stale_until_seen_again);
	tcase_add_test(tc, a_symlink_put_in_the_way_is_not_followed);
	tcase_add_test(tc, a_second_name_serves_when_the_first_goes);
	tcase_add_test(tc, a_descriptor_alone_is_enough_to_learn_from);
	tcase_add_test(tc, deep_trees_are_served);
	tcase_add_test(tc, short_of_descriptors_nothing_is_forgotten);
	tcase_add_test(tc, a_torn_log_loses_only_what_is_torn);
	tcase_add_test(tc, a_log_of_garbage_is_harmless);
	tcase_add_test(tc, what_was_learnt_is_made_durable_once);
	tcase_add_test(tc, the_log_is_rewritten_when_mostly_dead);
	tcase_add_test(tc, what_is_being_renamed_is_never_missing);
	tcase_add_test(tc, a_name_taken_again_is_not_forgotten_with_the_old);
	tcase_add_test(tc, a_log_in_use_is_left_to_its_owner);
	if (geteuid() == 0)
		tcase_add_test(tc, works_without_any_privilege);
	if (everyfs_able) {
		tcase_add_loop_test(tc, every_kind_of_object_opens_also_after_a_restart, 0,
				    EVERYFS);
		tcase_add_test(tc, works_on_overlayfs_also_after_copy_up);
	}
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	everyfs_init();
	return unit_run(suite());
}
