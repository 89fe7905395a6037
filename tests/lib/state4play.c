/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/state4play.h"

#include <string.h>

_Atomic uint64_t play_now_ns = 1000 * STATE4_SECOND;
unsigned play_dropped;

static uint64_t now_ns(void)
{
	return play_now_ns;
}

/* --- the opens' side -------------------------------------------------------------- */

int state4_tables_new(struct state4_tables **out, const struct state4_params *p)
{
	(void)p;
	*out = NULL;
	return 0;
}

void state4_tables_free(struct state4_tables *t)
{
	(void)t;
}

void state4_held_sweep(struct state4 *s)
{
	(void)s;
}

void state4_held_stats(struct state4 *s, struct state4_stats *out)
{
	(void)s;
	(void)out;
}

struct state4_files *state4_held_drop(struct state4 *s, struct state4_client *c)
{
	(void)s;
	play_dropped += c->held.nopens > 0;
	c->held.nopens = 0;
	return NULL;
}

void state4_files_put(struct state4_files *f)
{
	ck_assert_ptr_null(f);
}

bool state4_held_any(const struct state4_held *h)
{
	return h->nopens;
}

/* --- for the tests ------------------------------------------------------------------ */

struct state4 *play_start(const char *dir, uint32_t max_clients)
{
	struct state4_params p = {
		.state_dir = dir, .max_clients = max_clients, .now_ns = now_ns, .lease_s = LEASE};
	struct state4 *s;

	ck_assert_int_eq(state4_new(&s, &p), 0);
	return s;
}

void play_pass(uint32_t seconds)
{
	play_now_ns += seconds * STATE4_SECOND;
}

struct state4_hello play_hello(const char *owner, const char *verf, uint32_t uid, uint8_t minor)
{
	struct state4_hello h = {.who = {.flavor = 1, .uid = uid},
				 .owner = (const uint8_t *)owner,
				 .owner_len = (uint32_t)strlen(owner),
				 .addr = "192.0.2.1:700",
				 .minor = minor};

	strncpy((char *)h.verf, verf, STATE4_VERF - 1);
	return h;
}

clientid4 play_set(struct state4 *s, const char *owner, const char *verf, uint32_t uid)
{
	struct state4_hello h = play_hello(owner, verf, uid, 0);
	uint8_t confirm[STATE4_VERF];
	clientid4 id;

	ck_assert_uint_eq(state4_client_set(s, &h, &id, confirm), NFS4_OK);
	ck_assert_uint_eq(state4_client_confirm(s, id, confirm, &h.who), NFS4_OK);
	return id;
}

struct state4_create play_create(clientid4 id, uint32_t seqid, uint32_t uid)
{
	struct state4_channel ch = {.max_request = 8192,
				    .max_response = 8192,
				    .max_cached = 4096,
				    .max_ops = 16,
				    .max_slots = 8};
	struct state4_create a = {
		.id = id, .seqid = seqid, .fore = ch, .back = ch, .who = {.flavor = 1, .uid = uid}};

	return a;
}

static clientid4 confirm_by_session(struct state4 *s, const char *owner, const char *verf,
				    uint32_t uid, uint8_t sid[16])
{
	struct state4_hello h = play_hello(owner, verf, uid, 1);
	struct state4_created made;
	struct state4_create a;
	uint32_t seqid;
	bool confirmed;
	clientid4 id;

	ck_assert_uint_eq(state4_client_exchange(s, &h, &id, &seqid, &confirmed), NFS4_OK);
	ck_assert(!confirmed);
	a = play_create(id, seqid, uid);
	ck_assert_uint_eq(state4_session_create(s, &a, &made), NFS4_OK);
	memcpy(sid, made.id, 16);
	return id;
}

clientid4 play_exchange(struct state4 *s, const char *owner, const char *verf, uint32_t uid)
{
	uint8_t sid[16];
	clientid4 id = confirm_by_session(s, owner, verf, uid, sid);

	ck_assert_uint_eq(state4_session_destroy(s, sid, NULL), NFS4_OK);
	return id;
}

clientid4 play_session(struct state4 *s, const char *owner, uint8_t id[16])
{
	return confirm_by_session(s, owner, "v", 0, id);
}

struct state4_client *play_client(struct state4 *s, clientid4 id)
{
	struct state4_client *c;

	state4_lock(s);
	c = state4_client_by_id(s, id, true);
	state4_unlock(s);
	ck_assert_ptr_nonnull(c);
	return c;
}

void play_hold(struct state4 *s, clientid4 id, unsigned opens)
{
	play_client(s, id)->held.nopens = opens;
}
