/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>

#include "policy/budget.h"
#include "tests/lib/unit.h"

static const struct budget_use one = {.reqs = 1, .bufs = 1, .bytes = 100};

START_TEST(each_limit_stops_reading_and_credit_resumes_it)
{
	static const struct budget_use max[] = {{.reqs = 2}, {.bufs = 2}, {.bytes = 200}};
	struct budget b;

	budget_init(&b, NULL, &max[_i]);
	ck_assert(budget_may_read(&b));
	budget_charge(&b, &one);
	ck_assert(budget_may_read(&b));
	budget_charge(&b, &one);
	ck_assert(!budget_may_read(&b));
	budget_credit(&b, &one);
	ck_assert(budget_may_read(&b));
}
END_TEST

START_TEST(without_limits_reading_never_stops)
{
	const struct budget_use none = {0}, much = {UINT32_MAX, UINT32_MAX, UINT64_MAX / 2};
	struct budget worker, conn;

	budget_init(&worker, NULL, &none);
	budget_init(&conn, &worker, &none);
	budget_charge(&conn, &much);
	ck_assert(budget_may_read(&conn));
}
END_TEST

START_TEST(a_charge_reaches_the_worker_and_comes_back)
{
	const struct budget_use max = {.reqs = 10, .bufs = 10, .bytes = 1000};
	struct budget worker, conn;

	budget_init(&worker, NULL, &max);
	budget_init(&conn, &worker, &max);
	budget_charge(&conn, &one);
	ck_assert_uint_eq(worker.used.reqs, 1);
	ck_assert_uint_eq(worker.used.bufs, 1);
	ck_assert_uint_eq(worker.used.bytes, 100);
	budget_credit(&conn, &one);
	ck_assert_uint_eq(worker.used.reqs + worker.used.bufs + worker.used.bytes, 0);
}
END_TEST

START_TEST(a_full_worker_stops_every_connection)
{
	const struct budget_use max = {.bufs = 3}, none = {0};
	struct budget worker, a, b;

	budget_init(&worker, NULL, &max);
	budget_init(&a, &worker, &none);
	budget_init(&b, &worker, &none);
	budget_charge(&a, &one);
	budget_charge(&a, &one);
	ck_assert(!budget_may_read(&a)); /* holds more than is left */
	ck_assert(budget_may_read(&b));
	budget_charge(&b, &one);
	ck_assert(!budget_may_read(&b)); /* nothing is left */
	budget_credit(&a, &one);
	ck_assert(!budget_may_read(&b)); /* as much as is left */
	budget_credit(&b, &one);
	ck_assert(budget_may_read(&b));
}
END_TEST

/* n silent readers, served in turn until none may read, leave a share to a newcomer. */
START_TEST(silent_readers_leave_a_share_to_others)
{
	const struct budget_use max = {.bufs = 24}, none = {0};
	const unsigned nhogs = _i;
	struct budget worker, hog[23], guest;
	bool moved = true;

	budget_init(&worker, NULL, &max);
	budget_init(&guest, &worker, &none);
	for (unsigned i = 0; i < nhogs; i++)
		budget_init(&hog[i], &worker, &none);
	while (moved) {
		moved = false;
		for (unsigned i = 0; i < nhogs; i++) {
			if (!budget_may_read(&hog[i]))
				continue;
			budget_charge(&hog[i], &one);
			moved = true;
		}
	}
	ck_assert_uint_ge(24 - worker.used.bufs, 24 / (nhogs + 1));
	ck_assert(budget_may_read(&guest));
}
END_TEST

START_TEST(giving_back_more_than_taken_is_our_bug)
{
	const struct budget_use none = {0};
	struct budget b;

	budget_init(&b, NULL, &none);
	budget_credit(&b, &one);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("budget");
	TCase *t = tcase_create("budget");

	tcase_add_loop_test(t, each_limit_stops_reading_and_credit_resumes_it, 0, 3);
	tcase_add_test(t, without_limits_reading_never_stops);
	tcase_add_test(t, a_charge_reaches_the_worker_and_comes_back);
	tcase_add_test(t, a_full_worker_stops_every_connection);
	tcase_add_loop_test(t, silent_readers_leave_a_share_to_others, 1, 24);
	tcase_add_test_raise_signal(t, giving_back_more_than_taken_is_our_bug, SIGABRT);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
