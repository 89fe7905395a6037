/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/stats.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/unit.h"
#include "nfsd-io/server/grid.h"
#include "nfsd-io/server/health.h"
#include "tests/lib/fakeserver.h"

static struct server server;
static struct root *root;

static void setup(void)
{
	fakeserver_init(&server);
	root = fakeserver_export(&server, "/srv");
}

static void teardown(void)
{
	fakeserver_fini(&server);
	free(root->path);
	free(root->stats);
	free(root);
}

static json_int_t num(const json_t *o, const char *key)
{
	const json_t *n = json_object_get(o, key);

	ck_assert_msg(json_is_integer(n), "%s", key);
	return json_integer_value(n);
}

static json_int_t sum(json_t *o)
{
	const char *key;
	json_t *v;
	json_int_t n = 0;

	json_object_foreach(o, key, v) n += json_integer_value(v);
	return n;
}

START_TEST(banks_are_summed_and_parts_add_up)
{
	json_t *a, *x, *wr, *split;

	for (unsigned bank = 0; bank < ROOT_WORKERS; bank += 21) {
		struct root_stats *s = &root->stats[bank];

		s->ops[DIO_WRITE][DIO_SPLIT] = 3;
		s->ops[DIO_WRITE][DIO_ALIGNED] = 4;
		s->part[0] = 100;
		s->part[1] = 4096;
		s->part[2] = 10;
		s->bytes[DIO_WRITE][DIO_DIRECT] = 8192;
		s->bytes[DIO_WRITE][DIO_BUFFERED] = 110;
		s->payload[DIO_WRITE] = 8302;
		s->syncs = 1;
	}
	a = stats_json(&server);
	x = json_array_get(json_object_get(a, "exports"), 0);
	wr = json_object_get(x, "write");
	split = json_object_get(wr, "split");
	ck_assert_int_eq(num(wr, "ops"), 28);
	ck_assert_int_eq(sum(json_object_get(wr, "dispositions")), num(wr, "ops"));
	ck_assert_int_eq(num(split, "head") + num(split, "middle") + num(split, "tail"),
			 num(split, "payload"));
	ck_assert_int_eq(num(split, "payload"), 4 * 4206);
	ck_assert_int_eq(sum(json_object_get(wr, "bytes")), num(wr, "moved"));
	ck_assert_int_eq(num(wr, "moved"), num(wr, "payload"));
	ck_assert_int_eq(num(x, "syncs"), 4);
	json_decref(a);
}
END_TEST

START_TEST(a_mode_that_is_not_effective_says_why)
{
	json_t *a, *rd;

	root->probe.align = (struct probe_align){0, 0, 0};
	a = stats_json(&server);
	rd = json_object_get(json_array_get(json_object_get(a, "exports"), 0), "read");
	ck_assert_str_eq(json_string_value(json_object_get(rd, "asked")), "direct");
	ck_assert_str_ne(json_string_value(json_object_get(rd, "effective")), "direct");
	ck_assert_str_ne(json_string_value(json_object_get(rd, "why")), "");
	json_decref(a);
}
END_TEST

START_TEST(every_procedure_has_its_name_and_count)
{
	json_t *a, *p;

	server.stats.calls[7] = 12;
	server.stats.errors[7] = 2;
	a = stats_json(&server);
	ck_assert_uint_eq(json_array_size(json_object_get(a, "procedures")), 22);
	p = json_array_get(json_object_get(a, "procedures"), 7);
	ck_assert_str_eq(json_string_value(json_object_get(p, "name")), "WRITE");
	ck_assert_int_eq(num(p, "calls"), 12);
	ck_assert_int_eq(num(p, "errors"), 2);
	ck_assert_int_eq(num(json_object_get(a, "rpc"), "calls"), 12);
	json_decref(a);
}
END_TEST

static char *printed(void (*print)(FILE *, const json_t *), const json_t *a)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	print(f, a);
	fclose(f);
	return text;
}

START_TEST(text_shows_what_json_has)
{
	json_t *a;
	char *text;

	root->stats[0].ops[DIO_WRITE][DIO_SPLIT] = 1234567;
	root->stats[0].part[1] = 1000;
	a = stats_json(&server);
	text = printed(stats_print, a);
	ck_assert_ptr_nonnull(strstr(text, "/srv  (rule page)"));
	ck_assert_ptr_nonnull(strstr(text, "SPLIT"));
	ck_assert_ptr_nonnull(strstr(text, "1,234,567"));
	ck_assert_ptr_null(strstr(text, "EXPANDED"));
	free(text);
	json_decref(a);
}
END_TEST

START_TEST(an_export_that_is_down_degrades_the_status)
{
	struct export_table *t = server.table;
	json_t *a = health_json(&server);
	char *text;

	ck_assert_str_eq(json_string_value(json_object_get(a, "state")), "ok");
	json_decref(a);
	t->exports = realloc(t->exports, 2 * sizeof(*t->exports));
	t->exports[1] =
		(struct export){.path = strdup("/gone"), .down = strdup("no such directory")};
	t->n = 2;
	a = health_json(&server);
	ck_assert_str_eq(json_string_value(json_object_get(a, "state")), "degraded");
	text = printed(health_print, a);
	ck_assert_ptr_nonnull(strstr(text, "DEGRADED"));
	ck_assert_ptr_nonnull(strstr(text, "warning: /gone is down: no such directory"));
	free(text);
	json_decref(a);
}
END_TEST

START_TEST(a_directory_removed_under_an_export_is_seen_without_a_reload)
{
	char dir[] = "/tmp/nfsdio-stats.XXXXXX";
	const json_t *x;
	json_t *a;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	root->fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	a = health_json(&server);
	ck_assert_str_eq(json_string_value(json_object_get(a, "state")), "ok");
	json_decref(a);
	ck_assert_int_eq(rmdir(dir), 0);
	a = health_json(&server);
	ck_assert_str_eq(json_string_value(json_object_get(a, "state")), "degraded");
	x = json_array_get(json_object_get(a, "exports"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(x, "state")), "down");
	ck_assert_str_eq(json_string_value(json_object_get(x, "why")), "the directory was removed");
	json_decref(a);
	close(root->fd);
}
END_TEST

START_TEST(a_path_that_is_not_utf_8_does_not_break_the_answer)
{
	struct root *r = fakeserver_export(&server, "/\xff\xfe #");
	json_t *a = health_json(&server), *s = stats_json(&server);
	const json_t *x = json_array_get(json_object_get(a, "exports"), 1);
	char *text = json_dumps(a, 0);

	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(json_string_value(json_object_get(x, "path")), "/\\377\\376\\040\\043");
	ck_assert_str_eq(json_string_value(json_object_get(x, "word")), "/\\377\\376\\040\\043");
	ck_assert_uint_eq(json_array_size(json_object_get(a, "exports")), 2);
	ck_assert_uint_eq(json_array_size(json_object_get(s, "exports")), 2);
	free(text);
	json_decref(a);
	json_decref(s);
	free(r->path);
	free(r->stats);
	server.table->exports[1].root = NULL;
	free(r);
}
END_TEST

START_TEST(numbers_are_written_as_people_read_them)
{
	ck_assert_str_eq(grid_count(0), "0");
	ck_assert_str_eq(grid_count(999), "999");
	ck_assert_str_eq(grid_count(1000), "1,000");
	ck_assert_str_eq(grid_count(UINT64_MAX), "18,446,744,073,709,551,615");
	ck_assert_str_eq(grid_bytes(1023), "1023 B");
	ck_assert_str_eq(grid_bytes(1536), "1.50 KiB");
	ck_assert_str_eq(grid_bytes(47008), "45.9 KiB");
	ck_assert_str_eq(grid_bytes(1ull << 40), "1.00 TiB");
	ck_assert_str_eq(grid_span(59), "59s");
	ck_assert_str_eq(grid_span(3600), "1h 00m");
	ck_assert_str_eq(grid_span(90061), "1d 01h");
	ck_assert_str_eq(grid_share(1, 3), "33.3%");
	ck_assert_str_eq(grid_share(0, 0), "");
}
END_TEST

START_TEST(columns_are_aligned_without_blanks_at_the_end)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct grid g = {.right = 1 << 1};

	grid_row(&g, "a", "1", "x", NULL);
	grid_row(&g, "bbb", "22", "", NULL);
	grid_row(&g, "c", NULL);
	grid_print(&g, f, 2);
	fclose(f);
	ck_assert_str_eq(text, "  a     1  x\n  bbb  22\n  c\n");
	free(text);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("stats");
	TCase *t = tcase_create("stats");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, banks_are_summed_and_parts_add_up);
	tcase_add_test(t, a_mode_that_is_not_effective_says_why);
	tcase_add_test(t, every_procedure_has_its_name_and_count);
	tcase_add_test(t, text_shows_what_json_has);
	tcase_add_test(t, an_export_that_is_down_degrades_the_status);
	tcase_add_test(t, a_directory_removed_under_an_export_is_seen_without_a_reload);
	tcase_add_test(t, a_path_that_is_not_utf_8_does_not_break_the_answer);
	tcase_add_test(t, numbers_are_written_as_people_read_them);
	tcase_add_test(t, columns_are_aligned_without_blanks_at_the_end);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
