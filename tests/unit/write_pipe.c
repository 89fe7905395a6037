/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* WRITE out of a pipe over a ring where the test picks every result. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/cred.h"
#include "tests/lib/fakering.h"
#include "tests/lib/iofile.h"
#include "tests/lib/unit.h"

enum { LEN = 600001, OFF = 12345 };

static struct iofile f;
static struct pipe_pool *pool;
static struct write_io w;
static uint8_t content[LEN], got[LEN];
static int calls;

static void setup(void)
{
	iofile_up(&f, NULL, 512);
	iofile_mode(&f, DIO_MODE_BUFFERED, DIO_RULE_PAGE);
	ck_assert_int_eq(pipe_pool_new(&pool, 1, 1 << 20), 0);
	for (int i = 0; i < LEN; i++)
		content[i] = (uint8_t)(i * 7 + i / 251);
}

static void teardown(void)
{
	pipe_pool_free(pool);
	iofile_down(&f);
}

static void on_done(struct io *io)
{
	ck_assert_ptr_eq(io, &w.io);
	calls++;
}

/* What is said to be written must be; what is not must still be in the pipe. */
static void write_at(uint32_t len, const struct cred *cred, const int *answers, unsigned n)
{
	char c;
	int res;

	ck_assert_int_eq(ftruncate(f.file.fd, 0), 0);
	fakering_script(answers, n);
	calls = 0;
	w = (struct write_io){
		.io = { .file = &f.file, .verifier = &f.verifier, .cred = cred, .done = on_done },
		.offset = OFF,
		.count = len,
		.pipe = pipe_borrow(pool, 0, len),
	};
	ck_assert_ptr_nonnull(w.pipe);
	ck_assert_int_eq(pipe_write(w.pipe, content, len), (int)len);
	write_start(&w);
	ck_assert_int_eq(calls, 0);
	fakering_run(false);
	ck_assert_int_eq(calls, 1);
	res = w.io.res > 0 && !w.needs_buf ? w.io.res : 0;
	ck_assert_uint_eq(w.pipe->held, len - (unsigned)res);
	ck_assert_int_eq(pread(f.file.fd, got, (size_t)res, OFF), res);
	ck_assert_mem_eq(got, content, (size_t)res);
	ck_assert_int_eq(pipe_read(w.pipe, got, len - (unsigned)res), 0);
	ck_assert_mem_eq(got, content + res, len - (unsigned)res);
	ck_assert_int_lt(read(w.pipe->out, &c, 1), 0);
	pipe_return(w.pipe);
}

#define WRITE_AT(len, ...)                                                                         \
	write_at(len, NULL, (const int[]){__VA_ARGS__},                                            \
		 sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

START_TEST(it_is_written_whole_as_the_caller)
{
	struct cred *c = cred_new(12, 34, NULL, 0);

	write_at(LEN, c, NULL, 0);
	ck_assert(!w.needs_buf);
	ck_assert_int_eq(w.io.res, LEN);
	for (unsigned i = 0; i < fakering_calls; i++) {
		ck_assert_int_eq(fakering_log[i].kind, RING_OP_SPLICE_WRITE);
		ck_assert_ptr_eq(fakering_log[i].cred, c);
	}
	ck_assert_uint_eq(f.file.unsynced, 1);
	ck_assert_uint_eq(iofile_count(&f, payload[DIO_WRITE]), LEN);
	cred_put(c);
}
END_TEST

START_TEST(short_splices_are_continued)
{
	for (int a = 1; a < 270000; a += 9973) {
		WRITE_AT(LEN, a, 1 + a * 31 % 5000, 1 + a % 700);
		ck_assert_int_eq(w.io.res, LEN);
	}
}
END_TEST

START_TEST(an_error_ends_the_write_with_the_bytes_so_far)
{
	WRITE_AT(LEN, 5000, -ENOSPC);
	ck_assert_int_eq(w.io.res, 5000);
	WRITE_AT(LEN, -ENOSPC);
	ck_assert_int_eq(w.io.res, -ENOSPC);
	ck_assert(!w.needs_buf);
}
END_TEST

START_TEST(a_file_system_that_cannot_gets_it_from_memory)
{
	WRITE_AT(LEN, -EINVAL);
	ck_assert(w.needs_buf);
	ck_assert_uint_eq(fakering_calls, 1);
	ck_assert_uint_eq(f.file.unsynced, 0);
	ck_assert_uint_eq(iofile_count(&f, ops[DIO_WRITE][w.io.plan.why]), 0);
}
END_TEST

START_TEST(what_is_not_one_cached_piece_is_not_begun)
{
	for (enum dio_mode m = DIO_MODE_BUFFERED + 1; m <= DIO_MODE_DIRECT; m++) {
		iofile_mode(&f, m, DIO_RULE_PAGE);
		WRITE_AT(LEN, FAKERING_ALL);
		ck_assert(w.needs_buf);
		ck_assert_uint_eq(fakering_calls, 1);
		ck_assert_int_eq(fakering_log[0].kind, RING_OP_POSTED);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("write_pipe");
	TCase *t = tcase_create("write_pipe");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, it_is_written_whole_as_the_caller);
	tcase_add_test(t, short_splices_are_continued);
	tcase_add_test(t, an_error_ends_the_write_with_the_bytes_so_far);
	tcase_add_test(t, a_file_system_that_cannot_gets_it_from_memory);
	tcase_add_test(t, what_is_not_one_cached_piece_is_not_begun);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
