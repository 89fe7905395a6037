/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "tests/lib/fdworld.h"

#include <grp.h>
#include <sys/resource.h>

#include "tests/lib/everyfs.h"
#include "tests/lib/unit.h"

START_TEST(peek_finds_only_what_was_opened_with_enough_access)
{
	struct file *f, *g;
	struct fh fh;

	world_make(NULL, 0);
	scratch_write(dirfd_of_world(), "a", "hello");
	fh = fh_of("a");
	ck_assert_ptr_null(fdcache_peek(w.cache, &fh, FILE_PATH));
	f = must_open(&fh, FILE_READ);
	g = fdcache_peek(w.cache, &fh, FILE_READ);
	ck_assert_ptr_eq(f, g);
	file_put(g);
	g = fdcache_peek(w.cache, &fh, FILE_PATH);
	ck_assert_ptr_eq(f, g);
	file_put(g);
	ck_assert_ptr_null(fdcache_peek(w.cache, &fh, FILE_WRITE));
	file_put(f);
	world_end();
}
END_TEST

START_TEST(first_write_replaces_the_read_only_file_and_serves_reads)
{
	struct file *r, *wr, *g;
	struct fh fh;
	char buf[8];

	world_make(NULL, 0);
	scratch_write(dirfd_of_world(), "a", "hello");
	fh = fh_of("a");
	r = must_open(&fh, FILE_READ);
	ck_assert_int_eq(pwrite(r->fd, "x", 1, 0), -1);
	wr = must_open(&fh, FILE_WRITE);
	ck_assert_ptr_ne(r, wr);
	ck_assert_int_eq(pwrite(wr->fd, "J", 1, 0), 1);
	ck_assert_int_eq(pread(r->fd, buf, 5, 0), 5); /* who has the old one keeps it */
	ck_assert_mem_eq(buf, "Jello", 5);
	g = must_open(&fh, FILE_READ);
	ck_assert_ptr_eq(g, wr);
	ck_assert_uint_eq(fdcache_count(w.cache), 1);
	file_put(g);
	file_put(r);
	file_put(wr);
	world_end();
}
END_TEST

START_TEST(only_regular_files_are_opened_for_io)
{
	struct file *f;
	struct fh fh;

	world_make(NULL, 0);
	ck_assert_int_eq(mkdirat(dirfd_of_world(), "dir", 0755), 0);
	ck_assert_int_eq(mkfifoat(dirfd_of_world(), "fifo", 0600), 0);
	ck_assert_int_eq(symlinkat("a", dirfd_of_world(), "link"), 0);
	fh = fh_of("dir");
	ck_assert_int_eq(open_fh(&fh, FILE_READ, &f), -EISDIR);
	ck_assert_int_eq(open_fh(&fh, FILE_WRITE, &f), -EISDIR);
	file_put(must_open(&fh, FILE_PATH));
	fh = fh_of("fifo");
	ck_assert_int_eq(open_fh(&fh, FILE_READ, &f), -EINVAL);
	f = must_open(&fh, FILE_PATH);
	ck_assert(S_ISFIFO(f->type));
	ck_assert_int_eq(f->fd, -1);
	file_put(f);
	fh = fh_of("link");
	ck_assert_int_eq(open_fh(&fh, FILE_READ, &f), -ELOOP);
	f = must_open(&fh, FILE_PATH);
	ck_assert(S_ISLNK(f->type));
	file_put(f);
	world_end();
}
END_TEST

START_TEST(a_direct_twin_exists_exactly_where_alignment_is_reported)
{
	bool direct = _i == EVERYFS_EXT4 || _i == EVERYFS_XFS;
	struct file *f;
	struct fh fh;

	world_make(everyfs_dir(_i), 0);
	scratch_write(dirfd_of_world(), "a", "hello");
	fh = fh_of("a");
	for (enum file_access a = FILE_READ; a <= FILE_WRITE; a++) {
		f = must_open(&fh, a);
		ck_assert_int_eq(f->dio_fd >= 0, direct);
		ck_assert_int_eq(f->offset_align > 0, direct);
		ck_assert_int_eq(f->read_align > 0, direct);
		if (direct)
			ck_assert(fcntl(f->dio_fd, F_GETFL) & O_DIRECT);
		ck_assert(!(fcntl(f->fd, F_GETFL) & (O_DIRECT | O_NONBLOCK)));
		file_put(f);
	}
	world_end();
}
END_TEST

START_TEST(a_removed_file_is_stale_and_its_space_is_freed)
{
	struct file *f;
	unsigned before;
	struct fh fh;

	world_make(NULL, 0);
	scratch_write(dirfd_of_world(), "a", "hello");
	fh = fh_of("a");
	before = open_fds();
	file_put(must_open(&fh, FILE_WRITE));
	ck_assert_uint_gt(open_fds(), before);
	ck_assert_int_eq(unlinkat(dirfd_of_world(), "a", 0), 0);
	fdcache_forget(w.cache, &fh);
	ck_assert(fds_fall_to(before));
	ck_assert_ptr_null(fdcache_peek(w.cache, &fh, FILE_PATH));
	ck_assert_int_eq(open_fh(&fh, FILE_READ, &f), -ESTALE);
	world_end();
}
END_TEST

START_TEST(a_removed_file_in_use_elsewhere_is_stale_too)
{
	struct file *f, *g;
	struct fh fh;

	world_make(NULL, 0);
	scratch_write(dirfd_of_world(), "a", "hello");
	fh = fh_of("a");
	f = must_open(&fh, FILE_WRITE);
	ck_assert_int_eq(unlinkat(dirfd_of_world(), "a", 0), 0);
	fdcache_forget(w.cache, &fh);
	ck_assert_int_eq(open_fh(&fh, FILE_READ, &g), -ESTALE);
	ck_assert_int_eq(pwrite(f->fd, "x", 1, 0), 1); /* a request under way ends well */
	file_put(f);
	world_end();
}
END_TEST

START_TEST(a_file_with_another_name_left_is_kept)
{
	struct file *f;
	struct fh fh;

	world_make(NULL, 0);
	scratch_write(dirfd_of_world(), "a", "hello");
	ck_assert_int_eq(linkat(dirfd_of_world(), "a", dirfd_of_world(), "b", 0), 0);
	fh = fh_of("a");
	file_put(must_open(&fh, FILE_WRITE));
	ck_assert_int_eq(unlinkat(dirfd_of_world(), "a", 0), 0);
	fdcache_forget(w.cache, &fh);
	f = fdcache_peek(w.cache, &fh, FILE_WRITE);
	ck_assert_ptr_nonnull(f);
	file_put(f);
	world_end();
}
END_TEST

START_TEST(the_table_stays_within_its_bound)
{
	struct fdcache_stats st;

	world_make(NULL, 8);
	for (int i = 0; i < 200; i++) {
		struct fh fh = numbered(i);

		file_put(must_open(&fh, FILE_READ));
		ck_assert_uint_le(fdcache_count(w.cache), 8);
	}
	fdcache_stats(w.cache, &st);
	ck_assert_uint_eq(st.misses, 200);
	ck_assert_uint_eq(st.evictions, 192);
	world_end();
}
END_TEST

/* Names that are only looked at do not drive out each other as long as there are descriptors. */
START_TEST(what_is_held_by_path_alone_takes_a_third)
{
	struct fh fh;

	world_make(NULL, 8);
	for (int i = 0; i < 24; i++) {
		fh = numbered(i);
		file_put(must_open(&fh, FILE_PATH));
	}
	ck_assert_uint_eq(fdcache_count(w.cache), 24);
	fh = numbered(24);
	file_put(must_open(&fh, FILE_READ));
	ck_assert_uint_eq(fdcache_count(w.cache), 22);
	for (int i = 0; i < 24; i++) {
		fh = numbered(i);
		file_put(must_open(&fh, FILE_WRITE));
	}
	ck_assert_uint_le(fdcache_count(w.cache), 8);
	world_end();
}
END_TEST

/* Take every descriptor there is below a limit `more` above those open now; returns how many. */
static int hog_descriptors(int *hogs, unsigned more)
{
	struct rlimit lim;
	int n = 0;

	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = open_fds() + more;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &lim), 0);
	while ((hogs[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	ck_assert_int_eq(errno, EMFILE);
	return n;
}

START_TEST(out_of_descriptors_it_closes_others_and_opens)
{
	struct fh first[10], fh;
	int hogs[64], n;
	struct file *f;

	world_make(NULL, 100000);
	for (int i = 0; i < 10; i++) {
		first[i] = numbered(i);
		file_put(must_open(&first[i], FILE_READ));
	}
	fh = numbered(10);
	n = hog_descriptors(hogs, 8);
	f = must_open(&fh, FILE_WRITE);
	ck_assert_uint_lt(fdcache_count(w.cache), 11);
	while (n > 0)
		close(hogs[--n]);
	file_put(f);
	world_end();
}
END_TEST

START_TEST(out_of_descriptors_with_nothing_to_close_it_says_so)
{
	int hogs[64], n;
	struct file *f;
	struct fh fh;

	world_make(NULL, 0);
	fh = numbered(1);
	n = hog_descriptors(hogs, 8);
	ck_assert_int_eq(open_fh(&fh, FILE_READ, &f), -EMFILE);
	while (n > 0)
		close(hogs[--n]);
	file_put(must_open(&fh, FILE_READ));
	world_end();
}
END_TEST

START_TEST(shed_frees_descriptors)
{
	unsigned before;

	world_make(NULL, 0);
	before = open_fds() + 1; /* the world's own directory */
	dirfd_of_world();
	for (int i = 0; i < 10; i++) {
		struct fh fh = numbered(i);

		file_put(must_open(&fh, FILE_READ));
	}
	ck_assert_uint_eq(fdcache_shed(w.cache, 4), 4);
	ck_assert_uint_eq(fdcache_count(w.cache), 6);
	ck_assert_uint_eq(fdcache_shed(w.cache, 100), 6);
	ck_assert(fds_fall_to(before));
	world_end();
}
END_TEST

START_TEST(files_in_use_are_never_evicted)
{
	struct file *f;
	struct fh fh;

	world_make(NULL, 2);
	fh = numbered(1000);
	f = must_open(&fh, FILE_READ);
	for (int i = 0; i < 20; i++) {
		struct fh other = numbered(i);

		file_put(must_open(&other, FILE_READ));
	}
	ck_assert_ptr_eq(fdcache_peek(w.cache, &fh, FILE_READ), f);
	file_put(f);
	file_put(f);
	world_end();
}
END_TEST

START_TEST(unsynced_data_is_synced_before_the_file_is_dropped)
{
	struct file *f;
	uint64_t verf;
	struct fh fh;

	world_make(NULL, 0);
	fh = numbered(1);
	f = must_open(&fh, FILE_WRITE);
	verf = verifier_get(&w.verifier);
	ck_assert_int_eq(pwrite(f->fd, "data", 4, 0), 4);
	f->unsynced = 3;
	file_get(f); /* look at it afterwards */
	file_put(f);
	file_put(f);
	ck_assert_uint_eq(fdcache_shed(w.cache, 1), 1);
	fdcache_free(w.cache);
	ck_assert_uint_eq(verifier_get(&w.verifier), verf);
	w.cache = NULL;
	world_end();
}
END_TEST

START_TEST(a_failed_sync_before_a_close_changes_the_verifier)
{
	struct fdcache_stats st;
	struct file *f;
	uint64_t verf;
	struct fh fh;
	int pipefd[2];

	world_make(NULL, 0);
	fh = numbered(1);
	f = must_open(&fh, FILE_WRITE);
	verf = verifier_get(&w.verifier);
	ck_assert_int_eq(pipe(pipefd), 0);
	ck_assert_int_ge(dup2(pipefd[1], f->fd), 0); /* fdatasync of a pipe fails */
	f->unsynced = 1;
	file_put(f);
	ck_assert_uint_eq(fdcache_shed(w.cache, 1), 1);
	for (int i = 0; i < 10000 && fdcache_count(w.cache) > 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	ck_assert_uint_eq(fdcache_count(w.cache), 0);
	ck_assert_uint_ne(verifier_get(&w.verifier), verf);
	fdcache_stats(w.cache, &st);
	ck_assert_uint_eq(st.sync_failures, 1);
	close(pipefd[0]);
	close(pipefd[1]);
	world_end();
}
END_TEST

START_TEST(idle_files_are_swept_and_used_ones_stay)
{
	struct timespec ts;
	struct fh a, b;
	struct file *f;
	uint64_t now;

	world_make(NULL, 0);
	a = numbered(1);
	b = numbered(2);
	file_put(must_open(&a, FILE_READ));
	f = must_open(&b, FILE_READ);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	fdcache_sweep(w.cache, now + 5000000000ull);
	ck_assert_uint_eq(fdcache_count(w.cache), 2);
	fdcache_sweep(w.cache, now + 11000000000ull);
	ck_assert_uint_eq(fdcache_count(w.cache), 1);
	file_put(f);
	fdcache_sweep(w.cache, now + 11000000000ull);
	ck_assert_uint_eq(fdcache_count(w.cache), 0);
	world_end();
}
END_TEST

START_TEST(purge_closes_one_roots_files_only)
{
	struct root_params rp = { .path = w.dir, .id = 99 };
	struct handle_parts p;
	struct root *other;
	const char *why;
	struct file *f;
	struct fh a, b;
	int fd;

	world_make(NULL, 0);
	rp.path = w.dir;
	ck_assert_int_eq(root_open(&other, &rp, &why), 0);
	a = numbered(1);
	file_put(must_open(&a, FILE_READ));
	fd = scratch_path(other->fd, "n1");
	ck_assert_int_eq(handle_of(w.key, other, fd, &b), 0);
	close(fd);
	ck_assert_int_eq(handle_decode(w.key, b.data, b.len, &p), 0);
	ck_assert_int_eq(fdcache_open(w.cache, other, &b, &p, FILE_READ, &f), 0);
	file_put(f);
	fdcache_purge(w.cache, w.root);
	ck_assert_ptr_null(fdcache_peek(w.cache, &a, FILE_READ));
	f = fdcache_peek(w.cache, &b, FILE_READ);
	ck_assert_ptr_nonnull(f);
	file_put(f);
	fdcache_purge(w.cache, other);
	ck_assert_uint_eq(fdcache_count(w.cache), 0);
	for (int i = 0; i < 10000 && other->refs > 1; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	root_put(other);
	world_end();
}
END_TEST

START_TEST(of_a_purged_root_nothing_is_kept)
{
	struct file *f;
	struct fh fh;

	world_make(NULL, 0);
	fh = numbered(1);
	fdcache_purge(w.cache, w.root);
	f = must_open(&fh, FILE_WRITE); /* a request that began before the reload */
	ck_assert_int_eq(pwrite(f->fd, "x", 1, 0), 1);
	ck_assert_ptr_null(fdcache_peek(w.cache, &fh, FILE_PATH));
	ck_assert_uint_eq(fdcache_count(w.cache), 0);
	file_put(f);
	world_end();
}
END_TEST

START_TEST(a_root_opened_anew_gets_files_of_its_own)
{
	struct root *old, *next;
	struct root_params rp;
	struct handle_parts p;
	const char *why;
	struct file *f;
	struct fh fh;

	world_make(NULL, 0);
	fh = numbered(1);
	file_put(must_open(&fh, FILE_WRITE));
	rp = (struct root_params){ .path = w.dir };
	ck_assert_int_eq(root_open(&next, &rp, &why), 0);
	ck_assert_int_eq(handle_decode(w.key, fh.data, fh.len, &p), 0);
	ck_assert_int_eq(fdcache_open(w.cache, next, &fh, &p, FILE_READ, &f), 0);
	ck_assert_ptr_eq(f->root, next);
	file_put(f);
	ck_assert_uint_eq(fdcache_count(w.cache), 1);
	old = w.root;
	w.root = next;
	fdcache_purge(w.cache, old);
	ck_assert_uint_eq(fdcache_count(w.cache), 1);
	root_put(old);
	world_end();
}
END_TEST

START_TEST(the_owner_writes_a_read_only_file_without_privilege)
{
	struct stat st;
	struct file *f;
	struct fh fh;
	int fd;

	if (geteuid() == 0) {
		ck_assert_int_eq(setgroups(0, NULL), 0);
		ck_assert_int_eq(setgid(65534), 0);
		ck_assert_int_eq(setuid(65534), 0);
	}
	world_make(NULL, 0);
	fd = openat(dirfd_of_world(), "a", O_WRONLY | O_CREAT, 0444);
	ck_assert_int_ge(fd, 0);
	close(fd);
	fh = fh_of("a");
	f = must_open(&fh, FILE_WRITE);
	ck_assert_int_eq(pwrite(f->fd, "x", 1, 0), 1);
	ck_assert_int_eq(fstat(f->fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0444);
	file_put(f);
	world_end();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fdcache");
	TCase *tc = tcase_create("fdcache");

	tcase_add_unchecked_fixture(tc, everyfs_up, everyfs_down);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, peek_finds_only_what_was_opened_with_enough_access);
	tcase_add_test(tc, first_write_replaces_the_read_only_file_and_serves_reads);
	tcase_add_test(tc, only_regular_files_are_opened_for_io);
	if (everyfs_able)
		tcase_add_loop_test(tc, a_direct_twin_exists_exactly_where_alignment_is_reported, 0,
				    EVERYFS);
	tcase_add_test(tc, a_removed_file_is_stale_and_its_space_is_freed);
	tcase_add_test(tc, a_removed_file_in_use_elsewhere_is_stale_too);
	tcase_add_test(tc, a_file_with_another_name_left_is_kept);
	tcase_add_test(tc, what_is_held_by_path_alone_takes_a_third);
	tcase_add_test(tc, the_table_stays_within_its_bound);
	tcase_add_test(tc, out_of_descriptors_it_closes_others_and_opens);
	tcase_add_test(tc, out_of_descriptors_with_nothing_to_close_it_says_so);
	tcase_add_test(tc, shed_frees_descriptors);
	tcase_add_test(tc, files_in_use_are_never_evicted);
	tcase_add_test(tc, unsynced_data_is_synced_before_the_file_is_dropped);
	tcase_add_test(tc, a_failed_sync_before_a_close_changes_the_verifier);
	tcase_add_test(tc, idle_files_are_swept_and_used_ones_stay);
	tcase_add_test(tc, purge_closes_one_roots_files_only);
	tcase_add_test(tc, of_a_purged_root_nothing_is_kept);
	tcase_add_test(tc, a_root_opened_anew_gets_files_of_its_own);
	tcase_add_test(tc, the_owner_writes_a_read_only_file_without_privilege);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	everyfs_init();
	return unit_run(suite());
}
