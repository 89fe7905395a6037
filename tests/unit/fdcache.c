/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/file.h"

#include <dirent.h>
#include <grp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/lib/everyfs.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"

/* Everything a cache needs, over a fresh directory. */
static struct world {
	const char *dir;
	struct root *root;
	struct handle_key *key;
	struct offload *offload;
	struct verifier verifier;
	struct fdcache *cache;
} w;

static void world_make(const char *base, unsigned max_files)
{
	struct root_params rp = { 0 };
	struct fdcache_params p = { .max_files = max_files };
	const char *why;

	w.dir = scratch_dir(base);
	rp.path = w.dir;
	ck_assert_int_eq(root_open(&w.root, &rp, &why), 0);
	ck_assert_int_eq(handle_key_load(&w.key, NULL), 0);
	ck_assert_int_eq(offload_new(&w.offload, 4), 0);
	verifier_init(&w.verifier);
	p.offload = w.offload;
	p.verifier = &w.verifier;
	p.key = w.key;
	ck_assert_int_eq(fdcache_new(&w.cache, &p), 0);
}

static void world_end(void)
{
	fdcache_free(w.cache);
	offload_free(w.offload);
	ck_assert_uint_eq(w.root->refs, 1);
	root_put(w.root);
	handle_key_free(w.key);
	scratch_remove(w.dir);
}

static int dirfd_of_world(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(w.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct fh fh_of(const char *name)
{
	int fd = scratch_path(w.root->fd, name);
	struct fh fh;

	ck_assert_int_eq(handle_of_child(w.key, w.root, w.root->fd, name, fd, &fh), 0);
	close(fd);
	return fh;
}

static int open_fh(const struct fh *fh, enum file_access a, struct file **out)
{
	struct handle_parts p;

	ck_assert_int_eq(handle_decode(w.key, fh->data, fh->len, &p), 0);
	return fdcache_open(w.cache, w.root, fh, &p, a, out);
}

static struct file *must_open(const struct fh *fh, enum file_access a)
{
	struct file *f;
	int rc = open_fh(fh, a, &f);

	ck_assert_msg(rc == 0, "%s", strerror(-rc));
	return f;
}

static unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Closing is done by other threads: wait for the number of descriptors, 10 s at most. */
static bool fds_fall_to(unsigned want)
{
	for (int i = 0; i < 10000; i++) {
		if (open_fds() <= want)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return false;
}

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
	ck_assert_int_eq(open_fh(&fh, FILE_READ, &f), -EINVAL);
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

static struct fh numbered(int i)
{
	char name[16];

	snprintf(name, sizeof(name), "n%d", i);
	scratch_write(dirfd_of_world(), name, name);
	return fh_of(name);
}

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

/* --- many threads, few files: run it under -fsanitize=thread --- */

#define RACERS 6
#define FILES 4
#define ROUNDS 1500

static struct fh race_fh[FILES];
static pthread_mutex_t race_lock = PTHREAD_MUTEX_INITIALIZER;

static struct fh race_pick(int i)
{
	struct fh fh;

	pthread_mutex_lock(&race_lock);
	fh = race_fh[i];
	pthread_mutex_unlock(&race_lock);
	return fh;
}

/* Remove and make again: the handle changes. */
static void race_replace(int i)
{
	struct fh old = race_pick(i), fh;

	pthread_mutex_lock(&race_lock);
	char name[16];
	snprintf(name, sizeof(name), "n%d", i);
	unlinkat(dirfd_of_world(), name, 0);
	fh = numbered(i);
	race_fh[i] = fh;
	pthread_mutex_unlock(&race_lock);
	fdcache_forget(w.cache, &old);
}

static void *racer(void *arg)
{
	unsigned seed = (uintptr_t)arg;
	intptr_t bad = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int n = rand_r(&seed) % FILES, what = rand_r(&seed) % 100;
		enum file_access a = rand_r(&seed) % 3;
		struct fh fh = race_pick(n);
		struct file *f = fdcache_peek(w.cache, &fh, a);
		struct handle_parts p;
		int rc = 0;

		if (!f && handle_decode(w.key, fh.data, fh.len, &p) == 0)
			rc = fdcache_open(w.cache, w.root, &fh, &p, a, &f);
		if (rc == 0 && (f->access < a || memcmp(f->fh.data, fh.data, fh.len)))
			bad++;
		if (rc == 0 && f->access == FILE_WRITE)
			f->unsynced++;
		if (rc < 0 && rc != -ESTALE)
			bad++;
		if (rc == 0)
			file_put(f);
		if (what == 0)
			race_replace(n);
		else if (what < 3)
			fdcache_shed(w.cache, 2);
		else if (what == 3)
			fdcache_sweep(w.cache, UINT64_MAX / 2);
		else if (what == 4)
			fdcache_purge(w.cache, w.root);
	}
	return (void *)bad;
}

START_TEST(many_threads_never_get_another_file_or_lose_one)
{
	pthread_t t[RACERS];
	struct stat st;
	unsigned before;

	world_make(NULL, 3);
	for (int i = 0; i < FILES; i++)
		race_fh[i] = numbered(i);
	before = open_fds();
	for (uintptr_t i = 0; i < RACERS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, racer, (void *)(i + 1)), 0);
	for (int i = 0; i < RACERS; i++) {
		void *bad;

		pthread_join(t[i], &bad);
		ck_assert_ptr_null(bad);
	}
	/* No deleted file may be left in the table. */
	for (int i = 0; i < FILES; i++) {
		struct file *f = fdcache_peek(w.cache, &race_fh[i], FILE_PATH);

		if (!f)
			continue;
		ck_assert_int_eq(fstat(f->path_fd, &st), 0);
		ck_assert_uint_gt(st.st_nlink, 0);
		file_put(f);
	}
	fdcache_purge(w.cache, w.root);
	ck_assert_uint_eq(fdcache_count(w.cache), 0);
	ck_assert(fds_fall_to(before));
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
		tcase_add_loop_test(tc, a_direct_twin_exists_exactly_where_alignment_is_reported, 0, EVERYFS);
	tcase_add_test(tc, a_removed_file_is_stale_and_its_space_is_freed);
	tcase_add_test(tc, a_removed_file_in_use_elsewhere_is_stale_too);
	tcase_add_test(tc, a_file_with_another_name_left_is_kept);
	tcase_add_test(tc, the_table_stays_within_its_bound);
	tcase_add_test(tc, out_of_descriptors_it_closes_others_and_opens);
	tcase_add_test(tc, out_of_descriptors_with_nothing_to_close_it_says_so);
	tcase_add_test(tc, shed_frees_descriptors);
	tcase_add_test(tc, files_in_use_are_never_evicted);
	tcase_add_test(tc, unsynced_data_is_synced_before_the_file_is_dropped);
	tcase_add_test(tc, a_failed_sync_before_a_close_changes_the_verifier);
	tcase_add_test(tc, idle_files_are_swept_and_used_ones_stay);
	tcase_add_test(tc, purge_closes_one_roots_files_only);
	tcase_add_test(tc, a_root_opened_anew_gets_files_of_its_own);
	tcase_add_test(tc, the_owner_writes_a_read_only_file_without_privilege);
	tcase_add_test(tc, many_threads_never_get_another_file_or_lose_one);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	everyfs_init();
	return unit_run(suite());
}
