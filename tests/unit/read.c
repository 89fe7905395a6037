/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* READ over a ring where the test picks every result. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/compat.h"
#include "tests/lib/fakering.h"
#include "tests/lib/iofile.h"
#include "tests/lib/unit.h"

enum { SIZE = 300000, ALIGN = 512 };

static struct iofile f;
static struct pool *pool;
static struct read_io r;
static uint8_t content[SIZE];
static int calls;

static void setup(void)
{
	iofile_up(&f, NULL, ALIGN);
	pool = iofile_pool(NULL, 1 << 20, 1);
	for (int i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * 7 + i / 251);
	ck_assert_int_eq(pwrite(f.file.fd, content, SIZE, 0), SIZE);
}

static void teardown(void)
{
	pool_free(pool);
	iofile_down(&f);
}

static void on_done(struct io *io)
{
	ck_assert_ptr_eq(io, &r.io);
	calls++;
}

/* One READ with the given answers; its data, when there is any, must be the file's. */
static void read_at(uint64_t offset, uint32_t count, const int *answers, unsigned n)
{
	fakering_script(answers, n);
	calls = 0;
	r = (struct read_io){
		.io = { .file = &f.file, .verifier = &f.verifier, .done = on_done },
		.offset = offset,
		.count = count,
		.buf = pool_borrow(pool, read_space(count)),
	};
	memset(r.buf->base, 0xee, r.buf->size);
	read_start(&r);
	ck_assert_int_eq(calls, 0);
	fakering_run(false);
	ck_assert_int_eq(calls, 1);
	if (r.io.res > 0) {
		ck_assert(r.data >= r.buf->base);
		ck_assert(r.data + r.io.res <= r.buf->base + r.buf->size);
		ck_assert_mem_eq(r.data, content + offset, (size_t)r.io.res);
	}
	ck_assert(r.io.have_st);
	buf_return(r.buf);
}

#define READ_AT(offset, count, ...)                                                                \
	read_at(offset, count, (const int[]){ __VA_ARGS__ },                                       \
		sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

START_TEST(aligned_goes_direct_as_it_came)
{
	READ_AT(4096, 65536, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, 65536);
	ck_assert(!r.eof);
	ck_assert_uint_eq(fakering_calls, 1);
	ck_assert_int_eq(fakering_log[0].fd, f.file.dio_fd);
	ck_assert_uint_eq(iofile_count(&f, ops[DIO_READ][DIO_ALIGNED]), 1);
	ck_assert_uint_eq(iofile_count(&f, bytes[DIO_READ][DIO_DIRECT]), 65536);
	ck_assert_uint_eq(iofile_count(&f, payload[DIO_READ]), 65536);
	ck_assert_uint_eq(iofile_count(&f, expand), 0);
}
END_TEST

START_TEST(misaligned_is_expanded_and_trimmed)
{
	READ_AT(1000, 40000, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, 40000);
	ck_assert_uint_eq(fakering_log[0].offset, 512);
	ck_assert_uint_eq(fakering_log[0].len % ALIGN, 0);
	ck_assert_uint_eq(iofile_count(&f, ops[DIO_READ][DIO_EXPANDED]), 1);
	ck_assert_uint_eq(iofile_count(&f, expand), fakering_log[0].len - 40000);
}
END_TEST

START_TEST(small_misaligned_goes_buffered)
{
	READ_AT(1000, 100, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, 100);
	ck_assert_int_eq(fakering_log[0].fd, f.file.fd);
	ck_assert_uint_eq(iofile_count(&f, ops[DIO_READ][DIO_TOO_SMALL]), 1);
}
END_TEST

/* BR-01: EOF is where the size says, whatever the counts. */
START_TEST(eof_is_told_by_the_size_and_never_by_shortness)
{
	static const struct { uint64_t offset; uint32_t count; int res; bool eof; } t[] = {
		{ 0, 100, 100, false },		   { SIZE - 100, 100, 100, true },
		{ SIZE - 100, 99, 99, false },	   { SIZE - 100, 200, 100, true },
		{ SIZE, 100, 0, true },		   { SIZE + 70000, 100000, 0, true },
		{ SIZE - 50001, 50000, 50000, false }, { SIZE - 50000, 50000, 50000, true },
		{ SIZE - 50000, 60000, 50000, true },  { 0, 0, 0, false },
		{ SIZE, 0, 0, true },		   { 0, SIZE, SIZE, true },
		{ INT64_MAX - 10, 65536, 0, true },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		read_at(t[i].offset, t[i].count, NULL, 0);
		ck_assert_int_eq(r.io.res, t[i].res);
		ck_assert_msg(r.eof == t[i].eof, "row %zu", i);
	}
}
END_TEST

/* Every length of a first and second short completion around each block boundary. */
START_TEST(short_completions_are_continued_wherever_they_end)
{
	static const uint64_t offsets[] = { 0, 1000, 512, SIZE - 40000 };

	for (size_t o = 0; o < 4; o++) {
		for (int a = 1; a < 1600; a += a < 40 ? 1 : 37) {
			int b = 1 + a * 17 % 3000;

			READ_AT(offsets[o], 36000, a, b);
			ck_assert_int_eq(r.io.res, 36000);
			ck_assert(!r.eof);
		}
	}
	ck_assert_uint_gt(iofile_count(&f, continued), 0);
}
END_TEST

START_TEST(continues_direct_only_at_an_aligned_boundary)
{
	READ_AT(0, 65536, 1024, 1000, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, 65536);
	ck_assert_int_eq(fakering_log[1].fd, f.file.dio_fd);
	ck_assert_int_eq(fakering_log[2].fd, f.file.fd);
	ck_assert_uint_eq(fakering_log[2].offset, 2024);
}
END_TEST

START_TEST(stops_once_the_bytes_asked_for_are_there)
{
	/* Expanded to [512, 41472); what was asked ends at 41000. */
	READ_AT(1000, 40000, 41000 - 512);
	ck_assert_int_eq(r.io.res, 40000);
	ck_assert_uint_eq(fakering_calls, 1);
}
END_TEST

START_TEST(refused_direct_goes_buffered_once_and_is_counted)
{
	f.file.mem_align = f.file.offset_align = f.file.read_align = 1024;
	READ_AT(1000, 40000, -EINVAL, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, 40000);
	ck_assert_uint_eq(fakering_calls, 2);
	ck_assert_int_eq(fakering_log[1].fd, f.file.fd);
	ck_assert_int_eq(r.io.plan.why, DIO_FALLBACK);
	ck_assert_uint_eq(iofile_count(&f, ops[DIO_READ][DIO_FALLBACK]), 1);
	ck_assert_uint_eq(iofile_count(&f, fallback_einval), 1);
	/* The alignment was asked for anew: this is no longer what we claimed. */
	ck_assert_uint_ne(f.file.offset_align, 1024);
	READ_AT(1000, 40000, -EINVAL, -EINVAL);
	ck_assert_int_eq(r.io.res, -EINVAL);
}
END_TEST

START_TEST(a_direct_read_that_fails_asks_the_page_cache_once)
{
	READ_AT(1000, 40000, -EIO, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, 40000);
	ck_assert_int_eq(fakering_log[1].fd, f.file.fd);
	ck_assert_int_eq(r.io.plan.why, DIO_FALLBACK);
	ck_assert_uint_eq(iofile_count(&f, fallback_eio), 1);
	READ_AT(1000, 40000, -EIO, -EIO);
	ck_assert_int_eq(r.io.res, -EIO);
	ck_assert_uint_eq(fakering_calls, 2);
}
END_TEST

START_TEST(refused_dontcache_goes_without)
{
	iofile_mode(&f, DIO_MODE_DONTCACHE, DIO_RULE_PAGE);
	READ_AT(1000, 5000, -EOPNOTSUPP, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, 5000);
	ck_assert_uint_eq(fakering_log[0].flags, RWF_DONTCACHE);
	ck_assert_uint_eq(fakering_log[1].flags, 0);
	ck_assert_uint_eq(iofile_count(&f, fallback_dontcache), 1);
}
END_TEST

START_TEST(an_error_after_data_gives_the_data)
{
	READ_AT(1000, 40000, 10000, -EIO, -EIO);
	ck_assert_int_eq(r.io.res, 10000 - 488);
	ck_assert(!r.eof);
	/* Only pad so far: nothing asked for, so the error counts. */
	READ_AT(1000, 40000, 488, -EIO, -EIO);
	ck_assert_int_eq(r.io.res, -EIO);
	READ_AT(1000, 40000, -EIO, -EIO);
	ck_assert_int_eq(r.io.res, -EIO);
	ck_assert_uint_eq(iofile_count(&f, errors[DIO_READ]), 2);
	/* Reading changes no verifier. */
	ck_assert_uint_eq(f.verifier.bumps, 0);
}
END_TEST

START_TEST(eagain_and_empty_completions_are_tried_again_but_not_for_ever)
{
	int again[100];

	READ_AT(0, 5000, -EAGAIN, -EAGAIN, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, 5000);
	READ_AT(0, 40000, 0, 100, 0, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, 40000);
	for (int i = 0; i < 100; i++)
		again[i] = -EAGAIN;
	read_at(0, 5000, again, 100);
	ck_assert_int_eq(r.io.res, -EAGAIN);
	memset(again, 0, sizeof(again));
	read_at(0, 5000, again, 100);
	ck_assert_int_eq(r.io.res, 0);
	ck_assert(!r.eof);
}
END_TEST

START_TEST(blocks_larger_than_the_buffers_slack_are_not_read_direct)
{
	f.file.offset_align = f.file.read_align = 65536;
	READ_AT(1000, 1 << 20, FAKERING_ALL);
	ck_assert_int_eq(r.io.res, SIZE - 1000);
	ck_assert_int_eq(fakering_log[0].fd, f.file.fd);
	ck_assert_uint_eq(iofile_count(&f, ops[DIO_READ][DIO_NO_ALIGN]), 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("read");
	TCase *t = tcase_create("read");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, aligned_goes_direct_as_it_came);
	tcase_add_test(t, misaligned_is_expanded_and_trimmed);
	tcase_add_test(t, small_misaligned_goes_buffered);
	tcase_add_test(t, eof_is_told_by_the_size_and_never_by_shortness);
	tcase_add_test(t, short_completions_are_continued_wherever_they_end);
	tcase_add_test(t, continues_direct_only_at_an_aligned_boundary);
	tcase_add_test(t, stops_once_the_bytes_asked_for_are_there);
	tcase_add_test(t, refused_direct_goes_buffered_once_and_is_counted);
	tcase_add_test(t, a_direct_read_that_fails_asks_the_page_cache_once);
	tcase_add_test(t, refused_dontcache_goes_without);
	tcase_add_test(t, an_error_after_data_gives_the_data);
	tcase_add_test(t, eagain_and_empty_completions_are_tried_again_but_not_for_ever);
	tcase_add_test(t, blocks_larger_than_the_buffers_slack_are_not_read_direct);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
