/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/receive.h"
#include "tests/lib/unit.h"

/* Everything in favor of a splice. */
static const struct receive_facts best = {
	.want = RECEIVE_SPLICE, .len = RECEIVE_SPLICE_MIN, .plain = true, .can_splice = true,
};

START_TEST(a_large_payload_for_the_page_cache_is_spliced)
{
	struct receive_facts f = best;

	ck_assert_int_eq(receive_choose(&f), RECEIVE_SPLICE);
	f.len = 1 << 20;
	ck_assert_int_eq(receive_choose(&f), RECEIVE_SPLICE);
	f.len = RECEIVE_SPLICE_MIN - 1;
	ck_assert_int_eq(receive_choose(&f), RECEIVE_RECV);
}
END_TEST

START_TEST(each_fact_against_it_is_enough)
{
	struct receive_facts f = best;

	f.want = RECEIVE_RECV;
	ck_assert_int_eq(receive_choose(&f), RECEIVE_RECV);
	f = best;
	f.plain = false;
	ck_assert_int_eq(receive_choose(&f), RECEIVE_RECV);
	f = best;
	f.more = true;
	ck_assert_int_eq(receive_choose(&f), RECEIVE_RECV);
	f = best;
	f.can_splice = false;
	ck_assert_int_eq(receive_choose(&f), RECEIVE_RECV);
}
END_TEST

START_TEST(names_are_the_words_of_the_config)
{
	ck_assert_str_eq(receive_name(RECEIVE_RECV), "recv");
	ck_assert_str_eq(receive_name(RECEIVE_SPLICE), "splice");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("receive");
	TCase *t = tcase_create("receive");

	tcase_add_test(t, a_large_payload_for_the_page_cache_is_spliced);
	tcase_add_test(t, each_fact_against_it_is_enough);
	tcase_add_test(t, names_are_the_words_of_the_config);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
