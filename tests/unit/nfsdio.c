/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that has nothing but <nfsdio.h> and libnfsdio.so. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <nfsdio.h>

#include "tests/lib/nfsdio_trial.h"
#include "tests/lib/unit.h"

START_TEST(every_mode_and_rule_round_trips)
{
	static uint8_t mem[(1 << 20) + 8192] __attribute__((aligned(4096)));
	struct outcome o;

	setup(_i);
	sem_init(&o.sem, 0, 0);
	for (int m = 0; m < 3 * 3 * 4; m++) {
		struct nfsdio_file_params p = {(enum nfsdio_mode)(m % 3),
					       (enum nfsdio_mode)(m / 3 % 3),
					       (enum nfsdio_rule)(m / 9), 32768, 0};
		struct nfsdio_file *f;

		ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, &p), 0);
		round_trip(f, mem, 0, 65536, NFSDIO_UNSTABLE);
		round_trip(f, mem + 1000, 1000, 47008, NFSDIO_DATA_SYNC);
		round_trip(f, mem + 77, 3, 100003, NFSDIO_UNSTABLE);
		round_trip(f, mem, 512, 1 << 20, NFSDIO_FILE_SYNC);
		ck_assert_int_eq(nfsdio_commit(f, 0, 0, on_done, &o), 0);
		wait_for(&o);
		ck_assert_int_eq(o.r.res, 0);
		ck_assert_int_eq(nfsdio_file_close(f), 0);
	}
	sem_destroy(&o.sem);
	teardown();
}
END_TEST

START_TEST(explains_and_counts_what_it_does)
{
	static uint8_t mem[65536] __attribute__((aligned(4096)));
	struct nfsdio_stats s;
	struct nfsdio_file *f;
	uint64_t ops = 0;
	char text[200];
	bool split;

	setup(_i);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, NULL), 0);
	nfsdio_explain(f, NFSDIO_WRITE, 1000, 47008, text, sizeof(text));
	split = strncmp(text, "SPLIT: 3096 at 1000 buffered, 40960 at 4096 direct, ", 51) == 0;
	ck_assert_msg(split || strncmp(text, "NO_ALIGN: ", 10) == 0, "%s", text);
	nfsdio_explain(f, NFSDIO_WRITE, 1000, 47008, text, 6);
	ck_assert_uint_le(strlen(text), 5);
	round_trip(f, mem + 1000, 1000, 47008, NFSDIO_UNSTABLE);
	nfsdio_file_stats(f, &s);
	for (unsigned i = 0; nfsdio_decision_name(i); i++) {
		ops += s.ops[NFSDIO_WRITE][i];
		if (!strcmp(nfsdio_decision_name(i), split ? "SPLIT" : "NO_ALIGN"))
			ck_assert_uint_eq(s.ops[NFSDIO_WRITE][i], 1);
	}
	ck_assert_uint_eq(ops, 1);
	ck_assert_uint_eq(s.payload[NFSDIO_WRITE], 47008);
	if (split)
		ck_assert_uint_eq(s.head + s.middle + s.tail, 47008);
	ck_assert_int_eq(nfsdio_file_close(f), 0);
	teardown();
}
END_TEST

START_TEST(refuses_what_cannot_be)
{
	struct nfsdio_file_params bad = { (enum nfsdio_mode)7, NFSDIO_DIRECT, NFSDIO_PAGE, 0, 0 };
	struct nfsdio_file *f;
	char c;

	setup(_i);
	ck_assert_int_eq(nfsdio_file_open(n, &f, "/tmp", O_RDONLY, 0, NULL), -EISDIR);
	ck_assert_int_eq(nfsdio_file_open(n, &f, "/dev/null", O_RDWR, 0, NULL), -EINVAL);
	ck_assert_int_eq(nfsdio_file_open(n, &f, "/nowhere/x", O_RDONLY, 0, NULL), -ENOENT);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_WRONLY, 0, NULL), -EINVAL);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, &bad), -EINVAL);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, NULL), 0);
	ck_assert_int_eq(nfsdio_read(f, &c, 1, 1ull << 63, on_done, NULL), -EINVAL);
	ck_assert_int_eq(nfsdio_write(f, &c, (1 << 20) + 1, 0, NFSDIO_UNSTABLE, on_done, NULL),
			 -EINVAL);
	ck_assert_int_eq(nfsdio_write(f, &c, 1, 0, (enum nfsdio_stable)9, on_done, NULL), -EINVAL);
	ck_assert_int_eq(nfsdio_file_close(f), 0);
	ck_assert_int_eq(nfsdio_file_close(NULL), 0);
	teardown();
	nfsdio_free(NULL);
}
END_TEST

START_TEST(wraps_descriptors_of_others)
{
	static uint8_t mem[65536] __attribute__((aligned(4096)));
	struct nfsdio_file *f;
	int fd, direct;

	setup(_i);
	fd = open(path, O_RDWR);
	direct = open(path, O_RDWR | O_DIRECT);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(nfsdio_file_wrap(n, &f, fd, i ? direct : -1, NULL), 0);
		round_trip(f, mem, 4096, 8192, NFSDIO_DATA_SYNC);
		round_trip(f, mem + 100, 100, 50000, NFSDIO_UNSTABLE);
		ck_assert_int_eq(nfsdio_file_close(f), 0);
	}
	/* They are still open. */
	ck_assert_int_eq(close(fd), 0);
	if (direct >= 0)
		ck_assert_int_eq(close(direct), 0);
	teardown();
}
END_TEST

/* Pieces of odd sizes are as good as one. */
START_TEST(memory_may_come_in_pieces)
{
	static uint8_t mem[100000], back[100000];
	struct iovec out[] = {{mem, 1}, {mem + 1, 0}, {mem + 1, 40000}, {mem + 40001, 59999}};
	struct iovec in[] = { { back, 65537 }, { back + 65537, 34463 } };
	struct nfsdio_file *f;
	struct outcome o;

	setup(_i);
	sem_init(&o.sem, 0, 0);
	for (unsigned i = 0; i < sizeof(mem); i++)
		mem[i] = (uint8_t)(i * 7 + i / 251);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, NULL), 0);
	ck_assert_int_eq(nfsdio_writev(f, out, 4, 777, NFSDIO_DATA_SYNC, NULL, on_done, &o), 0);
	wait_for(&o);
	ck_assert_int_eq(o.r.res, sizeof(mem));
	ck_assert_int_eq(nfsdio_readv(f, in, 2, 777, on_done, &o), 0);
	wait_for(&o);
	ck_assert_int_eq(o.r.res, sizeof(mem));
	ck_assert_mem_eq(back, mem, sizeof(mem));
	/* Shorter than asked: the rest of the pieces stays as it is. */
	memset(back, 0x5a, sizeof(back));
	ck_assert_int_eq(nfsdio_readv(f, in, 2, 777 + 30000, on_done, &o), 0);
	wait_for(&o);
	ck_assert_int_eq(o.r.res, 70000);
	ck_assert(o.r.eof);
	ck_assert_mem_eq(back, mem + 30000, 70000);
	ck_assert_uint_eq(back[70000], 0x5a);
	ck_assert_int_eq(nfsdio_writev(f, NULL, 0, 0, NFSDIO_UNSTABLE, NULL, on_done, &o), 0);
	wait_for(&o);
	ck_assert_int_eq(o.r.res, 0);
	out[3].iov_len = 1 << 20;
	ck_assert_int_eq(nfsdio_writev(f, out, 4, 0, NFSDIO_UNSTABLE, NULL, on_done, &o), -EINVAL);
	ck_assert_int_eq(nfsdio_readv(f, in, -1, 0, on_done, &o), -EINVAL);
	ck_assert_int_eq(nfsdio_file_close(f), 0);
	sem_destroy(&o.sem);
	teardown();
}
END_TEST

static mode_t mode_after(const struct nfsdio_cred *cred, uint64_t offset)
{
	static uint8_t mem[8192] __attribute__((aligned(4096)));
	struct iovec iov = { mem, sizeof(mem) };
	struct nfsdio_file *f;
	struct outcome o;

	sem_init(&o.sem, 0, 0);
	ck_assert_int_eq(chmod(path, 06777), 0);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, NULL), 0);
	ck_assert_int_eq(nfsdio_writev(f, &iov, 1, offset, NFSDIO_UNSTABLE, cred, on_done, &o), 0);
	wait_for(&o);
	ck_assert_int_eq(o.r.res, sizeof(mem));
	ck_assert_int_eq(nfsdio_file_close(f), 0);
	sem_destroy(&o.sem);
	return o.st.st_mode & 07777;
}

/* Aligned and cut in three: every part acts as the caller. */
START_TEST(a_write_as_somebody_clears_set_id_bits)
{
	gid_t gids[] = { 1001, 1002 };
	struct nfsdio_cred *c;

	if (geteuid() != 0)
		return;
	setup(_i);
	ck_assert_int_eq(nfsdio_cred_new(&c, 1000, 1000, gids, 2), 0);
	ck_assert_int_eq(mode_after(NULL, 0), 06777);
	ck_assert_int_eq(mode_after(c, 0), 0777);
	ck_assert_int_eq(mode_after(c, 1000), 0777);
	nfsdio_cred_free(c);
	nfsdio_cred_free(NULL);
	teardown();
}
END_TEST

START_TEST(modes_change_between_operations_and_counters_go_on)
{
	static uint8_t mem[65536] __attribute__((aligned(4096)));
	struct nfsdio_file_params p = { NFSDIO_BUFFERED, NFSDIO_BUFFERED, NFSDIO_PAGE, 0, 0 };
	struct nfsdio_file *f;
	struct nfsdio_stats s;
	uint64_t mode = 0;

	setup(_i);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, NULL), 0);
	round_trip(f, mem, 0, 8192, NFSDIO_UNSTABLE);
	ck_assert_int_eq(nfsdio_file_configure(f, &p), 0);
	round_trip(f, mem, 0, 8192, NFSDIO_UNSTABLE);
	nfsdio_file_stats(f, &s);
	for (unsigned i = 0; nfsdio_decision_name(i); i++)
		if (!strcmp(nfsdio_decision_name(i), "MODE"))
			mode = s.ops[NFSDIO_WRITE][i];
	ck_assert_uint_eq(mode, 1);
	ck_assert_uint_eq(s.payload[NFSDIO_WRITE], 16384);
	p.rule = (enum nfsdio_rule)9;
	ck_assert_int_eq(nfsdio_file_configure(f, &p), -EINVAL);
	ck_assert_int_eq(nfsdio_file_sync(f), 0);
	ck_assert_uint_eq(nfsdio_file_sync_failures(f), 0);
	ck_assert_int_eq(nfsdio_file_close(f), 0);
	teardown();
}
END_TEST

enum { MANY = 2000, CHUNK = 9001 };
static uint8_t chunk[MANY][CHUNK];
static atomic_int finished, wrong;

static void on_chunk(void *arg, const struct nfsdio_result *r)
{
	(void)arg;
	if (r->res != CHUNK)
		wrong++;
	finished++;
}

/*
 * Far more than max_bytes and the buffers allow: it waits, and all of it is done when free returns.
 */
START_TEST(a_flood_waits_its_turn_and_free_waits_for_it)
{
	struct nfsdio_file *f;
	int fd;

	setup(_i);
	finished = wrong = 0;
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, NULL), 0);
	for (int i = 0; i < MANY; i++) {
		memset(chunk[i], i * 7 + 1, CHUNK);
		ck_assert_int_eq(nfsdio_write(f, chunk[i], CHUNK, (uint64_t)i * CHUNK,
					      NFSDIO_UNSTABLE, on_chunk, NULL),
				 0);
	}
	if (nfsdio_file_close(f) == 0)
		f = NULL; /* it was that quick */
	fd = open(path, O_RDONLY);
	nfsdio_free(n);
	ck_assert_int_eq(nfsdio_file_close(f), 0);
	ck_assert_int_eq(finished, MANY);
	ck_assert_int_eq(wrong, 0);
	for (int i = 0; i < MANY; i++) {
		static uint8_t back[CHUNK];

		ck_assert_int_eq(pread(fd, back, CHUNK, (off_t)i * CHUNK), CHUNK);
		ck_assert_mem_eq(back, chunk[i], CHUNK);
	}
	close(fd);
	unlink(path);
}
END_TEST

enum { THREADS = 8, EACH = 60, PIECE = 47008 };

struct writer {
	pthread_t tid, self; /* whose: the starter's to join; its own */
	struct nfsdio_file *f;
	int number, here, done;
};

static void on_own_thread(void *arg, const struct nfsdio_result *r)
{
	struct writer *w = arg;

	w->here += pthread_equal(w->self, pthread_self()) != 0;
	w->done += r->res == PIECE;
}

/* Neighbours' pieces share pages with ours. */
static void *write_own_pieces(void *arg)
{
	struct writer *w = arg;
	uint8_t *mem = malloc(PIECE);

	w->self = pthread_self();
	for (int i = 0; i < EACH; i++) {
		int at = i * THREADS + w->number;

		memset(mem, at % 251 + 1, PIECE);
		if (nfsdio_write(w->f, mem, PIECE, (uint64_t)at * PIECE, NFSDIO_UNSTABLE,
				 on_own_thread, w) < 0)
			break;
	}
	free(mem);
	return NULL;
}

START_TEST(inline_operations_of_many_threads_end_on_their_own)
{
	struct nfsdio_params p = {
		.engine = NFSDIO_ENGINE_INLINE, .max_io = 65536, .max_bytes = 100000};
	static struct writer w[THREADS];
	static uint8_t back[PIECE];
	struct outcome o;
	int fd;

	setup(2);
	nfsdio_free(n);
	ck_assert_int_eq(nfsdio_new(&n, &p), 0);
	ck_assert_int_eq(nfsdio_file_open(n, &w[0].f, path, O_RDWR, 0, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct writer){ .f = w[0].f, .number = i };
		ck_assert_int_eq(pthread_create(&w[i].tid, NULL, write_own_pieces, &w[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(w[i].tid, NULL);
		ck_assert_int_eq(w[i].here, EACH);
		ck_assert_int_eq(w[i].done, EACH);
	}
	sem_init(&o.sem, 0, 0);
	ck_assert_int_eq(nfsdio_commit(w[0].f, 0, 0, on_done, &o), 0);
	ck_assert_int_eq(sem_trywait(&o.sem), 0);
	ck_assert_int_eq(o.r.res, 0);
	ck_assert_int_eq(nfsdio_file_close(w[0].f), 0);
	fd = open(path, O_RDONLY);
	for (int i = 0; i < THREADS * EACH; i++) {
		ck_assert_int_eq(pread(fd, back, PIECE, (off_t)i * PIECE), PIECE);
		ck_assert_uint_eq(back[0], i % 251 + 1);
		ck_assert_mem_eq(back, back + 1, PIECE - 1);
	}
	close(fd);
	sem_destroy(&o.sem);
	teardown();
}
END_TEST

struct nest {
	struct nfsdio_file *f;
	int left;
	uint8_t mem[4096];
};

static void write_again(void *arg, const struct nfsdio_result *r)
{
	struct nest *x = arg;

	ck_assert_int_eq(r->res, (int)sizeof(x->mem));
	if (--x->left > 0)
		ck_assert_int_eq(nfsdio_write(x->f, x->mem, sizeof(x->mem), 1, NFSDIO_UNSTABLE,
					      write_again, x),
				 0);
}

/* Even when there is room for one alone. */
START_TEST(an_inline_callback_may_start_the_next)
{
	struct nfsdio_params p = {
		.engine = NFSDIO_ENGINE_INLINE, .max_io = 4096, .max_bytes = 4096};
	static struct nest x = { .left = 50 };

	setup(2);
	nfsdio_free(n);
	ck_assert_int_eq(nfsdio_new(&n, &p), 0);
	ck_assert_int_eq(nfsdio_file_open(n, &x.f, path, O_RDWR, 0, NULL), 0);
	ck_assert_int_eq(
		nfsdio_write(x.f, x.mem, sizeof(x.mem), 0, NFSDIO_UNSTABLE, write_again, &x), 0);
	ck_assert_int_eq(x.left, 0);
	ck_assert_int_eq(nfsdio_file_close(x.f), 0);
	teardown();
}
END_TEST

/* No descriptor for a seat: said so, and nothing is left behind. */
START_TEST(inline_without_descriptors_fails_at_once)
{
	struct rlimit old, none = { .rlim_cur = 0 };
	struct nfsdio_file *f;
	struct outcome o;
	char c = 'x';

	setup(2);
	sem_init(&o.sem, 0, 0);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, NULL), 0);
	getrlimit(RLIMIT_NOFILE, &old);
	none.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &none);
	ck_assert_int_eq(nfsdio_write(f, &c, 1, 0, NFSDIO_UNSTABLE, on_done, &o), -ENOMEM);
	setrlimit(RLIMIT_NOFILE, &old);
	ck_assert_int_eq(nfsdio_write(f, &c, 1, 0, NFSDIO_UNSTABLE, on_done, &o), 0);
	ck_assert_int_eq(sem_trywait(&o.sem), 0);
	ck_assert_int_eq(o.r.res, 1);
	ck_assert_int_eq(nfsdio_file_close(f), 0);
	sem_destroy(&o.sem);
	teardown();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfsdio");
	TCase *t = tcase_create("nfsdio");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, every_mode_and_rule_round_trips, 0, 4);
	tcase_add_loop_test(t, explains_and_counts_what_it_does, 0, 4);
	tcase_add_loop_test(t, refuses_what_cannot_be, 0, 4);
	tcase_add_loop_test(t, wraps_descriptors_of_others, 0, 4);
	tcase_add_loop_test(t, memory_may_come_in_pieces, 0, 4);
	tcase_add_loop_test(t, a_write_as_somebody_clears_set_id_bits, 0, 4);
	tcase_add_loop_test(t, modes_change_between_operations_and_counters_go_on, 0, 4);
	tcase_add_loop_test(t, a_flood_waits_its_turn_and_free_waits_for_it, 0, 4);
	tcase_add_test(t, inline_operations_of_many_threads_end_on_their_own);
	tcase_add_test(t, an_inline_callback_may_start_the_next);
	tcase_add_test(t, inline_without_descriptors_fails_at_once);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
