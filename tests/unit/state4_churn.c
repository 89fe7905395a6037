/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Clients come, work, reboot, leave, fall silent and are evicted, all at once: for the sanitizers.
 */
#include "tests/lib/state4play.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define CLIENTS 64
#define ROUNDS 6000

static struct state4 *s;
static _Atomic unsigned ran;

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* A few requests on one slot of a session that may be destroyed under them. */
static void work(const uint8_t id[16], uint32_t *seed)
{
	struct state4_call call = {.id = id, .nops = 1, .len = 100};
	struct state4_turn t;

	for (uint32_t seqid = 1; seqid <= 3; seqid++) {
		call.seqid = seqid;
		call.cache_this = next(seed) & 1;
		if (state4_session_turn(s, &call, &t))
			return;
		if (!t.session) {
			free(t.reply);
			continue;
		}
		ran++;
		state4_session_done(s, t.session, t.slot, t.client, NFS4_OK,
				    (const uint8_t *)"reply", 5);
		state4_client_put(t.client);
	}
}

/* What opens do: pin a client, hold something, evict who is in the way. */
static void hold(clientid4 id, uint32_t *seed)
{
	struct state4_client *c;

	state4_lock(s);
	if (state4_client_find(s, id, false, &c)) {
		state4_unlock(s);
		return;
	}
	state4_client_get(c);
	state4_client_held(c)->nopens = next(seed) & 1;
	state4_unlock(s);
	if (next(seed) % 4 == 0)
		state4_client_evict(s, c);
	state4_client_put(c);
}

static void round_of(uint32_t *seed)
{
	struct state4_hello h;
	struct state4_created made = {0};
	struct state4_create a;
	char owner[16], verf[4];
	uint32_t seqid, n = next(seed) % CLIENTS;
	bool confirmed;
	clientid4 id;

	snprintf(owner, sizeof(owner), "client %u", n);
	snprintf(verf, sizeof(verf), "v%u", next(seed) % 3);
	h = play_hello(owner, verf, 0, 1);
	if (state4_client_exchange(s, &h, &id, &seqid, &confirmed))
		return;
	a = play_create(id, seqid, 0);
	if (!state4_session_create(s, &a, &made))
		work(made.id, seed);
	hold(id, seed);
	if (next(seed) % 3 == 0)
		state4_session_destroy(s, made.id, NULL);
	if (next(seed) % 8 == 0)
		state4_client_destroy(s, id);
}

static void *churn(void *arg)
{
	uint32_t seed = *(uint32_t *)arg;

	for (unsigned i = 0; i < ROUNDS; i++)
		round_of(&seed);
	return NULL;
}

/* The laundry, by a clock in which leases pass quickly. */
static void *launder(void *arg)
{
	_Atomic bool *stop = arg;

	while (!*stop) {
		play_pass(LEASE / 3);
		state4_sweep(s);
	}
	return NULL;
}

START_TEST(clients_churn_on_all_threads)
{
	pthread_t thread[THREADS], laundry;
	uint32_t seed[THREADS];
	_Atomic bool stop = false;
	struct state4_stats st;

	s = play_start(NULL, CLIENTS / 2);
	ck_assert_int_eq(pthread_create(&laundry, NULL, launder, &stop), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		seed[i] = i + 1;
		ck_assert_int_eq(pthread_create(&thread[i], NULL, churn, &seed[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	stop = true;
	pthread_join(laundry, NULL);
	ck_assert_uint_gt(ran, 0);
	play_pass(48 * 3600);
	state4_sweep(s);
	state4_stats(s, &st);
	ck_assert_uint_eq(st.clients + st.unconfirmed + st.courtesy + st.sessions, 0);
	ck_assert_uint_eq(s->nslots, 0);
	ck_assert_uint_eq(s->cached, 0);
	ck_assert(!state4_active(s));
	state4_free(s);
}
END_TEST

static Suite *suite(void)
{
	Suite *su = suite_create("state4_churn");
	TCase *t = tcase_create("churn");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, clients_churn_on_all_threads);
	suite_add_tcase(su, t);
	return su;
}

int main(void)
{
	return unit_run(suite());
}
