/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Owners as texts: what is told, how long it is kept, what
 * is understood.  The host's databases are ours.
 */
#include "nfsd-io/proto/idmap.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/lib/unit.h"

static _Atomic unsigned asked;
static int failure;	     /* errno of the databases */
static void (*asking)(void); /* in the middle of a look-up by number */
static struct idmap *map;

/* --- the databases: users ann 1, "b@d" 2, one of an endless name 3; groups staff 1 --- */

static int entry(char *buf, size_t len, const char *name, char **out)
{
	if (strlen(name) >= len)
		return ERANGE;
	*out = strcpy(buf, name);
	return 0;
}

static const char *user_name(uid_t uid)
{
	static char endless[200];

	memset(endless, 'x', sizeof(endless) - 1);
	return uid == 1 ? "ann" : uid == 2 ? "b@d" : uid == 3 ? endless : NULL;
}

int getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t len, struct passwd **out)
{
	const char *name = user_name(uid);
	int err = failure;

	asked++;
	if (asking)
		asking();
	*out = NULL;
	if (!err && name)
		err = entry(buf, len, name, &pw->pw_name);
	if (!err && name)
		*out = pw;
	return err;
}

int getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t len, struct passwd **out)
{
	int err = failure;

	asked++;
	*out = NULL;
	pw->pw_uid = !strcmp(name, "ann") ? 1 : !strcmp(name, "b@d") ? 2 : 0;
	if (!err && pw->pw_uid)
		err = entry(buf, len, name, &pw->pw_name);
	if (!err && pw->pw_uid)
		*out = pw;
	return err;
}

int getgrgid_r(gid_t gid, struct group *gr, char *buf, size_t len, struct group **out)
{
	/* So many members that the first buffers are too small. */
	int err = gid != 1 ? ESRCH : len < 100000 ? ERANGE : entry(buf, len, "staff", &gr->gr_name);

	asked++;
	*out = err ? NULL : gr;
	return err;
}

int getgrnam_r(const char *name, struct group *gr, char *buf, size_t len, struct group **out)
{
	int err = strcmp(name, "staff") ? 0 : entry(buf, len, name, &gr->gr_name);

	asked++;
	gr->gr_gid = 1;
	*out = strcmp(name, "staff") || err ? NULL : gr;
	return err;
}

static void setup(void)
{
	failure = 0;
	asking = NULL;
	ck_assert_int_eq(idmap_new(&map, "example.org"), 0);
	asked = 0;
}

static void teardown(void)
{
	idmap_free(map);
}

static bool tells(struct idmap *m, enum hostdb db, uint32_t id, uint64_t now_s, const char *text)
{
	struct idmap_text t;

	ck_assert_int_eq(idmap_tell(m, db, id, true, now_s, &t), 0);
	return t.len == strlen(text) && !memcmp(t.text, text, t.len);
}

START_TEST(owners_are_told_as_numbers_without_a_map)
{
	ck_assert(tells(NULL, HOSTDB_USERS, 1, 0, "1"));
	ck_assert(tells(NULL, HOSTDB_GROUPS, UINT32_MAX, 0, "4294967295"));
	ck_assert_uint_eq(asked, 0);
}
END_TEST

START_TEST(names_are_told_with_the_domain_and_the_rest_as_numbers)
{
	ck_assert(tells(map, HOSTDB_USERS, 1, 0, "ann@example.org"));
	ck_assert(tells(map, HOSTDB_USERS, 2, 0, "b@d@example.org"));
	ck_assert(tells(map, HOSTDB_USERS, 3, 0, "3"));
	ck_assert(tells(map, HOSTDB_USERS, 4, 0, "4"));
	ck_assert(tells(map, HOSTDB_GROUPS, 1, 0, "staff@example.org"));
	ck_assert(tells(map, HOSTDB_GROUPS, 2, 0, "2"));
}
END_TEST

START_TEST(a_name_is_kept_ten_minutes_and_its_absence_one)
{
	ck_assert(tells(map, HOSTDB_USERS, 1, 1000, "ann@example.org"));
	ck_assert(tells(map, HOSTDB_USERS, 1, 1599, "ann@example.org"));
	ck_assert_uint_eq(asked, 1);
	ck_assert(tells(map, HOSTDB_USERS, 1, 1600, "ann@example.org"));
	ck_assert_uint_eq(asked, 2);
	ck_assert(tells(map, HOSTDB_USERS, 4, 1000, "4") && tells(map, HOSTDB_USERS, 4, 1059, "4"));
	ck_assert_uint_eq(asked, 3);
	ck_assert(tells(map, HOSTDB_USERS, 4, 1060, "4"));
	ck_assert_uint_eq(asked, 4);
	idmap_flush(map);
	ck_assert(tells(map, HOSTDB_USERS, 1, 1600, "ann@example.org"));
	ck_assert_uint_eq(asked, 5);
}
END_TEST

START_TEST(who_may_not_block_never_asks_a_database)
{
	struct idmap_text t;

	ck_assert_int_eq(idmap_tell(map, HOSTDB_USERS, 1, false, 0, &t), -EAGAIN);
	ck_assert_uint_eq(asked, 0);
	ck_assert(tells(map, HOSTDB_USERS, 1, 0, "ann@example.org"));
	ck_assert_int_eq(idmap_tell(map, HOSTDB_USERS, 1, false, 0, &t), 0);
	ck_assert(t.len == 15 && !memcmp(t.text, "ann@example.org", 15));
	ck_assert_int_eq(idmap_tell(map, HOSTDB_USERS, 1, false, 600, &t), -EAGAIN);
	ck_assert_int_eq(idmap_tell(map, HOSTDB_USERS, 1 + 1024, false, 0, &t), -EAGAIN);
	ck_assert_uint_eq(asked, 1);
}
END_TEST

static void others_meanwhile(void)
{
	struct idmap_text t;

	ck_assert_int_eq(idmap_tell(map, HOSTDB_USERS, 1, false, 605, &t), 0);
	ck_assert(t.len == 15 && !memcmp(t.text, "ann@example.org", 15));
}

START_TEST(while_one_asks_again_others_tell_the_old_text)
{
	ck_assert(tells(map, HOSTDB_USERS, 1, 0, "ann@example.org"));
	asking = others_meanwhile;
	ck_assert(tells(map, HOSTDB_USERS, 1, 600, "ann@example.org"));
	ck_assert_uint_eq(asked, 2);
}
END_TEST

START_TEST(a_database_that_fails_changes_nothing_that_is_known)
{
	ck_assert(tells(map, HOSTDB_USERS, 1, 0, "ann@example.org"));
	failure = EIO;
	ck_assert(tells(map, HOSTDB_USERS, 1, 600, "ann@example.org"));
	ck_assert(tells(map, HOSTDB_USERS, 2, 600, "2"));
	failure = 0;
	ck_assert(tells(map, HOSTDB_USERS, 2, 659, "2"));
	ck_assert(tells(map, HOSTDB_USERS, 2, 660, "b@d@example.org"));
	failure = ENOENT;
	ck_assert(tells(map, HOSTDB_USERS, 1, 700, "1"));
}
END_TEST

static int understand(const struct idmap *m, enum hostdb db, const char *text)
{
	uint32_t id = 99;
	int err = idmap_understand(m, db, text, (uint32_t)strlen(text), &id);

	return err ? err : (int)id;
}

START_TEST(with_a_map_numbers_and_names_of_its_domain_are_understood)
{
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "ann@example.org"), 1);
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "ann@EXAMPLE.Org"), 1);
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "b@d@example.org"), 2);
	ck_assert_int_eq(understand(map, HOSTDB_GROUPS, "staff@example.org"), 1);
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "77"), 77);
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "ann@example.com"), -ENOENT);
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "ann@example.or"), -ENOENT);
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "ann"), -ENOENT);
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "@example.org"), -ENOENT);
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "bob@example.org"), -ENOENT);
	ck_assert_int_eq(understand(map, HOSTDB_GROUPS, "ann@example.org"), -ENOENT);
}
END_TEST

START_TEST(without_one_the_domain_does_not_matter)
{
	ck_assert_int_eq(understand(NULL, HOSTDB_USERS, "ann"), 1);
	ck_assert_int_eq(understand(NULL, HOSTDB_USERS, "ann@anywhere"), 1);
	ck_assert_int_eq(understand(NULL, HOSTDB_GROUPS, "staff@"), 1);
	ck_assert_int_eq(understand(NULL, HOSTDB_USERS, "@"), -ENOENT);
	ck_assert_int_eq(understand(NULL, HOSTDB_USERS, "no such user"), -ENOENT);
	ck_assert_int_eq(understand(NULL, HOSTDB_USERS, "99999999999999999999"), -ENOENT);
	ck_assert_int_eq(understand(NULL, HOSTDB_USERS, "4294967295"), -ENOENT);
	ck_assert_int_eq(understand(NULL, HOSTDB_USERS, ""), -EINVAL);
}
END_TEST

START_TEST(shortage_is_no_verdict_on_a_name)
{
	failure = EMFILE;
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "ann@example.org"), -EAGAIN);
	failure = EIO;
	ck_assert_int_eq(understand(map, HOSTDB_USERS, "ann@example.org"), -ENOENT);
}
END_TEST

static void *tell_on(void *arg)
{
	struct idmap_text t;

	for (uint32_t i = 0; i < 20000; i++) {
		if (i % 1000 == 999)
			idmap_flush(map);
		if (!idmap_tell(map, HOSTDB_USERS, 1 + 1024 * (i % 2), i % 3, i / 10, &t) &&
		    i % 2 == 0)
			ck_assert(t.len == 15 && !memcmp(t.text, "ann@example.org", 15));
	}
	return arg;
}

START_TEST(threads_share_a_map)
{
	pthread_t t[4];

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, tell_on, NULL);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("idmap");
	TCase *t = tcase_create("owners");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, owners_are_told_as_numbers_without_a_map);
	tcase_add_test(t, names_are_told_with_the_domain_and_the_rest_as_numbers);
	tcase_add_test(t, a_name_is_kept_ten_minutes_and_its_absence_one);
	tcase_add_test(t, who_may_not_block_never_asks_a_database);
	tcase_add_test(t, while_one_asks_again_others_tell_the_old_text);
	tcase_add_test(t, a_database_that_fails_changes_nothing_that_is_known);
	tcase_add_test(t, with_a_map_numbers_and_names_of_its_domain_are_understood);
	tcase_add_test(t, without_one_the_domain_does_not_matter);
	tcase_add_test(t, shortage_is_no_verdict_on_a_name);
	tcase_add_test(t, threads_share_a_map);
	suite_add_tcase(s, t);
	return unit_run(s);
}
