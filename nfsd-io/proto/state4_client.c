/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_int.h"

#define client_of(link) container_of(link, struct state4_client, lru)

static struct state4_session *session_of(struct state4_link *l)
{
	return container_of(l, struct state4_session, of_client);
}

/* --- the tables ---------------------------------------------------------------- */

static unsigned hash_id(clientid4 id)
{
	return (unsigned)(id % STATE4_BUCKETS);
}

static unsigned hash_owner(const uint8_t *owner, uint32_t len)
{
	return state4_hash(owner, len) % STATE4_BUCKETS;
}

struct state4_client *state4_client_by_id(struct state4 *s, clientid4 id, bool confirmed)
{
	struct state4_client *c = s->by_id[hash_id(id)];

	while (c && (c->id != id || c->confirmed != confirmed))
		c = c->id_next;
	return c;
}

struct state4_client *state4_client_by_owner(struct state4 *s, const uint8_t *owner, uint32_t len,
					     bool confirmed)
{
	struct state4_client *c = s->by_owner[hash_owner(owner, len)];

	while (c &&
	       (c->owner_len != len || c->confirmed != confirmed || memcmp(c->owner, owner, len)))
		c = c->owner_next;
	return c;
}

static void add(struct state4 *s, struct state4_client *c)
{
	struct state4_client **id = &s->by_id[hash_id(c->id)];
	struct state4_client **owner = &s->by_owner[hash_owner(c->owner, c->owner_len)];

	c->id_next = *id;
	*id = c;
	c->owner_next = *owner;
	*owner = c;
	state4_list_add_tail(&s->unconfirmed, &c->lru);
	state4_room_enter(&s->room, c);
	s->nunconfirmed++;
	atomic_fetch_add(&s->active, 1);
}

static void remove_from_tables(struct state4 *s, struct state4_client *c)
{
	struct state4_client **p = &s->by_id[hash_id(c->id)];

	while (*p != c)
		p = &(*p)->id_next;
	*p = c->id_next;
	p = &s->by_owner[hash_owner(c->owner, c->owner_len)];
	while (*p != c)
		p = &(*p)->owner_next;
	*p = c->owner_next;
	state4_list_del(&c->lru);
	state4_room_leave(&s->room, c);
	atomic_fetch_sub(&s->active, 1);
}

struct state4_client *state4_client_get(struct state4_client *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void state4_client_put(struct state4_client *c)
{
	if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		free(c);
}

/* --- the end of a client ------------------------------------------------------- */

bool state4_client_holds(const struct state4_client *c)
{
	return c->nsessions || state4_held_any(&c->held);
}

void state4_client_bury(struct state4 *s, struct state4_client *c, struct state4_client **list)
{
	assert(!c->gone);
	c->gone = true;
	c->want_record = false;
	remove_from_tables(s, c);
	if (c->confirmed)
		s->nconfirmed--;
	else
		s->nunconfirmed--;
	if (c->courtesy)
		s->ncourtesy--;
	/* Who meets its opens until they are dropped may have it evicted; that waits for this. */
	c->courtesy = true;
	while (!state4_list_empty(&c->sessions))
		state4_session_drop(s, session_of(c->sessions.next));
	c->grave_next = *list;
	*list = c;
}

/* Its record first (RFC 8881 s.8.4.3: the edge conditions), then what it held. */
static void inter(struct state4 *s, struct state4_client *c)
{
	struct state4_files *files = NULL;

	pthread_mutex_lock(&s->burial);
	if (!c->interred) {
		if (c->asked_record)
			state4_grace_settle(s, c->owner, c->owner_len);
		state4_lock(s);
		files = state4_held_drop(s, c);
		state4_unlock(s);
		c->interred = true;
	}
	pthread_mutex_unlock(&s->burial);
	state4_files_put(files);
}

void state4_client_inter(struct state4 *s, struct state4_client *list)
{
	while (list) {
		struct state4_client *c = list;

		list = c->grave_next;
		inter(s, c);
		state4_client_put(c);
	}
}

void state4_client_evict(struct state4 *s, struct state4_client *c)
{
	struct state4_client *list = NULL;
	bool gone;

	state4_client_get(c);
	state4_lock(s);
	if (c->courtesy && !c->gone) {
		state4_client_bury(s, c, &list);
		s->evicted++;
	}
	gone = c->gone;
	state4_unlock(s);
	if (gone) /* perhaps buried by another who is not done yet */
		inter(s, c);
	state4_client_inter(s, list);
	state4_client_put(c);
}

/* --- new ones ---------------------------------------------------------------------- */

static void make_id(struct state4 *s, struct state4_client *c)
{
	c->number = ++s->next_client;
	c->id = (uint64_t)s->boot << 32 | c->number;
}

static void make_confirm(struct state4 *s, struct state4_client *c)
{
	uint32_t words[2] = {s->boot, ++s->next_confirm};

	memcpy(c->confirm, words, sizeof(words));
}

/* An unconfirmed record, not yet in the tables. */
static uint32_t make(struct state4 *s, const struct state4_hello *h, struct state4_client **list,
		     struct state4_client **out)
{
	unsigned bucket = state4_room_bucket(h->addr);
	struct state4_client *c;

	if (!state4_room_make(s, bucket, list))
		return NFS4ERR_DELAY;
	c = calloc(1, sizeof(*c) + h->owner_len);
	if (!c)
		return NFS4ERR_DELAY;
	c->refs = 1;
	state4_list_init(&c->lru);
	state4_list_init(&c->of_addr);
	state4_list_init(&c->sessions);
	c->who = h->who;
	c->minor = h->minor;
	c->v40 = !h->minor;
	c->owner_len = h->owner_len;
	memcpy(c->owner, h->owner, h->owner_len);
	memcpy(c->verf, h->verf, STATE4_VERF);
	snprintf(c->addr, sizeof(c->addr), "%s", h->addr);
	c->addr_bucket = bucket;
	c->renewed_ns = state4_now_ns(s);
	c->created.status = NFS4ERR_SEQ_MISORDERED; /* RFC 8881 s.18.36.4: the contrived replay */
	make_id(s, c);
	make_confirm(s, c);
	*out = c;
	return NFS4_OK;
}

/* --- NFSv4.0 ------------------------------------------------------------------- */

static uint32_t set_locked(struct state4 *s, const struct state4_hello *h,
			   struct state4_client **list, clientid4 *id, uint8_t confirm[STATE4_VERF])
{
	struct state4_client *conf = state4_client_by_owner(s, h->owner, h->owner_len, true);
	struct state4_client *unconf, *c;
	uint32_t status;

	if (conf && state4_client_holds(conf) &&
	    (!conf->v40 || !state4_principal_same(&conf->who, &h->who)))
		return NFS4ERR_CLID_INUSE;
	unconf = state4_client_by_owner(s, h->owner, h->owner_len, false);
	if (unconf)
		state4_client_bury(s, unconf, list);
	status = make(s, h, list, &c);
	if (status)
		return status;
	/* RFC 7530 s.16.33.5: the same incarnation only updates its callback. */
	if (conf && !conf->gone && conf->v40 && !memcmp(conf->verf, h->verf, STATE4_VERF)) {
		c->id = conf->id;
		c->number = conf->number;
	}
	add(s, c);
	*id = c->id;
	memcpy(confirm, c->confirm, STATE4_VERF);
	return NFS4_OK;
}

uint32_t state4_client_set(struct state4 *s, const struct state4_hello *h, clientid4 *id,
			   uint8_t confirm[STATE4_VERF])
{
	struct state4_client *list = NULL;
	uint32_t status;

	state4_lock(s);
	status = set_locked(s, h, &list, id, confirm);
	state4_unlock(s);
	state4_client_inter(s, list);
	return status;
}

void state4_client_admit(struct state4 *s, struct state4_client *c)
{
	state4_room_leave(&s->room, c);
	c->confirmed = true;
	state4_room_enter(&s->room, c);
	s->nunconfirmed--;
	s->nconfirmed++;
	state4_list_del(&c->lru);
	state4_list_add_tail(&s->confirmed, &c->lru);
	c->renewed_ns = state4_now_ns(s);
}

static uint32_t confirm_locked(struct state4 *s, clientid4 id, const uint8_t confirm[STATE4_VERF],
			       const struct state4_principal *who, struct state4_client **list)
{
	struct state4_client *conf = state4_client_by_id(s, id, true);
	struct state4_client *unconf = state4_client_by_id(s, id, false), *old;

	if (id >> 32 != s->boot)
		return NFS4ERR_STALE_CLIENTID;
	if ((unconf && !state4_principal_same(&unconf->who, who)) ||
	    (conf && !state4_principal_same(&conf->who, who)))
		return NFS4ERR_CLID_INUSE;
	if (!unconf || !unconf->v40 || memcmp(confirm, unconf->confirm, STATE4_VERF)) {
		if (!conf || !conf->v40 || memcmp(confirm, conf->confirm, STATE4_VERF))
			return NFS4ERR_STALE_CLIENTID;
		state4_client_renew(s, conf); /* a retransmission */
		return NFS4_OK;
	}
	if (conf) {
		memcpy(conf->confirm, unconf->confirm, STATE4_VERF);
		state4_client_bury(s, unconf, list);
		state4_client_renew(s, conf);
		return NFS4_OK;
	}
	old = state4_client_by_owner(s, unconf->owner, unconf->owner_len, true);
	if (old) {
		if (state4_client_holds(old) && !state4_principal_same(&unconf->who, &old->who))
			return NFS4ERR_CLID_INUSE;
		state4_client_bury(s, old, list);
	}
	state4_client_admit(s, unconf);
	return NFS4_OK;
}

uint32_t state4_client_confirm(struct state4 *s, clientid4 id, const uint8_t confirm[STATE4_VERF],
			       const struct state4_principal *who)
{
	struct state4_client *list = NULL;
	uint32_t status;

	state4_lock(s);
	status = confirm_locked(s, id, confirm, who, &list);
	state4_unlock(s);
	state4_client_inter(s, list);
	return status;
}

/* --- NFSv4.1 ------------------------------------------------------------------- */

/* The cases are those of RFC 8881 s.18.35.4.  *found: the confirmed record that stays. */
static uint32_t exchange_update(const struct state4_client *conf, const struct state4_hello *h)
{
	if (!conf)
		return NFS4ERR_NOENT; /* 7 */
	if (conf->v40)
		return NFS4ERR_INVAL;
	if (!state4_principal_same(&conf->who, &h->who))
		return NFS4ERR_PERM; /* 9 */
	if (memcmp(conf->verf, h->verf, STATE4_VERF))
		return NFS4ERR_NOT_SAME; /* 8 */
	return NFS4_OK;			 /* 6 */
}

static uint32_t exchange_locked(struct state4 *s, const struct state4_hello *h,
				struct state4_client **list, struct state4_client **out)
{
	struct state4_client *conf = state4_client_by_owner(s, h->owner, h->owner_len, true);
	struct state4_client *unconf;
	uint32_t status;

	*out = conf;
	if (h->update)
		return exchange_update(conf, h);
	if (conf && !state4_principal_same(&conf->who, &h->who)) { /* 3 */
		if (state4_client_holds(conf) && !conf->courtesy)
			return NFS4ERR_CLID_INUSE;
		state4_client_bury(s, conf, list);
	} else if (conf && !conf->v40 && !memcmp(conf->verf, h->verf, STATE4_VERF)) {
		return NFS4_OK; /* 2 */
	}
	/* 1, 4, and 5: the old incarnation's state goes when the new one is confirmed */
	unconf = state4_client_by_owner(s, h->owner, h->owner_len, false);
	if (unconf)
		state4_client_bury(s, unconf, list);
	status = make(s, h, list, out);
	if (!status)
		add(s, *out);
	return status;
}

uint32_t state4_client_exchange(struct state4 *s, const struct state4_hello *h, clientid4 *id,
				uint32_t *seqid, bool *confirmed)
{
	struct state4_client *list = NULL, *c;
	uint32_t status;

	state4_lock(s);
	status = exchange_locked(s, h, &list, &c);
	if (!status) {
		*id = c->id;
		*seqid = c->created.seqid + 1;
		*confirmed = c->confirmed;
	}
	state4_unlock(s);
	state4_client_inter(s, list);
	return status;
}

uint32_t state4_client_destroy(struct state4 *s, clientid4 id)
{
	struct state4_client *list = NULL, *c;
	uint32_t status = NFS4_OK;

	state4_lock(s);
	c = state4_client_by_id(s, id, true);
	if (!c)
		c = state4_client_by_id(s, id, false);
	if (!c || c->v40)
		status = NFS4ERR_STALE_CLIENTID;
	else if (state4_client_holds(c))
		status = NFS4ERR_CLIENTID_BUSY;
	if (!status) {
		state4_grace_reclaimed(s, c); /* nobody waits for it */
		state4_client_bury(s, c, &list);
	}
	state4_unlock(s);
	state4_client_inter(s, list);
	return status;
}

uint32_t state4_client_reclaimed(struct state4 *s, struct state4_client *c)
{
	uint32_t status = NFS4_OK;

	state4_lock(s);
	if (c->gone)
		status = NFS4ERR_STALE_CLIENTID;
	else if (c->reclaim_done)
		status = NFS4ERR_COMPLETE_ALREADY;
	if (!status) {
		c->reclaim_done = true;
		state4_grace_reclaimed(s, c);
	}
	state4_unlock(s);
	if (status)
		return status;
	/* A record that cannot be written is logged; its state is poorer only after a restart. */
	state4_client_record(s, c);
	state4_grace_look(s);
	return NFS4_OK;
}

/* --- for the opens' side ------------------------------------------------------- */

uint32_t state4_client_find(struct state4 *s, clientid4 id, bool v40, struct state4_client **out)
{
	struct state4_client *c;

	if (id >> 32 != s->boot)
		return NFS4ERR_STALE_CLIENTID;
	c = state4_client_by_id(s, id, true);
	if (!c || c->v40 != v40)
		return NFS4ERR_EXPIRED;
	*out = c;
	return NFS4_OK;
}

struct state4_held *state4_client_held(struct state4_client *c)
{
	return &c->held;
}

clientid4 state4_client_id(const struct state4_client *c)
{
	return c->id;
}

bool state4_client_v40(const struct state4_client *c)
{
	return c->v40;
}

bool state4_client_courtesy(const struct state4_client *c)
{
	return c->courtesy;
}

bool state4_client_reclaiming(const struct state4_client *c)
{
	return !c->v40 && !c->reclaim_done;
}

int state4_client_record(struct state4 *s, struct state4_client *c)
{
	int err;

	if (c->recorded || !s->record)
		return 0;
	state4_lock(s);
	if (!c->gone)
		c->want_record = c->asked_record = true;
	err = c->gone ? -ESTALE : 0;
	state4_unlock(s);
	if (!err)
		err = state4_grace_settle(s, c->owner, c->owner_len);
	if (!err)
		c->recorded = true;
	return err;
}

void state4_client_renew(struct state4 *s, struct state4_client *c)
{
	if (c->gone)
		return;
	if (c->courtesy)
		s->ncourtesy--;
	c->courtesy = c->in_the_way = false;
	c->renewed_ns = state4_now_ns(s);
	state4_list_del(&c->lru);
	state4_list_add_tail(&s->confirmed, &c->lru);
	state4_room_used(&s->room, c);
}

/* --- leases -------------------------------------------------------------------- */

/* Unconfirmed records have one lease to be confirmed in (RFC 8881 s.18.35.4). */
static void sweep_unconfirmed(struct state4 *s, uint64_t now, struct state4_client **list)
{
	while (!state4_list_empty(&s->unconfirmed)) {
		struct state4_client *c = client_of(s->unconfirmed.next);

		if (now - c->renewed_ns < s->p.lease_s * STATE4_SECOND)
			return;
		state4_client_bury(s, c, list);
	}
}

/* Who holds something is kept by courtesy until somebody needs it or a day is over. */
static void sweep_confirmed(struct state4 *s, uint64_t now, struct state4_client **list)
{
	struct state4_link *l, *next;

	for (l = s->confirmed.next; l != &s->confirmed; l = next) {
		struct state4_client *c = client_of(l);
		uint64_t idle = now - c->renewed_ns;

		next = l->next;
		if (idle < s->p.lease_s * STATE4_SECOND)
			return;
		if (c->busy)
			continue;
		if (!state4_client_holds(c) || idle > STATE4_COURTESY_NS || c->in_the_way) {
			s->expired++;
			state4_client_bury(s, c, list);
		} else if (!c->courtesy) {
			c->courtesy = true;
			s->ncourtesy++;
		}
	}
}

void state4_client_sweep(struct state4 *s)
{
	struct state4_client *list = NULL;
	uint64_t now = state4_now_ns(s);

	state4_lock(s);
	sweep_unconfirmed(s, now, &list);
	sweep_confirmed(s, now, &list);
	state4_unlock(s);
	state4_client_inter(s, list);
}
