/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "rpc/cursor.h"
#include "tests/lib/unit.h"

/* Everything a cursor can write, once. */
static void put_all(struct cursor *c)
{
	cursor_put_u32(c, 0x01020304);
	cursor_put_u64(c, 0x1122334455667788);
	cursor_put_bool(c, true);
	cursor_put_bool(c, false);
	cursor_put_opaque(c, "abcde", 5);
	cursor_put_opaque(c, NULL, 0);
	cursor_put_fixed(c, "xyz", 3);
	cursor_put_fixed(c, "four", 4);
}

static const uint8_t all[] = {
	1,   2,	  3,   4,   0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0,	  0,   0,   1,
	0,   0,	  0,   0,   0,	  0,	0,    5,    'a',  'b',	'c',  'd',  'e', 0,   0,   0,
	0,   0,	  0,   0,   'x',  'y',	'z',  0,    'f',  'o',	'u',  'r',
};

static void get_all(struct cursor *c)
{
	uint32_t len;

	cursor_get_u32(c);
	cursor_get_u64(c);
	cursor_get_bool(c);
	cursor_get_bool(c);
	cursor_get_opaque(c, 5, &len);
	cursor_get_opaque(c, 0, &len);
	cursor_get_fixed(c, 3);
	cursor_get_fixed(c, 4);
}

START_TEST(writes_are_xdr)
{
	uint8_t buf[sizeof(all)];
	struct cursor c;

	memset(buf, 0xee, sizeof(buf));
	cursor_init(&c, buf, sizeof(buf));
	put_all(&c);
	ck_assert(cursor_ok(&c));
	ck_assert_uint_eq(cursor_left(&c), 0);
	ck_assert_mem_eq(buf, all, sizeof(all));
}
END_TEST

START_TEST(reads_give_back_what_was_written)
{
	struct cursor c;
	const uint8_t *p;
	uint32_t len;

	cursor_init_const(&c, all, sizeof(all));
	ck_assert_uint_eq(cursor_get_u32(&c), 0x01020304);
	ck_assert_uint_eq(cursor_get_u64(&c), 0x1122334455667788);
	ck_assert(cursor_get_bool(&c));
	ck_assert(!cursor_get_bool(&c));
	p = cursor_get_opaque(&c, 5, &len);
	ck_assert_uint_eq(len, 5);
	ck_assert_mem_eq(p, "abcde", 5);
	p = cursor_get_opaque(&c, 0, &len);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(len, 0);
	ck_assert_mem_eq(cursor_get_fixed(&c, 3), "xyz", 3);
	ck_assert_mem_eq(cursor_get_fixed(&c, 4), "four", 4);
	ck_assert(cursor_ok(&c));
	ck_assert_uint_eq(cursor_pos(&c), sizeof(all));
}
END_TEST

START_TEST(reads_cut_at_any_byte_are_an_error_and_stay_inside)
{
	for (size_t n = 0; n < sizeof(all); n++) {
		uint8_t *copy = malloc(n + 1); /* of just the size, for the sanitizer */
		struct cursor c;

		memcpy(copy, all, n);
		cursor_init(&c, copy, n);
		get_all(&c);
		ck_assert(!cursor_ok(&c));
		ck_assert_uint_le(cursor_pos(&c), n);
		free(copy);
	}
}
END_TEST

START_TEST(writes_cut_at_any_byte_are_an_error_and_stay_inside)
{
	for (size_t n = 0; n < sizeof(all); n++) {
		uint8_t buf[sizeof(all) + 1];
		struct cursor c;

		memset(buf, 0xee, sizeof(buf));
		cursor_init(&c, buf, n);
		put_all(&c);
		ck_assert(!cursor_ok(&c));
		ck_assert_mem_eq(buf, all, cursor_pos(&c));
		for (size_t i = n; i < sizeof(buf); i++)
			ck_assert_uint_eq(buf[i], 0xee);
	}
}
END_TEST

START_TEST(error_is_sticky_and_reads_give_zeros)
{
	static const uint8_t ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	struct cursor c;
	uint32_t len = 9;

	cursor_init_const(&c, ones, sizeof(ones));
	cursor_skip(&c, 17);
	ck_assert(!cursor_ok(&c));
	ck_assert_uint_eq(cursor_pos(&c), 0);
	ck_assert_uint_eq(cursor_get_u32(&c), 0);
	ck_assert_uint_eq(cursor_get_u64(&c), 0);
	ck_assert(!cursor_get_bool(&c));
	ck_assert_ptr_null(cursor_get_opaque(&c, 100, &len));
	ck_assert_uint_eq(len, 0);
	ck_assert_ptr_null(cursor_get_fixed(&c, 0));
	ck_assert_ptr_null(cursor_reserve(&c, 1));
	cursor_seek(&c, 0);
	ck_assert(!cursor_ok(&c));
}
END_TEST

START_TEST(bool_is_zero_or_one)
{
	static const uint8_t two[] = {0, 0, 0, 2};
	struct cursor c;

	cursor_init_const(&c, two, sizeof(two));
	ck_assert(!cursor_get_bool(&c));
	ck_assert(!cursor_ok(&c));
}
END_TEST

START_TEST(opaque_over_its_bound_is_an_error)
{
	static const uint8_t in[] = {0, 0, 0, 4, 'a', 'b', 'c', 'd'};
	struct cursor c;
	uint32_t len;

	cursor_init_const(&c, in, sizeof(in));
	ck_assert_ptr_nonnull(cursor_get_opaque(&c, 4, &len));
	cursor_init_const(&c, in, sizeof(in));
	ck_assert_ptr_null(cursor_get_opaque(&c, 3, &len));
	ck_assert(!cursor_ok(&c));
}
END_TEST

START_TEST(opaque_lengths_near_the_type_s_end_do_not_wrap)
{
	for (uint32_t n = UINT32_MAX - 4; n != 0; n++) {
		uint8_t in[16] = {0};
		struct cursor c;
		uint32_t len;

		cursor_set_u32(in, n);
		cursor_init(&c, in, sizeof(in));
		ck_assert_ptr_null(cursor_get_opaque(&c, UINT32_MAX, &len));
		ck_assert(!cursor_ok(&c));
		cursor_init(&c, in, sizeof(in));
		ck_assert_ptr_null(cursor_get_fixed(&c, n));
	}
}
END_TEST

START_TEST(opaque_whose_pad_is_cut_is_an_error)
{
	static const uint8_t in[] = {0, 0, 0, 5, 'a', 'b', 'c', 'd', 'e', 0, 0};
	struct cursor c;
	uint32_t len;

	cursor_init_const(&c, in, sizeof(in));
	ck_assert_ptr_null(cursor_get_opaque(&c, 5, &len));
	ck_assert(!cursor_ok(&c));
}
END_TEST

START_TEST(pads_are_by_length_not_by_address)
{
	uint8_t buf[64];

	for (size_t shift = 0; shift < 8; shift++)
		for (uint32_t n = 0; n < 9; n++) {
			struct cursor c;
			uint32_t len;

			memset(buf, 0xee, sizeof(buf));
			cursor_init(&c, buf + shift, 32);
			cursor_put_opaque(&c, "12345678", n);
			cursor_put_u32(&c, 0xcafe);
			ck_assert_uint_eq(cursor_pos(&c), 4 + (n + 3) / 4 * 4 + 4);
			cursor_seek(&c, 0);
			ck_assert_mem_eq(cursor_get_opaque(&c, n, &len), "12345678", n);
			ck_assert_uint_eq(cursor_get_u32(&c), 0xcafe);
			ck_assert(cursor_ok(&c));
		}
}
END_TEST

START_TEST(reserved_word_is_patched_later)
{
	uint8_t buf[8], *at;
	struct cursor c;

	cursor_init(&c, buf, sizeof(buf));
	at = cursor_reserve(&c, 4);
	cursor_put_u32(&c, 2);
	cursor_set_u32(at, 1);
	ck_assert_mem_eq(buf, "\0\0\0\1\0\0\0\2", 8);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cursor");
	TCase *t = tcase_create("cursor");

	tcase_add_test(t, writes_are_xdr);
	tcase_add_test(t, reads_give_back_what_was_written);
	tcase_add_test(t, reads_cut_at_any_byte_are_an_error_and_stay_inside);
	tcase_add_test(t, writes_cut_at_any_byte_are_an_error_and_stay_inside);
	tcase_add_test(t, error_is_sticky_and_reads_give_zeros);
	tcase_add_test(t, bool_is_zero_or_one);
	tcase_add_test(t, opaque_over_its_bound_is_an_error);
	tcase_add_test(t, opaque_lengths_near_the_type_s_end_do_not_wrap);
	tcase_add_test(t, opaque_whose_pad_is_cut_is_an_error);
	tcase_add_test(t, pads_are_by_length_not_by_address);
	tcase_add_test(t, reserved_word_is_patched_later);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
