/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many threads, few files: the test of the cache's locking, best under -fsanitize=thread. */
#define _GNU_SOURCE
#include "tests/lib/fdworld.h"

#include <pthread.h>

#include "tests/lib/unit.h"

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
	Suite *s = suite_create("fdcache_race");
	TCase *tc = tcase_create("fdcache_race");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, many_threads_never_get_another_file_or_lose_one);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
