/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A call's way to its buffer, and calls that are not as long as they say or as they may be. */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/connplay.h"
#include "tests/lib/unit.h"

/* All of the buffers may be with others that wait for the budget, too. */
START_TEST(a_call_that_has_a_buffer_does_not_wait_for_the_budget)
{
	static const struct budget_use rest = {.bufs = 31};
	size_t at = 0;

	new_stream();
	put_call(1, 6, 0, 20000, SIZE_MAX); /* a READ in a call as long as that */
	open_conn();
	while (at < stream_len - 1)
		at += feed(stream + at, stream_len - 1 - at);
	ck_assert_uint_eq(w.budget.used.bufs, 1);
	budget_charge(&w.budget, &rest);
	feed(stream + at, 1);
	ck_assert_uint_eq(nseen, 1);
	ck_assert(!conn->blocked);
	ck_assert_uint_gt(w.budget.used.bufs, 32);
	budget_credit(&w.budget, &rest);
	close_conn();
	ck_assert_uint_eq(nretired, 1);
}
END_TEST

START_TEST(a_payload_waits_for_its_buffer)
{
	struct pool_waiter *wt;
	struct buf *b;
	size_t at = 0;

	new_stream();
	put_call(1, 7, 5000, 100, SIZE_MAX);
	open_conn();
	buffers_free = 0;
	at += feed(stream, stream_len);
	ck_assert_ptr_null(recv_op);
	ck_assert_ptr_nonnull(waiting);
	ck_assert_uint_eq(at, stream_len);
	buffers_free = 1;
	wt = waiting;
	wt->queued = false;
	b = pool_borrow_or_wait(NULL, wt->size, wt);
	wt->ready(wt, b);
	pump();
	ck_assert_uint_eq(nseen, 1);
	ck_assert_uint_eq(seen[0].payload_len, 100);
	ck_assert_ptr_nonnull(recv_op);
	close_conn();
}
END_TEST

START_TEST(a_connection_that_dies_waiting_for_a_buffer_leaves_the_queue)
{
	new_stream();
	put_call(1, 7, 5000, 100, SIZE_MAX);
	open_conn();
	buffers_free = 0;
	feed(stream, stream_len);
	ck_assert_ptr_nonnull(waiting);
	conn_abort(conn);
	pump();
	ck_assert_ptr_null(waiting);
	close_conn();
	ck_assert_uint_eq(nretired, 1);
}
END_TEST

START_TEST(oversize_records_close_the_connection)
{
	static const uint8_t mark[4] = {0xff, 0xff, 0xff, 0xff};

	open_conn();
	feed(mark, 4);
	ck_assert_uint_eq(w.cuts.bad_record, 1);
	ck_assert_uint_eq(logged, 1);
	ck_assert_ptr_null(conn);
	close_conn();
}
END_TEST

START_TEST(long_calls_without_payload_are_cut_to_their_header)
{
	new_stream();
	put_call(1, 1, 0, 20000, 5000);
	put_call(2, 1, 0, 0, SIZE_MAX);
	open_conn();
	play(0, SIZE_MAX);
	ck_assert_uint_eq(nseen, 2);
	ck_assert_uint_eq(seen[0].call_len, 40);
	ck_assert_uint_eq(seen[0].record_len, 20072);
	ck_assert_uint_eq(seen[1].call_len, 72);
	close_conn();
}
END_TEST

START_TEST(of_a_payload_beyond_all_that_may_be_written_the_rest_is_passed_over)
{
	new_stream();
	put_call(3, 7, 0, CONNPLAY_MAX_WRITE + 1023, SIZE_MAX);
	put_call(4, 1, 0, 0, SIZE_MAX);
	open_conn();
	play(0, SIZE_MAX);
	ck_assert_uint_eq(nseen, 2);
	ck_assert_uint_eq(seen[0].payload_len, CONNPLAY_MAX_WRITE);
	ck_assert_uint_gt(seen[0].record_len, CONNPLAY_MAX_WRITE + 1023);
	ck_assert_uint_eq(seen[1].call_len, 72);
	close_conn();
}
END_TEST

START_TEST(a_long_compound_gets_a_larger_buffer)
{
	size_t piece;

	new_stream();
	put_call(1, 8, 0, 60000, 1 << 20);
	put_call(2, 1, 0, 4, 1 << 20);
	for (piece = 4000; piece < 70000; piece += 7777) {
		open_conn();
		play(0, piece);
		ck_assert_uint_eq(nseen, 2);
		ck_assert_uint_eq(seen[0].call_len, 72 + 60000);
		ck_assert_uint_eq(seen[0].record_len, 72 + 60000);
		close_conn();
	}
}
END_TEST

START_TEST(operations_behind_a_payload_are_kept)
{
	size_t cut;

	new_stream();
	put_call(1, 9, 4097, 701, 300);
	put_call(2, 7, 1, 5, 1 << 20);
	for (cut = 0; cut <= stream_len; cut++) {
		open_conn();
		play(cut, SIZE_MAX);
		ck_assert_uint_eq(nseen, 2);
		ck_assert_uint_eq(seen[0].payload_len, 701);
		ck_assert_uint_eq(seen[0].phase, 1);
		ck_assert_uint_eq(seen[0].call_len, 92 + 12);
		ck_assert(seen[0].tail);
		ck_assert_uint_eq(seen[1].payload_len, 5);
		close_conn();
	}
}
END_TEST

START_TEST(a_record_shorter_than_its_payload_says_so)
{
	new_stream();
	put_call(1, 7, 0, 1000, SIZE_MAX);
	/* The mark claims less than the WRITE does. */
	record_mark(stream, 92 + 600);
	stream_len = 4 + 92 + 600;
	open_conn();
	play(0, SIZE_MAX);
	ck_assert_uint_eq(nseen, 1);
	ck_assert_uint_eq(seen[0].payload_len, 600);
	close_conn();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("recv");
	TCase *tc = tcase_create("recv");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_call_that_has_a_buffer_does_not_wait_for_the_budget);
	tcase_add_test(tc, a_payload_waits_for_its_buffer);
	tcase_add_test(tc, a_connection_that_dies_waiting_for_a_buffer_leaves_the_queue);
	tcase_add_test(tc, oversize_records_close_the_connection);
	tcase_add_test(tc, long_calls_without_payload_are_cut_to_their_header);
	tcase_add_test(tc, of_a_payload_beyond_all_that_may_be_written_the_rest_is_passed_over);
	tcase_add_test(tc, a_long_compound_gets_a_larger_buffer);
	tcase_add_test(tc, operations_behind_a_payload_are_kept);
	tcase_add_test(tc, a_record_shorter_than_its_payload_says_so);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
