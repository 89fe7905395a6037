/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prefixes of COMPOUNDs, cut at every byte: nothing is told too early, and nothing else later. */
#include "nfsd-io/proto/peek4.h"

#include <stdbool.h>
#include <string.h>

#include "rpc/cursor.h"
#include "tests/lib/unit.h"

#define MAX (1 << 20)
#define BYTES 100
#define OFFSET 0x123456789abcull

static uint8_t buf[8192];
static struct cursor c;

static void begin(const char *tag, uint32_t minor, uint32_t nops)
{
	memset(buf, 0, sizeof(buf));
	cursor_init(&c, buf, sizeof(buf));
	cursor_put_opaque(&c, tag, (uint32_t)strlen(tag));
	cursor_put_u32(&c, minor);
	cursor_put_u32(&c, nops);
}

static void zeros(size_t n)
{
	memset(cursor_reserve(&c, n), 0, n);
}

static void words(unsigned n, const uint32_t *w)
{
	while (n--)
		cursor_put_u32(&c, *w++);
}
#define WORDS(...) words(sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})

static void text(const char *s)
{
	cursor_put_opaque(&c, s, (uint32_t)strlen(s));
}

/* WRITE up to its data, whose place is returned. */
static size_t put_write(uint32_t claim)
{
	WORDS(38);
	zeros(16);
	cursor_put_u64(&c, OFFSET);
	WORDS(2, claim);
	return cursor_pos(&c);
}

static enum peek4 payload(size_t len, size_t *at)
{
	uint8_t *copy = malloc(len ? len : 1);
	uint32_t bytes;
	uint64_t offset;
	enum peek4 how;

	memcpy(copy, buf, len);
	how = peek4_payload(copy, len, at, &bytes, &offset);
	free(copy);
	if (how == PEEK4_PAYLOAD) {
		ck_assert_uint_eq(bytes, BYTES);
		ck_assert_uint_eq(offset, OFFSET);
	}
	return how;
}

/* MORE until the data's length is there, from then on their place, whatever follows. */
static void check_data_at(size_t want)
{
	size_t at;

	for (size_t len = 0; len < want; len++)
		ck_assert_int_eq(payload(len, &at), PEEK4_MORE);
	for (size_t len = want; len <= want + BYTES + 8; len++) {
		ck_assert_int_eq(payload(len, &at), PEEK4_PAYLOAD);
		ck_assert_uint_eq(at, want);
	}
}

/* MORE, then, once the operation at `from` is known, PLAIN. */
static void check_plain(size_t from, size_t len)
{
	size_t at;

	for (size_t n = 0; n < from; n++)
		ck_assert_int_eq(payload(n, &at), PEEK4_MORE);
	for (size_t n = from; n <= len; n++)
		ck_assert_int_eq(payload(n, &at), PEEK4_PLAIN);
}

/* --- operations that stand before a WRITE --- */

static void op_fattr(void)
{
	WORDS(2, 0x10, 0x2, 12, 0, 4096, 0644);
}

static void op_open(uint32_t how, uint32_t claim)
{
	WORDS(18, 0, 3, 0, 0, 1);
	text("owner");
	if (how > 3) {
		WORDS(0);
	} else {
		WORDS(1, how);
		if (how >= 2)
			zeros(8);
		if (how != 2)
			op_fattr();
	}
	WORDS(claim);
	if (claim == 1)
		WORDS(0);
	if (claim == 2 || claim == 5)
		zeros(16);
	if (claim == 0 || claim == 2 || claim == 3)
		text("name");
}

static void op_words(uint32_t op, size_t n)
{
	WORDS(op);
	zeros(n);
}

static void op_text(uint32_t op)
{
	WORDS(op);
	text("seven b");
}

static void op_rename(void)
{
	op_text(29);
	text("to");
}

static void op_readdir(void)
{
	op_words(26, 20);
	WORDS(8192, 2, 1, 2);
}

static void op_setattr(void)
{
	op_words(34, 16);
	op_fattr();
}

static void op_verify(uint32_t op)
{
	WORDS(op);
	op_fattr();
}

static void op_getattr(uint32_t nwords)
{
	WORDS(9, nwords);
	zeros((size_t)nwords * 4);
}

/* Operations of fixed length, and that length behind the number. */
static const struct {
	uint32_t op;
	size_t len;
} fixed[] = {
	{3, 4},   {4, 20}, {5, 12}, {10, 0}, {16, 0}, {20, 20}, {21, 28}, {23, 0},  {24, 0},
	{25, 28}, {27, 0}, {30, 8}, {31, 0}, {32, 0}, {53, 32}, {68, 28}, {69, 28},
};
#define NFIXED ((int)(sizeof(fixed) / sizeof(fixed[0])))

static const uint32_t named[] = {11, 15, 22, 28, 33};
#define NNAMED ((int)(sizeof(named) / sizeof(named[0])))

START_TEST(data_are_found_behind_operations_of_fixed_length)
{
	begin("", 2, 3);
	op_words(24, 0);
	op_words(fixed[_i].op, fixed[_i].len);
	check_data_at(put_write(BYTES));
}
END_TEST

START_TEST(data_are_found_behind_names_and_handles)
{
	begin("", 0, 2);
	op_text(named[_i]);
	check_data_at(put_write(BYTES));
}
END_TEST

START_TEST(data_are_found_behind_sets_of_attributes)
{
	begin("", 2, 9);
	op_getattr(0);
	op_getattr(3);
	op_getattr(20);
	op_setattr();
	op_verify(17);
	op_verify(37);
	op_readdir();
	op_rename();
	check_data_at(put_write(BYTES));
}
END_TEST

/* Four ways to create and not to create, each with every claim. */
START_TEST(data_are_found_behind_an_open)
{
	begin("", 1, 2);
	op_open((uint32_t)_i / 7, (uint32_t)_i % 7);
	check_data_at(put_write(BYTES));
}
END_TEST

START_TEST(data_of_the_first_write_with_any_are_found)
{
	size_t at;

	begin("", 1, 4);
	op_words(53, 32);
	put_write(0);
	at = put_write(BYTES);
	zeros(BYTES);
	put_write(7);
	check_data_at(at);
}
END_TEST

START_TEST(tag_is_walked_over_and_minor_version_does_not_matter)
{
	char tag[1025] = "";

	for (uint32_t minor = 0; minor < 4; minor++) {
		for (size_t n = 0; n <= 9; n++) {
			memset(tag, 't', n);
			begin(tag, minor, 1);
			check_data_at(put_write(BYTES));
		}
	}
	memset(tag, 't', 1024);
	begin(tag, 1, 1);
	check_data_at(put_write(BYTES));
}
END_TEST

START_TEST(operation_announced_but_not_there_is_waited_for)
{
	size_t at;

	begin("", 1, 2);
	op_words(24, 0);
	ck_assert_int_eq(payload(cursor_pos(&c), &at), PEEK4_MORE);
}
END_TEST

START_TEST(write_not_announced_is_none)
{
	begin("", 1, 1);
	op_words(24, 0);
	put_write(BYTES);
	check_plain(16, cursor_pos(&c));
	begin("", 1, 0);
	put_write(BYTES);
	check_plain(12, cursor_pos(&c));
}
END_TEST

/* What is not walked over, what there is not, numbers beyond any table. */
static const uint32_t unwalked[] = {0, 1, 2, 12, 42, 70, 75, 76, 10044, UINT32_MAX};
#define NUNWALKED ((int)(sizeof(unwalked) / sizeof(unwalked[0])))

START_TEST(behind_what_is_not_walked_over_nothing_is_told)
{
	begin("", 1, 3);
	op_words(24, 0);
	WORDS(unwalked[_i]);
	put_write(BYTES);
	check_plain(20, cursor_pos(&c));
}
END_TEST

/* Lengths that nothing can have: no place is told, however much comes. */
START_TEST(lying_lengths_lead_nowhere)
{
	static const uint32_t lies[] = {65537, 0x7fffffff, 0xfffffffc, UINT32_MAX};
	size_t at;

	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		begin("", 1, 2);
		WORDS(22, lies[i]); /* PUTFH */
		put_write(BYTES);
		ck_assert_int_ne(payload(sizeof(buf), &at), PEEK4_PAYLOAD);
		begin("", 1, 2);
		WORDS(9, lies[i]); /* GETATTR */
		put_write(BYTES);
		ck_assert_int_ne(payload(sizeof(buf), &at), PEEK4_PAYLOAD);
		begin("", 1, 1);
		cursor_set_u32(buf, lies[i]); /* the tag */
		put_write(BYTES);
		ck_assert_int_ne(payload(sizeof(buf), &at), PEEK4_PAYLOAD);
	}
}
END_TEST

START_TEST(open_of_no_known_kind_leads_nowhere)
{
	size_t at;

	begin("", 1, 2);
	WORDS(18, 0, 3, 0, 0, 1, 0, 2); /* opentype */
	put_write(BYTES);
	ck_assert_int_ne(payload(sizeof(buf), &at), PEEK4_PAYLOAD);
	begin("", 1, 2);
	WORDS(18, 0, 3, 0, 0, 1, 0, 1, 4); /* createmode */
	put_write(BYTES);
	ck_assert_int_ne(payload(sizeof(buf), &at), PEEK4_PAYLOAD);
	begin("", 1, 2);
	WORDS(18, 0, 3, 0, 0, 1, 0, 0, 7); /* claim */
	put_write(BYTES);
	ck_assert_int_ne(payload(sizeof(buf), &at), PEEK4_PAYLOAD);
}
END_TEST

/* --- demand --- */

static uint32_t demand(size_t len, uint32_t max)
{
	uint8_t *copy = malloc(len ? len : 1);
	uint32_t n;

	memcpy(copy, buf, len);
	n = peek4_demand(copy, len, max);
	free(copy);
	return n;
}

static void op_read(uint32_t op, uint32_t count)
{
	op_words(op, 24);
	WORDS(count);
}

START_TEST(demand_is_the_sum_of_what_is_asked_for)
{
	size_t len;

	begin("tag", 2, 5);
	op_words(53, 32);
	op_read(25, 1000);
	op_read(68, 20000);
	op_readdir();
	op_getattr(2);
	len = cursor_pos(&c);
	ck_assert_uint_eq(demand(len, MAX), 29192);
	ck_assert_uint_eq(demand(len, 20000), 20000);
	ck_assert_uint_eq(demand(len, 0), 0);
}
END_TEST

START_TEST(demand_of_a_prefix_is_never_more)
{
	uint32_t last = 0;

	begin("tag", 2, 3);
	op_read(25, UINT32_MAX);
	op_readdir();
	op_read(68, UINT32_MAX);
	for (size_t len = 0; len <= cursor_pos(&c); len++) {
		uint32_t n = demand(len, UINT32_MAX);

		ck_assert_uint_ge(n, last);
		last = n;
	}
	ck_assert_uint_eq(last, UINT32_MAX);
}
END_TEST

START_TEST(operations_not_announced_ask_for_nothing)
{
	begin("", 1, 1);
	op_read(25, 1000);
	op_read(25, 1000);
	ck_assert_uint_eq(demand(cursor_pos(&c), MAX), 1000);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("peek4");
	TCase *tc = tcase_create("peek4");

	tcase_add_loop_test(tc, data_are_found_behind_operations_of_fixed_length, 0, NFIXED);
	tcase_add_loop_test(tc, data_are_found_behind_names_and_handles, 0, NNAMED);
	tcase_add_test(tc, data_are_found_behind_sets_of_attributes);
	tcase_add_loop_test(tc, data_are_found_behind_an_open, 0, 5 * 7);
	tcase_add_test(tc, data_of_the_first_write_with_any_are_found);
	tcase_add_test(tc, tag_is_walked_over_and_minor_version_does_not_matter);
	tcase_add_test(tc, operation_announced_but_not_there_is_waited_for);
	tcase_add_test(tc, write_not_announced_is_none);
	tcase_add_loop_test(tc, behind_what_is_not_walked_over_nothing_is_told, 0, NUNWALKED);
	tcase_add_test(tc, lying_lengths_lead_nowhere);
	tcase_add_test(tc, open_of_no_known_kind_leads_nowhere);
	tcase_add_test(tc, demand_is_the_sum_of_what_is_asked_for);
	tcase_add_test(tc, demand_of_a_prefix_is_never_more);
	tcase_add_test(tc, operations_not_announced_ask_for_nothing);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
