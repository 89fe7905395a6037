/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Open and lock owners, and the sequence of a 4.0 owner's requests (RFC 7530 s.9.1.3-9.1.9). */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_held.h"
#include "nfsd-io/proto/v4.h"

static uint64_t owner_hash(const struct state4_tables *t, const struct state4_client *c, bool lock,
			   const void *name, uint32_t len)
{
	return state4_map_hash(&t->owners, name, len) ^
	       (state4_client_id(c) * UINT64_C(0x9e3779b97f4a7c15)) ^ lock;
}

struct state4_owner *state4_owner_find(struct state4 *s, const struct state4_client *c, bool lock,
				       const void *name, uint32_t len)
{
	struct state4_tables *t = state4_tables(s);
	struct state4_node *n;

	for (n = state4_map_first(&t->owners, owner_hash(t, c, lock, name, len)); n;
	     n = state4_map_next(n)) {
		struct state4_owner *o = container_of(n, struct state4_owner, node);

		if (o->client == c && o->lock == lock && o->len == len &&
		    (!len || !memcmp(o->name, name, len)))
			return o;
	}
	return NULL;
}

struct state4_owner *state4_owner_new(struct state4 *s, struct state4_client *c, bool lock,
				      const void *name, uint32_t len, uint32_t seqid)
{
	struct state4_tables *t = state4_tables(s);
	struct state4_held *h = state4_client_held(c);
	struct state4_owner *o;

	if (h->nowners >= t->max_opens)
		return NULL;
	o = calloc(1, sizeof(*o) + len);
	if (!o)
		return NULL;
	o->client = c;
	o->lock = lock;
	o->v40 = state4_client_v40(c);
	o->confirmed = lock || !o->v40;
	o->seqid = seqid;
	o->refs = 1;
	o->len = len;
	if (len)
		memcpy(o->name, name, len);
	state4_list_init(&o->idle);
	state4_list_init(&o->opens);
	o->next = h->owners;
	o->pprev = &h->owners;
	if (o->next)
		o->next->pprev = &o->next;
	h->owners = o;
	h->nowners++;
	t->nowners++;
	state4_map_add(&t->owners, &o->node, owner_hash(t, c, lock, name, len));
	return o;
}

struct state4_owner *state4_owner_get(struct state4_owner *o)
{
	o->refs++;
	return o;
}

void state4_owner_put(struct state4_owner *o)
{
	if (--o->refs)
		return;
	free(o->replay.data);
	free(o);
}

/* The stateid kept for a CLOSE sent again is of no more use. */
static void forget_closed(struct state4_tables *t, struct state4_owner *o)
{
	struct state4_open *c = o->closed;

	if (!c)
		return;
	o->closed = NULL;
	c->owner = NULL;
	state4_map_del(&t->ids, &c->node);
	/* Its file was given up when it was closed: nothing is closed here. */
	state4_open_put(c);
}

void state4_owner_drop(struct state4 *s, struct state4_owner *o)
{
	struct state4_tables *t = state4_tables(s);

	assert(!o->gone && state4_list_empty(&o->opens));
	forget_closed(t, o);
	o->gone = true;
	state4_list_del(&o->idle);
	state4_map_del(&t->owners, &o->node);
	*o->pprev = o->next;
	if (o->next)
		o->next->pprev = o->pprev;
	state4_client_held(o->client)->nowners--;
	t->nowners--;
	o->client = NULL;
	if (o->busy)
		state4_wake(s);
	state4_owner_put(o);
}

void state4_owner_idle(struct state4 *s, struct state4_owner *o)
{
	state4_list_del(&o->idle);
	if (o->gone || o->busy || !state4_list_empty(&o->opens))
		return;
	if (o->lock || !o->v40 || !o->confirmed) {
		state4_owner_drop(s, o);
		return;
	}
	o->idle_ns = state4_now_ns(s);
	state4_list_add_tail(&state4_tables(s)->idle, &o->idle);
}

void state4_held_sweep(struct state4 *s)
{
	struct state4_tables *t = state4_tables(s);
	uint64_t now = state4_now_ns(s), lease = state4_lease_s(s) * UINT64_C(1000000000);

	while (!state4_list_empty(&t->idle)) {
		struct state4_owner *o = container_of(t->idle.next, struct state4_owner, idle);

		if (now - o->idle_ns < lease)
			break;
		state4_owner_drop(s, o);
	}
}

/* --- the sequence --- */

void state4_seq_init(struct state4_seq *t, const struct req *r)
{
	*t = (struct state4_seq){.op = v4((struct req *)r)->op, .at = cursor_pos(&r->reply)};
}

uint32_t state4_seq_take(struct state4 *s, struct state4_seq *t, struct state4_owner *o,
			 uint32_t seqid)
{
	if (!o->v40)
		return NFS4_OK;
	state4_owner_get(o);
	while (o->busy && !o->gone)
		state4_wait(s);
	if (o->gone) {
		state4_owner_put(o);
		return STATE4_AGAIN;
	}
	if (seqid == o->seqid - 1 && o->replay.have && o->replay.op == t->op) {
		o->busy = true;
		t->owner = o;
		return STATE4_REPLAY;
	}
	if (seqid != o->seqid) {
		state4_owner_put(o);
		return NFS4ERR_BAD_SEQID;
	}
	o->busy = true;
	state4_list_del(&o->idle);
	t->owner = o;
	return NFS4_OK;
}

static bool same_fh(const struct fh *a, const struct fh *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

uint32_t state4_seq_by_id(struct state4 *s, struct state4_seq *t, struct req *r, stateid4 *id,
			  uint32_t seqid, unsigned kinds, struct state4_open **out)
{
	struct v4 *c = v4(r);
	struct state4_open *o;
	uint32_t st;

	state4_id_current(c, id);
	do {
		st = state4_id_find(s, c, id, kinds, &o);
		if (st == NFS4ERR_ADMIN_REVOKED && !c->minor)
			state4_revoke_told(s, c->client, state4_id_number(id), &seqid);
		if (st)
			return st;
		state4_open_get(o);
		st = state4_seq_take(s, t, o->owner, seqid);
		/*
		 * With a pin of ours this is not the last one unless it is gone and has no files.
		 */
		if (st == NFS4_OK && o->gone)
			st = NFS4ERR_BAD_STATEID;
		if (st == NFS4_OK)
			st = state4_id_seqid(id, o, c->minor == 0);
		if (st == NFS4_OK && !same_fh(&o->sfile->fh, &r->fh))
			st = NFS4ERR_BAD_STATEID;
		*out = o;
		state4_open_put(o);
	} while (st == STATE4_AGAIN);
	return st;
}

bool state4_seq_moves(uint32_t status)
{
	switch (status) {
	case NFS4ERR_STALE_CLIENTID:
	case NFS4ERR_STALE_STATEID:
	case NFS4ERR_BAD_STATEID:
	case NFS4ERR_BAD_SEQID:
	case NFS4ERR_BADXDR:
	case NFS4ERR_RESOURCE:
	case NFS4ERR_NOFILEHANDLE:
	case NFS4ERR_MOVED:
		return false;
	default:
		return true;
	}
}

static void keep(struct state4_seq *t, struct req *r, uint32_t status, const struct fh *fh)
{
	struct state4_replay *p = &t->owner->replay;
	size_t len = cursor_pos(&r->reply) - t->at;

	free(p->data);
	*p = (struct state4_replay){.have = true, .op = t->op, .status = status};
	if (fh)
		p->fh = *fh;
	/* An error without a body of its own is its status alone. */
	if (status && !v4(r)->error_body)
		len = 0;
	if (!len)
		return;
	p->data = malloc(len);
	if (p->data) {
		memcpy(p->data, r->reply.base + t->at, len);
		p->len = (uint32_t)len;
	} else {
		p->have = false;
	}
}

static uint32_t again(struct state4 *s, struct state4_seq *t, struct req *r)
{
	const struct state4_replay *p = &t->owner->replay;
	struct handle_parts parts;

	state4_tables(s)->replays++;
	if (v4_room(r, p->len))
		return NFS4ERR_RESOURCE;
	if (p->len)
		cursor_put_fixed(&r->reply, p->data, p->len);
	if (p->status && p->len)
		v4(r)->error_body = true;
	if (p->fh.len && !handle_decode(r->env->key, p->fh.data, p->fh.len, &parts))
		v4_set_fh(r, &p->fh, &parts, NULL);
	return p->status;
}

uint32_t state4_seq_end(struct state4 *s, struct state4_seq *t, struct req *r, uint32_t status,
			const struct fh *fh)
{
	struct state4_owner *o = t->owner;

	if (!o)
		return status;
	state4_lock(s);
	if (status == STATE4_REPLAY) {
		status = again(s, t, r);
	} else if (state4_seq_moves(status)) {
		if (t->op != OP_CLOSE || status)
			forget_closed(state4_tables(s), o);
		o->seqid++;
		keep(t, r, status, fh);
	}
	o->busy = false;
	if (!o->gone)
		state4_owner_idle(s, o);
	state4_wake(s);
	state4_owner_put(o);
	state4_unlock(s);
	t->owner = NULL;
	return status;
}
