/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which operations libnfsdio's own threads carry out, and which their callers'. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>

#include "tests/lib/nfsdio_trial.h"
#include "tests/lib/unit.h"

static uint64_t handed_over(const struct nfsdio_file *f, enum nfsdio_direction d)
{
	struct nfsdio_stats s;

	nfsdio_file_stats(f, &s);
	return s.handed[d];
}

/* Writes `count` bytes at `offset`: is this handed to a thread of the library's? */
static bool hands_over(struct nfsdio_file *f, uint64_t offset, uint32_t count)
{
	static uint8_t mem[1 << 20] __attribute__((aligned(4096)));
	uint64_t before = handed_over(f, NFSDIO_WRITE);
	struct outcome o;

	sem_init(&o.sem, 0, 0);
	ck_assert_int_eq(nfsdio_write(f, mem + offset % 4096, count, offset, NFSDIO_UNSTABLE,
				      on_done, &o),
			 0);
	wait_for(&o);
	ck_assert_int_eq(o.r.res, count);
	sem_destroy(&o.sem);
	return handed_over(f, NFSDIO_WRITE) != before;
}

START_TEST(mixed_hands_over_writes_that_would_wait)
{
	static uint8_t mem[65536] __attribute__((aligned(4096)));
	struct nfsdio_file_params p = NFSDIO_FILE_PARAMS_DEFAULT;
	struct nfsdio_file *f;
	bool direct;

	setup(3);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, NULL), 0);
	/* No direct I/O here: nothing is cut. */
	direct = hands_over(f, 0, 65536);
	ck_assert(!hands_over(f, 0, 65536));
	ck_assert(!hands_over(f, 4096, 8192));
	ck_assert_int_eq(hands_over(f, 1000, 47008), direct);
	ck_assert_int_eq(hands_over(f, 65536, 65536), direct);
	ck_assert(!hands_over(f, 65536, 65536));
	ck_assert(!hands_over(f, 100, 200));
	round_trip(f, mem, 0, 65536, NFSDIO_FILE_SYNC);
	ck_assert_uint_eq(handed_over(f, NFSDIO_READ), 0);
	p.write_mode = NFSDIO_BUFFERED;
	ck_assert_int_eq(nfsdio_file_configure(f, &p), 0);
	ck_assert(!hands_over(f, 1 << 20, 1000));
	ck_assert_int_eq(nfsdio_file_close(f), 0);
	teardown();
}
END_TEST

START_TEST(other_engines_hand_over_all_or_nothing)
{
	struct nfsdio_file *f;

	setup(_i);
	ck_assert_int_eq(nfsdio_file_open(n, &f, path, O_RDWR, 0, NULL), 0);
	ck_assert(hands_over(f, 0, 65536) == (_i != 2));
	ck_assert(hands_over(f, 1000, 47008) == (_i != 2));
	ck_assert(hands_over(f, 0, 4096) == (_i != 2));
	ck_assert_int_eq(nfsdio_file_close(f), 0);
	teardown();
}
END_TEST

struct chain { /* a cut WRITE, and behind it one that alone would be its caller's */
	struct nfsdio_file *f;
	struct outcome last;
	uint8_t mem[65536] __attribute__((aligned(4096)));
};

static void write_one_step(void *arg, const struct nfsdio_result *r)
{
	struct chain *x = arg;

	ck_assert_int_eq(r->res, 47008);
	ck_assert_int_eq(
		nfsdio_write(x->f, x->mem, 4096, 8192, NFSDIO_UNSTABLE, on_done, &x->last), 0);
}

/* It would wait there for what only this thread can bring to an end. */
START_TEST(a_librarys_thread_carries_nothing_out_itself)
{
	static struct chain x;
	bool direct;

	setup(3);
	sem_init(&x.last.sem, 0, 0);
	ck_assert_int_eq(nfsdio_file_open(n, &x.f, path, O_RDWR, 0, NULL), 0);
	direct = hands_over(x.f, 0, 65536);
	ck_assert_int_eq(nfsdio_write(x.f, x.mem + 1000, 47008, 1000, NFSDIO_UNSTABLE,
				      write_one_step, &x),
			 0);
	wait_for(&x.last);
	ck_assert_int_eq(x.last.r.res, 4096);
	ck_assert_uint_eq(handed_over(x.f, NFSDIO_WRITE), direct ? 3 : 0);
	ck_assert_int_eq(nfsdio_file_close(x.f), 0);
	sem_destroy(&x.last.sem);
	teardown();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfsdio_mixed");
	TCase *t = tcase_create("handed");

	tcase_add_loop_test(t, other_engines_hand_over_all_or_nothing, 0, 3);
	tcase_add_test(t, mixed_hands_over_writes_that_would_wait);
	tcase_add_test(t, a_librarys_thread_carries_nothing_out_itself);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
