/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A full table of clients: who gives way, and to whom. */
#include "tests/lib/state4play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOOD "198.51.100.7:801"
#define HONEST "192.0.2.1:700"

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

static void renew(clientid4 id)
{
	struct state4_client *c = play_client(s, id);

	state4_lock(s);
	state4_client_renew(s, c);
	state4_unlock(s);
}

static bool there(clientid4 id)
{
	bool is;

	state4_lock(s);
	is = state4_client_by_id(s, id, true);
	state4_unlock(s);
	return is;
}

START_TEST(a_flood_of_owners_keeps_to_the_bound)
{
	struct state4_stats st;
	uint8_t confirm[STATE4_VERF];
	char owner[32];
	clientid4 id;
	int i;

	state4_free(s);
	s = play_start(NULL, 100);
	for (i = 0; i < 20000; i++) {
		snprintf(owner, sizeof(owner), "owner %d", i);
		ck_assert_uint_eq(set(owner, "v", 0, &id, confirm), NFS4_OK);
	}
	state4_stats(s, &st);
	ck_assert_uint_eq(st.unconfirmed, 100);
	ck_assert_uint_eq(confirm_as(id, confirm, 0), NFS4_OK); /* the last is there */
}
END_TEST

START_TEST(a_flood_puts_out_its_own)
{
	struct state4_hello honest = play_hello("honest", "v", 0, 0);
	uint8_t confirm[STATE4_VERF], other[STATE4_VERF];
	char owner[32];
	clientid4 id, last;
	int i;

	honest.addr = "198.51.100.7:801";
	state4_free(s);
	s = play_start(NULL, 100);
	for (i = 0; i < 1000; i++) {
		snprintf(owner, sizeof(owner), "owner %d", i);
		ck_assert_uint_eq(set(owner, "v", 0, &last, other), NFS4_OK);
		if (i == 200)
			ck_assert_uint_eq(state4_client_set(s, &honest, &id, confirm), NFS4_OK);
	}
	ck_assert_uint_eq(confirm_as(id, confirm, 0), NFS4_OK);
	ck_assert_uint_eq(confirm_as(last, other, 0), NFS4_OK);
}
END_TEST

START_TEST(confirmed_clients_give_way_only_by_courtesy)
{
	struct state4_hello h = play_hello("c", "v", 0, 0);
	uint8_t confirm[STATE4_VERF];
	clientid4 a, b, c;

	state4_free(s);
	s = play_start(NULL, 2);
	a = play_set(s, "a", "v", 0);
	play_hold(s, a, 1);
	b = play_set(s, "b", "v", 0);
	ck_assert_uint_eq(state4_client_set(s, &h, &c, confirm), NFS4ERR_DELAY);
	play_pass(LEASE);
	renew(b);
	state4_sweep(s);
	ck_assert_uint_eq(state4_client_set(s, &h, &c, confirm), NFS4_OK);
	ck_assert(!there(a));
	ck_assert(there(b));
}
END_TEST

/* A confirmed client from an address: of 4.0, or of 4.1 with a session. */
static uint32_t come_with(const char *addr, const char *owner, uint8_t minor, clientid4 *id,
			  uint8_t sid[16])
{
	struct state4_hello h = play_hello(owner, "v", 0, minor);
	uint8_t confirm[STATE4_VERF];
	struct state4_created made = {0};
	struct state4_create a;
	uint32_t status, seqid;
	bool confirmed;

	h.addr = addr;
	if (!minor) {
		status = state4_client_set(s, &h, id, confirm);
		return status ? status : confirm_as(*id, confirm, 0);
	}
	status = state4_client_exchange(s, &h, id, &seqid, &confirmed);
	if (status)
		return status;
	a = play_create(*id, seqid, 0);
	status = state4_session_create(s, &a, &made);
	memcpy(sid, made.id, 16);
	return status;
}

static uint32_t come(const char *addr, const char *owner, uint8_t minor, clientid4 *id)
{
	uint8_t sid[16];

	return come_with(addr, owner, minor, id, sid);
}

/* As many as there is room for, of either kind, a second apart. */
static void fill(unsigned max, const char *addr, clientid4 *ids)
{
	char owner[32];
	unsigned i;

	state4_free(s);
	s = play_start(NULL, max);
	for (i = 0; i < max; i++) {
		snprintf(owner, sizeof(owner), "owner %u", i);
		ck_assert_uint_eq(come(addr, owner, i & 1, &ids[i]), NFS4_OK);
		play_pass(1);
	}
}

START_TEST(a_flood_that_is_confirmed_gives_way_to_another_address)
{
	clientid4 ids[10], id;

	fill(10, FLOOD, ids);
	play_hold(s, ids[0], 1);
	play_client(s, ids[1])->busy = 1;
	renew(ids[2]);
	ck_assert_uint_eq(come(FLOOD, "one more", 1, &id), NFS4ERR_DELAY);
	ck_assert_uint_eq(come(HONEST, "a", 0, &id), NFS4_OK);
	ck_assert(there(ids[0]) && there(ids[1]) && there(ids[2]) && !there(ids[3]));
	ck_assert_uint_eq(come(HONEST, "b", 1, &id), NFS4_OK);
	ck_assert(!there(ids[4]));
	ck_assert_uint_eq(come(FLOOD, "one more", 1, &id), NFS4ERR_DELAY);
	ck_assert_uint_eq(play_dropped, 0);
	play_client(s, ids[1])->busy = 0;
}
END_TEST

START_TEST(an_address_takes_from_another_until_both_have_as_many)
{
	clientid4 ids[10], id;
	char owner[32];
	int i;

	fill(10, FLOOD, ids);
	for (i = 0; i < 5; i++) {
		snprintf(owner, sizeof(owner), "honest %d", i);
		ck_assert_uint_eq(come(HONEST, owner, i & 1, &id), NFS4_OK);
	}
	ck_assert_uint_eq(come(HONEST, "sixth", 1, &id), NFS4ERR_DELAY);
	ck_assert_uint_eq(come(FLOOD, "sixth", 1, &id), NFS4ERR_DELAY);
}
END_TEST

START_TEST(a_flood_that_is_confirmed_does_not_put_out_who_is_about_to_be)
{
	struct state4_hello honest = play_hello("honest", "v", 0, 0);
	uint8_t confirm[STATE4_VERF];
	clientid4 ids[10], id, other;

	fill(10, FLOOD, ids);
	honest.addr = HONEST;
	ck_assert_uint_eq(state4_client_set(s, &honest, &id, confirm), NFS4_OK);
	ck_assert_uint_eq(come(FLOOD, "one more", 1, &other), NFS4ERR_DELAY);
	ck_assert_uint_eq(come(FLOOD, "one more", 0, &other), NFS4ERR_DELAY);
	ck_assert_uint_eq(confirm_as(id, confirm, 0), NFS4_OK);
}
END_TEST

START_TEST(who_holds_something_does_not_give_way)
{
	clientid4 ids[10], id;
	unsigned i;

	fill(10, FLOOD, ids);
	for (i = 0; i < 10; i++)
		play_hold(s, ids[i], 1);
	ck_assert_uint_eq(come(HONEST, "a", 1, &id), NFS4ERR_DELAY);
	for (i = 0; i < 10; i++)
		ck_assert(there(ids[i]));
}
END_TEST

START_TEST(beyond_the_first_who_hold_something_others_are_found)
{
	clientid4 ids[200], id;
	unsigned i, tries = 0;

	fill(200, FLOOD, ids);
	for (i = 0; i < 199; i++)
		play_hold(s, ids[i], 1);
	while (come(HONEST, "a", 1, &id))
		ck_assert_uint_lt(tries++, 4); /* a newcomer comes again */
	ck_assert(!there(ids[199]));
}
END_TEST

START_TEST(networks_of_ipv6_are_one_address)
{
	ck_assert_uint_eq(state4_room_bucket("[2001:db8::1]:700"),
			  state4_room_bucket("[2001:db8::ffff:2]:801"));
	ck_assert_uint_ne(state4_room_bucket("[2001:db8::1]:700"),
			  state4_room_bucket("[2001:db8:0:1::1]:700"));
	ck_assert_uint_eq(state4_room_bucket("192.0.2.1:700"), state4_room_bucket("192.0.2.1:9"));
	ck_assert_uint_ne(state4_room_bucket("192.0.2.1:700"), state4_room_bucket("192.0.2.2:700"));
}
END_TEST

/* --- replies in slots ---------------------------------------------------------------- */

struct guest {
	clientid4 id;
	uint8_t sid[16];
};

static struct state4_call call_of(const struct guest *g, uint32_t seqid, bool cache_this)
{
	return (struct state4_call){.id = g->sid,
				    .seqid = seqid,
				    .nops = 2,
				    .len = 200,
				    .sum = 1,
				    .cache_this = cache_this};
}

/* A request from start to end; what it asks to be kept is. */
static void run(const struct guest *g, uint32_t seqid, bool cache_this)
{
	struct state4_call c = call_of(g, seqid, cache_this);
	struct state4_turn t;

	ck_assert_uint_eq(state4_session_turn(s, &c, &t), NFS4_OK);
	ck_assert_ptr_nonnull(t.session);
	state4_session_done(s, t.session, t.slot, t.client, NFS4_OK, (const uint8_t *)"body", 4);
	state4_client_put(t.client);
}

/* The last request of all comes again, over another connection. */
static uint32_t again(const struct guest *g, uint32_t seqid)
{
	struct state4_call c = call_of(g, seqid, true);
	struct state4_turn t;
	uint32_t status = state4_session_turn(s, &c, &t);

	if (!status)
		ck_assert(!t.session && t.cached && t.reply_len == 4);
	free(t.reply);
	return status;
}

/* A full table of clients of 4.1 from one address, a second apart, none with a request yet. */
static void fill_41(unsigned max, struct guest *guests)
{
	char owner[32];
	unsigned i;

	state4_free(s);
	s = play_start(NULL, max);
	for (i = 0; i < max; i++) {
		snprintf(owner, sizeof(owner), "owner %u", i);
		ck_assert_uint_eq(come_with(FLOOD, owner, 1, &guests[i].id, guests[i].sid),
				  NFS4_OK);
		play_pass(1);
	}
}

START_TEST(who_may_ask_for_a_reply_again_does_not_give_way)
{
	struct guest guests[10];
	clientid4 id;

	fill_41(10, guests);
	/* Both are idle for longer than all others from here on but by their replies. */
	run(&guests[0], 1, true);
	run(&guests[1], 1, false);
	for (unsigned i = 2; i < 10; i++)
		renew(guests[i].id);
	ck_assert_uint_eq(come(HONEST, "a", 1, &id), NFS4_OK);
	ck_assert(there(guests[0].id) && !there(guests[1].id) && there(guests[2].id));
	ck_assert_uint_eq(again(&guests[0], 1), NFS4_OK);
	ck_assert_uint_eq(play_client(s, guests[0].id)->nreplies, 1);
}
END_TEST

START_TEST(a_reply_given_up_is_nothing_to_stay_for)
{
	struct guest guests[10];
	clientid4 id;

	fill_41(10, guests);
	run(&guests[0], 1, true);
	if (_i) { /* by the next request of the slot */
		run(&guests[0], 2, false);
	} else { /* with its session */
		ck_assert_uint_eq(state4_session_destroy(s, guests[0].sid, NULL), NFS4_OK);
	}
	ck_assert_uint_eq(play_client(s, guests[0].id)->nreplies, 0);
	for (unsigned i = 1; i < 10; i++)
		renew(guests[i].id);
	ck_assert_uint_eq(come(HONEST, "a", 1, &id), NFS4_OK);
	ck_assert(!there(guests[0].id));
}
END_TEST

/* A SEQUENCE is cheap: a table full of replies of one address must not keep others out. */
START_TEST(a_crowd_with_replies_gives_way_to_another_address)
{
	struct guest guests[10];
	clientid4 id;
	char owner[32];
	int i;

	fill_41(10, guests);
	play_hold(s, guests[0].id, 1);
	for (i = 0; i < 10; i++)
		run(&guests[i], 1, true);
	for (i = 0; i < 5; i++) {
		snprintf(owner, sizeof(owner), "honest %d", i);
		ck_assert_uint_eq(come(HONEST, owner, 1, &id), NFS4_OK);
	}
	ck_assert(there(guests[0].id) && !there(guests[1].id) && there(guests[9].id));
	ck_assert_uint_eq(again(&guests[9], 1), NFS4_OK);
	ck_assert_uint_eq(come(HONEST, "sixth", 1, &id), NFS4ERR_DELAY);
}
END_TEST

START_TEST(no_more_than_a_lease_is_owed_to_who_has_replies)
{
	struct guest guests[10];
	clientid4 id;

	fill_41(10, guests);
	for (unsigned i = 0; i < 10; i++)
		run(&guests[i], 1, true);
	ck_assert_uint_eq(come(FLOOD, "one more", 1, &id), NFS4ERR_DELAY);
	play_pass(LEASE);
	state4_sweep(s);
	ck_assert_uint_eq(come(FLOOD, "one more", 1, &id), NFS4_OK);
}
END_TEST

static Suite *suite(void)
{
	Suite *su = suite_create("state4_room");
	TCase *t = tcase_create("room");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_flood_of_owners_keeps_to_the_bound);
	tcase_add_test(t, a_flood_puts_out_its_own);
	tcase_add_test(t, confirmed_clients_give_way_only_by_courtesy);
	tcase_add_test(t, a_flood_that_is_confirmed_gives_way_to_another_address);
	tcase_add_test(t, an_address_takes_from_another_until_both_have_as_many);
	tcase_add_test(t, a_flood_that_is_confirmed_does_not_put_out_who_is_about_to_be);
	tcase_add_test(t, who_holds_something_does_not_give_way);
	tcase_add_test(t, beyond_the_first_who_hold_something_others_are_found);
	tcase_add_test(t, networks_of_ipv6_are_one_address);
	tcase_add_test(t, who_may_ask_for_a_reply_again_does_not_give_way);
	tcase_add_loop_test(t, a_reply_given_up_is_nothing_to_stay_for, 0, 2);
	tcase_add_test(t, a_crowd_with_replies_gives_way_to_another_address);
	tcase_add_test(t, no_more_than_a_lease_is_owed_to_who_has_replies);
	suite_add_tcase(su, t);
	return su;
}

int main(void)
{
	return unit_run(suite());
}
