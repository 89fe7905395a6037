/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the operator takes away: what goes, what is told, and what of it is kept. */
#include "tests/lib/heldplay.h"
#include "tests/lib/unit.h"

#define MANY 8

static struct state4_client *a, *b;
static struct root gone = {.id = 1}, stays = {.id = 2};

static void setup(void)
{
	play_begin(MANY, 0);
	a = play_client("a");
	b = play_client("b");
}

static void teardown(void)
{
	state4_client_put(a);
	state4_client_put(b);
	play_end();
	ck_assert_ptr_null(play_state);
}

/* An open of a file of `root`; its stateid. */
static stateid4 open_of(struct state4_client *c, struct root *root, const char *owner, uint8_t fh)
{
	struct state4_open *o;
	stateid4 id;

	state4_lock(play_state);
	o = play_open(c, owner, fh, 3, 0);
	ck_assert_ptr_nonnull(o);
	o->file->root = root;
	state4_id_of(o, &id);
	state4_unlock(play_state);
	return id;
}

static uint32_t io(struct state4_client *c, uint32_t minor, uint8_t fh, const stateid4 *id)
{
	struct req *r = play_req(minor, c, fh);
	struct file *f;
	uint32_t st = state4_io(r, id, STATE4_READ, &f);

	play_req_free(r);
	return st;
}

/* A 4.0 operation in the owner's sequence. */
static uint32_t in_sequence(struct state4_client *c, uint8_t fh, stateid4 id, uint32_t seqid)
{
	struct req *r = play_req(0, c, fh);
	struct state4_seq seq;
	struct state4_open *o;
	uint32_t st;

	state4_seq_init(&seq, r);
	state4_lock(play_state);
	st = state4_seq_by_id(play_state, &seq, r, &id, seqid, STATE4_OPEN, &o);
	state4_unlock(play_state);
	st = state4_seq_end(play_state, &seq, r, st, NULL);
	play_req_free(r);
	return st;
}

static unsigned revoked(struct state4_client *c)
{
	return state4_client_held(c)->nrevoked;
}

START_TEST(only_what_is_under_the_root_goes)
{
	stateid4 one = open_of(a, &gone, "w", 1), two = open_of(a, &stays, "w", 2),
		 three = open_of(b, &gone, "x", 1);

	ck_assert_uint_eq(state4_revoke_root(play_state, gone.id), 2);
	ck_assert_uint_eq(io(a, 1, 1, &one), NFS4ERR_ADMIN_REVOKED);
	ck_assert_uint_eq(io(a, 1, 2, &two), NFS4_OK);
	ck_assert_uint_eq(io(b, 1, 1, &three), NFS4ERR_ADMIN_REVOKED);
	/* One client's is nobody else's to hear of. */
	ck_assert_uint_eq(io(a, 1, 1, &three), NFS4ERR_BAD_STATEID);
	ck_assert_uint_eq(state4_client_held(a)->nopens, 1);
	ck_assert_uint_eq(state4_revoke_root(play_state, gone.id), 0);
}
END_TEST

START_TEST(locks_go_with_their_opens)
{
	stateid4 id = open_of(a, &gone, "w", 1);
	struct state4_open *k, *o;
	struct state4_owner *w;
	bool fresh;

	state4_lock(play_state);
	o = play_open(a, "w", 1, 3, 0);
	w = state4_owner_new(play_state, a, true, "k", 1, 1);
	k = state4_lock_stateid(play_state, w, o, &fresh);
	ck_assert_ptr_nonnull(k);
	state4_unlock(play_state);
	ck_assert_uint_eq(state4_revoke_root(play_state, gone.id), 2);
	ck_assert_uint_eq(revoked(a), 2);
	ck_assert_uint_eq(state4_client_held(a)->nopens, 0);
	ck_assert_uint_eq(state4_client_held(a)->nlocks, 0);
	ck_assert_uint_eq(io(a, 1, 1, &id), NFS4ERR_ADMIN_REVOKED);
}
END_TEST

START_TEST(a_41_client_frees_what_it_has_heard_of)
{
	stateid4 id = open_of(a, &gone, "w", 1);

	state4_revoke_root(play_state, gone.id);
	ck_assert_uint_eq(io(a, 1, 1, &id), NFS4ERR_ADMIN_REVOKED);
	ck_assert_uint_eq(io(a, 1, 1, &id), NFS4ERR_ADMIN_REVOKED);
	state4_lock(play_state);
	ck_assert_uint_eq(state4_revoke_free(play_state, b, state4_id_number(&id)),
			  NFS4ERR_BAD_STATEID);
	ck_assert_uint_eq(state4_revoke_free(play_state, a, state4_id_number(&id)), NFS4_OK);
	ck_assert_uint_eq(state4_revoke_free(play_state, a, state4_id_number(&id)),
			  NFS4ERR_BAD_STATEID);
	state4_unlock(play_state);
	ck_assert_uint_eq(revoked(a), 0);
	ck_assert_uint_eq(io(a, 1, 1, &id), NFS4ERR_BAD_STATEID);
}
END_TEST

START_TEST(a_40_client_is_told_once)
{
	stateid4 id = open_of(a, &gone, "w", 1);

	state4_revoke_root(play_state, gone.id);
	ck_assert_uint_eq(io(a, 0, 1, &id), NFS4ERR_ADMIN_REVOKED);
	ck_assert_uint_eq(revoked(a), 0);
	ck_assert_uint_eq(io(a, 0, 1, &id), NFS4ERR_BAD_STATEID);
}
END_TEST

START_TEST(the_sequence_of_a_40_owner_goes_on)
{
	stateid4 id = open_of(a, &gone, "w", 1), other = open_of(a, &stays, "w", 2);

	state4_revoke_root(play_state, gone.id);
	ck_assert_uint_eq(in_sequence(a, 1, id, 1), NFS4ERR_ADMIN_REVOKED);
	ck_assert_uint_eq(in_sequence(a, 1, id, 2), NFS4ERR_BAD_STATEID);
	ck_assert_uint_eq(in_sequence(a, 2, other, 1), NFS4ERR_BAD_SEQID);
	ck_assert_uint_eq(in_sequence(a, 2, other, 2), NFS4_OK);
}
END_TEST

START_TEST(what_is_kept_of_it_is_bounded)
{
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < MANY; i++)
			open_of(a, &gone, "w", (uint8_t)(i + 1));
		ck_assert_uint_eq(state4_revoke_root(play_state, gone.id), MANY);
		ck_assert_uint_eq(revoked(a), MANY);
	}
}
END_TEST

START_TEST(it_goes_with_its_client)
{
	open_of(a, &gone, "w", 1);
	state4_revoke_root(play_state, gone.id);
	ck_assert(!state4_held_any(state4_client_held(a)));
	play_clock += 1000 * PLAY_SECOND;
	state4_sweep(play_state);
	ck_assert(a->gone);
	ck_assert_uint_eq(revoked(a), 0);
	ck_assert_uint_eq(state4_tables(play_state)->revoked.n, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *su = suite_create("state4_revoke");
	TCase *t = tcase_create("revoke");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, only_what_is_under_the_root_goes);
	tcase_add_test(t, locks_go_with_their_opens);
	tcase_add_test(t, a_41_client_frees_what_it_has_heard_of);
	tcase_add_test(t, a_40_client_is_told_once);
	tcase_add_test(t, the_sequence_of_a_40_owner_goes_on);
	tcase_add_test(t, what_is_kept_of_it_is_bounded);
	tcase_add_test(t, it_goes_with_its_client);
	suite_add_tcase(su, t);
	return su;
}

int main(void)
{
	return unit_run(suite());
}
