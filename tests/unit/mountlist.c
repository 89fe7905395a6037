/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/mountlist.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/unit.h"

static struct mountlist *m;

static void setup(void)
{
	ck_assert_int_eq(mountlist_new(&m), 0);
}

static void teardown(void)
{
	mountlist_free(m);
}

static void append(void *arg, const char *host, const char *path)
{
	strcat(arg, host);
	strcat(arg, path);
	strcat(arg, " ");
}

static const char *text(void)
{
	static char out[4096];

	out[0] = '\0';
	mountlist_each(m, append, out);
	return out;
}

START_TEST(mounts_are_listed_newest_first_and_once)
{
	mountlist_add(m, "a", "/x");
	mountlist_add(m, "b", "/x");
	mountlist_add(m, "a", "/x");
	ck_assert_str_eq(text(), "a/x b/x ");
}
END_TEST

START_TEST(umount_takes_one_path_and_umountall_the_host)
{
	mountlist_add(m, "a", "/x");
	mountlist_add(m, "a", "/y");
	mountlist_add(m, "b", "/x");
	mountlist_remove(m, "a", "/x");
	ck_assert_str_eq(text(), "b/x a/y ");
	mountlist_add(m, "a", "/z");
	mountlist_remove(m, "a", NULL);
	ck_assert_str_eq(text(), "b/x ");
	mountlist_remove(m, "c", NULL);
	ck_assert_uint_eq(mountlist_count(m), 1);
}
END_TEST

START_TEST(the_list_is_bounded)
{
	char path[32];

	for (unsigned i = 0; i < MOUNTLIST_MAX + 100; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		mountlist_add(m, "a", path);
	}
	ck_assert_uint_eq(mountlist_count(m), MOUNTLIST_MAX);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("mountlist");
	TCase *t = tcase_create("mountlist");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, mounts_are_listed_newest_first_and_once);
	tcase_add_test(t, umount_takes_one_path_and_umountall_the_host);
	tcase_add_test(t, the_list_is_bounded);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
