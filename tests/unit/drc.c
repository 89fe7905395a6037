/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/drc.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "tests/lib/unit.h"

static bool alive[16];
static unsigned woken;
static _Atomic unsigned executions;

static bool conn_alive(void *arg, uint64_t conn)
{
	(void)arg;
	return alive[conn % 16];
}

static struct drc *d;

static void setup_n(unsigned entries, size_t bytes)
{
	struct drc_params p = {
		.max_entries = entries, .max_bytes = bytes, .conn_alive = conn_alive};

	memset(alive, 0, sizeof(alive));
	woken = 0;
	executions = 0;
	ck_assert_int_eq(drc_new(&d, &p), 0);
}

static void setup(void)
{
	setup_n(0, 0);
}

static void teardown(void)
{
	drc_free(d);
}

static struct drc_key key_of(const char *addr, uint64_t conn, uint32_t xid, const char *call)
{
	struct drc_key k = {.conn = conn,
			    .xid = xid,
			    .prog = 100003,
			    .vers = 3,
			    .proc = 12,
			    .call = (const uint8_t *)call,
			    .len = strlen(call)};
	struct sockaddr_in *in = (struct sockaddr_in *)&k.addr;

	in->sin_family = AF_INET;
	inet_pton(AF_INET, addr, &in->sin_addr);
	in->sin_port = (in_port_t)(conn + xid); /* of no account */
	return k;
}

static struct drc_entry *begin_new(const struct drc_key *k)
{
	struct drc_entry *e = NULL;
	uint8_t *reply;
	size_t len;

	ck_assert_int_eq(drc_begin(d, k, NULL, &e, &reply, &len), DRC_NEW);
	return e;
}

static void expect_replay(const struct drc_key *k, const char *text)
{
	struct drc_entry *e;
	uint8_t *reply;
	size_t len;

	ck_assert_int_eq(drc_begin(d, k, NULL, &e, &reply, &len), DRC_REPLAY);
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_mem_eq(reply, text, len);
	free(reply);
}

static void expect_in_progress(const struct drc_key *k)
{
	struct drc_entry *e;
	uint8_t *reply;
	size_t len;

	ck_assert_int_eq(drc_begin(d, k, NULL, &e, &reply, &len), DRC_IN_PROGRESS);
}

static void done(struct drc_entry *e, const char *text)
{
	drc_done(d, e, (const uint8_t *)text, strlen(text));
}

START_TEST(a_retransmission_gets_the_first_answer)
{
	struct drc_key k = key_of("10.0.0.1", 1, 7, "remove a");

	done(begin_new(&k), "ok");
	expect_replay(&k, "ok");
	expect_replay(&k, "ok");
}
END_TEST

START_TEST(a_retransmission_over_a_new_connection_gets_the_first_answer)
{
	struct drc_key k = key_of("10.0.0.1", 1, 7, "remove a");

	done(begin_new(&k), "ok");
	k = key_of("10.0.0.1", 2, 7, "remove a");
	expect_replay(&k, "ok");
}
END_TEST

static void wake(struct drc_waiter *w)
{
	(void)w;
	woken++;
}

static void wait_for(const struct drc_key *k, struct drc_waiter *w)
{
	struct drc_entry *e;
	uint8_t *reply;
	size_t len;

	*w = (struct drc_waiter){.wake = wake};
	ck_assert_int_eq(drc_begin(d, k, w, &e, &reply, &len), DRC_WAITS);
}

START_TEST(who_waits_for_the_first_is_told_when_it_is_done)
{
	struct drc_key k = key_of("10.0.0.1", 1, 7, "remove a");
	struct drc_entry *e = begin_new(&k);
	struct drc_waiter w;

	wait_for(&k, &w);
	ck_assert_uint_eq(woken, 0);
	done(e, "ok");
	ck_assert(woken == 1 && !w.displaced);
	expect_replay(&k, "ok");
}
END_TEST

START_TEST(a_newer_one_waits_in_the_place_of_an_older)
{
	struct drc_key k = key_of("10.0.0.1", 1, 7, "remove a");
	struct drc_entry *e = begin_new(&k);
	struct drc_waiter w[2];

	wait_for(&k, &w[0]);
	wait_for(&k, &w[1]);
	ck_assert(woken == 1 && w[0].displaced);
	expect_in_progress(&k); /* without a waiter it changes nothing */
	done(e, "ok");
	ck_assert(woken == 2 && !w[1].displaced);
}
END_TEST

START_TEST(who_waits_is_told_when_there_will_be_no_answer)
{
	struct drc_key k = key_of("10.0.0.1", 1, 7, "remove a");
	struct drc_entry *e = begin_new(&k);
	struct drc_waiter w;

	wait_for(&k, &w);
	drc_done(d, e, NULL, 0);
	ck_assert_uint_eq(woken, 1);
	done(begin_new(&k), "ok");
	ck_assert_uint_eq(woken, 1);
}
END_TEST

START_TEST(who_does_not_wait_while_the_first_runs_is_dropped)
{
	struct drc_key k = key_of("10.0.0.1", 1, 7, "remove a");
	struct drc_entry *e = begin_new(&k);

	expect_in_progress(&k);
	k.conn = 2;
	expect_in_progress(&k);
	done(e, "ok");
	expect_replay(&k, "ok");
}
END_TEST

START_TEST(two_living_connections_never_collide)
{
	struct drc_key a = key_of("10.0.0.1", 1, 7, "remove a"),
		       b = key_of("10.0.0.1", 2, 7, "remove a");
	struct drc_entry *e;

	alive[1] = alive[2] = true;
	e = begin_new(&a);
	done(begin_new(&b), "second");
	done(e, "first");
	expect_replay(&a, "first");
	expect_replay(&b, "second");
}
END_TEST

START_TEST(the_death_of_a_connection_turns_its_twin_into_a_retransmission)
{
	struct drc_key a = key_of("10.0.0.1", 1, 7, "remove a"),
		       b = key_of("10.0.0.1", 2, 7, "remove a");

	alive[1] = alive[2] = true;
	done(begin_new(&a), "first");
	alive[1] = false;
	expect_replay(&b, "first");
}
END_TEST

START_TEST(what_a_connection_closed_in_peace_asked_is_asked_again_only_from_its_port)
{
	struct drc_key a = key_of("10.0.0.1", 1, 7, "remove a"),
		       b = key_of("10.0.0.1", 2, 7, "remove a"), c = a;

	c.conn = 3;
	done(begin_new(&a), "first");
	drc_settle(d, 9);
	expect_replay(&a, "first");
	drc_settle(d, 1);
	done(begin_new(&b), "second");
	drc_settle(d, 2);
	expect_replay(&c, "first");
	/* Asked again it is a living one's. */
	b.conn = 4;
	((struct sockaddr_in *)&b.addr)->sin_port++;
	alive[3] = true;
	begin_new(&b);
}
END_TEST

/*
 * Whose connection is `conn` and has asked `call` as
 * number `xid` before: is it taken for sent again?
 */
static bool again(uint64_t conn, uint32_t xid, const char *call)
{
	struct drc_key k = key_of("10.0.0.1", conn, xid, call);
	struct drc_entry *e;
	uint8_t *reply = NULL;
	size_t len;
	bool is = drc_begin(d, &k, NULL, &e, &reply, &len) == DRC_REPLAY;

	if (is)
		free(reply);
	else
		done(e, "new");
	return is;
}

START_TEST(what_is_settled_is_all_that_a_connection_asked_last_and_nothing_else)
{
	static const struct {
		uint64_t conn;
		const char *call;
	} all[] = {{2, "a"}, {66, "b"}, {130, "c"}};

	for (uint32_t xid = 0; xid < 300; xid++)
		for (unsigned i = 0; i < 3; i++) {
			struct drc_key k = key_of("10.0.0.1", all[i].conn, xid, all[i].call);

			done(begin_new(&k), "ok");
		}
	for (uint32_t xid = 1; xid < 300; xid += 2)
		ck_assert(again(66, xid, "a"));
	drc_settle(d, 66);
	for (uint32_t xid = 0; xid < 300; xid++) {
		ck_assert_int_eq(again(900, xid, "a"), xid % 2 == 0);
		ck_assert(!again(900, xid, "b"));
		ck_assert(again(900, xid, "c"));
	}
}
END_TEST

START_TEST(what_differs_in_any_part_is_another_call)
{
	struct drc_key k = key_of("10.0.0.1", 1, 7, "remove a"), o;

	done(begin_new(&k), "ok");
	o = key_of("10.0.0.2", 1, 7, "remove a");
	begin_new(&o);
	o = key_of("10.0.0.1", 1, 8, "remove a");
	begin_new(&o);
	o = key_of("10.0.0.1", 1, 7, "remove b");
	begin_new(&o);
	o = key_of("10.0.0.1", 1, 7, "remove ab");
	begin_new(&o);
	o = k;
	o.proc = 13;
	begin_new(&o);
}
END_TEST

START_TEST(a_forgotten_call_is_new_again)
{
	struct drc_key k = key_of("10.0.0.1", 1, 7, "remove a");

	drc_done(d, begin_new(&k), NULL, 0);
	done(begin_new(&k), "ok");
}
END_TEST

START_TEST(entries_are_bounded_and_the_oldest_goes)
{
	struct drc_key k;
	struct drc_stats st;

	drc_free(d);
	setup_n(32, 0);
	for (uint32_t xid = 0; xid < 1000; xid++) {
		k = key_of("10.0.0.1", 1, xid, "x");
		done(begin_new(&k), "ok");
	}
	expect_replay(&k, "ok");
	drc_stats(d, &st);
	ck_assert_uint_le(st.entries, 32);
	ck_assert_uint_ge(st.evicted, 1000 - 32);
	k = key_of("10.0.0.1", 1, 0, "x");
	begin_new(&k);
}
END_TEST

START_TEST(bytes_are_bounded)
{
	char big[1000];
	struct drc_stats st;

	drc_free(d);
	setup_n(0, 64000);
	memset(big, 'x', sizeof(big));
	for (uint32_t xid = 0; xid < 1000; xid++) {
		struct drc_key k = key_of("10.0.0.1", 1, xid, "x");

		drc_done(d, begin_new(&k), (uint8_t *)big, sizeof(big));
	}
	drc_stats(d, &st);
	ck_assert_uint_le(st.bytes, 64000);
	ck_assert_uint_ge(st.bytes, 16000);
}
END_TEST

START_TEST(a_cache_full_of_running_calls_lets_more_run_unremembered)
{
	struct drc_entry *e[64];

	drc_free(d);
	setup_n(16, 0);
	for (uint32_t xid = 0; xid < 64; xid++) {
		struct drc_key k = key_of("10.0.0.1", 1, xid, "x");

		e[xid] = begin_new(&k);
	}
	for (unsigned i = 0; i < 64; i++)
		drc_done(d, e[i], (const uint8_t *)"ok", 2);
}
END_TEST

static void *racer(void *arg)
{
	for (uint32_t xid = 0; xid < 2000; xid++) {
		struct drc_key k = key_of("10.0.0.1", (uint64_t)(uintptr_t)arg, xid, "race");
		struct drc_entry *e;
		uint8_t *reply;
		size_t len;

		switch (drc_begin(d, &k, NULL, &e, &reply, &len)) {
		case DRC_NEW:
			executions++;
			drc_done(d, e, (const uint8_t *)"ok", 2);
			break;
		case DRC_REPLAY:
			free(reply);
			break;
		default:
			break;
		}
	}
	return NULL;
}

struct told {
	struct drc_waiter w; /* first */
	_Atomic bool is;
};

static void tell(struct drc_waiter *w)
{
	((struct told *)w)->is = true;
}

static void *waiting_racer(void *arg)
{
	for (uint32_t xid = 0; xid < 2000; xid++) {
		struct drc_key k = key_of("10.0.0.1", (uint64_t)(uintptr_t)arg, xid, "race");
		struct told told = {.w = {.wake = tell}};
		struct drc_entry *e;
		uint8_t *reply = NULL;
		size_t len;

		switch (drc_begin(d, &k, &told.w, &e, &reply, &len)) {
		case DRC_NEW:
			executions++;
			sched_yield();
			drc_done(d, e, (const uint8_t *)"ok", 2);
			break;
		case DRC_WAITS:
			while (!told.is) /* by the first, or by a newer one */
				sched_yield();
			if (!told.w.displaced)
				ck_assert_int_eq(drc_begin(d, &k, NULL, &e, &reply, &len),
						 DRC_REPLAY);
			break;
		default:
			break;
		}
		free(reply);
	}
	return NULL;
}

START_TEST(racing_retransmissions_that_wait_are_all_told)
{
	pthread_t t[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, waiting_racer, (void *)(i + 1));
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(executions, 2000);
}
END_TEST

START_TEST(racing_retransmissions_run_once)
{
	pthread_t t[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, racer, (void *)(i + 1));
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(executions, 2000);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("drc");
	TCase *t = tcase_create("drc");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_retransmission_gets_the_first_answer);
	tcase_add_test(t, a_retransmission_over_a_new_connection_gets_the_first_answer);
	tcase_add_test(t, who_does_not_wait_while_the_first_runs_is_dropped);
	tcase_add_test(t, who_waits_for_the_first_is_told_when_it_is_done);
	tcase_add_test(t, a_newer_one_waits_in_the_place_of_an_older);
	tcase_add_test(t, who_waits_is_told_when_there_will_be_no_answer);
	tcase_add_test(t, two_living_connections_never_collide);
	tcase_add_test(t, the_death_of_a_connection_turns_its_twin_into_a_retransmission);
	tcase_add_test(t,
		       what_a_connection_closed_in_peace_asked_is_asked_again_only_from_its_port);
	tcase_add_test(t, what_is_settled_is_all_that_a_connection_asked_last_and_nothing_else);
	tcase_add_test(t, what_differs_in_any_part_is_another_call);
	tcase_add_test(t, a_forgotten_call_is_new_again);
	tcase_add_test(t, entries_are_bounded_and_the_oldest_goes);
	tcase_add_test(t, bytes_are_bounded);
	tcase_add_test(t, a_cache_full_of_running_calls_lets_more_run_unremembered);
	tcase_add_test(t, racing_retransmissions_run_once);
	tcase_add_test(t, racing_retransmissions_that_wait_are_all_told);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
