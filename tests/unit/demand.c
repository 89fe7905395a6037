/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/demand.h"

#include <string.h>

#include "rpc/cursor.h"
#include "tests/lib/unit.h"

static uint8_t call[256];
static size_t len;

/* A call whose count stands `before` bytes behind the handle. */
static void make(uint32_t prog, uint32_t vers, uint32_t proc, unsigned before, uint32_t count)
{
	struct cursor c;

	memset(call, 0, sizeof(call));
	cursor_init(&c, call, sizeof(call));
	cursor_put_u32(&c, 1);
	cursor_put_u32(&c, 0);
	cursor_put_u32(&c, 2);
	cursor_put_u32(&c, prog);
	cursor_put_u32(&c, vers);
	cursor_put_u32(&c, proc);
	cursor_put_u64(&c, 0);
	cursor_put_u64(&c, 0);
	cursor_put_opaque(&c, "a handle of 21 bytes", 21);
	cursor_reserve(&c, before);
	cursor_put_u32(&c, count);
	len = cursor_pos(&c);
}

START_TEST(reads_and_listings_ask_for_their_count)
{
	make(100003, 3, 6, 8, 70000);
	ck_assert_uint_eq(demand_reply_bytes(call, len, 1 << 20), 70000);
	make(100003, 3, 16, 16, 8192);
	ck_assert_uint_eq(demand_reply_bytes(call, len, 1 << 20), 8192);
	make(100003, 3, 17, 20, 32768);
	ck_assert_uint_eq(demand_reply_bytes(call, len, 1 << 20), 32768);
}
END_TEST

START_TEST(no_more_is_asked_for_than_is_ever_given)
{
	make(100003, 3, 6, 8, UINT32_MAX);
	ck_assert_uint_eq(demand_reply_bytes(call, len, 1 << 20), 1 << 20);
}
END_TEST

START_TEST(other_calls_ask_for_nothing)
{
	make(100003, 3, 1, 8, 70000);
	ck_assert_uint_eq(demand_reply_bytes(call, len, 1 << 20), 0);
	make(100003, 4, 6, 8, 70000);
	ck_assert_uint_eq(demand_reply_bytes(call, len, 1 << 20), 0);
	make(100005, 3, 6, 8, 70000);
	ck_assert_uint_eq(demand_reply_bytes(call, len, 1 << 20), 0);
}
END_TEST

START_TEST(a_call_cut_anywhere_asks_for_nothing)
{
	size_t n;

	make(100003, 3, 6, 8, 70000);
	for (n = 0; n < len; n++)
		ck_assert_uint_eq(demand_reply_bytes(call, n, 1 << 20), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("demand");
	TCase *tc = tcase_create("demand");

	tcase_add_test(tc, reads_and_listings_ask_for_their_count);
	tcase_add_test(tc, no_more_is_asked_for_than_is_ever_given);
	tcase_add_test(tc, other_calls_ask_for_nothing);
	tcase_add_test(tc, a_call_cut_anywhere_asks_for_nothing);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
