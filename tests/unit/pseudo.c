/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tree of the exports: what is in it, and that its numbers last. */
#include "nfsd-io/proto/pseudo.h"

#include <string.h>

#include "tests/lib/unit.h"

static struct export exports[8];
static struct export_client client;
static struct export_table table;

static const struct pseudo *tree(const char *const *paths, unsigned n)
{
	memset(exports, 0, sizeof(exports));
	for (unsigned i = 0; i < n; i++) {
		exports[i].path = (char *)paths[i];
		exports[i].clients = &client;
		exports[i].nclients = 1;
	}
	pseudo_free(table.pseudo);
	table = (struct export_table){.exports = exports, .n = n};
	return pseudo_of(&table);
}

static void teardown(void)
{
	pseudo_free(table.pseudo);
	table.pseudo = NULL;
	client.opts.fsid_root = false;
}

static const struct pseudo_node *walk(const struct pseudo *p, const char *a, const char *b)
{
	const struct pseudo_node *n = pseudo_child(pseudo_root(p), a);

	return n && b ? pseudo_child(n, b) : n;
}

START_TEST(each_component_is_a_node_and_shared_ones_are_one)
{
	const struct pseudo *p = tree((const char *const[]){"/srv/a", "/srv//b/", "/x"}, 3);

	ck_assert_uint_eq(pseudo_root(p)->nchildren, 2);
	ck_assert_ptr_null(pseudo_root(p)->export);
	ck_assert_ptr_null(walk(p, "srv", NULL)->export);
	ck_assert_uint_eq(walk(p, "srv", NULL)->nchildren, 2);
	ck_assert_ptr_eq(walk(p, "srv", "a")->export, &exports[0]);
	ck_assert_ptr_eq(walk(p, "srv", "b")->export, &exports[1]);
	ck_assert_ptr_eq(walk(p, "x", NULL)->export, &exports[2]);
	ck_assert_ptr_null(walk(p, "sr", NULL));
	ck_assert_ptr_eq(walk(p, "srv", "a")->parent->parent, pseudo_root(p));
}
END_TEST

START_TEST(an_export_in_another_is_below_it)
{
	const struct pseudo *p = tree((const char *const[]){"/srv/a", "/srv"}, 2);

	ck_assert_ptr_eq(walk(p, "srv", NULL)->export, &exports[1]);
	ck_assert_ptr_eq(walk(p, "srv", "a")->export, &exports[0]);
	ck_assert_ptr_eq(pseudo_of_export(p, &exports[0])->parent,
			 pseudo_of_export(p, &exports[1]));
}
END_TEST

START_TEST(an_exported_root_is_the_trees_root)
{
	const struct pseudo *p = tree((const char *const[]){"/"}, 1);

	ck_assert_ptr_eq(pseudo_root(p)->export, &exports[0]);
	ck_assert_uint_eq(pseudo_root(p)->nchildren, 0);
}
END_TEST

START_TEST(numbers_come_from_the_path_alone)
{
	const struct pseudo *p = tree((const char *const[]){"/srv/a", "/b"}, 2);
	uint64_t srv = walk(p, "srv", NULL)->id, a = walk(p, "srv", "a")->id;

	ck_assert_uint_eq(pseudo_fileid(&exports[0]), a);
	ck_assert_ptr_eq(pseudo_find(p, a), walk(p, "srv", "a"));
	p = tree((const char *const[]){"/other", "/srv//a/"}, 2);
	ck_assert_uint_eq(walk(p, "srv", NULL)->id, srv);
	ck_assert_uint_eq(walk(p, "srv", "a")->id, a);
	ck_assert_ptr_null(pseudo_find(p, a + 1));
}
END_TEST

START_TEST(children_stand_in_the_order_of_their_cookies)
{
	const struct pseudo *p =
		tree((const char *const[]){"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"}, 8);
	const struct pseudo_node *n = pseudo_root(p);

	ck_assert_uint_eq(n->nchildren, 8);
	for (unsigned i = 0; i < 8; i++) {
		ck_assert_uint_gt(n->children[i]->id, i ? n->children[i - 1]->id : 2);
		ck_assert_uint_le(n->children[i]->id, INT64_MAX);
	}
}
END_TEST

START_TEST(with_fsid_0_only_what_lies_below_that_export_is_seen)
{
	const struct pseudo *p;

	client.opts.fsid_root = true;
	p = tree((const char *const[]){"/srv", "/srv/a/b", "/elsewhere"}, 3);
	ck_assert_ptr_eq(pseudo_root(p)->export, &exports[0]);
	ck_assert_uint_eq(pseudo_root(p)->id, pseudo_fileid(&exports[0]));
	ck_assert_uint_eq(pseudo_root(p)->nchildren, 1);
	ck_assert_ptr_eq(walk(p, "a", "b")->export, &exports[1]);
	ck_assert_ptr_null(pseudo_of_export(p, &exports[2]));
}
END_TEST

START_TEST(a_table_without_exports_has_a_root)
{
	ck_assert_uint_eq(pseudo_root(tree(NULL, 0))->nchildren, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pseudo");
	TCase *t = tcase_create("tree");

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, each_component_is_a_node_and_shared_ones_are_one);
	tcase_add_test(t, an_export_in_another_is_below_it);
	tcase_add_test(t, an_exported_root_is_the_trees_root);
	tcase_add_test(t, numbers_come_from_the_path_alone);
	tcase_add_test(t, children_stand_in_the_order_of_their_cookies);
	tcase_add_test(t, with_fsid_0_only_what_lies_below_that_export_is_seen);
	tcase_add_test(t, a_table_without_exports_has_a_root);
	suite_add_tcase(s, t);
	return unit_run(s);
}
