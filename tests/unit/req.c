/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/req.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "tests/lib/unit.h"

/* A request in the hands of a connection that only counts. */
static struct player {
	struct req_owner owner;
	unsigned replies, drops;
} player;

static struct req r;
static struct proto_env env;
static struct req_stats stats;

static void on_reply(struct req_owner *o, struct req *q)
{
	struct player *p = (struct player *)o;

	if (q->drop)
		p->drops++;
	else
		p->replies++;
}

static void setup(void)
{
	struct drc_params p = {0};

	memset(&player, 0, sizeof(player));
	memset(&env, 0, sizeof(env));
	memset(&stats, 0, sizeof(stats));
	memset(&r, 0, sizeof(r));
	player.owner.reply = on_reply;
	ck_assert_int_eq(drc_new(&env.drc, &p), 0);
	req_begin(&r, &env, NULL, NULL, &stats, &player.owner);
}

static void teardown(void)
{
	drc_free(env.drc);
}

/* --- states: every edge, legal or not --- */

static bool legal(int from, int to)
{
	static const int edges[][2] = {
		{REQ_FREE, REQ_PARSE}, {REQ_PARSE, REQ_RUN}, {REQ_PARSE, REQ_FREE},
		{REQ_RUN, REQ_WAIT},   {REQ_RUN, REQ_SEND},  {REQ_RUN, REQ_FREE},
		{REQ_WAIT, REQ_RUN},   {REQ_SEND, REQ_FREE},
	};

	for (unsigned i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if (edges[i][0] == from && edges[i][1] == to)
			return true;
	return false;
}

static void take_edge(int from, int to, unsigned inflight)
{
	struct req q = {.state = (enum req_state)from, .inflight = inflight};

	req_set_state(&q, (enum req_state)to);
	ck_assert_int_eq(q.state, to);
}

START_TEST(legal_edges_are_taken)
{
	int from = _i / 5, to = _i % 5;

	if (legal(from, to))
		take_edge(from, to, to == REQ_WAIT);
}
END_TEST

START_TEST(illegal_edges_abort)
{
	int from = _i / 5, to = _i % 5;

	if (legal(from, to))
		abort(); /* what the test expects of the others */
	take_edge(from, to, to == REQ_WAIT);
}
END_TEST

START_TEST(waiting_for_nothing_aborts)
{
	take_edge(REQ_RUN, REQ_WAIT, 0);
}
END_TEST

START_TEST(leaving_with_something_outstanding_aborts)
{
	take_edge(REQ_SEND, REQ_FREE, 1);
}
END_TEST

/* --- the run loop --- */

static unsigned steps;

static enum req_step_result last_step(struct req *q)
{
	steps++;
	req_reply_begin(q, 0);
	return STEP_REPLY;
}

static enum req_step_result waiting_step(struct req *q)
{
	steps++;
	q->inflight++;
	return STEP_WAIT;
}

static enum req_step_result first_step(struct req *q)
{
	steps++;
	q->step = waiting_step;
	return STEP_MORE;
}

static enum req_step_result drop_step(struct req *q)
{
	(void)q;
	return STEP_DROP;
}

static enum req_step_result overflow_step(struct req *q)
{
	req_reply_begin(q, 0);
	for (unsigned i = 0; i <= REQ_REPLY_MAX / 4; i++)
		cursor_put_u32(&q->reply, i);
	return STEP_REPLY;
}

static void run(req_step *step)
{
	steps = 0;
	req_set_state(&r, REQ_RUN);
	r.step = step;
	req_run(&r);
}

START_TEST(a_chain_of_steps_runs_waits_and_replies)
{
	run(first_step);
	ck_assert_uint_eq(steps, 2);
	ck_assert_int_eq(r.state, REQ_WAIT);
	ck_assert_uint_eq(player.replies, 0);
	r.inflight--;
	req_resume(&r, last_step);
	ck_assert_uint_eq(steps, 3);
	ck_assert_int_eq(r.state, REQ_SEND);
	ck_assert_uint_eq(player.replies, 1);
	ck_assert_uint_eq(req_reply_len(&r), MSG_REPLY_OK_LEN);
	req_retire(&r);
	ck_assert_int_eq(r.state, REQ_FREE);
}
END_TEST

START_TEST(a_dropped_call_tells_its_owner_and_retires)
{
	run(drop_step);
	ck_assert_uint_eq(player.drops, 1);
	req_retire(&r);
	ck_assert_int_eq(r.state, REQ_FREE);
}
END_TEST

START_TEST(a_reply_that_overruns_becomes_a_system_error)
{
	struct cursor c;

	run(overflow_step);
	ck_assert_uint_eq(player.replies, 1);
	cursor_init_const(&c, r.reply.base, cursor_pos(&r.reply));
	cursor_skip(&c, 20);
	ck_assert_uint_eq(cursor_get_u32(&c), MSG_SYSTEM_ERR);
	req_retire(&r);
}
END_TEST

START_TEST(a_request_is_used_again_and_again)
{
	for (unsigned i = 0; i < 3; i++) {
		run(last_step);
		req_retire(&r);
		req_begin(&r, &env, NULL, NULL, &stats, &player.owner);
	}
	ck_assert_uint_eq(player.replies, 3);
}
END_TEST

/* --- dispatch --- */

static void put_header(struct cursor *c, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc)
{
	const uint32_t words[] = {xid, 0, 2, prog, vers, proc, 0, 0, 0, 0};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		cursor_put_u32(c, words[i]);
}

static void call(uint32_t prog, uint32_t vers, uint32_t proc)
{
	struct cursor c;

	cursor_init(&c, r.call, REQ_CALL_MAX);
	put_header(&c, 77, prog, vers, proc);
	r.call_len = r.record_len = (uint32_t)cursor_pos(&c);
	req_dispatch(&r);
}

/* reply_stat, verifier flavor, verifier length, accept_stat of an accepted reply. */
static uint32_t accept_stat(void)
{
	struct cursor c;

	cursor_init_const(&c, r.reply.base, cursor_pos(&r.reply));
	ck_assert_uint_eq(cursor_get_u32(&c), 77);
	ck_assert_uint_eq(cursor_get_u32(&c), 1);
	ck_assert_uint_eq(cursor_get_u32(&c), 0);
	cursor_skip(&c, 8);
	return cursor_get_u32(&c);
}

START_TEST(null_is_answered)
{
	call(100003, 3, 0);
	ck_assert_uint_eq(accept_stat(), MSG_SUCCESS);
	req_retire(&r);
	req_begin(&r, &env, NULL, NULL, &stats, &player.owner);
	call(100005, 3, 0);
	ck_assert_uint_eq(accept_stat(), MSG_SUCCESS);
	req_retire(&r);
}
END_TEST

START_TEST(unknown_program_version_and_procedure_are_told_apart)
{
	static const uint32_t cases[][4] = {
		{100004, 3, 0, MSG_PROG_UNAVAIL},
		{100003, 2, 0, MSG_PROG_MISMATCH},
		{100003, 3, 22, MSG_PROC_UNAVAIL},
		{100005, 3, 6, MSG_PROC_UNAVAIL},
	};

	call(cases[_i][0], cases[_i][1], cases[_i][2]);
	ck_assert_uint_eq(accept_stat(), cases[_i][3]);
	req_retire(&r);
}
END_TEST

START_TEST(every_procedure_without_arguments_is_garbage_not_a_crash)
{
	if (_i == 0)
		return; /* NULL has none */
	call(100003, 3, (uint32_t)_i);
	ck_assert_uint_eq(accept_stat(), MSG_GARBAGE_ARGS);
	ck_assert_uint_eq(stats.garbage, 1);
	req_retire(&r);
}
END_TEST

START_TEST(a_record_too_long_to_keep_is_garbage)
{
	struct cursor c;

	cursor_init(&c, r.call, REQ_CALL_MAX);
	put_header(&c, 77, 100003, 3, 1);
	r.call_len = REQ_CALL_MAX;
	r.record_len = REQ_CALL_MAX + 1;
	req_dispatch(&r);
	ck_assert_uint_eq(accept_stat(), MSG_GARBAGE_ARGS);
	req_retire(&r);
}
END_TEST

START_TEST(a_repeated_non_idempotent_call_is_answered_from_the_cache)
{
	struct drc_stats st;

	for (unsigned i = 0; i < 2; i++) {
		call(100003, 3, 12); /* REMOVE */
		ck_assert_uint_eq(accept_stat(), MSG_GARBAGE_ARGS);
		req_retire(&r);
		req_begin(&r, &env, NULL, NULL, &stats, &player.owner);
	}
	drc_stats(env.drc, &st);
	ck_assert_uint_eq(st.hits, 1);
	ck_assert_uint_eq(stats.garbage, 1);
	req_retire(&r);
}
END_TEST

/* --- in-phase receive --- */

static size_t write_call(uint8_t *buf, size_t size, uint32_t fhlen, uint64_t offset, uint32_t n,
			 uint32_t data)
{
	static const uint8_t fh[64];
	struct cursor c;

	cursor_init(&c, buf, size);
	put_header(&c, 1, 100003, 3, 7);
	cursor_put_opaque(&c, fh, fhlen);
	cursor_put_u64(&c, offset);
	cursor_put_u32(&c, n);
	cursor_put_u32(&c, 2);
	cursor_put_u32(&c, data);
	return cursor_pos(&c);
}

START_TEST(a_write_is_recognised_once_its_length_word_is_in)
{
	for (uint32_t fhlen = 0; fhlen <= 64; fhlen++) {
		struct req_payload p;
		uint8_t buf[256];
		size_t len = write_call(buf, sizeof(buf), fhlen, 1000, 4096, 4096);

		for (size_t n = 0; n < len; n++)
			ck_assert_int_eq(req_peek_payload(buf, n, &p), REQ_PEEK_MORE);
		ck_assert_int_eq(req_peek_payload(buf, len, &p), REQ_PEEK_PAYLOAD);
		ck_assert_uint_eq(p.at, len);
		ck_assert_uint_eq(p.len, 4096);
		ck_assert_uint_eq(p.offset, 1000);
	}
}
END_TEST

START_TEST(a_write_whose_count_lies_carries_no_payload)
{
	static const uint32_t cases[][2] = {{10, 5}, {5, 10}, {5, 0}, {0, 0}, {0, UINT32_MAX}};
	struct req_payload p;
	uint8_t buf[256];
	size_t len = write_call(buf, sizeof(buf), 32, 0, cases[_i][0], cases[_i][1]);

	ck_assert_int_eq(req_peek_payload(buf, len, &p), REQ_PEEK_PLAIN);
}
END_TEST

START_TEST(other_calls_are_plain)
{
	struct req_payload p;
	struct cursor c;
	uint8_t buf[256];

	for (uint32_t proc = 0; proc < 30; proc++) {
		if (proc == 7)
			continue;
		cursor_init(&c, buf, sizeof(buf));
		put_header(&c, 1, 100003, 3, proc);
		ck_assert_int_eq(req_peek_payload(buf, cursor_pos(&c), &p), REQ_PEEK_PLAIN);
	}
	ck_assert_int_eq(req_peek_payload(buf, write_call(buf, sizeof(buf), 32, 0, 1, 1), &p),
			 REQ_PEEK_PAYLOAD);
	buf[40 + 3] = 65; /* handle length */
	ck_assert_int_eq(req_peek_payload(buf, 256, &p), REQ_PEEK_PLAIN);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("req");
	TCase *st = tcase_create("states"), *run_case = tcase_create("run"),
	      *d = tcase_create("dispatch"), *p = tcase_create("peek");

	tcase_add_loop_test(st, legal_edges_are_taken, 0, 25);
	tcase_add_loop_test_raise_signal(st, illegal_edges_abort, SIGABRT, 0, 25);
	tcase_add_test_raise_signal(st, waiting_for_nothing_aborts, SIGABRT);
	tcase_add_test_raise_signal(st, leaving_with_something_outstanding_aborts, SIGABRT);
	suite_add_tcase(s, st);
	tcase_add_checked_fixture(run_case, setup, teardown);
	tcase_add_test(run_case, a_chain_of_steps_runs_waits_and_replies);
	tcase_add_test(run_case, a_dropped_call_tells_its_owner_and_retires);
	tcase_add_test(run_case, a_reply_that_overruns_becomes_a_system_error);
	tcase_add_test(run_case, a_request_is_used_again_and_again);
	suite_add_tcase(s, run_case);
	tcase_add_checked_fixture(d, setup, teardown);
	tcase_add_test(d, null_is_answered);
	tcase_add_loop_test(d, unknown_program_version_and_procedure_are_told_apart, 0, 4);
	tcase_add_loop_test(d, every_procedure_without_arguments_is_garbage_not_a_crash, 0, 22);
	tcase_add_test(d, a_record_too_long_to_keep_is_garbage);
	tcase_add_test(d, a_repeated_non_idempotent_call_is_answered_from_the_cache);
	suite_add_tcase(s, d);
	tcase_add_test(p, a_write_is_recognised_once_its_length_word_is_in);
	tcase_add_loop_test(p, a_write_whose_count_lies_carries_no_payload, 0, 5);
	tcase_add_test(p, other_calls_are_plain);
	suite_add_tcase(s, p);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
