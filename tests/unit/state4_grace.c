/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/lib/state4play.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/scratch.h"

static struct state4 *s;
static const char *dir;

static void setup(void)
{
	dir = scratch_dir(NULL);
	s = play_start(dir, 0);
	play_dropped = 0;
}

static void teardown(void)
{
	state4_free(s);
	scratch_remove(dir);
}

static void restart(void)
{
	state4_free(s);
	s = play_start(dir, 0);
}

static bool in_grace(void)
{
	bool is;

	state4_lock(s);
	is = state4_in_grace(s);
	state4_unlock(s);
	return is;
}

static bool may_reclaim(clientid4 id)
{
	struct state4_client *c = play_client(s, id);
	bool may;

	state4_lock(s);
	may = state4_may_reclaim(s, c);
	state4_unlock(s);
	return may;
}

static uint32_t reclaim_complete(clientid4 id)
{
	return state4_client_reclaimed(s, play_client(s, id));
}

/* A client that a restart finds recorded. */
static clientid4 recorded(const char *owner)
{
	clientid4 id = play_exchange(s, owner, "v", 0);

	ck_assert_uint_eq(reclaim_complete(id), NFS4_OK);
	return id;
}

START_TEST(without_records_there_is_no_grace)
{
	ck_assert(!in_grace());
	ck_assert(!state4_active(s));
	play_exchange(s, "a", "v", 0); /* one that never had state is not recorded */
	restart();
	ck_assert(!in_grace());
}
END_TEST

START_TEST(grace_ends_when_all_have_reclaimed)
{
	clientid4 a, b;

	recorded("a");
	recorded("b");
	restart();
	ck_assert(in_grace());
	ck_assert(state4_active(s));
	a = play_exchange(s, "a", "v", 0);
	ck_assert(may_reclaim(a));
	ck_assert_uint_eq(reclaim_complete(a), NFS4_OK);
	ck_assert(!may_reclaim(a));
	ck_assert_uint_eq(reclaim_complete(a), NFS4ERR_COMPLETE_ALREADY);
	ck_assert(in_grace());
	/* rebooted meanwhile: nothing to reclaim, and it says so */
	b = play_exchange(s, "b", "w", 0);
	ck_assert_uint_eq(reclaim_complete(b), NFS4_OK);
	ck_assert(!in_grace());
}
END_TEST

START_TEST(who_is_not_recorded_may_not_reclaim)
{
	clientid4 id;

	recorded("a");
	restart();
	id = play_exchange(s, "stranger", "v", 0);
	ck_assert(!may_reclaim(id));
	ck_assert_uint_eq(reclaim_complete(id), NFS4_OK);
	ck_assert(in_grace());
}
END_TEST

START_TEST(who_may_still_reclaim_does_not_give_way)
{
	struct state4_hello h = play_hello("newcomer", "v", 0, 1);
	clientid4 id, other;
	uint32_t seqid;
	bool confirmed;

	recorded("a");
	recorded("b");
	state4_free(s);
	s = play_start(dir, 2);
	id = play_exchange(s, "a", "v", 0);
	other = play_exchange(s, "b", "v", 0);
	h.addr = "198.51.100.7:801";
	ck_assert_uint_eq(state4_client_exchange(s, &h, &other, &seqid, &confirmed), NFS4ERR_DELAY);
	ck_assert_uint_eq(reclaim_complete(id), NFS4_OK);
	ck_assert_uint_eq(state4_client_exchange(s, &h, &other, &seqid, &confirmed), NFS4_OK);
	ck_assert(in_grace());
}
END_TEST

START_TEST(grace_ends_with_its_time_and_forgets_who_did_not_come)
{
	recorded("a");
	restart();
	play_pass(LEASE - 1);
	state4_sweep(s);
	ck_assert(in_grace());
	play_pass(1);
	state4_sweep(s);
	ck_assert(!in_grace());
	ck_assert(!may_reclaim(play_exchange(s, "a", "v", 0)));
	restart();
	ck_assert(!in_grace());
}
END_TEST

START_TEST(grace_goes_on_while_somebody_reclaims_but_not_for_ever)
{
	clientid4 id;
	int i;

	recorded("a");
	restart();
	id = play_set(s, "a", "v", 0); /* 4.0 does not say that it is done */
	play_hold(s, id, 1);
	play_pass(LEASE);
	for (i = 0; i < LEASE - 1; i++) {
		ck_assert(may_reclaim(id));
		state4_sweep(s);
		ck_assert(in_grace());
		play_pass(1);
	}
	ck_assert(may_reclaim(id));
	play_pass(1);
	state4_sweep(s);
	ck_assert(!in_grace());
}
END_TEST

START_TEST(a_second_crash_during_grace_takes_nothing_away)
{
	clientid4 a;

	recorded("a");
	recorded("b");
	restart();
	a = play_exchange(s, "a", "v", 0);
	ck_assert_uint_eq(reclaim_complete(a), NFS4_OK);
	restart();
	ck_assert(in_grace());
	ck_assert(may_reclaim(play_exchange(s, "a", "v", 0)));
	ck_assert(may_reclaim(play_exchange(s, "b", "v", 0)));
}
END_TEST

START_TEST(a_client_that_left_is_not_waited_for)
{
	clientid4 a = recorded("a"), b;

	recorded("b");
	ck_assert_uint_eq(state4_client_destroy(s, a), NFS4_OK);
	restart();
	ck_assert(in_grace());
	ck_assert_uint_eq(s->grace.n, 1);
	b = play_exchange(s, "b", "v", 0);
	ck_assert_uint_eq(state4_client_destroy(s, b), NFS4_OK);
	state4_sweep(s);
	ck_assert(!in_grace());
	restart();
	ck_assert(!in_grace());
}
END_TEST

START_TEST(an_evicted_client_may_not_come_back_for_its_state)
{
	clientid4 a = recorded("a");
	struct state4_client *c = play_client(s, a);

	play_hold(s, a, 1);
	play_pass(LEASE);
	state4_sweep(s);
	state4_client_evict(s, c);
	ck_assert_uint_eq(play_dropped, 1);
	restart();
	ck_assert(!in_grace());
}
END_TEST

START_TEST(a_new_incarnation_keeps_its_record)
{
	recorded("a");
	ck_assert_uint_eq(reclaim_complete(play_exchange(s, "a", "w", 0)), NFS4_OK);
	restart();
	ck_assert(in_grace());
}
END_TEST

START_TEST(a_second_server_of_a_directory_keeps_no_records)
{
	struct state4 *first = s;

	s = play_start(dir, 0);
	ck_assert_ptr_null(s->record);
	ck_assert_str_ne(s->server_id, first->server_id);
	recorded("a");
	state4_free(s);
	s = first;
	restart();
	ck_assert(!in_grace());
}
END_TEST

START_TEST(the_server_is_the_same_at_each_start_and_never_another)
{
	char id[33];

	memcpy(id, s->server_id, sizeof(id));
	restart();
	ck_assert_str_eq(s->server_id, id);
	ck_assert_uint_eq(strlen(id), 32);
}
END_TEST

START_TEST(a_database_of_somebody_else_is_left_alone)
{
	char cmd[512];

	state4_free(s);
	snprintf(cmd, sizeof(cmd), "rm -f '%s'/main.sqlite*; echo no database >'%s'/main.sqlite",
		 dir, dir);
	ck_assert_int_eq(system(cmd), 0);
	s = play_start(dir, 0);
	ck_assert_ptr_null(s->record);
	ck_assert(!in_grace());
	recorded("a");
}
END_TEST

START_TEST(owners_are_bytes)
{
	struct state4_hello h = play_hello("", "v", 0, 0);
	uint8_t owner[NFS4_OPAQUE_LIMIT], confirm[STATE4_VERF];
	clientid4 id;

	memset(owner, 0, sizeof(owner));
	owner[7] = '\'';
	h.owner = owner;
	h.owner_len = sizeof(owner);
	ck_assert_uint_eq(state4_client_set(s, &h, &id, confirm), NFS4_OK);
	ck_assert_uint_eq(state4_client_confirm(s, id, confirm, &h.who), NFS4_OK);
	ck_assert_int_eq(state4_client_record(s, play_client(s, id)), 0);
	restart();
	ck_assert(in_grace());
	ck_assert_uint_eq(state4_client_set(s, &h, &id, confirm), NFS4_OK);
	ck_assert_uint_eq(state4_client_confirm(s, id, confirm, &h.who), NFS4_OK);
	ck_assert(may_reclaim(id));
}
END_TEST

static Suite *suite(void)
{
	Suite *su = suite_create("state4_grace");
	TCase *t = tcase_create("grace");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, without_records_there_is_no_grace);
	tcase_add_test(t, grace_ends_when_all_have_reclaimed);
	tcase_add_test(t, who_is_not_recorded_may_not_reclaim);
	tcase_add_test(t, who_may_still_reclaim_does_not_give_way);
	tcase_add_test(t, grace_ends_with_its_time_and_forgets_who_did_not_come);
	tcase_add_test(t, grace_goes_on_while_somebody_reclaims_but_not_for_ever);
	tcase_add_test(t, a_second_crash_during_grace_takes_nothing_away);
	tcase_add_test(t, a_client_that_left_is_not_waited_for);
	tcase_add_test(t, an_evicted_client_may_not_come_back_for_its_state);
	tcase_add_test(t, a_new_incarnation_keeps_its_record);
	tcase_add_test(t, a_second_server_of_a_directory_keeps_no_records);
	tcase_add_test(t, the_server_is_the_same_at_each_start_and_never_another);
	tcase_add_test(t, a_database_of_somebody_else_is_left_alone);
	tcase_add_test(t, owners_are_bytes);
	suite_add_tcase(su, t);
	return su;
}

int main(void)
{
	return unit_run(suite());
}
