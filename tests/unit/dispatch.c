/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/dispatch.h"
#include "tests/lib/unit.h"

struct entry {
	int number;
	char more[20];
};

static const struct entry nfs[] = {{.number = 30}, {.number = 31}, {.number = 32}};
static const struct entry mount1[] = {{.number = 10}};
static const struct entry mount3[] = {{.number = 13}, {.number = 14}};
static const struct dispatch_program table[] = {
	{100003, 3, 3, nfs, sizeof(struct entry)},
	{100005, 3, 2, mount3, sizeof(struct entry)},
	{100005, 1, 1, mount1, sizeof(struct entry)},
};

static const struct entry *find(uint32_t prog, uint32_t vers, uint32_t proc, struct msg_error *err)
{
	struct msg_call call = {.prog = prog, .vers = vers, .proc = proc};

	return dispatch_find(table, 3, &call, err);
}

START_TEST(procedures_are_found)
{
	struct msg_error err;

	ck_assert_int_eq(find(100003, 3, 0, &err)->number, 30);
	ck_assert_int_eq(find(100003, 3, 2, &err)->number, 32);
	ck_assert_int_eq(find(100005, 1, 0, &err)->number, 10);
	ck_assert_int_eq(find(100005, 3, 1, &err)->number, 14);
}
END_TEST

START_TEST(unknown_program_is_prog_unavail)
{
	struct msg_error err;

	ck_assert_ptr_null(find(100227, 3, 0, &err));
	ck_assert_int_eq(err.kind, MSG_ERR_ACCEPTED);
	ck_assert_int_eq(err.accept, MSG_PROG_UNAVAIL);
}
END_TEST

START_TEST(unknown_version_tells_lowest_and_highest)
{
	static const uint32_t versions[] = {0, 2, 4, UINT32_MAX};
	struct msg_error err;

	for (int i = 0; i < 4; i++) {
		ck_assert_ptr_null(find(100005, versions[i], 0, &err));
		ck_assert_int_eq(err.accept, MSG_PROG_MISMATCH);
		ck_assert_uint_eq(err.low, 1);
		ck_assert_uint_eq(err.high, 3);
	}
	ck_assert_ptr_null(find(100003, 4, 0, &err));
	ck_assert_uint_eq(err.low, 3);
	ck_assert_uint_eq(err.high, 3);
}
END_TEST

START_TEST(unknown_procedure_is_proc_unavail)
{
	struct msg_error err;

	ck_assert_ptr_null(find(100003, 3, 3, &err));
	ck_assert_int_eq(err.kind, MSG_ERR_ACCEPTED);
	ck_assert_int_eq(err.accept, MSG_PROC_UNAVAIL);
	ck_assert_ptr_null(find(100005, 1, UINT32_MAX, &err));
	ck_assert_int_eq(err.accept, MSG_PROC_UNAVAIL);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("dispatch");
	TCase *t = tcase_create("dispatch");

	tcase_add_test(t, procedures_are_found);
	tcase_add_test(t, unknown_program_is_prog_unavail);
	tcase_add_test(t, unknown_version_tells_lowest_and_highest);
	tcase_add_test(t, unknown_procedure_is_proc_unavail);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
