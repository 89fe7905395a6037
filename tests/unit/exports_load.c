/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/unit.h"
#include "nfsd-io/server/exports.h"

static char dir[64], exports_file[96], exports_dir[96];
static struct conf conf;
static struct conf_errors e;
static struct export_table *t;

static void setup(void)
{
	char path[128];

	strcpy(dir, "/tmp/nfsdio-load.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(exports_file, sizeof(exports_file), "%s/exports", dir);
	snprintf(exports_dir, sizeof(exports_dir), "%s/exports.d", dir);
	mkdir(exports_dir, 0700);
	snprintf(path, sizeof(path), "%s/a", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/b", dir);
	mkdir(path, 0700);
	conf = (struct conf){
		.exports_file = exports_file, .exports_dir = exports_dir, .io = ROOT_IO_DEFAULT};
	memset(&e, 0, sizeof(e));
	t = NULL;
}

static void teardown(void)
{
	char cmd[128];

	export_table_put(t);
	conf_errors_free(&e);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

/* Lines in which % is the test's directory. */
static void put(const char *path, const char *lines)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	for (; *lines; lines++) {
		if (*lines == '%')
			fputs(dir, f);
		else
			fputc(*lines, f);
	}
	fclose(f);
}

static bool told(const char *want)
{
	for (unsigned i = 0; i < e.n; i++)
		if (strstr(e.line[i], want))
			return true;
	for (unsigned i = 0; i < e.n; i++)
		fprintf(stderr, "# %s\n", e.line[i]);
	return false;
}

START_TEST(a_missing_path_is_down_with_a_reason_and_the_rest_is_served)
{
	put(exports_file, "%/a *(rw)\n%/gone *(rw)\n%/exports *(rw)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), 0);
	ck_assert_uint_eq(t->n, 3);
	ck_assert_ptr_nonnull(t->exports[0].root);
	ck_assert_ptr_null(t->exports[1].root);
	ck_assert_ptr_nonnull(t->exports[1].down);
	ck_assert_ptr_null(t->exports[2].root);
}
END_TEST

START_TEST(nothing_to_export_is_an_error_at_start_and_not_at_reload)
{
	struct export_table *empty;

	put(exports_file, "%/gone *(rw)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), -1);
	ck_assert(told("nothing to export"));
	put(exports_file, "%/a *(rw)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), 0);
	put(exports_file, "");
	ck_assert_int_eq(exports_load(&empty, &conf, t, &e), 0);
	ck_assert_uint_eq(empty->n, 0);
	ck_assert_uint_eq(empty->generation, t->generation + 1);
	export_table_put(empty);
}
END_TEST

START_TEST(what_did_not_change_keeps_its_root)
{
	struct export_table *next;

	put(exports_file, "%/a *(rw)\n%/b *(rw)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), 0);
	put(exports_file, "%/b 10.0.0.1(ro,fsid=5)\n%/a 10.0.0.1(ro)\n");
	ck_assert_int_eq(exports_load(&next, &conf, t, &e), 0);
	ck_assert_ptr_eq(next->exports[1].root, t->exports[0].root);
	ck_assert_ptr_ne(next->exports[0].root, t->exports[1].root);
	export_table_put(next);
	conf.io.read_mode = DIO_MODE_BUFFERED;
	ck_assert_int_eq(exports_load(&next, &conf, t, &e), 0);
	ck_assert_ptr_ne(next->exports[1].root, t->exports[0].root);
	export_table_put(next);
}
END_TEST

START_TEST(another_directory_at_the_same_path_is_another_root)
{
	struct export_table *next;
	char from[128], to[128];

	put(exports_file, "%/a *(rw)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), 0);
	snprintf(from, sizeof(from), "%s/a", dir);
	snprintf(to, sizeof(to), "%s/old", dir);
	ck_assert_int_eq(rename(from, to), 0);
	ck_assert_int_eq(mkdir(from, 0700), 0);
	ck_assert_int_eq(exports_load(&next, &conf, t, &e), 0);
	ck_assert_ptr_ne(next->exports[0].root, t->exports[0].root);
	export_table_put(next);
}
END_TEST

START_TEST(two_exports_with_one_id_are_an_error)
{
	put(exports_file, "%/a *(fsid=7)\n%/b *(fsid=7)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), -1);
	ck_assert(told("/exports:2: "));
	ck_assert(told("has the same id (7) as "));
}
END_TEST

START_TEST(a_section_for_a_path_that_is_not_exported_is_an_error)
{
	struct conf_export x = {.path = exports_dir, .file = "c.conf", .line = 4};

	conf.exports = &x;
	conf.nexports = 1;
	put(exports_file, "%/a *(rw)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), -1);
	ck_assert(told("c.conf:4: [export \""));
	x = (struct conf_export){.path = exports_dir, .file = "-o"};
	conf_errors_free(&e);
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), -1);
	ck_assert(told("-o: [export \""));
}
END_TEST

START_TEST(bytes_that_move_a_terminals_cursor_are_told_in_octal)
{
	put(exports_file, "%/a\033[2J *(rw)\n%/b *(rw,\a\x7f)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), -1);
	ck_assert_uint_ge(e.n, 1);
	for (unsigned i = 0; i < e.n; i++)
		for (const char *c = e.line[i]; *c; c++)
			ck_assert_msg((unsigned char)*c >= ' ' && *c != 0x7f, "%s", e.line[i]);
	ck_assert(told("\\007\\177"));
}
END_TEST

START_TEST(mp_keeps_an_export_down_until_something_is_mounted)
{
	put(exports_file, "%/a *(rw,mp)\n%/b *(rw,mp=/)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), 0);
	ck_assert_ptr_null(t->exports[0].root);
	ck_assert_ptr_nonnull(strstr(t->exports[0].down, "nothing is mounted on "));
	ck_assert_ptr_nonnull(t->exports[1].root);
}
END_TEST

START_TEST(the_directory_is_read_in_name_order_without_dot_files)
{
	char path[160];

	put(exports_file, "%/a 10.0.0.1\n");
	snprintf(path, sizeof(path), "%s/2.exports", exports_dir);
	put(path, "%/b 10.0.0.2\n");
	snprintf(path, sizeof(path), "%s/1.exports", exports_dir);
	put(path, "%/a 10.0.0.3\n");
	snprintf(path, sizeof(path), "%s/.3.exports", exports_dir);
	put(path, "nonsense\n");
	snprintf(path, sizeof(path), "%s/4.exports~", exports_dir);
	put(path, "nonsense\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), 0);
	ck_assert_uint_eq(t->n, 2);
	ck_assert_str_eq(t->exports[0].clients[1].pattern, "10.0.0.3");
	ck_assert_str_eq(t->exports[1].clients[0].pattern, "10.0.0.2");
}
END_TEST

START_TEST(rootdir_is_put_in_front_of_every_path)
{
	conf.rootdir = dir;
	put(exports_file, "/a *(rw)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), 0);
	ck_assert_str_eq(t->exports[0].path, "/a");
	ck_assert_ptr_nonnull(strstr(t->exports[0].root->path, dir));
}
END_TEST

START_TEST(a_host_that_is_not_found_warns_and_matches_nobody)
{
	put(exports_file, "%/a localhost(rw) no-such-host.invalid(rw)\n");
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), 0);
	ck_assert_uint_ge(t->exports[0].clients[0].naddrs, 1);
	ck_assert_uint_eq(t->exports[0].clients[1].naddrs, 0);
	ck_assert(told("host no-such-host.invalid: "));
	ck_assert_uint_eq(conf_nerrors(&e), 0);
}
END_TEST

START_TEST(a_named_file_that_is_missing_is_an_error)
{
	ck_assert_int_eq(exports_load(&t, &conf, NULL, &e), -1);
	ck_assert(told("/exports: No such file or directory"));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exports_load");
	TCase *tc = tcase_create("exports_load");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_missing_path_is_down_with_a_reason_and_the_rest_is_served);
	tcase_add_test(tc, nothing_to_export_is_an_error_at_start_and_not_at_reload);
	tcase_add_test(tc, what_did_not_change_keeps_its_root);
	tcase_add_test(tc, another_directory_at_the_same_path_is_another_root);
	tcase_add_test(tc, two_exports_with_one_id_are_an_error);
	tcase_add_test(tc, bytes_that_move_a_terminals_cursor_are_told_in_octal);
	tcase_add_test(tc, a_section_for_a_path_that_is_not_exported_is_an_error);
	tcase_add_test(tc, mp_keeps_an_export_down_until_something_is_mounted);
	tcase_add_test(tc, the_directory_is_read_in_name_order_without_dot_files);
	tcase_add_test(tc, rootdir_is_put_in_front_of_every_path);
	tcase_add_test(tc, a_host_that_is_not_found_warns_and_matches_nobody);
	tcase_add_test(tc, a_named_file_that_is_missing_is_an_error);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
