/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* READ into a pipe over a ring where the test picks every result. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/fakering.h"
#include "tests/lib/iofile.h"
#include "tests/lib/unit.h"

enum { SIZE = 300000, ALIGN = 512 };

static struct iofile f;
static struct pipe_pool *pool;
static struct read_io r;
static uint8_t content[SIZE], got[SIZE];
static int calls;

static void setup(void)
{
	iofile_up(&f, NULL, ALIGN);
	ck_assert_int_eq(pipe_pool_new(&pool, 1, 1 << 20), 0);
	for (int i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * 7 + i / 251);
	ck_assert_int_eq(pwrite(f.file.fd, content, SIZE, 0), SIZE);
}

static void teardown(void)
{
	pipe_pool_free(pool);
	iofile_down(&f);
}

static void on_done(struct io *io)
{
	ck_assert_ptr_eq(io, &r.io);
	calls++;
}

/* What comes first out of the pipe must be the file's; the pipe must go back clean. */
static void read_at(uint64_t offset, uint32_t count, const int *answers, unsigned n)
{
	char c;

	fakering_script(answers, n);
	calls = 0;
	r = (struct read_io){
		.io = { .file = &f.file, .verifier = &f.verifier, .done = on_done },
		.offset = offset,
		.count = count,
	};
	read_plan(&r, read_space(count));
	r.pipe = pipe_borrow(pool, r.io.plan.seg[0].offset, r.io.plan.seg[0].len);
	ck_assert_ptr_nonnull(r.pipe);
	read_go(&r);
	ck_assert_int_eq(calls, 0);
	fakering_run(false);
	ck_assert_int_eq(calls, 1);
	if (!r.needs_buf && r.io.res > 0) {
		ck_assert_ptr_null(r.data);
		ck_assert_int_ge(r.pipe->held, r.io.res);
		ck_assert_int_eq(read(r.pipe->out, got, (size_t)r.io.res), r.io.res);
		ck_assert_mem_eq(got, content + offset, (size_t)r.io.res);
		r.pipe->held -= (uint32_t)r.io.res;
	}
	pipe_return(r.pipe);
	r.pipe = pipe_borrow(pool, 0, 1);
	ck_assert_int_lt(read(r.pipe->out, &c, 1), 0);
	pipe_return(r.pipe);
}

#define READ_AT(offset, count, ...)                                                                \
	read_at(offset, count, (const int[]){ __VA_ARGS__ },                                       \
		sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

START_TEST(aligned_comes_as_it_is)
{
	READ_AT(4096, 65536, FAKERING_ALL);
	ck_assert(!r.needs_buf);
	ck_assert_int_eq(r.io.res, 65536);
	ck_assert(!r.eof);
	ck_assert_int_eq(fakering_log[0].kind, RING_OP_SPLICE_IN);
	ck_assert_int_eq(fakering_log[0].fd, f.file.dio_fd);
	ck_assert_uint_eq(iofile_count(&f, ops[DIO_READ][DIO_ALIGNED]), 1);
}
END_TEST

START_TEST(expanded_loses_its_front_and_its_tail)
{
	READ_AT(1000, 40000, FAKERING_ALL);
	ck_assert(!r.needs_buf);
	ck_assert_int_eq(r.io.res, 40000);
	ck_assert_uint_eq(fakering_log[0].offset, 512);
	ck_assert_uint_eq(iofile_count(&f, expand), fakering_log[0].len - 40000);
}
END_TEST

START_TEST(eof_is_told_by_the_size)
{
	static const struct { uint64_t offset; uint32_t count; int res; bool eof; } t[] = {
		{ 0, 100, 100, false },		   { SIZE - 100, 100, 100, true },
		{ SIZE - 100, 99, 99, false },	   { SIZE - 100, 200, 100, true },
		{ SIZE, 100, 0, true },		   { SIZE + 70000, 100000, 0, true },
		{ SIZE - 50001, 50000, 50000, false }, { SIZE - 50000, 50000, 50000, true },
		{ SIZE - 50000, 60000, 50000, true },  { 0, SIZE, SIZE, true },
		{ SIZE - SIZE % 512, 40000, SIZE % 512, true },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		read_at(t[i].offset, t[i].count, NULL, 0);
		ck_assert_msg(!r.needs_buf, "row %zu", i);
		ck_assert_int_eq(r.io.res, t[i].res);
		ck_assert_msg(r.eof == t[i].eof, "row %zu", i);
	}
}
END_TEST

START_TEST(short_of_the_end_a_buffer_is_asked_for)
{
	static const int errors[] = { -EINVAL, -EAGAIN, -EIO, -ENOMEM, -EOPNOTSUPP, 0 };

	for (int n = 1; n < 40000; n += n < 600 ? 1 : 997) {
		READ_AT(1000, 40000, n);
		ck_assert(r.needs_buf);
	}
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		READ_AT(0, 40000, errors[i]);
		ck_assert(r.needs_buf);
	}
	/* What was asked for is there, only the tail is not. */
	READ_AT(1000, 40000, 41000 - 512);
	ck_assert(!r.needs_buf);
	ck_assert_int_eq(r.io.res, 40000);
}
END_TEST

START_TEST(a_file_system_that_refuses_every_time_is_asked_no_more)
{
	for (int i = 0; i < 7; i++)
		READ_AT(0, 40000, -EINVAL);
	ck_assert(read_may_splice(&f.root));
	READ_AT(0, 40000, FAKERING_ALL);
	for (int i = 0; i < 8; i++) {
		ck_assert(read_may_splice(&f.root));
		READ_AT(0, 40000, i % 2 ? -EINVAL : -EPERM);
	}
	ck_assert(!read_may_splice(&f.root));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("read_pipe");
	TCase *t = tcase_create("read_pipe");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, aligned_comes_as_it_is);
	tcase_add_test(t, expanded_loses_its_front_and_its_tail);
	tcase_add_test(t, eof_is_told_by_the_size);
	tcase_add_test(t, short_of_the_end_a_buffer_is_asked_for);
	tcase_add_test(t, a_file_system_that_refuses_every_time_is_asked_no_more);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
