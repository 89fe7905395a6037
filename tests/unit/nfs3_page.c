/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/nfs3_page.h"

#include "tests/lib/unit.h"

/* XDR bytes of one READDIR entry: follows, fileid, name, cookie. */
static uint32_t entry_len(uint32_t name)
{
	return 4 + 8 + 4 + (name + 3) / 4 * 4 + 8;
}

START_TEST(a_count_below_the_empty_page_is_too_small)
{
	struct v3_page p;

	for (uint32_t max = 0; max < V3_PAGE_EMPTY; max++)
		ck_assert(!v3_page_init(&p, max, 0));
	ck_assert(v3_page_init(&p, V3_PAGE_EMPTY, 0));
	ck_assert(!v3_page_take(&p, 1, 0));
}
END_TEST

START_TEST(entries_fit_to_the_very_byte)
{
	for (uint32_t name = 1; name <= 255; name++) {
		struct v3_page p;
		uint32_t exact = V3_PAGE_EMPTY + entry_len(name);

		ck_assert(v3_page_init(&p, exact - 1, 0));
		ck_assert(!v3_page_take(&p, name, 0));
		ck_assert(v3_page_init(&p, exact, 0));
		ck_assert(v3_page_take(&p, name, 0));
		ck_assert_uint_eq(p.used, exact);
		ck_assert(!v3_page_take(&p, 1, 0));
	}
}
END_TEST

START_TEST(attributes_and_handle_count_against_maxcount_only)
{
	struct v3_page p;

	ck_assert(v3_page_init(&p, V3_PAGE_EMPTY + 2 * (entry_len(4) + 160), 24 * 2));
	ck_assert(v3_page_take(&p, 4, 160));
	ck_assert_uint_eq(p.dir_used, 24);
	ck_assert(v3_page_take(&p, 4, 160));
	ck_assert_uint_eq(p.used, p.max);
}
END_TEST

START_TEST(dircount_ends_a_page_but_never_an_empty_one)
{
	for (uint32_t dir_max = 1; dir_max < 48; dir_max++) {
		struct v3_page p;

		ck_assert(v3_page_init(&p, 4096, dir_max));
		ck_assert(v3_page_take(&p, 4, 100));
		ck_assert(!v3_page_take(&p, 4, 100));
	}
}
END_TEST

START_TEST(dircount_zero_is_no_limit)
{
	struct v3_page p;
	unsigned n = 0;

	ck_assert(v3_page_init(&p, 4096, 0));
	while (v3_page_take(&p, 4, 100))
		n++;
	ck_assert_uint_eq(n, (4096 - V3_PAGE_EMPTY) / (entry_len(4) + 100));
}
END_TEST

START_TEST(huge_limits_do_not_overflow)
{
	struct v3_page p;

	ck_assert(v3_page_init(&p, UINT32_MAX, UINT32_MAX));
	for (unsigned i = 0; i < 100000; i++)
		ck_assert(v3_page_take(&p, 255, 160));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfs3_page");
	TCase *t = tcase_create("nfs3_page");

	tcase_add_test(t, a_count_below_the_empty_page_is_too_small);
	tcase_add_test(t, entries_fit_to_the_very_byte);
	tcase_add_test(t, attributes_and_handle_count_against_maxcount_only);
	tcase_add_test(t, dircount_ends_a_page_but_never_an_empty_one);
	tcase_add_test(t, dircount_zero_is_no_limit);
	tcase_add_test(t, huge_limits_do_not_overflow);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
