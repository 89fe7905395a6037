/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* WRITE over a ring where the test picks every result. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfsd-io/core/compat.h"
#include "nfsd-io/core/cred.h"
#include "tests/lib/fakering.h"
#include "tests/lib/iofile.h"
#include "tests/lib/syncerr.h"
#include "tests/lib/unit.h"

enum { SIZE = 100000, ALIGN = 512 };

static struct iofile f;
static struct pool *pool;
static struct write_io w;
static int calls;
static uint64_t verf;
static enum io_stable stable;

static void setup(void)
{
	iofile_up(&f, NULL, ALIGN);
	pool = iofile_pool(NULL, 1 << 20, 1);
	verf = verifier_get(&f.verifier);
	stable = IO_UNSTABLE;
	syncerr_set(-1, 0);
}

static void teardown(void)
{
	pool_free(pool);
	iofile_down(&f);
}

static void on_done(struct io *io)
{
	ck_assert_ptr_eq(io, &w.io);
	calls++;
}

/* One WRITE into a file of 0x55; what it says it wrote must be there, and after that 0x55 still. */
static void write_at(uint64_t offset, uint32_t count, const int *answers, unsigned n)
{
	static uint8_t back[1 << 20];
	struct buf *b = pool_borrow(pool, count + 4096);
	uint8_t *data = b->base + offset % 4096;
	int res;

	memset(back, 0x55, sizeof(back));
	ck_assert_int_eq(pwrite(f.file.fd, back, SIZE, 0), SIZE);
	for (uint32_t i = 0; i < count; i++)
		data[i] = (uint8_t)(i * 13 + i / 253);
	fakering_script(answers, n);
	calls = 0;
	w = (struct write_io){
		.io = { .file = &f.file, .verifier = &f.verifier, .done = on_done },
		.offset = offset,
		.count = count,
		.data = data,
		.buf = b,
		.stable = stable,
	};
	write_start(&w);
	ck_assert_int_eq(calls, 0);
	fakering_run(false);
	ck_assert_int_eq(calls, 1);
	ck_assert(w.io.have_st);
	ck_assert_uint_eq(w.verf, verf);
	verf = verifier_get(&f.verifier);
	res = w.io.res > 0 ? w.io.res : 0;
	ck_assert_int_ge(pread(f.file.fd, back, sizeof(back), 0), 0);
	ck_assert_mem_eq(back + offset, data, (size_t)res);
	if (w.io.res >= 0 && offset + (unsigned)res < SIZE)
		ck_assert_uint_eq(back[offset + (unsigned)res], 0x55);
	buf_return(b);
}

#define WRITE_AT(offset, count, ...)                                                               \
	write_at(offset, count, (const int[]){ __VA_ARGS__ },                                      \
		 sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* [1000, 21000) under rule page: head to 4096, middle to 20480, tail. */
enum { OFF = 1000, LEN = 20000, HEAD = 3096, MIDDLE = 16384, TAIL = 520 };

START_TEST(split_is_written_ascending_ends_buffered_middle_direct)
{
	WRITE_AT(OFF, LEN, FAKERING_ALL);
	ck_assert_int_eq(w.io.res, LEN);
	ck_assert_int_eq(w.committed, IO_UNSTABLE);
	ck_assert_uint_eq(fakering_calls, 3);
	for (int i = 0; i < 3; i++) {
		static const uint64_t offset[] = { OFF, 4096, 20480 };
		static const uint32_t len[] = { HEAD, MIDDLE, TAIL };

		ck_assert_int_eq(fakering_log[i].fd, i == 1 ? f.file.dio_fd : f.file.fd);
		ck_assert_uint_eq(fakering_log[i].offset, offset[i]);
		ck_assert_uint_eq(fakering_log[i].len, len[i]);
		ck_assert_uint_eq(fakering_log[i].flags, 0);
		ck_assert_uint_eq(iofile_count(&f, part[i]), len[i]);
	}
	ck_assert_uint_eq(iofile_count(&f, ops[DIO_WRITE][DIO_SPLIT]), 1);
	ck_assert_uint_eq(iofile_count(&f, payload[DIO_WRITE]), LEN);
	ck_assert_uint_eq(iofile_count(&f, syncs), 0);
	ck_assert_uint_eq(f.file.unsynced, 1);
}
END_TEST

START_TEST(short_completions_are_continued_wherever_they_end)
{
	for (int a = 1; a < 25000; a += a < 40 ? 1 : a % 512 < 3 ? 1 : 211) {
		WRITE_AT(OFF, LEN, a, 1 + a * 31 % 5000, 1 + a % 700);
		ck_assert_int_eq(w.io.res, LEN);
		WRITE_AT(OFF, LEN, FAKERING_ALL, a, 1 + a * 7 % 2000);
		ck_assert_int_eq(w.io.res, LEN);
	}
	ck_assert_uint_eq(iofile_count(&f, part[0]) + iofile_count(&f, part[1]) +
			  iofile_count(&f, part[2]), iofile_count(&f, payload[DIO_WRITE]));
	ck_assert_uint_eq(iofile_count(&f, part[0]) % HEAD, 0);
	ck_assert_uint_eq(iofile_count(&f, part[2]) % TAIL, 0);
}
END_TEST

START_TEST(short_direct_goes_on_direct_only_at_an_aligned_boundary)
{
	WRITE_AT(OFF, LEN, FAKERING_ALL, 1024, 1000, FAKERING_ALL);
	ck_assert_int_eq(w.io.res, LEN);
	ck_assert_int_eq(fakering_log[2].fd, f.file.dio_fd);
	ck_assert_uint_eq(fakering_log[2].offset, 4096 + 1024);
	ck_assert_int_eq(fakering_log[3].fd, f.file.fd);
	ck_assert_uint_eq(fakering_log[3].offset, 4096 + 2024);
}
END_TEST

/* BR-16: what is said to be written is; the error only when nothing is. */
START_TEST(an_error_ends_the_write_with_the_bytes_so_far)
{
	static const int errors[] = { -EIO, -ENOSPC, -EDQUOT, -EFBIG };

	for (int e = 0; e < 4; e++) {
		uint64_t bumps = f.verifier.bumps;
		int err = errors[e];

		WRITE_AT(OFF, LEN, err);
		ck_assert_int_eq(w.io.res, err);
		ck_assert_uint_eq(fakering_calls, 1);
		WRITE_AT(OFF, LEN, 700, err);
		ck_assert_int_eq(w.io.res, 700);
		WRITE_AT(OFF, LEN, FAKERING_ALL, err);
		ck_assert_int_eq(w.io.res, HEAD);
		WRITE_AT(OFF, LEN, FAKERING_ALL, 4096, err);
		ck_assert_int_eq(w.io.res, HEAD + 4096);
		WRITE_AT(OFF, LEN, FAKERING_ALL, FAKERING_ALL, err);
		ck_assert_int_eq(w.io.res, HEAD + MIDDLE);
		WRITE_AT(OFF, LEN, FAKERING_ALL, FAKERING_ALL, 100, err);
		ck_assert_int_eq(w.io.res, HEAD + MIDDLE + 100);
		/* Each changed the verifier: what was written unstably must be sent again. */
		ck_assert_uint_eq(f.verifier.bumps, bumps + 6);
	}
	ck_assert_uint_eq(f.file.unsynced, 20);
}
END_TEST

START_TEST(a_stable_partial_write_is_synced_before_it_is_reported)
{
	stable = IO_FILE_SYNC;
	WRITE_AT(OFF, LEN, FAKERING_ALL, -ENOSPC, FAKERING_ALL);
	ck_assert_int_eq(w.io.res, HEAD);
	ck_assert_int_eq(w.committed, IO_FILE_SYNC);
	ck_assert_int_eq(fakering_log[2].kind, RING_OP_FSYNC);
	WRITE_AT(OFF, LEN, -ENOSPC);
	ck_assert_int_eq(w.io.res, -ENOSPC);
	ck_assert_uint_eq(fakering_calls, 1);
}
END_TEST

START_TEST(stable_writes_end_in_one_flush_of_the_right_kind)
{
	static const struct { uint64_t offset; uint32_t len; } shape[] = {
		{ 4096, 8192 }, { OFF, LEN }, { OFF, 100 }, /* aligned, split, fallen back */
	};

	for (int s = 0; s < 3; s++) {
		for (int level = IO_DATA_SYNC; level <= IO_FILE_SYNC; level++) {
			struct fakering_call *last;

			stable = (enum io_stable)level;
			write_at(shape[s].offset, shape[s].len, NULL, 0);
			ck_assert_int_eq(w.io.res, shape[s].len);
			ck_assert_int_eq(w.committed, level);
			last = &fakering_log[fakering_calls - 1];
			ck_assert_int_eq(last->kind, RING_OP_FSYNC);
			ck_assert_uint_eq(last->flags, level == IO_DATA_SYNC);
			ck_assert_uint_eq(fakering_calls, w.io.plan.nsegs + 1);
			for (unsigned i = 0; i + 1 < fakering_calls; i++)
				ck_assert_uint_eq(fakering_log[i].flags & ~RWF_DONTCACHE, 0);
		}
	}
	ck_assert_uint_eq(f.file.unsynced, 0);
	ck_assert_uint_eq(iofile_count(&f, syncs), 6);
}
END_TEST

START_TEST(a_failed_flush_fails_the_write_whichever_descriptor_tells)
{
	stable = IO_DATA_SYNC;
	WRITE_AT(OFF, LEN, FAKERING_ALL, FAKERING_ALL, FAKERING_ALL, -EIO);
	ck_assert_int_eq(w.io.res, -EIO);
	ck_assert_uint_eq(f.verifier.bumps, 1);
	syncerr_set(f.file.dio_fd, ENOSPC);
	write_at(OFF, LEN, NULL, 0);
	ck_assert_int_eq(w.io.res, -ENOSPC);
	ck_assert_uint_eq(f.verifier.bumps, 2);
	write_at(OFF, LEN, NULL, 0);
	ck_assert_int_eq(w.io.res, LEN);
}
END_TEST

START_TEST(refused_direct_goes_buffered_once_and_is_counted)
{
	f.file.mem_align = f.file.offset_align = f.file.read_align = 1024;
	WRITE_AT(OFF, LEN, FAKERING_ALL, -EINVAL, FAKERING_ALL);
	ck_assert_int_eq(w.io.res, LEN);
	ck_assert_int_eq(fakering_log[2].fd, f.file.fd);
	ck_assert_uint_eq(fakering_log[2].offset, 4096);
	ck_assert_uint_eq(fakering_log[2].len, MIDDLE);
	ck_assert_uint_eq(iofile_count(&f, ops[DIO_WRITE][DIO_FALLBACK]), 1);
	ck_assert_uint_eq(iofile_count(&f, fallback_einval), 1);
	ck_assert_uint_ne(f.file.offset_align, 1024);
	ck_assert_uint_eq(f.verifier.bumps, 0);
	WRITE_AT(0, 8192, -EINVAL, -EINVAL);
	ck_assert_int_eq(w.io.res, -EINVAL);
}
END_TEST

START_TEST(refused_dontcache_goes_without)
{
	iofile_mode(&f, DIO_MODE_DONTCACHE, DIO_RULE_PAGE);
	WRITE_AT(OFF, LEN, -EOPNOTSUPP, FAKERING_ALL);
	ck_assert_int_eq(w.io.res, LEN);
	ck_assert_uint_eq(fakering_log[0].flags, RWF_DONTCACHE);
	ck_assert_uint_eq(fakering_log[1].flags, 0);
	ck_assert_uint_eq(iofile_count(&f, fallback_dontcache), 1);
	ck_assert_uint_eq(f.verifier.bumps, 0);
}
END_TEST

/* BR-33 */
START_TEST(zero_bytes_touch_nothing)
{
	struct stat before, after;

	stable = IO_FILE_SYNC;
	write_at(5000, 0, NULL, 0);
	fstat(f.file.fd, &before);
	fakering_script(NULL, 0);
	w.io.op = (struct op){ 0 };
	write_start(&w);
	fakering_run(false);
	fstat(f.file.fd, &after);
	ck_assert_int_eq(w.io.res, 0);
	ck_assert_int_eq(memcmp(&before, &after, sizeof(before)), 0);
	ck_assert_int_eq(fakering_log[0].kind, RING_OP_POSTED);
	ck_assert_uint_eq(fakering_calls, 1);
	ck_assert_uint_eq(f.file.unsynced, 0);
}
END_TEST

START_TEST(a_write_beyond_the_largest_offset_is_too_big)
{
	static uint8_t data[16];

	fakering_script(NULL, 0);
	w = (struct write_io){
		.io = { .file = &f.file, .verifier = &f.verifier, .done = on_done },
		.offset = INT64_MAX, .count = 16, .data = data,
	};
	write_start(&w);
	fakering_run(false);
	ck_assert_int_eq(w.io.res, -EFBIG);
}
END_TEST

START_TEST(eagain_is_tried_again_but_not_for_ever_and_changes_no_verifier)
{
	int again[100];

	WRITE_AT(OFF, LEN, -EAGAIN, FAKERING_ALL, -EAGAIN, FAKERING_ALL);
	ck_assert_int_eq(w.io.res, LEN);
	for (int i = 0; i < 100; i++)
		again[i] = -EAGAIN;
	write_at(OFF, LEN, again, 100);
	ck_assert_int_eq(w.io.res, -EAGAIN);
	ck_assert_uint_eq(f.verifier.bumps, 0);
	memset(again, 0, sizeof(again));
	write_at(OFF, LEN, again, 100);
	ck_assert_int_eq(w.io.res, -EIO);
	ck_assert_uint_eq(f.verifier.bumps, 1);
}
END_TEST

START_TEST(data_is_written_as_the_caller_from_the_buffer_it_came_in)
{
	struct cred *c = cred_new(1, 1, NULL, 0);
	struct buf *b = pool_borrow(pool, 100000);

	fakering_script(NULL, 0);
	w = (struct write_io){
		.io = { .file = &f.file, .verifier = &f.verifier, .done = on_done, .cred = c },
		.offset = OFF, .count = LEN, .data = b->base + OFF, .buf = b,
	};
	b->index = 7;
	write_start(&w);
	fakering_run(false);
	ck_assert_int_eq(w.io.res, LEN);
	for (int i = 0; i < 3; i++) {
		ck_assert_ptr_eq(fakering_log[i].cred, c);
		ck_assert_int_eq(fakering_log[i].buf_index, 7);
	}
	b->index = -1;
	buf_return(b);
	cred_put(c);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("write");
	TCase *t = tcase_create("write");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, split_is_written_ascending_ends_buffered_middle_direct);
	tcase_add_test(t, short_completions_are_continued_wherever_they_end);
	tcase_add_test(t, short_direct_goes_on_direct_only_at_an_aligned_boundary);
	tcase_add_test(t, an_error_ends_the_write_with_the_bytes_so_far);
	tcase_add_test(t, a_stable_partial_write_is_synced_before_it_is_reported);
	tcase_add_test(t, stable_writes_end_in_one_flush_of_the_right_kind);
	tcase_add_test(t, a_failed_flush_fails_the_write_whichever_descriptor_tells);
	tcase_add_test(t, refused_direct_goes_buffered_once_and_is_counted);
	tcase_add_test(t, refused_dontcache_goes_without);
	tcase_add_test(t, zero_bytes_touch_nothing);
	tcase_add_test(t, a_write_beyond_the_largest_offset_is_too_big);
	tcase_add_test(t, eagain_is_tried_again_but_not_for_ever_and_changes_no_verifier);
	tcase_add_test(t, data_is_written_as_the_caller_from_the_buffer_it_came_in);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
