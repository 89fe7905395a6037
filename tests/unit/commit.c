/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * COMMIT, and the book-keeping of unstable WRITEs, over a
 * ring where the test picks results and order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "tests/lib/fakering.h"
#include "tests/lib/iofile.h"
#include "tests/lib/syncerr.h"
#include "tests/lib/unit.h"

static struct iofile f;
static uint8_t data[8192] __attribute__((aligned(4096)));
static int calls;

static void setup(void)
{
	iofile_up(&f, NULL, 512);
	syncerr_set(-1, 0);
	calls = 0;
}

static void teardown(void)
{
	iofile_down(&f);
}

static void on_done(struct io *io)
{
	(void)io;
	calls++;
}

static void commit(struct commit_io *c, uint64_t offset, uint32_t count)
{
	*c = (struct commit_io){
		.io = { .file = &f.file, .verifier = &f.verifier, .done = on_done },
		.offset = offset,
		.count = count,
	};
	commit_start(c);
}

static void write_unstable(struct write_io *w)
{
	*w = (struct write_io){
		.io = { .file = &f.file, .verifier = &f.verifier, .done = on_done },
		.count = sizeof(data),
		.data = data,
	};
	write_start(w);
}

START_TEST(any_range_flushes_the_whole_file)
{
	static const struct { uint64_t offset; uint32_t count; } t[] = {
		{ 0, 0 }, { 100, 200 }, { 5000, 0 }, { UINT64_MAX, UINT32_MAX }, { INT64_MAX, 1 },
	};
	struct commit_io c;

	for (int i = 0; i < 5; i++) {
		fakering_script(NULL, 0);
		commit(&c, t[i].offset, t[i].count);
		ck_assert_int_eq(calls, i);
		fakering_run(false);
		ck_assert_int_eq(calls, i + 1);
		ck_assert_int_eq(c.io.res, 0);
		ck_assert(c.io.have_st);
		ck_assert_uint_eq(c.verf, verifier_get(&f.verifier));
		ck_assert_uint_eq(fakering_calls, 1);
		ck_assert_int_eq(fakering_log[0].kind, RING_OP_FSYNC);
		ck_assert_uint_eq(fakering_log[0].flags, 0);
	}
}
END_TEST

/* BR-24: an error is told, and after that no OK carries the old verifier. */
START_TEST(a_failed_flush_is_an_error_and_a_new_verifier_whichever_descriptor_tells)
{
	uint64_t old = verifier_get(&f.verifier);
	static const int fail[] = { -EIO };
	struct commit_io c;

	fakering_script(fail, 1);
	commit(&c, 0, 0);
	fakering_run(false);
	ck_assert_int_eq(c.io.res, -EIO);
	ck_assert_uint_ne(verifier_get(&f.verifier), old);
	commit(&c, 0, 0);
	fakering_run(false);
	ck_assert_int_eq(c.io.res, 0);
	ck_assert_uint_ne(c.verf, old);

	old = c.verf;
	syncerr_set(f.file.dio_fd, EIO);
	commit(&c, 0, 0);
	fakering_run(false);
	ck_assert_int_eq(c.io.res, -EIO);
	ck_assert_uint_ne(verifier_get(&f.verifier), old);
}
END_TEST

START_TEST(unsynced_goes_to_zero_by_a_good_flush_only)
{
	static const int fail[] = { FAKERING_ALL, FAKERING_ALL, -EIO };
	struct write_io w[2];
	struct commit_io c;

	fakering_script(fail, 3);
	write_unstable(&w[0]);
	write_unstable(&w[1]);
	fakering_run(false);
	ck_assert_uint_eq(f.file.unsynced, 2);
	commit(&c, 0, 0);
	fakering_run(false);
	ck_assert_int_eq(c.io.res, -EIO);
	ck_assert_uint_eq(f.file.unsynced, 2);
	commit(&c, 0, 0);
	fakering_run(false);
	ck_assert_uint_eq(f.file.unsynced, 0);
}
END_TEST

START_TEST(a_write_that_ends_during_a_flush_stays_unsynced)
{
	struct write_io w[2];
	struct commit_io c;

	fakering_script(NULL, 0);
	write_unstable(&w[0]);
	fakering_run(false);
	commit(&c, 0, 0);
	write_unstable(&w[1]);
	fakering_run(true); /* the write is over before the flush is */
	ck_assert_int_eq(fakering_log[1].kind, RING_OP_WRITE);
	ck_assert_int_eq(c.io.res, 0);
	ck_assert_uint_eq(f.file.unsynced, 1);
}
END_TEST

START_TEST(overlapping_flushes_take_a_write_off_once)
{
	struct write_io w[5];
	struct commit_io c[3];

	fakering_script(NULL, 0);
	write_unstable(&w[0]);
	write_unstable(&w[1]);
	fakering_run(false);
	/* Two that began together, and writes that end between their ends. */
	commit(&c[0], 0, 0);
	commit(&c[1], 0, 0);
	write_unstable(&w[2]);
	write_unstable(&w[3]);
	write_unstable(&w[4]);
	fakering_run(true); /* writes, second commit, first commit */
	ck_assert_uint_eq(f.file.unsynced, 3);
	commit(&c[2], 0, 0);
	fakering_run(false);
	ck_assert_uint_eq(f.file.unsynced, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("commit");
	TCase *t = tcase_create("commit");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, any_range_flushes_the_whole_file);
	tcase_add_test(t, a_failed_flush_is_an_error_and_a_new_verifier_whichever_descriptor_tells);
	tcase_add_test(t, unsynced_goes_to_zero_by_a_good_flush_only);
	tcase_add_test(t, a_write_that_ends_during_a_flush_stays_unsynced);
	tcase_add_test(t, overlapping_flushes_take_a_write_off_once);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
