/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sequence of a 4.0 owner and its one-deep replay, enumerated; owners that come and go. */
#include <pthread.h>

#include "tests/lib/heldplay.h"
#include "tests/lib/unit.h"

static struct state4_client *a;

static void setup(void)
{
	play_begin(0, 0);
	a = play_client("a");
}

static void teardown(void)
{
	struct state4_files *dead;

	state4_lock(play_state);
	dead = state4_held_drop(play_state, a);
	state4_unlock(play_state);
	state4_files_put(dead);
	state4_client_put(a);
	play_end();
}

static struct state4_owner *owner(const char *name, uint32_t seqid)
{
	struct state4_owner *w;

	state4_lock(play_state);
	w = state4_owner_new(play_state, a, false, name, (uint32_t)strlen(name), seqid);
	w->confirmed = true;
	state4_unlock(play_state);
	return w;
}

/*
 * One request: its result is `body` behind the status.  What
 * is answered, and in *got with which bytes.
 */
static uint32_t ask(struct state4_owner *w, uint32_t op, uint32_t seqid, uint32_t status,
		    const char *body, char *got)
{
	struct req *r = play_req(0, a, 1);
	struct state4_seq seq;
	uint32_t st;

	v4(r)->op = op;
	cursor_put_u32(&r->reply, 0xabababab); /* what stands before it in the reply */
	state4_seq_init(&seq, r);
	state4_lock(play_state);
	st = state4_seq_take(play_state, &seq, w, seqid);
	state4_unlock(play_state);
	if (st == NFS4_OK) {
		st = status;
		if (body) {
			cursor_put_fixed(&r->reply, body, (uint32_t)strlen(body));
			v4(r)->error_body = status;
		}
	}
	st = state4_seq_end(play_state, &seq, r, st, NULL);
	memset(got, 0, 16);
	memcpy(got, r->reply_buf + 4, cursor_pos(&r->reply) - 4);
	play_req_free(r);
	return st;
}

START_TEST(only_the_next_seqid_runs_and_only_the_last_is_replayed)
{
	for (int32_t off = -3; off <= 3; off++) {
		struct state4_owner *w = owner("w", 10);
		char got[16];
		uint32_t st;

		ck_assert_uint_eq(ask(w, OP_OPEN, 10, NFS4_OK, "one.", got), NFS4_OK);
		ck_assert_uint_eq(ask(w, OP_OPEN, 11, NFS4_OK, "two.", got), NFS4_OK);
		ck_assert_uint_eq(w->seqid, 12);
		st = ask(w, OP_OPEN, (uint32_t)(12 + off), NFS4_OK, "new.", got);
		ck_assert_uint_eq(st, off == 0 || off == -1 ? NFS4_OK : NFS4ERR_BAD_SEQID);
		ck_assert_str_eq(got, off == 0 ? "new." : off == -1 ? "two." : "");
		ck_assert_uint_eq(w->seqid, off == 0 ? 13 : 12);
		state4_lock(play_state);
		state4_owner_drop(play_state, w);
		state4_unlock(play_state);
	}
}
END_TEST

START_TEST(the_sequence_wraps)
{
	struct state4_owner *w = owner("w", UINT32_MAX);
	char got[16];

	ck_assert_uint_eq(ask(w, OP_OPEN, UINT32_MAX, NFS4_OK, "last", got), NFS4_OK);
	ck_assert_uint_eq(w->seqid, 0);
	ck_assert_uint_eq(ask(w, OP_OPEN, UINT32_MAX, NFS4_OK, "x", got), NFS4_OK);
	ck_assert_str_eq(got, "last");
	ck_assert_uint_eq(ask(w, OP_OPEN, 0, NFS4_OK, "zero", got), NFS4_OK);
}
END_TEST

START_TEST(statuses_of_the_rfc_leave_the_sequence)
{
	static const struct {
		uint32_t status;
		bool moves;
	} rows[] = {
		{NFS4_OK, true},
		{NFS4ERR_NOENT, true},
		{NFS4ERR_ACCESS, true},
		{NFS4ERR_SHARE_DENIED, true},
		{NFS4ERR_GRACE, true},
		{NFS4ERR_DELAY, true},
		{NFS4ERR_OLD_STATEID, true},
		{NFS4ERR_OPENMODE, true},
		{NFS4ERR_EXPIRED, true},
		{NFS4ERR_INVAL, true},
		{NFS4ERR_DENIED, true},
		{NFS4ERR_STALE_CLIENTID, false},
		{NFS4ERR_STALE_STATEID, false},
		{NFS4ERR_BAD_STATEID, false},
		{NFS4ERR_BAD_SEQID, false},
		{NFS4ERR_BADXDR, false},
		{NFS4ERR_RESOURCE, false},
		{NFS4ERR_NOFILEHANDLE, false},
		{NFS4ERR_MOVED, false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct state4_owner *w = owner("w", 5);
		char got[16];

		ck_assert_uint_eq(ask(w, OP_OPEN, 5, rows[i].status, NULL, got), rows[i].status);
		ck_assert_msg(w->seqid == (rows[i].moves ? 6 : 5), "status %u", rows[i].status);
		/* The same again: a replay, or the first answer that is kept. */
		ck_assert_uint_eq(ask(w, OP_OPEN, 5, NFS4_OK, "done", got),
				  rows[i].moves ? rows[i].status : NFS4_OK);
		state4_lock(play_state);
		state4_owner_drop(play_state, w);
		state4_unlock(play_state);
	}
}
END_TEST

START_TEST(an_error_with_a_body_is_replayed_with_it)
{
	struct state4_owner *w = owner("w", 1);
	char got[16];

	ck_assert_uint_eq(ask(w, OP_LOCK, 1, NFS4ERR_DENIED, "denied owner", got), NFS4ERR_DENIED);
	ck_assert_uint_eq(ask(w, OP_LOCK, 1, NFS4_OK, "x", got), NFS4ERR_DENIED);
	ck_assert_str_eq(got, "denied owner");
}
END_TEST

/* An answer as long as a LOCK denied by an owner of 1024 bytes is kept whole. */
START_TEST(a_long_answer_is_kept_whole)
{
	struct state4_owner *w = owner("w", 1);
	static uint8_t big[4096], body[1056];

	memset(body, 'x', sizeof(body));
	for (int i = 0; i < 2; i++) {
		struct req *r = play_req(0, a, 1);
		struct state4_seq seq;
		uint32_t st;

		memset(big, 0, sizeof(big));
		cursor_init(&r->reply, big, sizeof(big));
		v4(r)->op = OP_LOCK;
		state4_seq_init(&seq, r);
		state4_lock(play_state);
		st = state4_seq_take(play_state, &seq, w, 1);
		state4_unlock(play_state);
		ck_assert_uint_eq(st, i ? STATE4_REPLAY : NFS4_OK);
		if (!i) {
			st = NFS4ERR_DENIED;
			cursor_put_fixed(&r->reply, body, sizeof(body));
			v4(r)->error_body = true;
		}
		ck_assert_uint_eq(state4_seq_end(play_state, &seq, r, st, NULL), NFS4ERR_DENIED);
		ck_assert_uint_eq(cursor_pos(&r->reply), sizeof(body));
		ck_assert(v4(r)->error_body);
		ck_assert_mem_eq(big, body, sizeof(body));
		play_req_free(r);
	}
}
END_TEST

START_TEST(another_operation_with_the_last_seqid_is_no_replay)
{
	struct state4_owner *w = owner("w", 1);
	char got[16];

	ck_assert_uint_eq(ask(w, OP_LOCK, 1, NFS4_OK, "lock", got), NFS4_OK);
	ck_assert_uint_eq(ask(w, OP_LOCKU, 1, NFS4_OK, "unlock", got), NFS4ERR_BAD_SEQID);
}
END_TEST

START_TEST(a_closed_stateid_is_found_for_its_close_alone)
{
	struct state4_files *dead = NULL;
	struct state4_open *o, *found;
	struct req *r = play_req(0, NULL, 1);
	struct state4_owner *w;
	stateid4 id;
	char got[16];

	state4_lock(play_state);
	o = play_open(a, "w", 1, 3, 0);
	w = o->owner;
	state4_id_of(o, &id);
	state4_open_drop(play_state, o, true, &dead);
	ck_assert_uint_eq(state4_id_find(play_state, v4(r), &id, STATE4_OPEN | STATE4_LOCK, &found),
			  NFS4ERR_BAD_STATEID);
	ck_assert_uint_eq(
		state4_id_find(play_state, v4(r), &id, STATE4_OPEN | STATE4_CLOSED, &found),
		NFS4_OK);
	ck_assert_ptr_eq(found, o);
	state4_unlock(play_state);
	ck_assert_ptr_null(dead);
	/* The owner's next request ends that. */
	ck_assert_uint_eq(ask(w, OP_OPEN, w->seqid, NFS4_OK, "open", got), NFS4_OK);
	state4_lock(play_state);
	ck_assert_uint_eq(state4_id_find(play_state, v4(r), &id, STATE4_CLOSED, &found),
			  NFS4ERR_BAD_STATEID);
	state4_unlock(play_state);
	play_req_free(r);
}
END_TEST

START_TEST(an_owner_without_opens_stays_a_lease)
{
	struct state4_owner *w = owner("w", 1);
	char got[16];

	ck_assert_uint_eq(ask(w, OP_OPEN, 1, NFS4ERR_NOENT, NULL, got), NFS4ERR_NOENT);
	state4_lock(play_state);
	play_clock += 9 * PLAY_SECOND;
	state4_held_sweep(play_state);
	ck_assert_ptr_eq(state4_owner_find(play_state, a, false, "w", 1), w);
	play_clock += 2 * PLAY_SECOND;
	state4_held_sweep(play_state);
	ck_assert_ptr_null(state4_owner_find(play_state, a, false, "w", 1));
	state4_unlock(play_state);
}
END_TEST

START_TEST(an_owner_that_never_confirmed_is_not_kept)
{
	struct state4_owner *w = owner("w", 1);
	char got[16];

	w->confirmed = false;
	ck_assert_uint_eq(ask(w, OP_OPEN, 1, NFS4ERR_NOENT, NULL, got), NFS4ERR_NOENT);
	state4_lock(play_state);
	ck_assert_ptr_null(state4_owner_find(play_state, a, false, "w", 1));
	ck_assert_uint_eq(state4_client_held(a)->nowners, 0);
	state4_unlock(play_state);
}
END_TEST

START_TEST(open_and_lock_owners_of_one_name_are_two)
{
	struct state4_owner *w, *k;

	state4_lock(play_state);
	w = state4_owner_new(play_state, a, false, "n", 1, 1);
	k = state4_owner_new(play_state, a, true, "n", 1, 1);
	ck_assert_ptr_eq(state4_owner_find(play_state, a, false, "n", 1), w);
	ck_assert_ptr_eq(state4_owner_find(play_state, a, true, "n", 1), k);
	ck_assert_ptr_null(state4_owner_find(play_state, a, true, "", 0));
	state4_unlock(play_state);
}
END_TEST

struct waiter {
	struct state4_owner *w;
	uint32_t status;
};

static void *wait_turn(void *arg)
{
	struct waiter *w = arg;
	char got[16];

	w->status = ask(w->w, OP_OPEN, 2, NFS4_OK, "late", got);
	return NULL;
}

START_TEST(requests_of_one_owner_wait_for_each_other)
{
	struct state4_owner *w = owner("w", 1);
	struct req *r = play_req(0, a, 1);
	struct waiter late = {w, 0};
	struct state4_seq seq;
	pthread_t t;

	v4(r)->op = OP_OPEN;
	state4_seq_init(&seq, r);
	state4_lock(play_state);
	ck_assert_uint_eq(state4_seq_take(play_state, &seq, w, 1), NFS4_OK);
	state4_unlock(play_state);
	ck_assert_int_eq(pthread_create(&t, NULL, wait_turn, &late), 0);
	/* Wherever the other one is by now, its seqid is only right behind ours. */
	ck_assert_uint_eq(state4_seq_end(play_state, &seq, r, NFS4_OK, NULL), NFS4_OK);
	pthread_join(t, NULL);
	ck_assert_uint_eq(late.status, NFS4_OK);
	ck_assert_uint_eq(w->seqid, 3);
	play_req_free(r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("state4_owner");
	TCase *t = tcase_create("owners");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, only_the_next_seqid_runs_and_only_the_last_is_replayed);
	tcase_add_test(t, the_sequence_wraps);
	tcase_add_test(t, statuses_of_the_rfc_leave_the_sequence);
	tcase_add_test(t, an_error_with_a_body_is_replayed_with_it);
	tcase_add_test(t, a_long_answer_is_kept_whole);
	tcase_add_test(t, another_operation_with_the_last_seqid_is_no_replay);
	tcase_add_test(t, a_closed_stateid_is_found_for_its_close_alone);
	tcase_add_test(t, an_owner_without_opens_stays_a_lease);
	tcase_add_test(t, an_owner_that_never_confirmed_is_not_kept);
	tcase_add_test(t, open_and_lock_owners_of_one_name_are_two);
	tcase_add_test(t, requests_of_one_owner_wait_for_each_other);
	suite_add_tcase(s, t);
	return unit_run(s);
}
