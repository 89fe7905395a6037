/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "nfsd-io/server/explain.h"
#include "tests/lib/unit.h"

static struct dio_facts facts(enum dio_op op, uint64_t offset, uint32_t len)
{
	return (struct dio_facts){.op = op,
				  .mode = DIO_MODE_DIRECT,
				  .rule = DIO_RULE_PAGE,
				  .offset = offset,
				  .len = len,
				  .mem_align = 512,
				  .offset_align = 512,
				  .read_align = 512,
				  .mem_phase = op == DIO_WRITE ? offset & 4095 : 0,
				  .dontcache_ok = true,
				  .read_direct_min = 32768};
}

/* Everything printed, in a buffer the caller frees. */
static char *printed(int (*print)(FILE *, const struct dio_facts *, bool),
		     const struct dio_facts *f, bool json)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(print(out, f, json), 0);
	fclose(out);
	return text;
}

static void check_has(const struct dio_facts *f, const char *const *want)
{
	char *text = printed(explain_plan, f, false);

	for (; *want; want++)
		ck_assert_msg(strstr(text, *want), "no '%s' in:\n%s", *want, text);
	free(text);
}

START_TEST(a_split_write_names_its_segments_and_what_would_change_it)
{
	static const char *const want[] = {
		"WRITE of 1048576 bytes at 1000, mode direct",
		"rule page: SPLIT",
		"  [1000,4096) buffered | [4096,1048576) direct | [1048576,1049576) buffered\n",
		"cut at multiples of 4096",
		"otherwise: an offset and length in multiples of 512",
		NULL};
	struct dio_facts f = facts(DIO_WRITE, 1000, 1048576);

	check_has(&f, want);
}
END_TEST

START_TEST(a_widened_read_counts_the_bytes_dropped)
{
	static const char *const want[] = {"rule page: EXPANDED", "[512,1049600) direct",
					   "488 bytes in front and 24 behind", "below 32768 bytes",
					   NULL};
	struct dio_facts f = facts(DIO_READ, 1000, 1048576);

	check_has(&f, want);
}
END_TEST

/* Each disposition a plan can have says why and what else would be. */
START_TEST(every_disposition_is_explained)
{
	struct dio_facts f[] = {
		facts(DIO_READ, 0, 4096),
		facts(DIO_READ, 1, 65536),
		facts(DIO_WRITE, 1, 65536),
		facts(DIO_READ, 1, 100),
		facts(DIO_WRITE, 0, 100),
		facts(DIO_WRITE, 1, 4096),
		facts(DIO_WRITE, 0, 65536),
		facts(DIO_WRITE, 0, 65536),
		facts(DIO_WRITE, 0, 65536),
		facts(DIO_READ, 0, 0),
		facts(DIO_READ, INT64_MAX - 10, 65536),
	};
	static const enum dio_disposition want[] = {
		DIO_ALIGNED,        DIO_EXPANDED,  DIO_SPLIT,     DIO_TOO_SMALL,
		DIO_TOO_SMALL,      DIO_NO_MIDDLE, DIO_NO_ALIGN,  DIO_MEM_MISALIGNED,
		DIO_MEM_MISALIGNED, DIO_TOO_SMALL, DIO_NO_MIDDLE,
	};
	char head[64], *text;

	f[6].offset_align = 0;
	f[7].mem_phase = 1;
	f[8].mem_align = 8192;
	f[10].read_direct_min = 0;
	text = printed(explain_plan, &f[_i], false);
	snprintf(head, sizeof(head), "rule page: %s\n", dio_disposition_name(want[_i]));
	ck_assert_msg(strstr(text, head), "no '%s' in:\n%s", head, text);
	ck_assert_msg(!strstr(text, "because \n") && !strstr(text, "otherwise: \n"),
		      "no reason:\n%s", text);
	free(text);
}
END_TEST

START_TEST(other_modes_say_so)
{
	static const char *const want[] = {"rule page: MODE", "[5,15) dontcache",
					   "the read mode is dontcache", NULL};
	struct dio_facts f = facts(DIO_READ, 5, 10);

	f.mode = DIO_MODE_DONTCACHE;
	check_has(&f, want);
}
END_TEST

START_TEST(all_rules_are_compared_in_one_answer)
{
	struct dio_facts f = facts(DIO_WRITE, 1000, 1048576);
	char *text = printed(explain_all_rules, &f, false);

	for (unsigned r = 0; r < DIO_RULE_COUNT; r++) {
		char head[64];

		snprintf(head, sizeof(head), "rule %s: SPLIT\n", dio_rule_name(r));
		ck_assert_msg(strstr(text, head), "no '%s' in:\n%s", head, text);
	}
	ck_assert(strstr(
		text,
		"[1000,1024) dontcache | [1024,1049088) direct | [1049088,1049576) dontcache\n"));
	free(text);
}
END_TEST

START_TEST(json_is_one_object_a_line)
{
	struct dio_facts f = facts(DIO_WRITE, 1000, 1048576);
	char *text = printed(explain_all_rules, &f, true), *line = text;

	for (unsigned r = 0; r < DIO_RULE_COUNT; r++) {
		char *end = strchr(line, '\n');
		json_t *o = json_loadb(line, (size_t)(end - line), 0, NULL);

		ck_assert_str_eq(json_string_value(json_object_get(o, "rule")), dio_rule_name(r));
		ck_assert_str_eq(json_string_value(json_object_get(o, "disposition")), "SPLIT");
		ck_assert_uint_eq(json_array_size(json_object_get(o, "segments")), 3);
		json_decref(o);
		line = end + 1;
	}
	ck_assert_str_eq(line, "");
	free(text);
}
END_TEST

START_TEST(a_full_device_is_an_error)
{
	struct dio_facts f = facts(DIO_WRITE, 1000, 1048576);
	FILE *out = fopen("/dev/full", "w");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(explain_all_rules(out, &f, _i), -EIO);
	fclose(out);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("explain");
	TCase *t = tcase_create("explain");

	tcase_add_test(t, a_split_write_names_its_segments_and_what_would_change_it);
	tcase_add_test(t, a_widened_read_counts_the_bytes_dropped);
	tcase_add_loop_test(t, every_disposition_is_explained, 0, 11);
	tcase_add_test(t, other_modes_say_so);
	tcase_add_test(t, all_rules_are_compared_in_one_answer);
	tcase_add_test(t, json_is_one_object_a_line);
	tcase_add_loop_test(t, a_full_device_is_an_error, 0, 2);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
