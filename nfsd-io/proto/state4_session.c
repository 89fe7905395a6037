/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "nfsd-io/proto/state4_int.h"
#include "nfsd-io/proto/v4.h"

static unsigned hash(const uint8_t id[16])
{
	uint32_t h;

	memcpy(&h, id + 8, sizeof(h)); /* its number */
	return h % STATE4_BUCKETS;
}

struct state4_session *state4_session_find(struct state4 *s, const uint8_t id[16])
{
	struct state4_session *n = s->by_session[hash(id)];

	while (n && memcmp(n->id, id, 16))
		n = n->next;
	return n;
}

struct state4_session *state4_session_pin(struct state4 *s, const uint8_t id[16])
{
	struct state4_session *n;

	state4_lock(s);
	n = state4_session_find(s, id);
	if (n)
		n->refs++;
	state4_unlock(s);
	return n;
}

void state4_session_put(struct state4 *s, struct state4_session *n)
{
	state4_lock(s);
	state4_session_unref(s, n);
	state4_unlock(s);
}

void state4_session_unref(struct state4 *s, struct state4_session *n)
{
	uint32_t i;

	if (--n->refs)
		return;
	for (i = 0; i < n->fore.max_slots; i++) {
		s->cached -= n->slots[i].len;
		free(n->slots[i].reply);
	}
	s->nslots -= n->fore.max_slots;
	free(n->cb.cred);
	free(n);
}

void state4_session_drop(struct state4 *s, struct state4_session *n)
{
	struct state4_session **p = &s->by_session[hash(n->id)];
	uint32_t i;

	while (*p != n)
		p = &(*p)->next;
	*p = n->next;
	for (i = 0; i < n->fore.max_slots; i++)
		n->client->nreplies -= n->slots[i].cache_this;
	state4_back_drop(s, n);
	state4_list_del(&n->of_client);
	n->client->nsessions--;
	n->client = NULL;
	n->gone = true;
	s->nsessions--;
	state4_session_unref(s, n);
}

/* --- CREATE_SESSION ------------------------------------------------------------ */

/* The more slots all sessions have, the fewer a new one gets. */
static uint32_t slots_for(const struct state4 *s, uint32_t asked)
{
	uint32_t n = STATE4_SLOTS;

	if (s->nslots > STATE4_SLOTS_ALL / 2)
		n = 16;
	if (s->nslots > STATE4_SLOTS_ALL / 4 * 3)
		n = 4;
	if (s->nslots > STATE4_SLOTS_ALL)
		n = 1;
	if (asked < n)
		n = asked;
	return n ? n : 1;
}

static struct state4_session *make(struct state4 *s, const struct state4_create *a)
{
	uint32_t slots = slots_for(s, a->fore.max_slots), words[2];
	struct state4_session *n = calloc(1, sizeof(*n) + slots * sizeof(n->slots[0]));

	if (!n)
		return NULL;
	words[0] = ++s->next_session;
	if (getrandom(&words[1], sizeof(words[1]), GRND_NONBLOCK) != sizeof(words[1]))
		words[1] = s->boot;
	memcpy(n->id, &a->id, 8);
	memcpy(n->id + 8, words, 8);
	n->refs = 1;
	n->fore = a->fore;
	n->back = a->back;
	n->fore.max_slots = slots;
	n->flags = a->flags;
	state4_list_init(&n->of_client);
	s->nslots += slots;
	return n;
}

static void add(struct state4 *s, struct state4_client *c, struct state4_session *n,
		struct state4_caller *caller)
{
	struct state4_session **p = &s->by_session[hash(n->id)];

	n->next = *p;
	*p = n;
	n->client = c;
	state4_list_add_tail(&c->sessions, &n->of_client);
	c->nsessions++;
	s->nsessions++;
	state4_back_init(s, n, caller);
}

/*
 * The first session confirms the client; what an earlier
 * incarnation held goes (RFC 8881 s.18.36.4).
 */
static uint32_t admit(struct state4 *s, struct state4_client *c, const struct state4_create *a,
		      struct state4_client **list)
{
	struct state4_client *old;

	if (c->confirmed) {
		state4_client_renew(s, c);
		return NFS4_OK;
	}
	if (!state4_principal_same(&c->who, &a->who))
		return NFS4ERR_CLID_INUSE;
	old = state4_client_by_owner(s, c->owner, c->owner_len, true);
	if (old)
		state4_client_bury(s, old, list);
	state4_client_admit(s, c);
	return NFS4_OK;
}

static uint32_t create(struct state4 *s, struct state4_client *c, struct state4_create *a,
		       struct state4_session *n, struct state4_client **list)
{
	struct state4_created *r = &c->created;

	r->seqid = a->seqid;
	r->status = c->nsessions >= STATE4_SESSIONS ? NFS4ERR_NOSPC : admit(s, c, a, list);
	if (r->status) {
		state4_session_unref(s, n);
		return r->status;
	}
	add(s, c, n, &a->caller);
	memcpy(r->id, n->id, sizeof(r->id));
	r->fore = n->fore;
	r->back = n->back;
	r->flags = n->flags;
	return NFS4_OK;
}

static uint32_t create_locked(struct state4 *s, struct state4_create *a, struct state4_created *out,
			      struct state4_client **list)
{
	struct state4_client *c = state4_client_by_id(s, a->id, true);
	struct state4_session *n;
	uint32_t status;

	if (!c)
		c = state4_client_by_id(s, a->id, false);
	if (!c || c->v40)
		return NFS4ERR_STALE_CLIENTID;
	if (a->seqid == c->created.seqid) {
		*out = c->created;
		s->replays++;
		return out->status;
	}
	if (a->seqid != c->created.seqid + 1)
		return NFS4ERR_SEQ_MISORDERED;
	n = make(s, a);
	if (!n)
		return NFS4ERR_DELAY; /* never kept for a replay */
	status = create(s, c, a, n, list);
	*out = c->created;
	return status;
}

uint32_t state4_session_create(struct state4 *s, struct state4_create *a,
			       struct state4_created *out)
{
	struct state4_client *list = NULL;
	uint32_t status;

	state4_lock(s);
	status = create_locked(s, a, out, &list);
	state4_unlock(s);
	state4_client_inter(s, list);
	return status;
}

/* --- the end of a session ------------------------------------------------------ */

uint32_t state4_session_destroy(struct state4 *s, const uint8_t id[16],
				const struct state4_session *own)
{
	struct state4_session *n;
	uint32_t status = NFS4_OK;

	state4_lock(s);
	n = state4_session_find(s, id);
	if (!n)
		status = NFS4ERR_BADSESSION;
	else if (n->in_use > (n == own))
		status = NFS4ERR_DELAY; /* as knfsd: its requests end first */
	else
		state4_session_drop(s, n);
	state4_unlock(s);
	return status;
}

uint32_t state4_session_check(struct state4 *s, const uint8_t id[16])
{
	uint32_t status;

	state4_lock(s);
	status = state4_session_find(s, id) ? NFS4_OK : NFS4ERR_BADSESSION;
	state4_unlock(s);
	return status;
}

/* --- SEQUENCE -------------------------------------------------------------------- */

/* The retransmission of a request that is over: only of the very same one. */
static uint32_t replay(struct state4 *s, const struct state4_slot *slot,
		       const struct state4_call *call, struct state4_turn *out)
{
	if (!slot->used)
		return NFS4ERR_SEQ_MISORDERED;
	if (slot->sum != call->sum || slot->cache_this != call->cache_this)
		return NFS4ERR_SEQ_FALSE_RETRY;
	s->replays++;
	out->cached = slot->cached;
	out->status = slot->status;
	if (!slot->cached)
		return NFS4_OK;
	out->reply = malloc(slot->len ? slot->len : 1);
	if (!out->reply)
		return NFS4ERR_DELAY;
	memcpy(out->reply, slot->reply, slot->len);
	out->reply_len = slot->len;
	return NFS4_OK;
}

static void drop_reply(struct state4 *s, struct state4_slot *slot)
{
	s->cached -= slot->len;
	free(slot->reply);
	slot->reply = NULL;
	slot->len = 0;
	slot->cached = false;
}

static void take(struct state4 *s, struct state4_session *n, struct state4_slot *slot,
		 const struct state4_call *call, struct state4_turn *out)
{
	struct state4_client *c = n->client;

	drop_reply(s, slot);
	c->nreplies += call->cache_this;
	c->nreplies -= slot->cache_this;
	slot->seqid = call->seqid;
	slot->used = slot->in_use = true;
	slot->cache_this = call->cache_this;
	slot->sum = call->sum;
	n->in_use++;
	n->refs++;
	c->busy++;
	out->session = n;
	out->slot = slot;
	out->client = state4_client_get(c);
}

static void wake(struct state4_parked *p)
{
	if (p)
		p->wake(p);
}

/*
 * RFC 8881 s.2.10.6.2: of a request that is at work already.  Its first connection may be gone, and
 * who is told DELAY comes back only after long: the answer goes out by this one.  Who is to be
 * woken for it: *old.
 */
static uint32_t park(struct state4_slot *slot, const struct state4_call *call,
		     struct state4_turn *out, struct state4_parked **old)
{
	if (call->seqid != slot->seqid)
		return NFS4ERR_SEQ_MISORDERED;
	if (!call->park || slot->sum != call->sum || slot->cache_this != call->cache_this)
		return NFS4ERR_DELAY;
	*old = slot->parked;
	if (*old)
		(*old)->displaced = true;
	slot->parked = call->park;
	out->parked = true;
	return NFS4_OK;
}

/* Everything is checked before the slot moves: a request refused here can be sent again. */
static uint32_t turn(struct state4 *s, const struct state4_call *call, struct state4_turn *out,
		     struct state4_parked **old)
{
	struct state4_session *n = state4_session_find(s, call->id);
	struct state4_slot *slot;

	if (!n)
		return NFS4ERR_BADSESSION;
	out->fore = n->fore;
	if (call->nops > n->fore.max_ops)
		return NFS4ERR_TOO_MANY_OPS;
	if (call->len > n->fore.max_request)
		return NFS4ERR_REQ_TOO_BIG;
	if (call->slot >= n->fore.max_slots)
		return NFS4ERR_BADSLOT;
	slot = &n->slots[call->slot];
	if (slot->in_use)
		return park(slot, call, out, old);
	state4_client_renew(s, n->client);
	out->flags = state4_back_flags(n) |
		     (n->client->held.nrevoked ? SEQ4_STATUS_ADMIN_STATE_REVOKED : 0);
	if (call->seqid == slot->seqid)
		return replay(s, slot, call, out);
	if (call->seqid != slot->seqid + 1 || call->again)
		return NFS4ERR_SEQ_MISORDERED;
	if (call->cache_this && n->fore.max_cached < STATE4_SEQUENCE_REPLY)
		return NFS4ERR_REP_TOO_BIG_TO_CACHE;
	take(s, n, slot, call, out);
	n->known = true;
	out->probe = state4_back_wants(s, n);
	return NFS4_OK;
}

uint32_t state4_session_turn(struct state4 *s, const struct state4_call *call,
			     struct state4_turn *out)
{
	struct state4_parked *old = NULL;
	uint32_t status;

	memset(out, 0, sizeof(*out));
	state4_lock(s);
	status = turn(s, call, out, &old);
	state4_unlock(s);
	wake(old);
	return status;
}

static void keep_reply(struct state4 *s, struct state4_slot *slot, const uint8_t *body,
		       uint32_t len)
{
	if (s->cached + len > STATE4_CACHED_ALL)
		return;
	slot->reply = malloc(len ? len : 1);
	if (!slot->reply)
		return;
	memcpy(slot->reply, body, len);
	slot->len = len;
	slot->cached = true;
	s->cached += len;
}

void state4_session_done(struct state4 *s, struct state4_session *n, struct state4_slot *slot,
			 struct state4_client *c, uint32_t status, const uint8_t *body,
			 uint32_t len)
{
	struct state4_parked *parked;

	state4_lock(s);
	assert(slot->in_use);
	parked = slot->parked;
	slot->parked = NULL;
	slot->in_use = false;
	slot->status = status;
	if ((slot->cache_this || parked) && body && len <= STATE4_CACHED_MAX)
		keep_reply(s, slot, body, len);
	n->in_use--;
	state4_session_unref(s, n);
	c->busy--;
	state4_client_renew(s, c);
	state4_unlock(s);
	wake(parked);
}

void state4_sequence_done(struct req *r, const uint8_t *reply, uint32_t len)
{
	struct v4 *v = v4(r);
	uint32_t status = v->status;
	struct cursor c;

	cursor_init_const(&c, reply, reply ? len : 0);
	if (reply) { /* kept from behind the tag on */
		status = cursor_get_u32(&c);
		cursor_skip(&c, (cursor_get_u32(&c) + 3) & ~3u);
	}
	state4_session_done(r->env->state, v->session, v->slot, v->client, status,
			    reply && cursor_ok(&c) ? c.p : NULL, (uint32_t)cursor_left(&c));
	v->session = NULL;
	v->slot = NULL;
}
