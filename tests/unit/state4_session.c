/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/state4play.h"

#include <stdio.h>
#include <string.h>

static struct state4 *s;
static uint8_t sid[16];
static clientid4 client;

static void setup(void)
{
	s = play_start(NULL, 0);
	client = play_session(s, "a", sid);
}

static void teardown(void)
{
	state4_free(s);
}

static struct state4_call call_of(uint32_t seqid, uint32_t slot)
{
	struct state4_call c = {
		.id = sid, .seqid = seqid, .slot = slot, .nops = 2, .len = 200, .sum = 1};

	return c;
}

static uint32_t turn(const struct state4_call *c, struct state4_turn *t)
{
	return state4_session_turn(s, c, t);
}

static void done(struct state4_turn *t, uint32_t status, const char *body)
{
	state4_session_done(s, t->session, t->slot, t->client, status, (const uint8_t *)body,
			    body ? (uint32_t)strlen(body) : 0);
	state4_client_put(t->client);
}

/* One whole request on a slot. */
static void run(uint32_t seqid, uint32_t slot, bool cache_this, const char *body)
{
	struct state4_call c = call_of(seqid, slot);
	struct state4_turn t;

	c.cache_this = cache_this;
	ck_assert_uint_eq(turn(&c, &t), NFS4_OK);
	ck_assert_ptr_nonnull(t.session);
	done(&t, NFS4_OK, body);
}

/* --- slots: every state of one and every request that can meet it ----------------------- */

enum slot_state { FRESH, RUNNING, OVER, OVER_CACHED, OVER_LARGE, NSTATES };
enum same { THE_SAME, OTHER_CALL, OTHER_CACHE_THIS, NSAMES };
#define DELTAS 5
static const int deltas[DELTAS] = {-2, -1, 0, 1, 2};

/* The rule in words: RFC 8881 s.2.10.6.1, as knfsd. */
static uint32_t expected(enum slot_state st, int delta, enum same same)
{
	if (st == RUNNING)
		return delta == 0 ? NFS4ERR_DELAY : NFS4ERR_SEQ_MISORDERED;
	if (delta == 1)
		return NFS4_OK;
	if (delta || st == FRESH)
		return NFS4ERR_SEQ_MISORDERED;
	return same == THE_SAME ? NFS4_OK : NFS4ERR_SEQ_FALSE_RETRY;
}

static uint32_t prepare(enum slot_state st, uint32_t from, struct state4_turn *running)
{
	static char large[STATE4_CACHED_MAX + 2];
	struct state4_call c = call_of(from, 3);
	struct state4_turn t;

	memset(large, 'x', sizeof(large) - 1);
	if (st == FRESH)
		return 0;
	c.cache_this = st == OVER_CACHED || st == OVER_LARGE;
	ck_assert_uint_eq(turn(&c, &t), NFS4_OK);
	if (st == RUNNING)
		*running = t;
	else
		done(&t, NFS4ERR_NOENT,
		     st == OVER_CACHED  ? "body"
		     : st == OVER_LARGE ? large
					: NULL);
	return from;
}

static void check_replay(enum slot_state st, struct state4_turn *t)
{
	ck_assert_ptr_null(t->session);
	ck_assert_uint_eq(t->status, NFS4ERR_NOENT);
	ck_assert_int_eq(t->cached, st == OVER_CACHED);
	if (t->cached) {
		ck_assert_uint_eq(t->reply_len, 4);
		ck_assert_mem_eq(t->reply, "body", 4);
	}
	free(t->reply);
}

START_TEST(a_slot_answers_by_its_state)
{
	enum slot_state st = _i % NSTATES;
	int delta = deltas[_i / NSTATES % DELTAS];
	enum same same = _i / NSTATES / DELTAS;
	struct state4_turn running = {0}, t;
	uint32_t seqid = prepare(st, 1, &running);
	struct state4_call c = call_of(seqid + (uint32_t)delta, 3);

	c.cache_this = st == OVER_CACHED || st == OVER_LARGE;
	if (same == OTHER_CALL)
		c.sum++;
	if (same == OTHER_CACHE_THIS)
		c.cache_this = !c.cache_this;
	ck_assert_uint_eq(turn(&c, &t), expected(st, delta, same));
	if (expected(st, delta, same) == NFS4_OK) {
		if (delta == 1)
			done(&t, NFS4_OK, NULL);
		else
			check_replay(st, &t);
	}
	if (st == RUNNING)
		done(&running, NFS4_OK, NULL);
	/* Nothing of it moved the slot, but a request that ran. */
	c = call_of(seqid + 1 + (delta == 1 && expected(st, delta, same) == NFS4_OK), 3);
	ck_assert_uint_eq(turn(&c, &t), NFS4_OK);
	done(&t, NFS4_OK, NULL);
}
END_TEST

/* --- a request sent again while the first is at work --------------------------------------- */

static unsigned woken;

static void wake(struct state4_parked *p)
{
	(void)p;
	state4_lock(s); /* it is not held */
	woken++;
	state4_unlock(s);
}

static void begin(struct state4_turn *first, bool cache_this)
{
	struct state4_call c = call_of(1, 3);

	woken = 0;
	c.cache_this = cache_this;
	ck_assert_uint_eq(turn(&c, first), NFS4_OK);
}

static uint32_t send_again(struct state4_parked *p, bool cache_this, struct state4_turn *t)
{
	struct state4_call c = call_of(1, 3);

	c.cache_this = cache_this;
	c.again = p->wake;
	c.park = c.again ? NULL : p;
	p->wake = wake;
	return turn(&c, t);
}

START_TEST(a_request_sent_again_waits_for_the_first_and_has_its_reply)
{
	struct state4_parked p = {0};
	struct state4_turn first, t;

	begin(&first, _i);
	ck_assert_uint_eq(send_again(&p, _i, &t), NFS4_OK);
	ck_assert(t.parked && !t.session && !woken);
	done(&first, NFS4ERR_NOENT, "body");
	ck_assert_uint_eq(woken, 1);
	ck_assert(!p.displaced);
	ck_assert_uint_eq(send_again(&p, _i, &t), NFS4_OK);
	ck_assert(!t.parked && !t.session);
	/* It is there although nobody had asked for it to be kept. */
	check_replay(OVER_CACHED, &t);
	run(2, 3, false, NULL);
	ck_assert_uint_eq(woken, 1);
}
END_TEST

START_TEST(a_reply_that_cannot_be_kept_is_told_as_such)
{
	struct state4_parked p = {0};
	struct state4_turn first, t;

	begin(&first, true);
	ck_assert_uint_eq(send_again(&p, true, &t), NFS4_OK);
	done(&first, NFS4ERR_NOENT, NULL);
	ck_assert_uint_eq(send_again(&p, true, &t), NFS4_OK);
	check_replay(OVER, &t);
}
END_TEST

START_TEST(the_newest_of_those_that_wait_is_answered)
{
	struct state4_parked p[3] = {0};
	struct state4_turn first, t;

	begin(&first, false);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(send_again(&p[i], false, &t), NFS4_OK);
		ck_assert_uint_eq(woken, i);
	}
	ck_assert(p[0].displaced && p[1].displaced && !p[2].displaced);
	done(&first, NFS4ERR_NOENT, "body");
	ck_assert_uint_eq(woken, 3);
	ck_assert_uint_eq(send_again(&p[2], false, &t), NFS4_OK);
	check_replay(OVER_CACHED, &t);
}
END_TEST

START_TEST(only_the_very_same_request_waits)
{
	struct state4_parked p = {.wake = wake};
	struct state4_call c = call_of(1, 3);
	struct state4_turn first, t;

	begin(&first, false);
	c.park = &p;
	c.sum++;
	ck_assert_uint_eq(turn(&c, &t), NFS4ERR_DELAY);
	c.sum--;
	c.cache_this = true;
	ck_assert_uint_eq(turn(&c, &t), NFS4ERR_DELAY);
	c.cache_this = false;
	c.seqid = 2;
	ck_assert_uint_eq(turn(&c, &t), NFS4ERR_SEQ_MISORDERED);
	done(&first, NFS4_OK, NULL);
	ck_assert_uint_eq(woken, 0);
}
END_TEST

START_TEST(who_waits_does_not_outlive_the_session)
{
	struct state4_parked p = {0};
	struct state4_turn first, t;

	begin(&first, false);
	ck_assert_uint_eq(send_again(&p, false, &t), NFS4_OK);
	/* The operator's word: sessions in use go, too. */
	ck_assert_int_eq(state4_client_expire(s, (uint32_t)client), 0);
	ck_assert_uint_eq(woken, 0);
	done(&first, NFS4_OK, NULL);
	ck_assert_uint_eq(woken, 1);
	ck_assert_uint_eq(send_again(&p, false, &t), NFS4ERR_BADSESSION);
}
END_TEST

START_TEST(who_has_waited_never_runs)
{
	struct state4_parked p = {0};
	struct state4_call c = call_of(3, 3);
	struct state4_turn first, t;

	begin(&first, false);
	ck_assert_uint_eq(send_again(&p, false, &t), NFS4_OK);
	done(&first, NFS4_OK, NULL);
	run(2, 3, false, NULL); /* the slot has moved on meanwhile */
	ck_assert_uint_eq(send_again(&p, false, &t), NFS4ERR_SEQ_MISORDERED);
	c.again = true;
	ck_assert_uint_eq(turn(&c, &t), NFS4ERR_SEQ_MISORDERED);
}
END_TEST

START_TEST(the_sequence_wraps)
{
	struct state4_call c;
	struct state4_turn t;

	run(1, 0, false, NULL);
	c = call_of(2, 0);
	ck_assert_uint_eq(turn(&c, &t), NFS4_OK);
	t.slot->seqid = UINT32_MAX; /* as after many requests */
	done(&t, NFS4_OK, NULL);
	c = call_of(1, 0);
	ck_assert_uint_eq(turn(&c, &t), NFS4ERR_SEQ_MISORDERED);
	run(0, 0, false, NULL);
	run(1, 0, false, NULL);
}
END_TEST

START_TEST(a_refused_request_does_not_move_its_slot)
{
	struct state4_call good = call_of(1, 0), bad;
	struct state4_turn t;

	bad = good;
	bad.nops = 17;
	ck_assert_uint_eq(turn(&bad, &t), NFS4ERR_TOO_MANY_OPS);
	bad = good;
	bad.len = 8193;
	ck_assert_uint_eq(turn(&bad, &t), NFS4ERR_REQ_TOO_BIG);
	bad = good;
	bad.slot = 8;
	ck_assert_uint_eq(turn(&bad, &t), NFS4ERR_BADSLOT);
	bad.slot = UINT32_MAX;
	ck_assert_uint_eq(turn(&bad, &t), NFS4ERR_BADSLOT);
	ck_assert_uint_eq(turn(&good, &t), NFS4_OK);
	done(&t, NFS4_OK, NULL);
}
END_TEST

START_TEST(an_unknown_session_is_badsession)
{
	struct state4_call c = call_of(1, 0);
	struct state4_turn t;
	uint8_t other[16];

	memcpy(other, sid, sizeof(other));
	other[15] ^= 1;
	c.id = other;
	ck_assert_uint_eq(turn(&c, &t), NFS4ERR_BADSESSION);
}
END_TEST

START_TEST(what_can_never_be_kept_is_refused_at_once)
{
	struct state4_create a = play_create(client, 2, 0);
	struct state4_created made;
	struct state4_call c = call_of(1, 0);
	struct state4_turn t;

	a.fore.max_cached = 10;
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
	c.id = made.id;
	c.cache_this = true;
	ck_assert_uint_eq(turn(&c, &t), NFS4ERR_REP_TOO_BIG_TO_CACHE);
	c.cache_this = false;
	ck_assert_uint_eq(turn(&c, &t), NFS4_OK);
	done(&t, NFS4_OK, NULL);
}
END_TEST

START_TEST(a_request_keeps_its_client_from_expiring)
{
	struct state4_call c = call_of(1, 0);
	struct state4_turn t;

	ck_assert_uint_eq(turn(&c, &t), NFS4_OK);
	play_pass(10 * LEASE);
	state4_sweep(s);
	ck_assert(!state4_client_courtesy(t.client));
	done(&t, NFS4_OK, NULL);
	play_pass(LEASE - 1);
	state4_sweep(s);
	ck_assert(!state4_client_courtesy(play_client(s, client)));
}
END_TEST

/* --- CREATE_SESSION ----------------------------------------------------------------- */

START_TEST(create_session_is_replayed_one_deep)
{
	struct state4_create a = play_create(client, 2, 0);
	struct state4_created first, again;

	ck_assert_uint_eq(state4_session_create(s, &a, &first), NFS4_OK);
	ck_assert_uint_eq(state4_session_create(s, &a, &again), NFS4_OK);
	ck_assert_mem_eq(first.id, again.id, 16);
	ck_assert_uint_eq(again.seqid, 2);
	a.seqid = 4;
	ck_assert_uint_eq(state4_session_create(s, &a, &again), NFS4ERR_SEQ_MISORDERED);
	a.seqid = 1;
	ck_assert_uint_eq(state4_session_create(s, &a, &again), NFS4ERR_SEQ_MISORDERED);
	a.seqid = 3;
	ck_assert_uint_eq(state4_session_create(s, &a, &again), NFS4_OK);
	ck_assert_int_ne(memcmp(first.id, again.id, 16), 0);
}
END_TEST

START_TEST(before_the_first_session_there_is_a_contrived_reply)
{
	struct state4_hello h = play_hello("b", "v", 0, 1);
	struct state4_created made;
	struct state4_create a;
	uint32_t seqid;
	bool confirmed;
	clientid4 id;

	ck_assert_uint_eq(state4_client_exchange(s, &h, &id, &seqid, &confirmed), NFS4_OK);
	a = play_create(id, seqid - 1, 0);
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4ERR_SEQ_MISORDERED);
	a = play_create(id + 1, seqid, 0);
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4ERR_STALE_CLIENTID);
}
END_TEST

START_TEST(only_its_principal_confirms_a_client)
{
	struct state4_hello h = play_hello("b", "v", 1, 1);
	struct state4_created made;
	struct state4_create a;
	uint32_t seqid;
	bool confirmed;
	clientid4 id;

	ck_assert_uint_eq(state4_client_exchange(s, &h, &id, &seqid, &confirmed), NFS4_OK);
	a = play_create(id, 1, 2);
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4ERR_CLID_INUSE);
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4ERR_CLID_INUSE); /* replayed */
	a = play_create(id, 2, 1);
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
	a = play_create(id, 3, 2); /* afterwards anybody may */
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
}
END_TEST

START_TEST(sessions_of_one_client_are_bounded)
{
	struct state4_created made;
	struct state4_create a;
	struct state4_stats st;
	uint32_t i;

	for (i = 2; i <= STATE4_SESSIONS; i++) {
		a = play_create(client, i, 0);
		ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
	}
	a = play_create(client, i, 0);
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4ERR_NOSPC);
	state4_stats(s, &st);
	ck_assert_uint_eq(st.sessions, STATE4_SESSIONS);
}
END_TEST

START_TEST(slots_get_fewer_when_there_are_many)
{
	struct state4_created made;
	struct state4_create a = play_create(client, 2, 0);

	a.fore.max_slots = 500;
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
	ck_assert_uint_eq(made.fore.max_slots, STATE4_SLOTS);
	s->nslots += STATE4_SLOTS_ALL;
	a.seqid = 3;
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
	ck_assert_uint_eq(made.fore.max_slots, 1);
	s->nslots -= STATE4_SLOTS_ALL;
	a.seqid = 4;
	a.fore.max_slots = 0;
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
	ck_assert_uint_eq(made.fore.max_slots, 1);
}
END_TEST

/* --- DESTROY_SESSION ---------------------------------------------------------------- */

START_TEST(a_session_is_destroyed_when_no_other_request_uses_it)
{
	struct state4_call one = call_of(1, 0), two = call_of(1, 1);
	struct state4_turn a, b;

	ck_assert_uint_eq(turn(&one, &a), NFS4_OK);
	ck_assert_uint_eq(turn(&two, &b), NFS4_OK);
	ck_assert_uint_eq(state4_session_destroy(s, sid, NULL), NFS4ERR_DELAY);
	ck_assert_uint_eq(state4_session_destroy(s, sid, a.session), NFS4ERR_DELAY);
	done(&b, NFS4_OK, NULL);
	ck_assert_uint_eq(state4_session_destroy(s, sid, a.session), NFS4_OK);
	ck_assert_uint_eq(state4_session_destroy(s, sid, NULL), NFS4ERR_BADSESSION);
	done(&a, NFS4_OK, "late"); /* its slot is still its own */
	ck_assert_uint_eq(s->nslots, 0);
	ck_assert_uint_eq(s->cached, 0);
}
END_TEST

START_TEST(what_is_kept_is_counted_and_given_back)
{
	run(1, 0, true, "some reply");
	ck_assert_uint_eq(s->cached, 10);
	run(2, 0, true, "another");
	ck_assert_uint_eq(s->cached, 7);
	run(3, 0, false, "not asked for");
	ck_assert_uint_eq(s->cached, 0);
	s->cached = STATE4_CACHED_ALL;
	run(4, 0, true, "no room");
	ck_assert_uint_eq(s->cached, STATE4_CACHED_ALL);
	s->cached = 0;
}
END_TEST

static Suite *suite(void)
{
	Suite *su = suite_create("state4_session");
	TCase *t = tcase_create("sessions");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_slot_answers_by_its_state, 0, NSTATES * DELTAS * NSAMES);
	tcase_add_loop_test(t, a_request_sent_again_waits_for_the_first_and_has_its_reply, 0, 2);
	tcase_add_test(t, a_reply_that_cannot_be_kept_is_told_as_such);
	tcase_add_test(t, the_newest_of_those_that_wait_is_answered);
	tcase_add_test(t, only_the_very_same_request_waits);
	tcase_add_test(t, who_waits_does_not_outlive_the_session);
	tcase_add_test(t, who_has_waited_never_runs);
	tcase_add_test(t, the_sequence_wraps);
	tcase_add_test(t, a_refused_request_does_not_move_its_slot);
	tcase_add_test(t, an_unknown_session_is_badsession);
	tcase_add_test(t, what_can_never_be_kept_is_refused_at_once);
	tcase_add_test(t, a_request_keeps_its_client_from_expiring);
	tcase_add_test(t, create_session_is_replayed_one_deep);
	tcase_add_test(t, before_the_first_session_there_is_a_contrived_reply);
	tcase_add_test(t, only_its_principal_confirms_a_client);
	tcase_add_test(t, sessions_of_one_client_are_bounded);
	tcase_add_test(t, slots_get_fewer_when_there_are_many);
	tcase_add_test(t, a_session_is_destroyed_when_no_other_request_uses_it);
	tcase_add_test(t, what_is_kept_is_counted_and_given_back);
	suite_add_tcase(su, t);
	return su;
}

int main(void)
{
	return unit_run(suite());
}
