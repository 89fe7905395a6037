/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/reply.h"
#include "tests/lib/unit.h"

/* Everything in favor of a splice. */
static const struct reply_facts best = {
	.want = REPLY_AUTO,
	.len = 1 << 20,
	.direct = true,
	.can_splice = true,
	.can_zerocopy = true,
};

START_TEST(what_was_asked_for_is_done_whatever_the_size)
{
	struct reply_facts f = best;

	for (f.want = REPLY_SENDMSG; f.want < REPLY_WAYS; f.want++) {
		for (f.len = REPLY_FORCED_MIN; f.len <= 1 << 20; f.len *= 2)
			ck_assert_int_eq(reply_choose(&f), f.want);
		f.len = REPLY_FORCED_MIN - 1;
		ck_assert_int_eq(reply_choose(&f), REPLY_SENDMSG);
	}
}
END_TEST

/* Every combination of facts. */
START_TEST(nothing_unstable_is_spliced_and_nothing_impossible_chosen)
{
	static const uint32_t lens[] = {0, 1, 4095, 4096, 65536, 262144, 524288, 1 << 20};

	for (unsigned bits = 0; bits < 64; bits++) {
		struct reply_facts f = {
			.direct = bits & 1,
			.splice_buffered = bits & 2,
			.integrity = bits & 4,
			.can_splice = bits & 8,
			.can_zerocopy = bits & 16,
			.dontcache = bits & 32,
		};

		for (f.want = REPLY_AUTO; f.want < REPLY_WAYS; f.want++) {
			for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
				enum reply_way got;

				f.len = lens[i];
				got = reply_choose(&f);
				ck_assert_int_ne(got, REPLY_AUTO);
				if (got == REPLY_SPLICE)
					ck_assert(f.can_splice && !f.integrity &&
						  (f.direct || f.splice_buffered) &&
						  (f.direct || !f.dontcache));
				if (got == REPLY_ZEROCOPY)
					ck_assert(f.can_zerocopy);
				if (f.want != REPLY_AUTO && got != f.want)
					ck_assert_int_eq(got, REPLY_SENDMSG);
			}
		}
	}
}
END_TEST

START_TEST(auto_sends_from_buffers_what_it_may_not_or_need_not_splice)
{
	struct reply_facts f = best;

	for (unsigned direct = 0; direct < 2; direct++) {
		f.direct = direct;
		f.splice_buffered = direct;
		f.can_zerocopy = false;
		for (f.len = 1; f.len <= 1 << 20; f.len *= 2)
			ck_assert_int_eq(reply_choose(&f), REPLY_SENDMSG);
		f.can_zerocopy = true;
		f.len = REPLY_ZEROCOPY_MIN;
		ck_assert_int_eq(reply_choose(&f), REPLY_ZEROCOPY);
	}
}
END_TEST

START_TEST(auto_splices_what_is_large_and_cached_where_that_is_allowed)
{
	struct reply_facts f = best;

	f.direct = false;
	f.splice_buffered = true;
	f.len = REPLY_SPLICE_MIN;
	ck_assert_int_eq(reply_choose(&f), REPLY_SPLICE);
	f.len--;
	ck_assert_int_eq(reply_choose(&f), REPLY_SENDMSG);
	f.len++;
	f.dontcache = true;
	ck_assert_int_eq(reply_choose(&f), REPLY_ZEROCOPY);
}
END_TEST

START_TEST(names_are_those_of_the_config)
{
	ck_assert_str_eq(reply_name(REPLY_AUTO), "auto");
	ck_assert_str_eq(reply_name(REPLY_SENDMSG), "sendmsg");
	ck_assert_str_eq(reply_name(REPLY_SPLICE), "splice");
	ck_assert_str_eq(reply_name(REPLY_ZEROCOPY), "zerocopy");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("reply");
	TCase *t = tcase_create("reply");

	tcase_add_test(t, what_was_asked_for_is_done_whatever_the_size);
	tcase_add_test(t, nothing_unstable_is_spliced_and_nothing_impossible_chosen);
	tcase_add_test(t, auto_sends_from_buffers_what_it_may_not_or_need_not_splice);
	tcase_add_test(t, auto_splices_what_is_large_and_cached_where_that_is_allowed);
	tcase_add_test(t, names_are_those_of_the_config);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
