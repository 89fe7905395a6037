/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/pathmap_table.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

static struct khandle id_of(unsigned n)
{
	struct khandle k = { .type = 1, .len = sizeof(n) };

	memcpy(k.data, &n, sizeof(n));
	return k;
}

START_TEST(finds_from_both_sides_while_it_grows)
{
	struct khandle parent = id_of(0), id;
	struct pathmap_table t;
	char name[16];

	ck_assert_int_eq(pathmap_table_init(&t, 100000), 0);
	for (unsigned i = 1; i <= 20000; i++) {
		id = id_of(i);
		snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(pathmap_table_set(&t, &id, &parent, name), 1);
		ck_assert_int_eq(pathmap_table_set(&t, &id, &parent, name), 0);
	}
	ck_assert_uint_eq(t.count, 20000);
	for (unsigned i = 1; i <= 20000; i++) {
		struct pathlink *l;

		id = id_of(i);
		snprintf(name, sizeof(name), "%u", i);
		l = pathmap_table_id(&t, &id, 0);
		ck_assert_ptr_nonnull(l);
		ck_assert_str_eq(l->name, name);
		ck_assert_ptr_eq(l, pathmap_table_name(&t, &parent, name));
		pathmap_table_drop(&t, l);
		ck_assert_ptr_null(pathmap_table_name(&t, &parent, name));
	}
	ck_assert_uint_eq(t.count, 0);
	pathmap_table_fini(&t);
}
END_TEST

START_TEST(forgets_the_longest_unused)
{
	struct khandle parent = id_of(0), id;
	struct pathmap_table t;
	char name[16];

	ck_assert_int_eq(pathmap_table_init(&t, 10), 0);
	for (unsigned i = 1; i <= 15; i++) {
		struct khandle first = id_of(1);
		struct pathlink *l = pathmap_table_id(&t, &first, 0);

		if (l)
			pathmap_table_touch(&t, l);
		id = id_of(i);
		snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(pathmap_table_set(&t, &id, &parent, name), 1);
		ck_assert_uint_le(t.count, 10);
	}
	for (unsigned i = 1; i <= 15; i++) {
		id = id_of(i);
		ck_assert_int_eq(pathmap_table_id(&t, &id, 0) != NULL, i == 1 || i > 6);
	}
	pathmap_table_fini(&t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pathmap_table");
	TCase *tc = tcase_create("pathmap_table");

	tcase_add_test(tc, finds_from_both_sides_while_it_grows);
	tcase_add_test(tc, forgets_the_longest_unused);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
