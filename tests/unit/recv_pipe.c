/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Payloads received into pipes, and those with much behind them. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/connplay.h"
#include "tests/lib/unit.h"

enum { LEN = RECEIVE_SPLICE_MIN + 100001 };

/* As if the connection's last WRITE had been `len` bytes in one segment of `kind`. */
static void wrote(enum receive_way want, uint32_t len, enum dio_kind kind, bool needs_buf)
{
	static struct root root;
	static struct file file = {.root = &root};
	struct write_io io = {.io.file = &file, .count = len, .needs_buf = needs_buf};

	root.io.receive = want;
	io.io.plan.nsegs = 1;
	io.io.plan.seg[0].kind = kind;
	conn->owner.wrote(&conn->owner, &io);
}

static void open_learned(void)
{
	open_conn();
	wrote(RECEIVE_SPLICE, LEN, DIO_BUFFERED, false);
}

static void check_payload(const struct seen *s, uint32_t len)
{
	uint32_t i;

	ck_assert_uint_eq(s->payload_len, len);
	for (i = 0; i < len && s->payload[i] == pattern(s->xid, i); i++)
		;
	ck_assert_uint_eq(i, len);
}

static void check_all(unsigned n)
{
	unsigned i;

	ck_assert_uint_eq(nseen, n);
	for (i = 0; i < n; i++)
		check_payload(&seen[i], LEN);
}

static void writes(unsigned n, size_t frag)
{
	unsigned i;

	new_stream();
	for (i = 0; i < n; i++)
		put_call(1 + i, 7, 12345 + (uint64_t)i * LEN, LEN, frag);
}

START_TEST(payloads_come_whole_through_a_pipe_in_pieces_of_any_size)
{
	static const size_t pieces[] = {4096, 8191, 100003, SIZE_MAX};
	static const size_t frags[] = {SIZE_MAX, 65536, 99999};
	unsigned i, k;

	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		for (k = 0; k < sizeof(frags) / sizeof(frags[0]); k++) {
			writes(3, frags[k]);
			open_learned();
			play(0, pieces[i]);
			check_all(3);
			ck_assert_uint_eq(w.stats.payload_in_place, 0);
			ck_assert_uint_eq(w.stats.payload_spliced + w.stats.payload_copied,
					  3 * LEN);
			ck_assert_uint_lt(w.stats.payload_copied, 3 * 10000 + 12);
			ck_assert_uint_eq(w.stats.payload_unpiped, 0);
			close_conn();
		}
}
END_TEST

START_TEST(nothing_is_piped_before_a_write_was_seen_that_could_have_been)
{
	static const struct {
		enum receive_way want;
		uint32_t len;
		enum dio_kind kind;
		bool needs_buf;
	} last[] = {
		{RECEIVE_RECV, LEN, DIO_BUFFERED, false},
		{RECEIVE_SPLICE, 4096, DIO_BUFFERED, false},
		{RECEIVE_SPLICE, LEN, DIO_DIRECT, false},
		{RECEIVE_SPLICE, LEN, DIO_DONTCACHE, false},
		{RECEIVE_SPLICE, LEN, DIO_BUFFERED, true},
	};

	for (unsigned i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
		writes(1, SIZE_MAX);
		open_conn();
		wrote(last[i].want, last[i].len, last[i].kind, last[i].needs_buf);
		play(0, SIZE_MAX);
		check_all(1);
		ck_assert_uint_eq(w.stats.payload_spliced, 0);
		close_conn();
	}
}
END_TEST

START_TEST(small_payloads_and_those_with_more_behind_them_are_not_piped)
{
	new_stream();
	put_call(1, 7, 0, RECEIVE_SPLICE_MIN - 1, SIZE_MAX);
	put_call(2, 9, 0, LEN, SIZE_MAX);
	open_learned();
	play(0, SIZE_MAX);
	ck_assert_uint_eq(nseen, 2);
	check_payload(&seen[0], RECEIVE_SPLICE_MIN - 1);
	check_payload(&seen[1], LEN);
	ck_assert(seen[1].tail);
	ck_assert_uint_eq(w.stats.payload_spliced, 0);
	close_conn();
}
END_TEST

/* A WRITE of `bytes` with `tail` bytes behind it, in fragments of at most `frag`. */
static void put_tailed(uint32_t bytes, uint32_t tail, size_t frag)
{
	uint32_t len = htobe32(bytes);

	new_stream();
	put_call(1, 9, 4097, bytes + tail - 12, SIZE_MAX);
	/* Where the WRITE says how long it is, 88 bytes behind the mark. */
	memcpy(stream + 92, &len, 4);
	if (frag < stream_len) {
		uint8_t *rec = malloc(stream_len);

		len = (uint32_t)stream_len - 4;
		memcpy(rec, stream + 4, len);
		new_stream();
		put_record(rec, len, frag);
		free(rec);
	}
	put_call(2, 7, 1, 5, SIZE_MAX);
}

START_TEST(what_needs_more_room_behind_a_payload_keeps_the_payload_with_it)
{
	static const uint32_t bytes[] = {4, 100, 5000, 200000};

	for (unsigned i = 0; i < 4; i++) {
		put_tailed(bytes[i], 20000, SIZE_MAX);
		for (size_t cut = 0; cut < 20000; cut += cut < 110 ? 9 : 3989) {
			open_conn();
			play(cut, SIZE_MAX);
			ck_assert_uint_eq(nseen, 2);
			ck_assert_uint_eq(seen[0].payload_len, 0);
			ck_assert_uint_eq(seen[0].call_len, 92 + bytes[i] + 20000);
			ck_assert(seen[0].tail);
			ck_assert_uint_eq(seen[1].payload_len, 5);
			close_conn();
		}
	}
}
END_TEST

START_TEST(a_payload_stands_apart_when_what_follows_fits_or_fits_nowhere)
{
	static const struct {
		uint32_t bytes, tail;
		size_t frag;
		bool tailed;
	} rows[] = {
		{5000, REQ_CALL_MAX - 92, SIZE_MAX, true},
		/* More than the largest buffer; the end of the record not known yet. */
		{CONNPLAY_MAX_WRITE, 70000, SIZE_MAX, false},
		{5000, 20000, 2000, false},
	};

	for (unsigned i = 0; i < 3; i++) {
		put_tailed(rows[i].bytes, rows[i].tail, rows[i].frag);
		open_conn();
		play(0, SIZE_MAX);
		ck_assert_uint_eq(nseen, 2);
		ck_assert_uint_eq(seen[0].payload_len, rows[i].bytes);
		ck_assert_uint_eq(seen[0].phase, 1);
		ck_assert_int_eq(seen[0].tail, rows[i].tailed);
		close_conn();
	}
}
END_TEST

/* Up to `at` in, then the pipe is full. */
static size_t overflow_at(size_t at)
{
	size_t n = 0;

	while (n < at)
		n += feed(stream + n, at - n);
	recv_fails(-ENOSPC);
	return n;
}

START_TEST(a_full_pipe_is_emptied_into_a_buffer_and_not_tried_again)
{
	for (size_t at = 9000; at < LEN; at += 77777) {
		size_t n;

		writes(2, SIZE_MAX);
		open_learned();
		n = overflow_at(at);
		while (n < stream_len)
			n += feed(stream + n, stream_len - n);
		check_all(2);
		ck_assert_uint_eq(seen[0].phase, 12345 % 4096);
		ck_assert_uint_eq(w.stats.payload_unpiped, 1);
		ck_assert_uint_gt(w.stats.payload_in_place, LEN - 10000);
		close_conn();
	}
}
END_TEST

START_TEST(a_full_pipe_waits_for_its_buffer_and_may_die_waiting)
{
	for (int die = 0; die < 2; die++) {
		struct pool_waiter *wt;
		size_t n;

		writes(1, SIZE_MAX);
		open_learned();
		buffers_free = 0;
		n = overflow_at(300000);
		ck_assert_ptr_null(recv_op);
		ck_assert_ptr_nonnull(waiting);
		if (die) {
			conn_abort(conn);
			pump();
			ck_assert_ptr_null(waiting);
			buffers_free = 8;
			close_conn();
			continue;
		}
		buffers_free = 1;
		wt = waiting;
		wt->queued = false;
		wt->ready(wt, pool_borrow_or_wait(NULL, wt->size, wt));
		pump();
		while (n < stream_len)
			n += feed(stream + n, stream_len - n);
		check_all(1);
		close_conn();
	}
}
END_TEST

START_TEST(the_end_of_the_stream_inside_a_piped_payload_gives_the_pipe_back)
{
	for (size_t at = 1000; at < LEN; at += 55555) {
		size_t n = 0;

		writes(1, SIZE_MAX);
		open_learned();
		while (n < at)
			n += feed(stream + n, at - n);
		ck_assert_uint_eq(nseen, 0);
		close_conn();
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("recv_pipe");
	TCase *t = tcase_create("recv_pipe");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, payloads_come_whole_through_a_pipe_in_pieces_of_any_size);
	tcase_add_test(t, nothing_is_piped_before_a_write_was_seen_that_could_have_been);
	tcase_add_test(t, small_payloads_and_those_with_more_behind_them_are_not_piped);
	tcase_add_test(t, what_needs_more_room_behind_a_payload_keeps_the_payload_with_it);
	tcase_add_test(t, a_payload_stands_apart_when_what_follows_fits_or_fits_nowhere);
	tcase_add_test(t, a_full_pipe_is_emptied_into_a_buffer_and_not_tried_again);
	tcase_add_test(t, a_full_pipe_waits_for_its_buffer_and_may_die_waiting);
	tcase_add_test(t, the_end_of_the_stream_inside_a_piped_payload_gives_the_pipe_back);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
