/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replies by every way their data may leave, over a kernel that
 * takes as much or as little as the test says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/connplay.h"
#include "tests/lib/unit.h"

enum { REPLIES = 3, WAYS = 4 };

/* A reply without data, or with some by one of the ways. */
static const enum reply_way ways[WAYS] = {REPLY_AUTO, REPLY_SENDMSG, REPLY_SPLICE, REPLY_ZEROCOPY};
static const uint32_t lens[REPLIES] = {5001, 4096, 7003};

static uint8_t want[1 << 16];
static size_t nwant;

static void expect(uint32_t xid, uint32_t len)
{
	uint8_t *p = want + nwant;

	memset(p, 0, 8 + len + 3);
	record_mark(p, 4 + ((len + 3) & ~3u));
	p[7] = (uint8_t)xid;
	memcpy(p + 8, data, len);
	nwant += 8 + ((len + 3) & ~3u);
}

/* Three calls have arrived; what is to be answered is decided, nothing answered yet. */
static void begin(void)
{
	open_conn();
	new_stream();
	for (uint32_t i = 1; i <= REPLIES; i++)
		put_call(i, 1, 0, 0, SIZE_MAX);
	hold = true;
	for (size_t at = 0; at < stream_len;)
		at += feed(stream + at, stream_len - at);
	ck_assert_uint_eq(nheld, REPLIES);
	nwant = 0;
}

/* `mix` has a way for each reply, in base WAYS. */
static void answer(unsigned mix)
{
	for (unsigned i = 0; i < REPLIES; i++, mix /= WAYS) {
		reply_by = ways[mix % WAYS];
		reply_data = reply_by == REPLY_AUTO ? 0 : lens[i];
		finish(held[i]);
		expect(REPLIES, reply_data);
	}
	pump();
}

static void end(void)
{
	give_back(false);
	close_conn();
	ck_assert_uint_eq(nretired, REPLIES);
}

static void check_sent(void)
{
	ck_assert_uint_eq(nout, nwant);
	ck_assert_mem_eq(out, want, nwant);
}

enum { MIXES = WAYS * WAYS * WAYS };

START_TEST(replies_leave_whole_and_in_order_whatever_the_mix_and_the_pieces)
{
	static const size_t pieces[] = {SIZE_MAX, 9000, 4099, 1001, 61};

	for (unsigned mix = 0; mix < MIXES; mix++) {
		for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
			begin();
			answer(mix);
			while (send_op)
				take(pieces[i]);
			check_sent();
			end();
		}
	}
}
END_TEST

START_TEST(one_cut_anywhere_changes_nothing)
{
	for (unsigned mix = 1; mix < MIXES; mix += 7) {
		for (size_t cut = 1; cut < 17000; cut += cut % 1000 < 12 ? 1 : 397) {
			size_t n = 0;

			begin();
			answer(mix);
			while (send_op)
				n += take(n < cut ? cut - n : SIZE_MAX);
			check_sent();
			end();
		}
	}
}
END_TEST

START_TEST(a_connection_that_dies_at_any_step_gives_everything_back)
{
	static const int errors[] = {-EPIPE, -ECONNRESET, -ETIMEDOUT, 0};

	for (unsigned mix = 0; mix < MIXES; mix++) {
		for (unsigned steps = 0; steps < 20; steps += 1 + steps / 6) {
			begin();
			answer(mix);
			for (unsigned i = 0; i < steps && send_op; i++)
				take(997);
			if (send_op)
				send_fails(errors[steps % 4]);
			else
				conn_abort(conn);
			pump();
			end();
		}
	}
}
END_TEST

START_TEST(an_abort_under_a_send_waits_for_it)
{
	for (unsigned mix = 0; mix < MIXES; mix++) {
		begin();
		answer(mix);
		conn_abort(conn);
		pump();
		eof();
		ck_assert_ptr_nonnull(conn);
		take(100);
		end();
	}
}
END_TEST

START_TEST(interrupted_sends_are_started_again)
{
	for (unsigned mix = 0; mix < MIXES; mix++) {
		begin();
		answer(mix);
		for (unsigned i = 0; send_op; i++) {
			if (i % 3 == 0)
				send_fails(i % 2 ? -EINTR : -EAGAIN);
			else
				take(2500);
		}
		check_sent();
		end();
	}
}
END_TEST

START_TEST(a_lent_buffer_holds_its_reply_and_no_other)
{
	begin();
	answer(3 + WAYS * 0 + WAYS * WAYS * 1); /* zero-copy, no data, copied */
	while (send_op)
		take(SIZE_MAX);
	check_sent();
	ck_assert_uint_eq(nlent, 1);
	ck_assert_uint_eq(nretired, 2);
	give_back(false);
	ck_assert_uint_eq(nretired, 3);
	end();
}
END_TEST

START_TEST(a_connection_closes_only_when_lent_buffers_are_back)
{
	begin();
	answer(3);
	while (send_op)
		take(SIZE_MAX);
	eof();
	ck_assert_ptr_nonnull(conn);
	end();
}
END_TEST

START_TEST(where_the_kernel_copied_zero_copy_is_not_tried_again)
{
	begin();
	reply_by = REPLY_ZEROCOPY;
	reply_data = 5000;
	finish(held[0]);
	pump();
	while (send_op)
		take(SIZE_MAX);
	ck_assert_uint_eq(nlent, 1);
	give_back(true);
	finish(held[1]);
	pump();
	while (send_op)
		take(SIZE_MAX);
	ck_assert_uint_eq(nlent, 0);
	ck_assert_uint_eq(w.sent.copied, 1);
	ck_assert_uint_eq(w.sent.replies[REPLY_ZEROCOPY], 1);
	ck_assert_uint_eq(w.sent.replies[REPLY_SENDMSG], 1);
	finish(held[2]);
	pump();
	end();
}
END_TEST

START_TEST(a_refused_zero_copy_send_is_copied_instead)
{
	static const int errors[] = {-EOPNOTSUPP, -EINVAL, -ENOMEM};

	for (unsigned i = 0; i < 3; i++) {
		begin();
		answer(3);
		take(SIZE_MAX); /* the header */
		send_fails(errors[i]);
		while (send_op)
			take(SIZE_MAX);
		check_sent();
		ck_assert_uint_eq(w.sent.zc_refused, 1);
		end();
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("send");
	TCase *t = tcase_create("send");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, replies_leave_whole_and_in_order_whatever_the_mix_and_the_pieces);
	tcase_add_test(t, one_cut_anywhere_changes_nothing);
	tcase_add_test(t, a_connection_that_dies_at_any_step_gives_everything_back);
	tcase_add_test(t, an_abort_under_a_send_waits_for_it);
	tcase_add_test(t, interrupted_sends_are_started_again);
	tcase_add_test(t, a_lent_buffer_holds_its_reply_and_no_other);
	tcase_add_test(t, a_connection_closes_only_when_lent_buffers_are_back);
	tcase_add_test(t, where_the_kernel_copied_zero_copy_is_not_tried_again);
	tcase_add_test(t, a_refused_zero_copy_send_is_copied_instead);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = pattern(7, i);
	return unit_run(suite());
}
