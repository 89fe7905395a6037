/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "rpc/msg.h"
#include "tests/lib/connplay.h"
#include "tests/lib/unit.h"

#define SECOND 1000000000ull

static struct back_call call[BACK_CALLS + 2];
static int ended[BACK_CALLS + 2]; /* 1: not yet */
static uint32_t reply_xid;

static void done(struct back_call *b, int err, const uint8_t *reply, uint32_t len)
{
	uint32_t xid;

	ended[b - call] = err;
	if (err)
		return;
	ck_assert(msg_is_reply(reply, len, &xid));
	reply_xid = xid;
}

/* Handed over; what comes of it. */
static int send_call(unsigned i)
{
	struct back_call *b = &call[i];
	int err;

	memset(b, 0, sizeof(*b));
	b->conn = conn ? conn->reg.number : 99;
	b->wait_ns = 5 * SECOND;
	b->len = 40;
	memset(b->call, 0xab, b->len);
	b->done = done;
	ended[i] = 1;
	err = back_send(w.p.conns, b);
	if (err)
		return err;
	ck_assert_ptr_eq(posted, &b->op);
	posted->done(posted, 0, false);
	pump();
	return 0;
}

static void feed_reply(uint32_t xid)
{
	uint8_t rec[MSG_REPLY_OK_LEN];
	struct cursor c;

	new_stream();
	cursor_init(&c, rec, sizeof(rec));
	msg_reply_ok(&c, xid);
	put_record(rec, sizeof(rec), SIZE_MAX);
	feed(stream, stream_len);
}

START_TEST(a_call_leaves_as_a_record_and_its_answer_comes_back)
{
	open_conn();
	ck_assert_int_eq(send_call(0), 0);
	take(SIZE_MAX);
	ck_assert_uint_eq(nout, 44);
	ck_assert_uint_eq(out[3], 40);
	ck_assert_uint_eq(out[7], call[0].xid);
	ck_assert_uint_eq(out[8], 0xab);
	ck_assert_int_eq(ended[0], 1);
	feed_reply(call[0].xid);
	ck_assert_int_eq(ended[0], 0);
	ck_assert_uint_eq(reply_xid, call[0].xid);
	ck_assert_uint_eq(nseen, 0);
	feed_reply(call[0].xid); /* once only */
	ck_assert_uint_eq(w.back.unasked, 1);
	ck_assert_uint_eq(w.back.calls, 1);
	close_conn();
}
END_TEST

START_TEST(answers_come_in_any_order_among_calls)
{
	unsigned i;

	open_conn();
	for (i = 0; i < 3; i++)
		send_call(i);
	while (send_op)
		take(SIZE_MAX);
	feed_reply(call[1].xid);
	ck_assert_int_eq(ended[1], 0);
	new_stream();
	put_call(7, 1, 0, 0, SIZE_MAX);
	feed(stream, stream_len);
	ck_assert_uint_eq(nseen, 1);
	feed_reply(call[2].xid);
	feed_reply(call[0].xid);
	ck_assert_int_eq(ended[0], 0);
	ck_assert_int_eq(ended[2], 0);
	while (send_op)
		take(SIZE_MAX);
	close_conn();
}
END_TEST

START_TEST(calls_are_bounded_whether_sent_or_not)
{
	unsigned i;

	open_conn();
	for (i = 0; i < BACK_CALLS / 2; i++)
		ck_assert_int_eq(send_call(i), 0);
	/* The peer reads none of it: each counts until it has left, answered or not. */
	for (i = 0; i < BACK_CALLS / 2; i++)
		ck_assert_int_eq(ended[i], 1);
	send_call(i);
	ck_assert_int_eq(ended[i], -EBUSY);
	while (send_op)
		take(SIZE_MAX);
	for (; i < BACK_CALLS; i++) {
		send_call(i);
		take(SIZE_MAX);
	}
	send_call(i);
	ck_assert_int_eq(ended[i], -EBUSY);
	close_conn();
	for (i = 0; i < BACK_CALLS; i++)
		ck_assert_int_eq(ended[i], -ENOTCONN);
}
END_TEST

START_TEST(an_answer_must_come_in_time)
{
	open_conn();
	send_call(0);
	take(SIZE_MAX);
	w.now_ns += 3 * SECOND;
	send_call(1);
	take(SIZE_MAX);
	ck_assert(w.ticking);
	w.now_ns += 2 * SECOND;
	ck_assert(conn_late(conn, false));
	ck_assert_int_eq(ended[0], -ETIMEDOUT);
	ck_assert_int_eq(ended[1], 1);
	feed_reply(call[1].xid);
	ck_assert(!conn_late(conn, false));
	ck_assert_uint_eq(w.back.late, 1);
	close_conn();
}
END_TEST

START_TEST(calls_end_with_their_connection)
{
	open_conn();
	conn->owner.carries = true;
	send_call(0);
	send_call(1);
	take(10);
	conn_abort(conn);
	pump();
	ck_assert_int_eq(ended[0], -ENOTCONN);
	send_fails(-EPIPE);
	close_conn();
	ck_assert_uint_ne(carried, 0);
	ck_assert_uint_eq(w.back.lost, 2);
}
END_TEST

START_TEST(a_connection_that_is_gone_takes_no_calls)
{
	open_conn();
	conn_close(conn);
	ck_assert_int_eq(send_call(0), 0);
	ck_assert_int_eq(ended[0], -ENOTCONN);
	eof();
	close_conn();
	ck_assert_uint_eq(carried, 0); /* it never did */
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("back");
	TCase *t = tcase_create("back");

	tcase_add_test(t, a_call_leaves_as_a_record_and_its_answer_comes_back);
	tcase_add_test(t, answers_come_in_any_order_among_calls);
	tcase_add_test(t, calls_are_bounded_whether_sent_or_not);
	tcase_add_test(t, an_answer_must_come_in_time);
	tcase_add_test(t, calls_end_with_their_connection);
	tcase_add_test(t, a_connection_that_is_gone_takes_no_calls);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
