/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/apart.h"
#include "tests/lib/unit.h"

enum { FOLIO = 2 << 20 };

static struct apart *gone[16];
static int ngone;

static void go(struct apart *a)
{
	gone[ngone++] = a;
}

static struct apart *stretch(struct apart *a, uint64_t offset, uint32_t len, bool direct)
{
	*a = (struct apart){
		.dev = 1, .ino = 2, .offset = offset, .len = len, .direct = direct, .go = go};
	return a;
}

START_TEST(those_of_one_class_go_together)
{
	struct apart a[4];

	for (int direct = 0; direct < 2; direct++) {
		for (int i = 0; i < 4; i++)
			ck_assert(apart_enter(stretch(&a[i], 100, 100, direct)));
		for (int i = 0; i < 4; i++)
			apart_leave(&a[i]);
	}
	ck_assert_int_eq(ngone, 0);
}
END_TEST

START_TEST(the_other_class_waits_for_all_that_are_near)
{
	struct apart d[2], c;

	ck_assert(apart_enter(stretch(&d[0], 0, 4096, true)));
	ck_assert(apart_enter(stretch(&d[1], 8192, 4096, true)));
	ck_assert(!apart_enter(stretch(&c, 4096, 100, false)));
	apart_leave(&d[1]);
	ck_assert_int_eq(ngone, 0);
	apart_leave(&d[0]);
	ck_assert_int_eq(ngone, 1);
	ck_assert_ptr_eq(gone[0], &c);
	apart_leave(&c);
}
END_TEST

START_TEST(far_away_or_in_another_file_nobody_waits)
{
	struct apart d, c[3];

	ck_assert(apart_enter(stretch(&d, FOLIO, FOLIO, true)));
	ck_assert(apart_enter(stretch(&c[0], FOLIO - 1, 1, false)));
	ck_assert(apart_enter(stretch(&c[1], 2 * FOLIO, 1, false)));
	stretch(&c[2], FOLIO, 1, false)->ino = 3;
	ck_assert(apart_enter(&c[2]));
	apart_leave(&d);
	for (int i = 0; i < 3; i++)
		apart_leave(&c[i]);
	ck_assert_int_eq(ngone, 0);
}
END_TEST

START_TEST(first_come_first_served_so_that_nobody_starves)
{
	struct apart d[3], c[2];

	ck_assert(apart_enter(stretch(&d[0], 0, 4096, true)));
	ck_assert(!apart_enter(stretch(&c[0], 0, 10, false)));
	/* Would fit beside d[0], but c[0] was first. */
	ck_assert(!apart_enter(stretch(&d[1], 0, 4096, true)));
	ck_assert(!apart_enter(stretch(&c[1], 0, 10, false)));
	ck_assert(!apart_enter(stretch(&d[2], 0, 4096, true)));
	apart_leave(&d[0]);
	ck_assert_int_eq(ngone, 1);
	apart_leave(&c[0]);
	ck_assert_int_eq(ngone, 2);
	ck_assert_ptr_eq(gone[1], &d[1]);
	apart_leave(&d[1]);
	ck_assert_ptr_eq(gone[2], &c[1]);
	apart_leave(&c[1]);
	ck_assert_ptr_eq(gone[3], &d[2]);
	apart_leave(&d[2]);
	ck_assert_int_eq(ngone, 4);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("apart");
	TCase *t = tcase_create("apart");

	tcase_add_test(t, those_of_one_class_go_together);
	tcase_add_test(t, the_other_class_waits_for_all_that_are_near);
	tcase_add_test(t, far_away_or_in_another_file_nobody_waits);
	tcase_add_test(t, first_come_first_served_so_that_nobody_starves);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
