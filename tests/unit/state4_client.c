/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/state4play.h"

#include <stdio.h>
#include <string.h>

static struct state4 *s;

static void setup(void)
{
	s = play_start(NULL, 0);
	play_dropped = 0;
}

static void teardown(void)
{
	state4_free(s);
}

static uint32_t set(const char *owner, const char *verf, uint32_t uid, clientid4 *id,
		    uint8_t confirm[STATE4_VERF])
{
	struct state4_hello h = play_hello(owner, verf, uid, 0);

	return state4_client_set(s, &h, id, confirm);
}

static uint32_t confirm_as(clientid4 id, const uint8_t confirm[STATE4_VERF], uint32_t uid)
{
	struct state4_principal who = {.flavor = 1, .uid = uid};

	return state4_client_confirm(s, id, confirm, &who);
}

static uint32_t find(clientid4 id, bool v40)
{
	struct state4_client *c;
	uint32_t status;

	state4_lock(s);
	status = state4_client_find(s, id, v40, &c);
	state4_unlock(s);
	return status;
}

static void renew(clientid4 id)
{
	struct state4_client *c = play_client(s, id);

	state4_lock(s);
	state4_client_renew(s, c);
	state4_unlock(s);
}

/* --- SETCLIENTID, SETCLIENTID_CONFIRM: the five cases of RFC 7530 s.16.33.5 ------------ */

START_TEST(a_new_client_is_usable_once_confirmed)
{
	uint8_t confirm[STATE4_VERF], zero[STATE4_VERF] = {0};
	clientid4 id;

	ck_assert_uint_eq(set("a", "v", 0, &id, confirm), NFS4_OK);
	ck_assert_int_ne(memcmp(confirm, zero, sizeof(zero)), 0);
	ck_assert_uint_eq(find(id, true), NFS4ERR_EXPIRED);
	ck_assert_uint_eq(confirm_as(id, confirm, 0), NFS4_OK);
	ck_assert_uint_eq(find(id, true), NFS4_OK);
	ck_assert_uint_eq(find(id, false), NFS4ERR_EXPIRED);
	ck_assert_uint_eq(confirm_as(id, confirm, 0), NFS4_OK); /* retransmitted */
}
END_TEST

START_TEST(the_same_incarnation_keeps_its_id_and_state)
{
	clientid4 id = play_set(s, "a", "v", 0), again;
	uint8_t confirm[STATE4_VERF], second[STATE4_VERF];

	play_hold(s, id, 1);
	ck_assert_uint_eq(set("a", "v", 0, &again, confirm), NFS4_OK);
	ck_assert_uint_eq(again, id);
	ck_assert_uint_eq(set("a", "v", 0, &again, second), NFS4_OK);
	ck_assert_int_ne(memcmp(confirm, second, sizeof(second)), 0);
	ck_assert_uint_eq(confirm_as(id, confirm, 0), NFS4ERR_STALE_CLIENTID);
	ck_assert_uint_eq(confirm_as(id, second, 0), NFS4_OK);
	ck_assert_uint_eq(confirm_as(id, second, 0), NFS4_OK);
	ck_assert_uint_eq(play_dropped, 0);
}
END_TEST

START_TEST(a_rebooted_client_loses_its_state_when_it_confirms)
{
	clientid4 old = play_set(s, "a", "v", 0), id;
	uint8_t confirm[STATE4_VERF];

	play_hold(s, old, 1);
	ck_assert_uint_eq(set("a", "w", 0, &id, confirm), NFS4_OK);
	ck_assert_uint_ne(id, old);
	ck_assert_uint_eq(find(old, true), NFS4_OK);
	ck_assert_uint_eq(confirm_as(id, confirm, 0), NFS4_OK);
	ck_assert_uint_eq(find(old, true), NFS4ERR_EXPIRED);
	ck_assert_uint_eq(play_dropped, 1);
}
END_TEST

START_TEST(an_unconfirmed_record_is_replaced)
{
	uint8_t first[STATE4_VERF], second[STATE4_VERF];
	clientid4 a, b;

	ck_assert_uint_eq(set("a", "v", 0, &a, first), NFS4_OK);
	ck_assert_uint_eq(set("a", "w", 0, &b, second), NFS4_OK);
	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(confirm_as(a, first, 0), NFS4ERR_STALE_CLIENTID);
	ck_assert_uint_eq(confirm_as(b, second, 0), NFS4_OK);
}
END_TEST

START_TEST(an_unconfirmed_reboot_is_replaced_beside_the_confirmed_one)
{
	clientid4 id = play_set(s, "a", "v", 0), u, v;
	uint8_t first[STATE4_VERF], second[STATE4_VERF];

	ck_assert_uint_eq(set("a", "w", 0, &u, first), NFS4_OK);
	ck_assert_uint_eq(set("a", "x", 0, &v, second), NFS4_OK);
	ck_assert(u != id && v != id && u != v);
	ck_assert_uint_eq(confirm_as(u, first, 0), NFS4ERR_STALE_CLIENTID);
	ck_assert_uint_eq(find(id, true), NFS4_OK);
}
END_TEST

START_TEST(another_principal_takes_the_name_of_a_client_only_without_state)
{
	clientid4 id = play_set(s, "a", "v", 1), other;
	uint8_t confirm[STATE4_VERF];

	ck_assert_uint_eq(set("a", "v", 2, &other, confirm), NFS4_OK);
	play_hold(s, id, 1);
	ck_assert_uint_eq(set("a", "v", 2, &other, confirm), NFS4ERR_CLID_INUSE);
	ck_assert_uint_eq(set("a", "v", 1, &other, confirm), NFS4_OK);
	ck_assert_uint_eq(confirm_as(other, confirm, 2), NFS4ERR_CLID_INUSE);
}
END_TEST

START_TEST(ids_of_another_start_are_stale)
{
	uint8_t confirm[STATE4_VERF] = {0};

	ck_assert_uint_eq(find(0, true), NFS4ERR_STALE_CLIENTID);
	ck_assert_uint_eq(confirm_as(0, confirm, 0), NFS4ERR_STALE_CLIENTID);
	ck_assert_uint_eq(confirm_as((uint64_t)state4_boot(s) << 32 | 77, confirm, 0),
			  NFS4ERR_STALE_CLIENTID);
	ck_assert_uint_eq(state4_client_destroy(s, 0), NFS4ERR_STALE_CLIENTID);
}
END_TEST

/* --- EXCHANGE_ID: the nine cases of RFC 8881 s.18.35.4 --------------------------------- */

/* What an EXCHANGE_ID comes to, given what is there; `other`: of another verifier, principal. */
static const struct exchange {
	bool confirmed, holds, update, verf, who;
	uint32_t status;
	bool same_id;
} exchanges[] = {
	/* an unconfirmed one is there */
	{false, false, false, false, false, NFS4_OK, false},
	{false, false, false, true, false, NFS4_OK, false},
	{false, false, false, false, true, NFS4_OK, false},
	{false, false, false, true, true, NFS4_OK, false},
	{false, false, true, false, false, NFS4ERR_NOENT, false},
	{false, false, true, true, false, NFS4ERR_NOENT, false},
	{false, false, true, false, true, NFS4ERR_NOENT, false},
	{false, false, true, true, true, NFS4ERR_NOENT, false},
	/* a confirmed one */
	{true, false, false, false, false, NFS4_OK, true},
	{true, true, false, false, false, NFS4_OK, true},
	{true, false, false, true, false, NFS4_OK, false},
	{true, false, false, false, true, NFS4_OK, false},
	{true, false, false, true, true, NFS4_OK, false},
	{true, true, false, false, true, NFS4ERR_CLID_INUSE, false},
	{true, true, false, true, true, NFS4ERR_CLID_INUSE, false},
	{true, false, true, false, false, NFS4_OK, true},
	{true, false, true, true, false, NFS4ERR_NOT_SAME, false},
	{true, false, true, false, true, NFS4ERR_PERM, false},
	{true, false, true, true, true, NFS4ERR_PERM, false},
};

START_TEST(exchange_id_answers_by_what_is_recorded)
{
	const struct exchange *x = &exchanges[_i];
	struct state4_hello h = play_hello("a", "v", 1, 1);
	clientid4 old, id = 0;
	uint32_t seqid;
	bool confirmed;

	if (x->confirmed)
		old = play_exchange(s, "a", "v", 1);
	else
		ck_assert_uint_eq(state4_client_exchange(s, &h, &old, &seqid, &confirmed), NFS4_OK);
	if (x->holds)
		play_hold(s, old, 1);
	h = play_hello("a", x->verf ? "w" : "v", x->who ? 2 : 1, 1);
	h.update = x->update;
	ck_assert_uint_eq(state4_client_exchange(s, &h, &id, &seqid, &confirmed), x->status);
	if (x->status)
		return;
	ck_assert_int_eq(id == old, x->same_id);
	ck_assert_int_eq(confirmed, x->same_id);
	ck_assert_uint_eq(seqid, x->same_id ? 2 : 1);
}
END_TEST

START_TEST(an_update_of_nothing_is_noent)
{
	struct state4_hello h = play_hello("a", "v", 0, 1);
	uint32_t seqid;
	bool confirmed;
	clientid4 id;

	h.update = true;
	ck_assert_uint_eq(state4_client_exchange(s, &h, &id, &seqid, &confirmed), NFS4ERR_NOENT);
	play_set(s, "a", "v", 0);
	ck_assert_uint_eq(state4_client_exchange(s, &h, &id, &seqid, &confirmed), NFS4ERR_INVAL);
}
END_TEST

START_TEST(a_rebooted_client_keeps_its_sessions_until_the_new_one_confirms)
{
	uint8_t first[16], second[16];
	clientid4 old = play_session(s, "a", first);
	struct state4_hello h = play_hello("a", "w", 0, 1);
	struct state4_created made;
	struct state4_create a;
	uint32_t seqid;
	bool confirmed;
	clientid4 id;

	play_hold(s, old, 1);
	ck_assert_uint_eq(state4_client_exchange(s, &h, &id, &seqid, &confirmed), NFS4_OK);
	ck_assert_uint_ne(id, old);
	ck_assert_uint_eq(state4_session_check(s, first), NFS4_OK);
	a = play_create(id, seqid, 0);
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
	memcpy(second, made.id, 16);
	ck_assert_uint_eq(state4_session_check(s, first), NFS4ERR_BADSESSION);
	ck_assert_uint_eq(state4_session_check(s, second), NFS4_OK);
	ck_assert_uint_eq(play_dropped, 1);
}
END_TEST

START_TEST(a_client_with_state_or_sessions_is_busy)
{
	uint8_t sid[16];
	clientid4 id = play_session(s, "a", sid);

	ck_assert_uint_eq(state4_client_destroy(s, id), NFS4ERR_CLIENTID_BUSY);
	ck_assert_uint_eq(state4_session_destroy(s, sid, NULL), NFS4_OK);
	play_hold(s, id, 1);
	ck_assert_uint_eq(state4_client_destroy(s, id), NFS4ERR_CLIENTID_BUSY);
	play_hold(s, id, 0);
	ck_assert_uint_eq(state4_client_destroy(s, id), NFS4_OK);
	ck_assert_uint_eq(state4_client_destroy(s, id), NFS4ERR_STALE_CLIENTID);
}
END_TEST

/* --- leases ------------------------------------------------------------------------ */

START_TEST(an_unconfirmed_record_lives_one_lease)
{
	uint8_t confirm[STATE4_VERF];
	clientid4 id;

	ck_assert_uint_eq(set("a", "v", 0, &id, confirm), NFS4_OK);
	play_pass(LEASE - 1);
	state4_sweep(s);
	ck_assert(state4_active(s));
	play_pass(1);
	state4_sweep(s);
	ck_assert_uint_eq(confirm_as(id, confirm, 0), NFS4ERR_STALE_CLIENTID);
	ck_assert(!state4_active(s));
}
END_TEST

START_TEST(a_client_without_state_goes_with_its_lease)
{
	clientid4 id = play_set(s, "a", "v", 0);

	play_pass(LEASE - 1);
	state4_sweep(s);
	renew(id);
	play_pass(LEASE - 1);
	state4_sweep(s);
	ck_assert_uint_eq(find(id, true), NFS4_OK);
	play_pass(1);
	state4_sweep(s);
	ck_assert_uint_eq(find(id, true), NFS4ERR_EXPIRED);
}
END_TEST

START_TEST(a_client_with_state_is_kept_by_courtesy_for_a_day)
{
	clientid4 id = play_set(s, "a", "v", 0);
	struct state4_client *c = play_client(s, id);

	play_hold(s, id, 1);
	play_pass(LEASE);
	state4_sweep(s);
	ck_assert(state4_client_courtesy(c));
	renew(id);
	ck_assert(!state4_client_courtesy(c));
	play_pass(24 * 3600);
	state4_sweep(s);
	ck_assert(state4_client_courtesy(c));
	ck_assert_uint_eq(play_dropped, 0);
	play_pass(1);
	state4_sweep(s);
	ck_assert_uint_eq(find(id, true), NFS4ERR_EXPIRED);
	ck_assert_uint_eq(play_dropped, 1);
}
END_TEST

START_TEST(only_a_courtesy_client_is_evicted)
{
	clientid4 id = play_set(s, "a", "v", 0);
	struct state4_client *c = state4_client_get(play_client(s, id));

	play_hold(s, id, 1);
	state4_client_evict(s, c);
	ck_assert_uint_eq(find(id, true), NFS4_OK);
	play_pass(LEASE);
	state4_sweep(s);
	state4_client_evict(s, c);
	ck_assert_uint_eq(find(id, true), NFS4ERR_EXPIRED);
	ck_assert_uint_eq(play_dropped, 1);
	state4_client_evict(s, c); /* who met its opens meanwhile asks as well */
	ck_assert_uint_eq(play_dropped, 1);
	state4_client_put(c);
}
END_TEST

static Suite *suite(void)
{
	Suite *su = suite_create("state4_client");
	TCase *t = tcase_create("clients");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_new_client_is_usable_once_confirmed);
	tcase_add_test(t, the_same_incarnation_keeps_its_id_and_state);
	tcase_add_test(t, a_rebooted_client_loses_its_state_when_it_confirms);
	tcase_add_test(t, an_unconfirmed_record_is_replaced);
	tcase_add_test(t, an_unconfirmed_reboot_is_replaced_beside_the_confirmed_one);
	tcase_add_test(t, another_principal_takes_the_name_of_a_client_only_without_state);
	tcase_add_test(t, ids_of_another_start_are_stale);
	tcase_add_loop_test(t, exchange_id_answers_by_what_is_recorded, 0,
			    sizeof(exchanges) / sizeof(exchanges[0]));
	tcase_add_test(t, an_update_of_nothing_is_noent);
	tcase_add_test(t, a_rebooted_client_keeps_its_sessions_until_the_new_one_confirms);
	tcase_add_test(t, a_client_with_state_or_sessions_is_busy);
	tcase_add_test(t, an_unconfirmed_record_lives_one_lease);
	tcase_add_test(t, a_client_without_state_goes_with_its_lease);
	tcase_add_test(t, a_client_with_state_is_kept_by_courtesy_for_a_day);
	tcase_add_test(t, only_a_courtesy_client_is_evicted);
	suite_add_tcase(su, t);
	return su;
}

int main(void)
{
	return unit_run(suite());
}
