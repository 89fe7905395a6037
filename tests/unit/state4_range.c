/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "nfsd-io/proto/state4_range.h"
#include "tests/lib/unit.h"

#define BYTES 64

static struct state4_ranges ranges;

static void fresh(void)
{
	state4_ranges_fini(&ranges);
}

static void set(uint64_t first, uint64_t last, enum state4_lock_kind kind)
{
	ck_assert_int_eq(state4_ranges_reserve(&ranges), 0);
	state4_ranges_set(&ranges, first, last, kind);
}

static void check_is(unsigned i, uint64_t first, uint64_t last, bool write)
{
	ck_assert_uint_lt(i, ranges.n);
	ck_assert_uint_eq(ranges.v[i].first, first);
	ck_assert_uint_eq(ranges.v[i].last, last);
	ck_assert_int_eq(ranges.v[i].write, write);
}

START_TEST(lengths_of_none_and_past_the_end_are_no_range)
{
	struct state4_range g;

	ck_assert(!state4_range_of(5, 0, &g));
	ck_assert(!state4_range_of(100, UINT64_MAX - 1, &g));
	ck_assert(state4_range_of(UINT64_MAX, UINT64_MAX, &g));
	ck_assert(g.first == UINT64_MAX && g.last == UINT64_MAX);
	ck_assert(!state4_range_of(UINT64_MAX, 1, &g));
	ck_assert(state4_range_of(UINT64_MAX - 1, 1, &g));
	ck_assert(state4_range_of(0, UINT64_MAX, &g));
	ck_assert(g.last == UINT64_MAX);
	ck_assert_uint_eq(state4_range_length(&g), UINT64_MAX);
	ck_assert(state4_range_of(10, 5, &g));
	ck_assert_uint_eq(g.last, 14);
	ck_assert_uint_eq(state4_range_length(&g), 5);
}
END_TEST

START_TEST(overlapping_and_touching_locks_of_a_kind_are_one)
{
	fresh();
	set(25, 99, STATE4_LOCK_WRITE);
	set(50, 124, STATE4_LOCK_WRITE);
	ck_assert_uint_eq(ranges.n, 1);
	check_is(0, 25, 124, true);
	set(125, 130, STATE4_LOCK_WRITE);
	set(0, 24, STATE4_LOCK_WRITE);
	ck_assert_uint_eq(ranges.n, 1);
	check_is(0, 0, 130, true);
	set(140, UINT64_MAX, STATE4_LOCK_WRITE);
	set(131, 139, STATE4_LOCK_WRITE);
	ck_assert_uint_eq(ranges.n, 1);
	check_is(0, 0, UINT64_MAX, true);
}
END_TEST

START_TEST(unlocking_inside_splits)
{
	fresh();
	set(100, 199, STATE4_LOCK_WRITE);
	set(125, 174, STATE4_UNLOCK);
	ck_assert_uint_eq(ranges.n, 2);
	check_is(0, 100, 124, true);
	check_is(1, 175, 199, true);
	set(0, UINT64_MAX, STATE4_UNLOCK);
	ck_assert_uint_eq(ranges.n, 0);
}
END_TEST

START_TEST(a_part_changes_kind)
{
	fresh();
	set(0, 99, STATE4_LOCK_READ);
	set(40, 59, STATE4_LOCK_WRITE);
	ck_assert_uint_eq(ranges.n, 3);
	check_is(0, 0, 39, false);
	check_is(1, 40, 59, true);
	check_is(2, 60, 99, false);
	set(40, 59, STATE4_LOCK_READ);
	ck_assert_uint_eq(ranges.n, 1);
	check_is(0, 0, 99, false);
}
END_TEST

START_TEST(readers_stand_against_writers_only)
{
	fresh();
	set(10, 19, STATE4_LOCK_READ);
	set(30, 39, STATE4_LOCK_WRITE);
	ck_assert_ptr_null(state4_ranges_conflict(&ranges, 0, 9, true));
	ck_assert_ptr_null(state4_ranges_conflict(&ranges, 20, 29, true));
	ck_assert_ptr_null(state4_ranges_conflict(&ranges, 0, 29, false));
	ck_assert_ptr_eq(state4_ranges_conflict(&ranges, 0, 10, true), &ranges.v[0]);
	ck_assert_ptr_eq(state4_ranges_conflict(&ranges, 0, UINT64_MAX, false), &ranges.v[1]);
	ck_assert_ptr_null(state4_ranges_conflict(&ranges, 40, UINT64_MAX, true));
}
END_TEST

/* The ranges against one kind a byte; the last byte of the model is the end of all files. */
static uint64_t real(unsigned byte)
{
	return byte == BYTES - 1 ? UINT64_MAX : byte;
}

static enum state4_lock_kind kind_at(uint64_t byte)
{
	for (unsigned i = 0; i < ranges.n; i++)
		if (ranges.v[i].first <= byte && byte <= ranges.v[i].last)
			return ranges.v[i].write ? STATE4_LOCK_WRITE : STATE4_LOCK_READ;
	return STATE4_UNLOCK;
}

static bool is_model(const uint8_t model[BYTES])
{
	for (unsigned b = 0; b < BYTES; b++)
		if (kind_at(real(b)) != model[b])
			return false;
	for (unsigned i = 0; i + 1 < ranges.n; i++)
		if (ranges.v[i].last >= ranges.v[i + 1].first ||
		    (ranges.v[i].write == ranges.v[i + 1].write &&
		     ranges.v[i].last + 1 == ranges.v[i + 1].first))
			return false;
	return true;
}

static bool conflicts_agree(const uint8_t model[BYTES], unsigned first, unsigned last, bool write)
{
	bool want = false;

	for (unsigned b = first; b <= last; b++)
		want |= write ? model[b] != STATE4_UNLOCK : model[b] == STATE4_LOCK_WRITE;
	return want == !!state4_ranges_conflict(&ranges, first, real(last), write);
}

START_TEST(random_operations_are_those_of_a_byte_map)
{
	uint8_t model[BYTES] = {0};
	uint32_t x = 12345 + (uint32_t)_i * 7919;

	fresh();
	for (int n = 0; n < 5000; n++) {
		unsigned a, b;
		enum state4_lock_kind kind;

		x = x * 1664525 + 1013904223;
		a = (x >> 8) % BYTES;
		b = (x >> 16) % BYTES;
		kind = (x >> 24) % 3;
		if (a > b) {
			unsigned t = a;

			a = b;
			b = t;
		}
		ck_assert(conflicts_agree(model, a, b, false) &&
			  conflicts_agree(model, a, b, true));
		set(a, real(b), kind);
		/* Bytes between the model's last two are never asked for singly. */
		memset(model + a, kind, b - a + 1);
		ck_assert(is_model(model));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("state4_range");
	TCase *t = tcase_create("ranges");

	tcase_add_test(t, lengths_of_none_and_past_the_end_are_no_range);
	tcase_add_test(t, overlapping_and_touching_locks_of_a_kind_are_one);
	tcase_add_test(t, unlocking_inside_splits);
	tcase_add_test(t, a_part_changes_kind);
	tcase_add_test(t, readers_stand_against_writers_only);
	tcase_add_loop_test(t, random_operations_are_those_of_a_byte_map, 0, 4);
	suite_add_tcase(s, t);
	return unit_run(s);
}
