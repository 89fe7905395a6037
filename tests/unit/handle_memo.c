/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/handle_memo.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "tests/lib/unit.h"

static struct statx object(uint64_t ino)
{
	struct statx x = { .stx_mask = HANDLE_MEMO_MASK, .stx_ino = ino, .stx_dev_major = 8 };

	x.stx_btime.tv_sec = 1000000;
	x.stx_btime.tv_nsec = 999999999;
	return x;
}

static struct khandle handle(uint8_t byte, unsigned len)
{
	struct khandle k = { .type = 0x81, .len = (uint8_t)len };

	memset(k.data, byte, sizeof(k.data));
	return k;
}

START_TEST(what_was_noted_is_found_in_full)
{
	struct statx x = object(12);
	struct khandle k, out;

	ck_assert(!handle_memo_find(&x, &out));
	for (unsigned len = 1; len <= 24; len++) {
		k = handle((uint8_t)len, len);
		handle_memo_note(&x, &k);
		ck_assert(handle_memo_find(&x, &out));
		ck_assert(khandle_equal(&k, &out));
	}
	k = handle(1, 25);
	handle_memo_note(&x, &k);
	ck_assert(handle_memo_find(&x, &out));
	ck_assert_uint_eq(out.len, 24);
}
END_TEST

START_TEST(another_object_in_the_same_place_is_not_mistaken_for_it)
{
	const struct statx x = object(12);
	struct khandle k = handle(1, 8), out;
	struct statx y;

	handle_memo_note(&x, &k);
	y = x, y.stx_btime.tv_nsec--;
	ck_assert(!handle_memo_find(&y, &out));
	y = x, y.stx_btime.tv_sec++;
	ck_assert(!handle_memo_find(&y, &out));
	y = x, y.stx_ino += 1 << 17;
	ck_assert(!handle_memo_find(&y, &out));
	y = x, y.stx_dev_minor++;
	ck_assert(!handle_memo_find(&y, &out));
	ck_assert(handle_memo_find(&x, &out));
}
END_TEST

START_TEST(without_a_birth_nothing_is_noted_or_found)
{
	struct statx x = object(12), none = x;
	struct khandle k = handle(1, 8), out;

	none.stx_mask = STATX_INO;
	handle_memo_note(&none, &k);
	ck_assert(!handle_memo_find(&x, &out));
	handle_memo_note(&x, &k);
	ck_assert(!handle_memo_find(&none, &out));
}
END_TEST

/* Its number could still be used again with the very same birth. */
START_TEST(what_was_born_just_now_is_not_noted)
{
	struct khandle k = handle(1, 8), out;
	struct statx x = object(12);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	x.stx_btime.tv_sec = now.tv_sec;
	handle_memo_note(&x, &k);
	ck_assert(!handle_memo_find(&x, &out));
	x.stx_btime.tv_sec = now.tv_sec + 3600;
	handle_memo_note(&x, &k);
	ck_assert(!handle_memo_find(&x, &out));
}
END_TEST

static atomic_bool stop;

/* Objects that share a place, each with its own number all over its handle. */
static void *note_all(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		for (unsigned i = 0; i < 8; i++) {
			struct statx x = object(12 + (i << 17));
			struct khandle k = handle((uint8_t)i, 20);

			handle_memo_note(&x, &k);
		}
	}
	return NULL;
}

START_TEST(a_reader_never_sees_a_handle_half_written)
{
	pthread_t writer[2];
	struct khandle out;

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&writer[i], NULL, note_all, NULL), 0);
	for (unsigned n = 0; n < 400000; n++) {
		struct statx x = object(12 + (n % 8 << 17));
		struct khandle want = handle((uint8_t)(n % 8), 20);

		if (handle_memo_find(&x, &out))
			ck_assert(khandle_equal(&out, &want));
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(writer[i], NULL);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("handle_memo");
	TCase *tc = tcase_create("memo");

	tcase_add_test(tc, what_was_noted_is_found_in_full);
	tcase_add_test(tc, another_object_in_the_same_place_is_not_mistaken_for_it);
	tcase_add_test(tc, without_a_birth_nothing_is_noted_or_found);
	tcase_add_test(tc, what_was_born_just_now_is_not_noted);
	tcase_add_test(tc, a_reader_never_sees_a_handle_half_written);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
