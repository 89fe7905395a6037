/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OPEN (RFC 7530 s.16.16, RFC 8881 s.18.16). */
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/nfs4_open.h"

#define WANT_DELEG(a) ((a) & OPEN4_SHARE_ACCESS_WANT_DELEG_MASK)
#define WANT_WHEN                                                                                  \
	(OPEN4_SHARE_ACCESS_WANT_SIGNAL_DELEG_WHEN_RESRC_AVAIL |                                   \
	 OPEN4_SHARE_ACCESS_WANT_PUSH_DELEG_WHEN_UNCONTENDED)

void v4_put_stateid(struct cursor *c, const stateid4 *id)
{
	cursor_put_u32(c, id->seqid);
	cursor_put_fixed(c, id->other, NFS4_OTHER_SIZE);
}

/* Numbers and arms that the minor version does not have. */
static bool arguments_ok(const struct v4 *c, struct v4_opening *o)
{
	uint32_t a = o->args.share_access, want = a & ~(uint32_t)OPEN4_SHARE_ACCESS_BOTH;
	const openflag4 *how = &o->args.openhow;

	o->access = a & OPEN4_SHARE_ACCESS_BOTH;
	o->deny = o->args.share_deny;
	if (!o->access || o->deny > OPEN4_SHARE_DENY_BOTH)
		return false;
	if (c->minor == 0)
		return !want && o->args.claim.claim < CLAIM_FH &&
		       !(how->opentype == OPEN4_CREATE &&
			 how->openflag4_u.how.mode == EXCLUSIVE4_1);
	return WANT_DELEG(want) <= OPEN4_SHARE_ACCESS_WANT_CANCEL &&
	       !(want & ~(uint32_t)(OPEN4_SHARE_ACCESS_WANT_DELEG_MASK | WANT_WHEN));
}

/* --- whose turn --- */

/* An owner that never confirmed is replaced, whatever its sequence was (RFC 7530 s.16.18.5). */
static void replace_unconfirmed(struct state4 *s, struct state4_owner *w,
				struct state4_files **dead)
{
	state4_owner_get(w);
	while (!state4_list_empty(&w->opens)) {
		struct state4_open *o = container_of(w->opens.next, struct state4_open, of_owner);

		state4_open_drop(s, o, false, dead);
	}
	if (!w->gone)
		state4_owner_drop(s, w);
	state4_owner_put(w);
}

static uint32_t take_turn(struct state4 *s, struct v4 *c, struct v4_opening *o,
			  struct state4_files **dead)
{
	const open_owner4 *name = &o->args.owner;
	uint32_t st = state4_id_client(s, c, name->clientid);
	struct state4_owner *w;

	if (st)
		return st;
	do {
		w = state4_owner_find(s, c->client, false, name->owner.owner_val,
				      name->owner.owner_len);
		if (w && !w->confirmed && !w->busy) {
			replace_unconfirmed(s, w, dead);
			w = NULL;
		}
		if (!w)
			w = state4_owner_new(s, c->client, false, name->owner.owner_val,
					     name->owner.owner_len, o->args.seqid);
		if (!w)
			return NFS4ERR_RESOURCE;
		st = state4_seq_take(s, &o->seq, w, o->args.seqid);
	} while (st == STATE4_AGAIN);
	return st;
}

static uint32_t begin(struct req *r, struct v4_opening *o)
{
	struct state4 *s = r->env->state;
	struct state4_files *dead = NULL;
	struct v4 *c = v4(r);
	uint32_t st = NFS4_OK;

	state4_lock(s);
	if (c->minor == 0)
		st = take_turn(s, c, o, &dead);
	else if (o->args.claim.claim != CLAIM_PREVIOUS && state4_client_reclaiming(c->client))
		st = NFS4ERR_GRACE;
	state4_unlock(s);
	state4_files_put(dead);
	return st;
}

static uint32_t check_grace(struct req *r, const struct v4_opening *o)
{
	bool reclaim = o->args.claim.claim == CLAIM_PREVIOUS;
	struct state4 *s = r->env->state;
	struct state4_client *c = v4(r)->client;
	uint32_t st = NFS4_OK;

	state4_lock(s);
	if (reclaim != state4_in_grace(s))
		st = reclaim ? NFS4ERR_NO_GRACE : NFS4ERR_GRACE;
	else if (reclaim && v4(r)->minor > 0 && !state4_client_reclaiming(c))
		st = NFS4ERR_NO_GRACE;
	else if (reclaim && !state4_may_reclaim(s, c))
		st = NFS4ERR_RECLAIM_BAD;
	state4_unlock(s);
	return st;
}

static uint32_t decode_attrs(struct req *r, struct v4_opening *o)
{
	createhow4 *how = &o->args.openhow.openflag4_u.how;
	uint32_t st;

	if (o->args.openhow.opentype != OPEN4_CREATE || how->mode == EXCLUSIVE4)
		return NFS4_OK;
	if (how->mode != EXCLUSIVE4_1)
		return v4_sattr_decode(r, &how->createhow4_u.createattrs, V4_SATTR_NEW, &o->attrs);
	st = v4_sattr_decode(r, &how->createhow4_u.ch_createboth.cva_attrs, V4_SATTR_NEW,
			     &o->attrs);
	/* The times may be needed for the verifier: suppattr_exclcreat is without them. */
	if (!st && (o->attrs.s.set_atime != SATTR_LEAVE || o->attrs.s.set_mtime != SATTR_LEAVE))
		st = NFS4ERR_INVAL;
	return st;
}

/* --- what is granted --- */

/* What is put back when the OPEN comes to nothing after all. */
struct grant {
	struct state4_open *open; /* pinned */
	bool fresh;
	uint8_t access, deny;	  /* before */
	stateid4 id;
	bool confirm;
};

/* Under the lock: who opens; in 4.1 made when it first does. */
static struct state4_owner *owner_of(struct state4 *s, struct req *r, struct v4_opening *o)
{
	const open_owner4 *name = &o->args.owner;
	struct v4 *c = v4(r);
	struct state4_owner *w = o->seq.owner;

	if (w)
		return w->gone ? NULL : w;
	w = state4_owner_find(s, c->client, false, name->owner.owner_val, name->owner.owner_len);
	return w ? w
		 : state4_owner_new(s, c->client, false, name->owner.owner_val,
				    name->owner.owner_len, 0);
}

/* Under the lock: the modes fit; takes o->file for the open, or has it put.  `uid`: who opens. */
static uint32_t give(struct state4 *s, struct v4_opening *o, struct state4_owner *w,
		     struct state4_file *f, struct state4_open *op, uint32_t uid, struct grant *g)
{
	struct file *was;

	if (op && op->uid != uid)
		uid = STATE4_UIDS;
	g->fresh = !op;
	if (!op) {
		op = state4_open_new(s, w, f, file_get(o->file));
		if (!op)
			return w->v40 ? NFS4ERR_RESOURCE : NFS4ERR_DELAY;
	} else if (op->file->access < o->file->access) {
		was = op->file;
		op->file = file_get(o->file);
		file_put(was);
	}
	op->uid = uid;
	g->access = op->access;
	g->deny = op->deny;
	state4_share_set(op, op->access | 1u << o->access, op->deny | 1u << o->deny);
	state4_id_bump(op, &g->id);
	if (o->args.claim.claim == CLAIM_PREVIOUS) {
		w->confirmed = true;
		state4_tables(s)->reclaims++;
	}
	g->confirm = !w->confirmed;
	g->open = state4_open_get(op);
	return NFS4_OK;
}

static uint32_t try_grant(struct state4 *s, struct req *r, struct v4_opening *o, struct grant *g,
			  struct state4_client **courtesy)
{
	struct state4_client *c = v4(r)->client;
	struct state4_owner *w = c->gone ? NULL : owner_of(s, r, o);
	struct state4_file *f = w ? state4_file_make(s, &o->fh) : NULL;
	struct state4_open *op = f ? state4_open_find(f, w) : NULL;
	uint32_t st;

	if (c->gone || (!w && o->seq.owner))
		return v4(r)->minor ? NFS4ERR_BADSESSION : NFS4ERR_EXPIRED;
	/* Its export is no more or another one: what it held has been revoked, or is just being. */
	if (!f || r->export->root->retired) {
		if (f)
			state4_file_check(s, f);
		if (w)
			state4_owner_idle(s, w);
		return NFS4ERR_DELAY;
	}
	st = state4_share_check(f, op, o->access, o->deny);
	if (st)
		*courtesy = state4_share_courtesy(f, op, o->access, o->deny);
	else
		st = give(s, o, w, f, op, r->cred ? r->cred->uid : STATE4_UIDS, g);
	if (st) {
		state4_file_check(s, f);
		state4_owner_idle(s, w);
	}
	return st;
}

static uint32_t grant(struct req *r, struct v4_opening *o, struct grant *g)
{
	struct state4 *s = r->env->state;
	struct state4_client *courtesy;
	uint32_t st;

	do {
		courtesy = NULL;
		state4_lock(s);
		st = try_grant(s, r, o, g, &courtesy);
		state4_unlock(s);
		if (courtesy) {
			state4_client_evict(s, courtesy);
			state4_client_put(courtesy);
		}
	} while (courtesy);
	return st;
}

static void take_back(struct req *r, struct grant *g)
{
	struct state4 *s = r->env->state;
	struct state4_files *dead = NULL;
	stateid4 id;

	state4_lock(s);
	/* Unless another OPEN has built on it meanwhile: that one was told. */
	if (!g->open->gone && g->open->seqid == g->id.seqid) {
		if (g->fresh) {
			state4_open_drop(s, g->open, false, &dead);
		} else {
			state4_share_set(g->open, g->access, g->deny);
			state4_id_bump(g->open, &id);
		}
	}
	state4_unlock(s);
	state4_files_put(dead);
}

/* --- the answer --- */

/* No delegations are given; 4.1 clients that asked hear why. */
static void put_delegation(struct cursor *c, const struct v4 *v, uint32_t share_access)
{
	uint32_t want = WANT_DELEG(share_access);

	if (v->minor == 0 || !want) {
		cursor_put_u32(c, OPEN_DELEGATE_NONE);
		return;
	}
	cursor_put_u32(c, OPEN_DELEGATE_NONE_EXT);
	if (want == OPEN4_SHARE_ACCESS_WANT_NO_DELEG) {
		cursor_put_u32(c, WND4_NOT_WANTED);
	} else if (want == OPEN4_SHARE_ACCESS_WANT_CANCEL) {
		cursor_put_u32(c, WND4_CANCELLED);
	} else {
		cursor_put_u32(c, WND4_RESOURCE);
		cursor_put_bool(c, false);
	}
}

static void encode(struct req *r, const struct v4_opening *o, const struct grant *g)
{
	struct cursor *c = &r->reply;

	v4_put_stateid(c, &g->id);
	v4_put_change_info(c, o->before, o->after);
	cursor_put_u32(c, OPEN4_RESULT_LOCKTYPE_POSIX | (g->confirm ? OPEN4_RESULT_CONFIRM : 0));
	v4_put_attrs(c, &o->set);
	put_delegation(c, v4(r), o->args.share_access);
}

/* --- all of it --- */

static uint32_t claim_ok(const struct v4_opening *o)
{
	switch (o->args.claim.claim) {
	case CLAIM_NULL:
	case CLAIM_PREVIOUS:
	case CLAIM_FH:
		return NFS4_OK;
	case CLAIM_DELEGATE_CUR:
	case CLAIM_DELEG_CUR_FH:
		/* Nobody has a delegation. */
		return NFS4ERR_BAD_STATEID;
	default:
		return NFS4ERR_NOTSUPP;
	}
}

static uint32_t carry_out(struct req *r, struct v4_opening *o)
{
	struct grant g = {0};
	uint32_t st = v4_opening_file(r, o);

	/*
	 * In stable storage before there is anything to reclaim; when that cannot be had the
	 * client is served all the same, and the log says so.
	 */
	if (!st &&
	    (v4(r)->minor > 0 || o->seq.owner->confirmed || o->args.claim.claim == CLAIM_PREVIOUS))
		state4_client_record(r->env->state, v4(r)->client);
	if (!st)
		st = grant(r, o, &g);
	if (st)
		return st;
	if (o->truncate) {
		st = v4_opening_truncate(r, o);
		if (st)
			take_back(r, &g);
	}
	if (!st) {
		v4_set_fh(r, &o->fh, &o->parts, file_get(o->file));
		v4(r)->id = g.id;
		v4(r)->have_id = true;
		encode(r, o, &g);
	}
	state4_open_put(g.open);
	return st;
}

static uint32_t opened(struct req *r, struct v4_opening *o)
{
	uint32_t st = begin(r, o);

	if (!st && o->args.openhow.opentype == OPEN4_CREATE && o->args.claim.claim != CLAIM_NULL)
		st = NFS4ERR_INVAL;
	if (!st)
		st = decode_attrs(r, o);
	if (!st)
		st = check_grace(r, o);
	if (!st)
		st = claim_ok(o);
	if (!st)
		st = carry_out(r, o);
	return state4_seq_end(r->env->state, &o->seq, r, st, st ? NULL : &o->fh);
}

uint32_t v4_open(struct req *r)
{
	struct v4_opening o = {.fd = -1};
	uint32_t st;

	state4_seq_init(&o.seq, r);
	st = v4_decode(r, (xdrproc_t)xdr_OPEN4args, &o.args);
	if (st)
		return st;
	st = arguments_ok(v4(r), &o) ? opened(r, &o) : NFS4ERR_BADXDR;
	if (o.fd >= 0)
		close(o.fd);
	file_put(o.file);
	codec_free((xdrproc_t)xdr_OPEN4args, &o.args);
	return st;
}
