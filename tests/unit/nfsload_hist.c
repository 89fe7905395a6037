/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/unit.h"

#include <stdlib.h>

#include "tests/lib/stamp.h"
#include "tools/nfsload_hist.h"

static struct hist h;

static void clear(void)
{
	h = (struct hist){ 0 };
}

START_TEST(empty_has_no_latency)
{
	clear();
	ck_assert_uint_eq(hist_quantile(&h, 0.5), 0);
	ck_assert_uint_eq(hist_quantile(&h, 1), 0);
	ck_assert(hist_mean(&h) == 0);
}
END_TEST

START_TEST(one_value_is_every_quantile)
{
	static const uint64_t value[] = { 0, 1, 127, 128, 129, 4095, 1000000, UINT64_MAX };

	for (unsigned i = 0; i < sizeof value / sizeof *value; i++) {
		clear();
		hist_add(&h, value[i]);
		ck_assert_uint_eq(hist_quantile(&h, 0), value[i]);
		ck_assert_uint_eq(hist_quantile(&h, 0.5), value[i]);
		ck_assert_uint_eq(hist_quantile(&h, 1), value[i]);
	}
}
END_TEST

START_TEST(small_values_are_exact)
{
	clear();
	for (uint64_t v = 1; v <= 100; v++)
		hist_add(&h, v);
	ck_assert_uint_eq(hist_quantile(&h, 0.5), 50);
	ck_assert_uint_eq(hist_quantile(&h, 0.99), 99);
	ck_assert_uint_eq(hist_quantile(&h, 0.999), 100);
	ck_assert_uint_eq(h.max, 100);
	ck_assert(hist_mean(&h) == 50.5);
}
END_TEST

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

START_TEST(quantiles_are_within_a_128th_of_the_sorted_list)
{
	enum { N = 20000 };
	static const double share[] = { 0.01, 0.5, 0.9, 0.99, 0.999, 1 };
	uint64_t *list = malloc(N * sizeof *list), state = _i;

	clear();
	for (unsigned i = 0; i < N; i++) {
		list[i] = stamp_random(&state) >> (20 + stamp_random(&state) % 44);
		hist_add(&h, list[i]);
	}
	qsort(list, N, sizeof *list, by_size);
	for (unsigned i = 0; i < sizeof share / sizeof *share; i++) {
		uint64_t is = list[(unsigned)(share[i] * N) - 1], got = hist_quantile(&h, share[i]);

		ck_assert_msg(got >= is && got - is <= is / 128 + 1, "share %g: %lu, not %lu",
			      share[i], (unsigned long)got, (unsigned long)is);
	}
	free(list);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfsload_hist");
	TCase *t = tcase_create("nfsload_hist");

	tcase_add_test(t, empty_has_no_latency);
	tcase_add_test(t, one_value_is_every_quantile);
	tcase_add_test(t, small_values_are_exact);
	tcase_add_loop_test(t, quantiles_are_within_a_128th_of_the_sorted_list, 1, 6);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
