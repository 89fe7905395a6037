/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/state4play.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/proto/back.h"
#include "rpc/msg.h"

#define DOWN (SEQ4_STATUS_CB_PATH_DOWN | SEQ4_STATUS_CB_PATH_DOWN_SESSION)

static struct state4 *s;
static struct state4_session *session;
static uint8_t sid[16];
static clientid4 client;
static struct back_call *out; /* the call under way */
static int refuse;
static uint32_t seqid = 1;

static int carry(void *arg, struct back_call *b)
{
	(void)arg;
	if (refuse)
		return refuse;
	ck_assert_ptr_null(out);
	out = b;
	return 0;
}

static struct state4_caller caller_of(uint64_t conn)
{
	struct state4_caller c = {.conn = conn, .program = 5, .cred_len = 8, .cred = calloc(1, 8)};

	return c;
}

static void create(uint64_t conn, uint8_t id[16])
{
	struct state4_create a = play_create(client, ++seqid, 0);
	struct state4_created made;

	a.caller = caller_of(conn);
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
	ck_assert_ptr_null(a.caller.cred);
	memcpy(id, made.id, 16);
}

static void setup(void)
{
	out = NULL;
	refuse = 0;
	seqid = 1;
	s = play_start(NULL, 0);
	s->p.call = carry;
	client = play_session(s, "a", sid);
	create(11, sid);
	session = state4_session_pin(s, sid);
}

static void teardown(void)
{
	struct back_call *b = out;

	refuse = -ENOTCONN;
	if (b)
		b->done(b, -ENOTCONN, NULL, 0);
	state4_session_put(s, session);
	state4_free(s);
}

static uint32_t proc_of(const struct back_call *b)
{
	return b->call[23];
}

static void end(int err, uint32_t accept, uint32_t status)
{
	struct msg_error why = {.kind = MSG_ERR_ACCEPTED, .accept = (enum msg_accept)accept};
	struct back_call *b = out;
	uint8_t reply[64];
	struct cursor c;

	ck_assert_ptr_nonnull(b);
	out = NULL;
	cursor_init(&c, reply, sizeof(reply));
	if (accept)
		msg_reject(&c, 1, &why);
	else
		msg_reply_ok(&c, 1);
	cursor_put_u32(&c, status);
	b->done(b, err, err ? NULL : reply, err ? 0 : (uint32_t)cursor_pos(&c));
}

/* A SEQUENCE: its flags; the probe it wants is made. */
static uint32_t sequence(void)
{
	static uint32_t at;
	struct state4_call c = {.id = sid,
				.seqid = session->slots[0].seqid + 1,
				.nops = 1,
				.len = 100,
				.sum = ++at};
	struct state4_turn t;

	ck_assert_uint_eq(state4_session_turn(s, &c, &t), NFS4_OK);
	state4_session_done(s, t.session, t.slot, t.client, NFS4_OK, NULL, 0);
	state4_client_put(t.client);
	if (t.probe)
		state4_back_probe(s, session);
	return t.flags;
}

/* As another session of the client would. */
static void renew(void)
{
	state4_lock(s);
	state4_client_renew(s, session->client);
	state4_unlock(s);
}

static void prove(void)
{
	state4_back_probe(s, session);
	end(0, 0, 0);
	sequence();
	end(0, 0, NFS4_OK);
}

START_TEST(a_session_is_asked_twice_in_its_life)
{
	state4_back_probe(s, session);
	ck_assert_uint_eq(proc_of(out), CB_NULL);
	ck_assert_uint_eq(out->conn, 11);
	ck_assert_uint_eq(sequence(), 0); /* one at a time */
	end(0, 0, 0);
	ck_assert_uint_eq(proc_of(out), CB_COMPOUND); /* the client is known to know its session */
	end(0, 0, NFS4_OK);
	ck_assert_uint_eq(sequence(), 0);
	ck_assert_ptr_null(out);
	ck_assert_uint_eq(session->cb.seqid, 1);
	ck_assert_uint_eq(s->cb_calls, 2);
	ck_assert_uint_eq(s->cb_answers, 2);
}
END_TEST

/* What comes of the answer to CB_SEQUENCE: the flags, and whether its slot moved. */
static const struct {
	int err;
	uint32_t accept, status, flags;
	unsigned moved;
} answers[] = {
	{0, 0, NFS4_OK, 0, 1},
	{0, 0, NFS4ERR_RETRY_UNCACHED_REP, 0, 1},
	{0, 0, NFS4ERR_DELAY, 0, 0},
	{0, 0, NFS4ERR_BACK_CHAN_BUSY, 0, 0},
	{0, 0, NFS4ERR_BADSESSION, SEQ4_STATUS_BACKCHANNEL_FAULT, 0},
	{0, 0, NFS4ERR_SEQ_MISORDERED, SEQ4_STATUS_BACKCHANNEL_FAULT, 0},
	{0, MSG_PROG_UNAVAIL, 0, DOWN, 0},
	{0, MSG_GARBAGE_ARGS, 0, DOWN, 0},
	{-ETIMEDOUT, 0, 0, DOWN, 0},
	{-ENOTCONN, 0, 0, DOWN, 0},
	{-EBUSY, 0, 0, 0, 0},
};
#define NANSWERS (int)(sizeof(answers) / sizeof(answers[0]))

START_TEST(flags_follow_from_the_answer)
{
	state4_back_probe(s, session);
	end(0, 0, 0);
	ck_assert_uint_eq(sequence(), 0);
	end(answers[_i].err, answers[_i].accept, answers[_i].status);
	ck_assert_uint_eq(sequence(), answers[_i].flags);
	ck_assert_uint_eq(session->cb.seqid, answers[_i].moved);
	ck_assert_ptr_null(out); /* it is not asked again at once */
}
END_TEST

START_TEST(who_wanted_time_is_asked_later)
{
	state4_back_probe(s, session);
	end(0, 0, 0);
	sequence();
	end(0, 0, NFS4ERR_DELAY);
	sequence();
	ck_assert_ptr_null(out);
	play_pass(1);
	sequence();
	ck_assert_ptr_nonnull(out);
}
END_TEST

START_TEST(who_wanted_time_and_is_silent_since_is_asked_all_the_same)
{
	unsigned wait;

	state4_back_probe(s, session);
	end(0, 0, 0);
	sequence();
	for (wait = 1; wait <= 64; wait *= 2) {
		end(0, 0, NFS4ERR_DELAY);
		play_pass(wait - 1);
		state4_sweep(s);
		ck_assert_ptr_null(out); /* ever more rarely */
		play_pass(1);
		renew();
		state4_sweep(s);
		ck_assert_ptr_nonnull(out);
		ck_assert_uint_eq(proc_of(out), CB_COMPOUND);
	}
	end(0, 0, NFS4_OK);
	ck_assert(session->cb.proven);
	play_pass(LEASE / 2);
	state4_sweep(s);
	ck_assert_ptr_null(out);
}
END_TEST

START_TEST(who_wanted_time_and_let_its_lease_pass_is_asked_when_it_is_back)
{
	state4_back_probe(s, session);
	end(0, 0, 0);
	sequence();
	end(0, 0, NFS4ERR_DELAY);
	play_hold(s, client, 1);
	play_pass(LEASE);
	state4_sweep(s);
	state4_sweep(s);
	ck_assert_ptr_null(out);
	sequence();
	ck_assert_ptr_nonnull(out);
}
END_TEST

START_TEST(a_session_may_go_while_it_is_to_be_asked_again)
{
	state4_back_probe(s, session);
	end(0, 0, 0);
	sequence();
	end(0, 0, NFS4ERR_DELAY);
	ck_assert_uint_eq(state4_session_destroy(s, sid, NULL), NFS4_OK);
	play_pass(1);
	state4_sweep(s);
	ck_assert_ptr_null(out);
}
END_TEST

START_TEST(the_last_connection_lost_takes_the_path_down_and_another_puts_it_up)
{
	prove();
	ck_assert_uint_eq(state4_back_bind(s, sid, 12), NFS4_OK);
	state4_back_lost(s, 11);
	ck_assert_uint_eq(sequence(), 0);
	state4_back_lost(s, 12);
	ck_assert_uint_eq(sequence() & DOWN, DOWN);
	state4_back_lost(s, 12);
	ck_assert_uint_eq(state4_back_bind(s, sid, 13), NFS4_OK);
	ck_assert_uint_eq(sequence(), 0);
}
END_TEST

START_TEST(another_session_that_is_reached_leaves_the_path_of_the_client_up)
{
	uint8_t other[16];

	prove();
	create(12, other);
	state4_back_lost(s, 11);
	ck_assert_uint_eq(sequence(), SEQ4_STATUS_CB_PATH_DOWN_SESSION);
	ck_assert_uint_eq(state4_session_destroy(s, other, NULL), NFS4_OK);
	ck_assert_uint_eq(sequence(), DOWN);
}
END_TEST

START_TEST(bindings_of_a_session_are_bounded)
{
	uint64_t n;
	unsigned i, bound = 0;

	for (n = 100; n < 200; n++)
		state4_back_bind(s, sid, n);
	for (i = 0; i < STATE4_CONN_BUCKETS; i++)
		for (struct state4_link *l = s->by_conn[i].next; l != &s->by_conn[i]; l = l->next)
			bound++;
	ck_assert_uint_eq(bound, STATE4_BINDS);
	for (n = 0; n < 200; n++)
		state4_back_lost(s, n);
	ck_assert_uint_eq(sequence(), DOWN);
}
END_TEST

START_TEST(what_was_asked_before_a_change_decides_nothing)
{
	struct state4_caller other = caller_of(0);

	state4_back_probe(s, session);
	other.program = 6;
	state4_back_set(s, session, &other);
	end(-ETIMEDOUT, 0, 0);
	ck_assert_uint_eq(sequence(), 0);
	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(out->call[15], 6);
}
END_TEST

START_TEST(a_session_may_go_while_its_client_is_asked)
{
	state4_back_probe(s, session);
	ck_assert_uint_eq(state4_session_destroy(s, sid, NULL), NFS4_OK);
	end(0, 0, 0);
	ck_assert_ptr_null(out);
	state4_back_lost(s, 11);
	ck_assert_uint_eq(state4_back_bind(s, sid, 12), NFS4ERR_BADSESSION);
}
END_TEST

START_TEST(nobody_to_carry_a_call_is_a_connection_lost)
{
	refuse = -ENOTCONN;
	state4_back_probe(s, session);
	ck_assert_uint_eq(sequence(), DOWN);
}
END_TEST

static Suite *suite(void)
{
	Suite *su = suite_create("state4_back");
	TCase *t = tcase_create("back");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_session_is_asked_twice_in_its_life);
	tcase_add_loop_test(t, flags_follow_from_the_answer, 0, NANSWERS);
	tcase_add_test(t, who_wanted_time_is_asked_later);
	tcase_add_test(t, who_wanted_time_and_is_silent_since_is_asked_all_the_same);
	tcase_add_test(t, who_wanted_time_and_let_its_lease_pass_is_asked_when_it_is_back);
	tcase_add_test(t, a_session_may_go_while_it_is_to_be_asked_again);
	tcase_add_test(t, the_last_connection_lost_takes_the_path_down_and_another_puts_it_up);
	tcase_add_test(t, another_session_that_is_reached_leaves_the_path_of_the_client_up);
	tcase_add_test(t, bindings_of_a_session_are_bounded);
	tcase_add_test(t, what_was_asked_before_a_change_decides_nothing);
	tcase_add_test(t, a_session_may_go_while_its_client_is_asked);
	tcase_add_test(t, nobody_to_carry_a_call_is_a_connection_lost);
	suite_add_tcase(su, t);
	return su;
}

int main(void)
{
	return unit_run(suite());
}
