/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/cred.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/unit.h"

START_TEST(equal_whatever_the_order_of_groups)
{
	struct cred *a = cred_new(7, 8, (gid_t[]){ 3, 1, 2, 1 }, 4);
	struct cred *b = cred_new(7, 8, (gid_t[]){ 1, 2, 3 }, 3);

	ck_assert(cred_equal(a, b));
	ck_assert_uint_eq(a->key, b->key);
	cred_put(a);
	cred_put(b);
}
END_TEST

START_TEST(differs_in_each_part)
{
	struct cred *a = cred_new(7, 8, (gid_t[]){ 1, 2 }, 2);
	struct cred *other[] = {
		cred_new(9, 8, (gid_t[]){ 1, 2 }, 2), cred_new(7, 9, (gid_t[]){ 1, 2 }, 2),
		cred_new(7, 8, (gid_t[]){ 1, 3 }, 2), cred_new(7, 8, (gid_t[]){ 1 }, 1),
		cred_new(7, 8, NULL, 0),
	};

	for (unsigned i = 0; i < sizeof(other) / sizeof(*other); i++) {
		ck_assert(!cred_equal(a, other[i]));
		ck_assert_uint_ne(a->key, other[i]->key);
		cred_put(other[i]);
	}
	cred_put(a);
}
END_TEST

START_TEST(in_group_means_the_gid_or_the_list)
{
	struct cred *c = cred_new(7, 8, (gid_t[]){ 20, 10 }, 2);

	ck_assert(cred_in_group(c, 8));
	ck_assert(cred_in_group(c, 10));
	ck_assert(cred_in_group(c, 20));
	ck_assert(!cred_in_group(c, 0));
	ck_assert(!cred_in_group(c, 15));
	cred_put(c);
}
END_TEST

static uid_t fsuid_now(void)
{
	return setfsuid(-1);
}

static gid_t fsgid_now(void)
{
	return setfsgid(-1);
}

START_TEST(assume_acts_as_the_caller_and_null_as_the_server)
{
	struct cred *c = cred_new(1234, 4321, (gid_t[]){ 77 }, 1);
	gid_t gids[8];

	ck_assert(cred_switchable());
	ck_assert_int_eq(cred_assume(c), 0);
	ck_assert_int_eq(fsuid_now(), 1234);
	ck_assert_int_eq(fsgid_now(), 4321);
	ck_assert_int_eq(getgroups(8, gids), 1);
	ck_assert_int_eq(gids[0], 77);
	ck_assert_int_eq(open("/etc/shadow", O_RDONLY), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_int_eq(cred_assume(c), 0);
	ck_assert_int_eq(cred_assume(NULL), 0);
	ck_assert_int_eq(fsuid_now(), 0);
	ck_assert_int_eq(fsgid_now(), 0);
	cred_put(c);
}
END_TEST

START_TEST(assume_goes_from_one_caller_to_the_next)
{
	struct cred *a = cred_new(1000, 1000, (gid_t[]){ 5, 6 }, 2);
	struct cred *b = cred_new(0, 0, NULL, 0);
	struct cred *c = cred_new(1001, 1001, (gid_t[]){ 9 }, 1);
	struct cred *turn[] = { a, b, c, a, c, b };
	gid_t gids[8];

	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(cred_assume(turn[i]), 0);
		ck_assert_int_eq(fsuid_now(), turn[i]->uid);
		ck_assert_int_eq(fsgid_now(), turn[i]->gid);
		ck_assert_int_eq(getgroups(8, gids), turn[i]->ngids);
	}
	cred_assume(NULL);
	cred_put(a);
	cred_put(b);
	cred_put(c);
}
END_TEST

START_TEST(an_id_of_minus_one_is_refused_and_leaves_the_server)
{
	struct cred *a = cred_new(1000, 1000, NULL, 0);
	struct cred *bad_uid = cred_new(-1, 5, NULL, 0);
	struct cred *bad_gid = cred_new(5, -1, NULL, 0);

	ck_assert_int_eq(cred_assume(a), 0);
	ck_assert_int_eq(cred_assume(bad_uid), -EINVAL);
	ck_assert_int_eq(fsuid_now(), 0);
	ck_assert_int_eq(cred_assume(a), 0);
	ck_assert_int_eq(cred_assume(bad_gid), -EINVAL);
	ck_assert_int_eq(fsgid_now(), 0);
	cred_put(a);
	cred_put(bad_uid);
	cred_put(bad_gid);
}
END_TEST

static void *assume_and_stay(void *arg)
{
	struct cred *c = arg;
	bool ok = cred_assume(c) == 0 && fsuid_now() == c->uid;

	return ok ? arg : NULL; /* ends as the caller: what the thread holds is released */
}

START_TEST(other_threads_keep_their_identity)
{
	struct cred *c = cred_new(1234, 1234, NULL, 0);
	pthread_t t;
	void *res;

	pthread_create(&t, NULL, assume_and_stay, c);
	pthread_join(t, &res);
	ck_assert_ptr_eq(res, c);
	ck_assert_int_eq(fsuid_now(), 0);
	ck_assert_uint_eq(c->refs, 1);
	cred_put(c);
}
END_TEST

START_TEST(without_capabilities_nothing_changes)
{
	struct cred *c;

	if (geteuid() == 0) {
		ck_assert_int_eq(setgroups(0, NULL), 0);
		ck_assert_int_eq(setgid(65534), 0);
		ck_assert_int_eq(setuid(65534), 0);
	}
	c = cred_new(1, 1, NULL, 0);
	ck_assert(!cred_switchable());
	ck_assert_int_eq(cred_assume(c), 0);
	ck_assert_int_eq(fsuid_now(), geteuid());
	ck_assert_int_eq(cred_assume(NULL), 0);
	cred_put(c);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cred");
	TCase *tc = tcase_create("cred");

	tcase_add_test(tc, equal_whatever_the_order_of_groups);
	tcase_add_test(tc, differs_in_each_part);
	tcase_add_test(tc, in_group_means_the_gid_or_the_list);
	tcase_add_test(tc, without_capabilities_nothing_changes);
	if (geteuid() == 0) {
		tcase_add_test(tc, assume_acts_as_the_caller_and_null_as_the_server);
		tcase_add_test(tc, assume_goes_from_one_caller_to_the_next);
		tcase_add_test(tc, an_id_of_minus_one_is_refused_and_leaves_the_server);
		tcase_add_test(tc, other_threads_keep_their_identity);
	}
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
