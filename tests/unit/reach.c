/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/reach.h"
#include "tests/lib/unit.h"

static struct reach_gate gate;
static struct reach *gone[16];
static int ngone;

static void go(struct reach *r)
{
	gone[ngone++] = r;
}

static struct reach *up_to(struct reach *r, uint64_t end)
{
	*r = (struct reach){ .end = end, .go = go };
	return r;
}

static void setup(void)
{
	ngone = 0;
	reach_init(&gate, 1000);
}

static void teardown(void)
{
	reach_fini(&gate);
}

START_TEST(inside_the_file_nobody_waits)
{
	struct reach longer, inside[3];

	ck_assert(reach_enter(&gate, up_to(&longer, 2000)));
	for (int i = 0; i < 3; i++)
		ck_assert(reach_enter(&gate, up_to(&inside[i], 1000)));
	for (int i = 0; i < 3; i++)
		reach_leave(&gate, &inside[i], 1000);
	reach_leave(&gate, &longer, 2000);
	ck_assert_int_eq(ngone, 0);
}
END_TEST

START_TEST(the_furthest_goes_first_and_the_rest_right_behind_it)
{
	struct reach r[5];

	ck_assert(reach_enter(&gate, up_to(&r[0], 2000)));
	for (int i = 1; i < 5; i++)
		ck_assert(!reach_enter(&gate, up_to(&r[i], i == 2 ? 9000 : 2000 + 1000 * i)));
	ck_assert_int_eq(ngone, 0);
	reach_leave(&gate, &r[0], 2000);
	ck_assert_int_eq(ngone, 4);
	ck_assert_ptr_eq(gone[0], &r[2]);
	for (int i = 1; i < 5; i++)
		reach_leave(&gate, &r[i], r[i].end);
	ck_assert_int_eq(ngone, 4);
}
END_TEST

START_TEST(who_comes_meanwhile_waits_for_the_furthest_only)
{
	struct reach r[4];

	ck_assert(reach_enter(&gate, up_to(&r[0], 2000)));
	ck_assert(!reach_enter(&gate, up_to(&r[1], 3000)));
	ck_assert(!reach_enter(&gate, up_to(&r[2], 4000)));
	reach_leave(&gate, &r[0], 2000);
	ck_assert(!reach_enter(&gate, up_to(&r[3], 9000)));
	reach_leave(&gate, &r[1], 3000);
	ck_assert_int_eq(ngone, 2);
	reach_leave(&gate, &r[2], 4000);
	ck_assert_int_eq(ngone, 3);
	ck_assert_ptr_eq(gone[2], &r[3]);
	reach_leave(&gate, &r[3], 9000);
}
END_TEST

START_TEST(after_a_failed_one_the_file_is_as_it_was)
{
	struct reach r[3];

	ck_assert(reach_enter(&gate, up_to(&r[0], 4000)));
	ck_assert(!reach_enter(&gate, up_to(&r[1], 3000)));
	reach_leave(&gate, &r[0], 0);
	ck_assert_int_eq(ngone, 1);
	ck_assert(!reach_enter(&gate, up_to(&r[2], 1001)));
	reach_leave(&gate, &r[1], 0);
	ck_assert_int_eq(ngone, 2);
	ck_assert_ptr_eq(gone[1], &r[2]);
	reach_leave(&gate, &r[2], 0);
	ck_assert(reach_enter(&gate, up_to(&r[0], 1001)));
	reach_leave(&gate, &r[0], 1001);
}
END_TEST

START_TEST(a_file_that_grew_otherwise_leaves_nobody_waiting)
{
	struct reach r[3];

	ck_assert(reach_enter(&gate, up_to(&r[0], 4000)));
	ck_assert(!reach_enter(&gate, up_to(&r[1], 3000)));
	ck_assert(!reach_enter(&gate, up_to(&r[2], 2000)));
	reach_saw(&gate, 5000);
	reach_leave(&gate, &r[0], 4000);
	ck_assert_int_eq(ngone, 2);
	ck_assert(reach_enter(&gate, up_to(&r[0], 6000)));
	for (int i = 0; i < 3; i++)
		reach_leave(&gate, &r[i], r[i].end);
}
END_TEST

START_TEST(a_file_seen_shorter_is_made_longer_again)
{
	struct reach r[2];

	reach_saw(&gate, 0);
	ck_assert(reach_enter(&gate, up_to(&r[0], 500)));
	ck_assert(!reach_enter(&gate, up_to(&r[1], 800)));
	reach_saw(&gate, 800);
	reach_leave(&gate, &r[0], 500);
	ck_assert_int_eq(ngone, 1);
	reach_leave(&gate, &r[1], 800);
}
END_TEST

START_TEST(what_is_seen_waits_for_nobody)
{
	struct reach r;

	pthread_mutex_lock(&gate.lock);
	reach_saw(&gate, 5000);
	pthread_mutex_unlock(&gate.lock);
	ck_assert(reach_enter(&gate, up_to(&r, 4000)));
	ck_assert(!r.longer);
	reach_leave(&gate, &r, 4000);
}
END_TEST

static void *see(void *arg)
{
	for (uint64_t i = 0; i < 20000; i++)
		reach_saw(&gate, i);
	return arg;
}

START_TEST(sizes_are_seen_while_others_make_it_longer)
{
	struct reach r;
	pthread_t t;

	pthread_create(&t, NULL, see, NULL);
	for (uint64_t i = 0; i < 20000; i++) {
		ck_assert(reach_enter(&gate, up_to(&r, i)));
		reach_leave(&gate, &r, i);
	}
	pthread_join(t, NULL);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("reach");
	TCase *t = tcase_create("reach");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, inside_the_file_nobody_waits);
	tcase_add_test(t, the_furthest_goes_first_and_the_rest_right_behind_it);
	tcase_add_test(t, who_comes_meanwhile_waits_for_the_furthest_only);
	tcase_add_test(t, after_a_failed_one_the_file_is_as_it_was);
	tcase_add_test(t, a_file_that_grew_otherwise_leaves_nobody_waiting);
	tcase_add_test(t, a_file_seen_shorter_is_made_longer_again);
	tcase_add_test(t, what_is_seen_waits_for_nobody);
	tcase_add_test(t, sizes_are_seen_while_others_make_it_longer);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
