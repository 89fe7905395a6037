/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/connplay.h"
#include "tests/lib/unit.h"

static void mixed_stream(void)
{
	new_stream();
	put_call(1, 1, 0, 0, 1 << 20);
	/* payload in several fragments, the first ends inside the header */
	put_call(2, 7, 1000, 700, 100);
	put_call(3, 7, 4095, 5, 60);	    /* padded; the pad in another fragment */
	put_call(4, 1, 0, 16, 1);	    /* a byte a fragment */
	put_call(5, 7, 0, 0, 1 << 20);	    /* nothing to write */
	put_call(6, 7, 8191, 33, 1);
	put_call(7, 1, 0, 4, 1 << 20);
	put_call(8, 7, 3, 1, 1 << 20);
}

static void check_mixed(void)
{
	static const uint32_t len[] = {0, 0, 700, 5, 0, 0, 33, 0, 1};
	static const unsigned phase[] = {0, 0, 1000, 4095, 0, 0, 8191 % 4096, 0, 3};
	uint32_t i, k;

	ck_assert_uint_eq(nseen, 8);
	for (i = 1; i <= 8; i++) {
		const struct seen *s = &seen[i - 1];

		ck_assert_uint_eq(s->xid, i);
		ck_assert_uint_eq(s->payload_len, len[i]);
		ck_assert_uint_eq(s->phase, len[i] ? phase[i] : 0);
		for (k = 0; k < len[i] && s->payload[k] == pattern(i, k); k++)
			;
		ck_assert_uint_eq(k, len[i]);
	}
	ck_assert_uint_eq(seen[0].call_len, 72);
	ck_assert_uint_eq(seen[1].call_len, 92);
	ck_assert_uint_eq(seen[1].record_len, 92 + 700);
	ck_assert_uint_eq(seen[2].record_len, 92 + 8);
}

START_TEST(calls_arrive_whole_wherever_the_stream_is_cut)
{
	size_t cut;

	mixed_stream();
	for (cut = 0; cut <= stream_len; cut++) {
		open_conn();
		play(cut, SIZE_MAX);
		check_mixed();
		close_conn();
		ck_assert_uint_eq(nretired, 8);
	}
}
END_TEST

START_TEST(calls_arrive_whole_in_pieces_of_any_size)
{
	size_t piece;

	mixed_stream();
	for (piece = 1; piece < 300; piece++) {
		open_conn();
		play(0, piece);
		check_mixed();
		close_conn();
	}
}
END_TEST

START_TEST(large_payloads_are_received_in_place)
{
	uint64_t copied, in_place;
	unsigned i;

	new_stream();
	for (i = 0; i < 3; i++)
		put_call(1 + i, 7, 12345 + i * CONNPLAY_MAX_WRITE, CONNPLAY_MAX_WRITE, SIZE_MAX);
	open_conn();
	play(0, SIZE_MAX);
	ck_assert_uint_eq(nseen, 3);
	for (i = 0; i < 3; i++)
		ck_assert_uint_eq(seen[i].phase, 12345 % 4096);
	copied = w.stats.payload_copied;
	in_place = w.stats.payload_in_place;
	ck_assert_uint_eq(copied + in_place, 3 * CONNPLAY_MAX_WRITE);
	ck_assert_uint_lt(copied * 100, copied + in_place);
	close_conn();
}
END_TEST

START_TEST(pipelined_calls_are_answered_in_one_send)
{
	unsigned i;

	new_stream();
	for (i = 0; i < 10; i++)
		put_call(1 + i, 1, 0, 0, SIZE_MAX);
	open_conn();
	feed(stream, stream_len);
	ck_assert_uint_eq(nseen, 10);
	ck_assert_uint_eq(nsends, 1);
	take(SIZE_MAX);
	ck_assert_uint_eq(nsends, 1);
	ck_assert_uint_eq(nout, 80);
	ck_assert_uint_eq(nretired, 10);
	close_conn();
}
END_TEST

START_TEST(short_sends_are_continued)
{
	uint8_t *whole;
	size_t len, step;
	unsigned i;

	new_stream();
	for (i = 0; i < 20; i++)
		put_call(1 + i, 1, 0, 0, SIZE_MAX);
	for (i = 0; i < sizeof(data); i++)
		data[i] = pattern(9, i);
	open_conn();
	reply_data = 29; /* a pad of three */
	play(0, SIZE_MAX);
	len = nout;
	ck_assert_uint_eq(len, 20 * (4 + 4 + 32));
	whole = malloc(len);
	memcpy(whole, out, len);
	close_conn();
	for (step = 1; step < 100; step++) {
		open_conn();
		reply_data = 29;
		feed(stream, stream_len);
		while (send_op)
			take(step);
		ck_assert_uint_eq(nout, len);
		ck_assert_mem_eq(out, whole, len);
		ck_assert_uint_eq(nretired, 20);
		close_conn();
	}
	free(whole);
}
END_TEST

START_TEST(a_peer_that_never_reads_is_not_read_from)
{
	size_t at = 0;
	unsigned i;

	new_stream();
	for (i = 0; i < 200; i++)
		put_call(1 + i, 1, 0, 0, SIZE_MAX);
	open_conn();
	while (recv_op && at < stream_len)
		at += feed(stream + at, stream_len - at);
	ck_assert_uint_eq(nseen, CONN_REQS_MAX);
	ck_assert_ptr_null(recv_op);
	ck_assert(conn->blocked);
	/* It reads after all: everything is answered. */
	while (send_op || at < stream_len) {
		if (send_op)
			take(SIZE_MAX);
		else
			at += feed(stream + at, stream_len - at);
	}
	ck_assert_uint_eq(nseen, 200);
	ck_assert_uint_eq(nretired, 200);
	close_conn();
}
END_TEST

START_TEST(reads_asked_for_are_held_to_the_budget_of_buffers)
{
	size_t at = 0;
	unsigned i;

	new_stream();
	for (i = 0; i < 60; i++)
		put_read(1 + i, 1 << 20);
	open_conn();
	while (recv_op && at < stream_len)
		at += feed(stream + at, stream_len - at);
	/* half of 32: the other half is left to others */
	ck_assert_uint_eq(w.budget.used.bufs, 16);
	ck_assert_uint_eq(nseen, 16);
	eof();
	while (send_op)
		take(SIZE_MAX);
	while (at < stream_len && recv_op)
		at += feed(stream + at, stream_len - at);
	close_conn();
	ck_assert_uint_eq(nseen, 60);
}
END_TEST

START_TEST(what_a_call_borrows_without_having_shown_it_is_charged)
{
	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	open_conn();
	hold = true;
	feed(stream, stream_len);
	ck_assert_uint_eq(w.budget.used.bytes, 0);
	conn->owner.borrows(&conn->owner, held[0], 1000);
	conn->owner.borrows(&conn->owner, held[0], 1 << 20);
	conn->owner.borrows(&conn->owner, held[0], 500);
	ck_assert_uint_eq(w.budget.used.bytes, 1 << 20);
	ck_assert_uint_eq(w.budget.used.bufs, 1);
	finish(held[0]);
	pump();
	take(SIZE_MAX);
	ck_assert_uint_eq(w.budget.used.bytes, 0);
	close_conn();
}
END_TEST

START_TEST(who_has_not_shown_that_it_reads_shares_a_part_of_the_buffers)
{
	static const struct budget_use part = {.bufs = 4};
	unsigned i;

	new_stream();
	for (i = 0; i < 40; i++)
		put_read(1 + i, 1 << 20);
	open_conn();
	budget_init(&w.fresh, &w.budget, &part);
	feed(stream, stream_len);
	ck_assert_uint_eq(nseen, 2);
	ck_assert_uint_eq(w.fresh.used.bufs, 2);
	conn_prove(conn, true);
	pump();
	ck_assert_uint_eq(nseen, 16);
	ck_assert_uint_eq(w.fresh.used.bufs, 0);
	ck_assert_uint_eq(w.budget.used.bufs, 16);
	w.now_ns += CONN_DOUBT_NS + 1; /* it does not read after all */
	ck_assert(conn_late(conn, false));
	ck_assert(!conn->proven);
	ck_assert_uint_eq(w.fresh.used.bufs, 16);
	conn_abort(conn);
	pump();
	close_conn();
}
END_TEST

START_TEST(calls_without_large_replies_do_not_wait_for_buffers)
{
	static const struct budget_use all = {.bufs = 32};

	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	put_read(2, 1 << 20);
	open_conn();
	budget_charge(&w.budget, &all);
	feed(stream, stream_len);
	ck_assert_uint_eq(nseen, 1);
	ck_assert(conn->blocked);
	budget_credit(&w.budget, &all);
	w.credited = true;
	pump();
	ck_assert_uint_eq(nseen, 2);
	close_conn();
}
END_TEST

START_TEST(end_of_stream_inside_a_record_frees_everything)
{
	size_t cut;

	mixed_stream();
	for (cut = 0; cut < stream_len; cut++) {
		size_t at = 0;

		open_conn();
		while (at < cut) {
			at += feed(stream + at, cut - at);
			while (send_op)
				take(SIZE_MAX);
		}
		close_conn();
		ck_assert_uint_eq(buffers_free, 8);
	}
}
END_TEST

START_TEST(replies_still_go_out_after_the_peer_closed_its_side)
{
	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	open_conn();
	hold = true;
	feed(stream, stream_len);
	eof();
	ck_assert_ptr_nonnull(conn);
	finish(held[0]);
	pump();
	ck_assert_ptr_nonnull(send_op);
	take(3);
	take(SIZE_MAX);
	ck_assert_ptr_null(conn);
	ck_assert_uint_eq(nout, 8);
	close_conn();
}
END_TEST

START_TEST(death_of_the_connection_does_not_interrupt_a_request)
{
	struct op *op;

	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	put_call(2, 1, 0, 0, SIZE_MAX);
	open_conn();
	hold = true;
	feed(stream, stream_len);
	ck_assert_uint_eq(nheld, 2);
	finish(held[0]);
	pump();
	ck_assert_ptr_nonnull(send_op);
	conn_abort(conn);
	pump();
	/* The kernel still holds the first reply and the receive; the second request still runs. */
	eof();
	ck_assert_uint_eq(nretired, 0);
	op = send_op;
	send_op = NULL;
	op->done(op, -ECANCELED, false);
	pump();
	ck_assert_uint_eq(nretired, 1);
	ck_assert_ptr_nonnull(conn);
	finish(held[1]);
	pump();
	ck_assert_uint_eq(nretired, 2);
	ck_assert_ptr_null(conn);
	ck_assert_ptr_null(send_op);
	close_conn();
}
END_TEST

START_TEST(a_request_without_reply_sends_nothing)
{
	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	open_conn();
	hold = true;
	feed(stream, stream_len);
	held[0]->drop = true;
	finish(held[0]);
	pump();
	ck_assert_ptr_null(send_op);
	ck_assert_uint_eq(nretired, 1);
	close_conn();
}
END_TEST

START_TEST(slow_peers_are_those_below_the_rate_after_the_grace)
{
	const uint64_t s = 1000000000;

	ck_assert(!conn_too_slow(CONN_GRACE_NS, 0, false));
	ck_assert(conn_too_slow(CONN_GRACE_NS + 1, 0, false));
	ck_assert(conn_too_slow(55 * s, 55, false));		  /* a byte a second */
	ck_assert(!conn_too_slow(200 * s, 1 << 20, false));	  /* 5 KiB/s */
	ck_assert(!conn_too_slow(CONN_GRACE_STRICT_NS, 0, true));
	ck_assert(conn_too_slow(6 * s, 1000, true));
	ck_assert(!conn_too_slow(15 * s, 1 << 20, true));
}
END_TEST

START_TEST(a_dribbler_is_cut_and_an_idle_connection_is_not)
{
	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	open_conn();
	w.now_ns = 1000 * CONN_GRACE_NS;
	ck_assert(!conn_late(conn, false));
	feed(stream, 6);
	ck_assert(conn_late(conn, false));
	w.now_ns += CONN_GRACE_NS + 1;
	ck_assert(conn_late(conn, false));
	ck_assert_uint_eq(w.cuts.slow_call, 1);
	pump();
	close_conn();
}
END_TEST

/* Of a call that has a buffer, or a pipe in its place, whoever waits for one wants more. */
START_TEST(a_dribbler_in_the_way_of_others_is_cut_sooner)
{
	static const uint32_t procs[] = {1, 8, 7, 9, 7};

	for (unsigned i = 0; i < 5; i++) {
		bool piped = i == 4;

		new_stream();
		put_call(1, procs[i], 0, 600000, SIZE_MAX);
		open_conn();
		if (piped) {
			conn->recv.want = RECEIVE_SPLICE;
			conn->recv.plain = true;
		}
		feed(stream, 8192);
		feed(stream + 8192, 8192);
		ck_assert_int_eq(conn->recv.req->req.payload_pipe != NULL, piped);
		w.now_ns += CONN_GRACE_STRICT_NS + 1000000000;
		conn_late(conn, false);
		ck_assert_uint_eq(w.cuts.slow_call, 0);
		conn_late(conn, true);
		ck_assert_uint_eq(w.cuts.slow_call, procs[i] != 1);
		pump();
		close_conn();
	}
}
END_TEST

START_TEST(a_reader_that_stalls_is_cut_and_a_late_reply_is_not_its_fault)
{
	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	open_conn();
	hold = true;
	feed(stream, stream_len);
	w.now_ns += 10 * CONN_GRACE_NS; /* the disk took its time */
	ck_assert(!conn_late(conn, false));
	finish(held[0]);
	pump();
	ck_assert(conn_late(conn, false));
	ck_assert_uint_eq(w.cuts.slow_reply, 0);
	w.now_ns += CONN_GRACE_NS + 1;
	conn_late(conn, false);
	ck_assert_uint_eq(w.cuts.slow_reply, 1);
	pump();
	close_conn();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("conn");
	TCase *tc = tcase_create("conn");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, calls_arrive_whole_wherever_the_stream_is_cut);
	tcase_add_test(tc, calls_arrive_whole_in_pieces_of_any_size);
	tcase_add_test(tc, large_payloads_are_received_in_place);
	tcase_add_test(tc, pipelined_calls_are_answered_in_one_send);
	tcase_add_test(tc, short_sends_are_continued);
	tcase_add_test(tc, a_peer_that_never_reads_is_not_read_from);
	tcase_add_test(tc, reads_asked_for_are_held_to_the_budget_of_buffers);
	tcase_add_test(tc, what_a_call_borrows_without_having_shown_it_is_charged);
	tcase_add_test(tc, who_has_not_shown_that_it_reads_shares_a_part_of_the_buffers);
	tcase_add_test(tc, calls_without_large_replies_do_not_wait_for_buffers);
	tcase_add_test(tc, end_of_stream_inside_a_record_frees_everything);
	tcase_add_test(tc, replies_still_go_out_after_the_peer_closed_its_side);
	tcase_add_test(tc, death_of_the_connection_does_not_interrupt_a_request);
	tcase_add_test(tc, a_request_without_reply_sends_nothing);
	tcase_add_test(tc, slow_peers_are_those_below_the_rate_after_the_grace);
	tcase_add_test(tc, a_dribbler_is_cut_and_an_idle_connection_is_not);
	tcase_add_test(tc, a_dribbler_in_the_way_of_others_is_cut_sooner);
	tcase_add_test(tc, a_reader_that_stalls_is_cut_and_a_late_reply_is_not_its_fault);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
