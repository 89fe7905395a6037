/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * LOCK, LOCKT, LOCKU, RELEASE_LOCKOWNER.  Blocking types are
 * asked again by the client (RFC 8881 s.9.6).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/nfs4_open.h"
#include "nfsd-io/proto/status.h"

#define STATEID_LEN (4 + NFS4_OTHER_SIZE)
#define DENIED_LEN 32 /* without the owner's name */

static bool type_ok(nfs_lock_type4 t)
{
	return t >= READ_LT && t <= WRITEW_LT;
}

static bool writes(nfs_lock_type4 t)
{
	return t == WRITE_LT || t == WRITEW_LT;
}

/* The current filehandle is a regular file's, as far as locks are concerned. */
static uint32_t lockable(struct req *r)
{
	uint32_t st = v4_pseudo(r) ? NFS4ERR_ISDIR : v4_file(r, FILE_PATH);

	return st ? st : v4_regular(r, r->file->type, false);
}

/* LOCK4denied; frees the name. */
static uint32_t put_denied(struct req *r, struct state4_conflict *d)
{
	struct cursor *c = &r->reply;
	uint32_t st = v4_room(r, DENIED_LEN + d->len);

	if (!st) {
		cursor_put_u64(c, d->range.first);
		cursor_put_u64(c, state4_range_length(&d->range));
		cursor_put_u32(c, d->range.write ? WRITE_LT : READ_LT);
		cursor_put_u64(c, d->client);
		cursor_put_opaque(c, d->name ? (const void *)d->name : "", d->len);
		v4(r)->error_body = true;
		st = NFS4ERR_DENIED;
	}
	free(d->name);
	return st;
}

static uint32_t answer(struct req *r, uint32_t st, const stateid4 *id, struct state4_conflict *d)
{
	if (st == NFS4ERR_DENIED)
		return put_denied(r, d);
	if (st)
		return st;
	v4(r)->id = *id;
	v4(r)->have_id = true;
	v4_put_stateid(&r->reply, id);
	return NFS4_OK;
}

/* --- LOCK --- */

struct locking {
	LOCK4args args;
	struct state4_seq seq;
	struct state4_range range;
	struct state4_open *k;  /* the lock stateid, pinned */
	struct state4_owner *w; /* a lock owner this call brought in, pinned */
	bool fresh;             /* its stateid was made by this call */
	struct state4_conflict denied;
	stateid4 id;
};

static uint32_t no_more(const struct req *r)
{
	return v4((struct req *)r)->minor ? NFS4ERR_DELAY : NFS4ERR_RESOURCE;
}

/* Under the lock: a lock owner's first lock on the file, by the open it is made under. */
static uint32_t by_open(struct state4 *s, struct req *r, struct locking *l)
{
	open_to_lock_owner4 *a = &l->args.locker.locker4_u.open_owner;
	const opaque_owner4 *name = &a->lock_owner.owner;
	struct v4 *c = v4(r);
	struct state4_open *o;
	struct state4_owner *w;
	uint32_t st = c->minor ? NFS4_OK : state4_id_client(s, c, a->lock_owner.clientid);

	if (!st)
		st = state4_seq_by_id(s, &l->seq, r, &a->open_stateid, a->open_seqid, STATE4_OPEN,
				      &o);
	if (!st && !o->owner->confirmed)
		st = NFS4ERR_BAD_STATEID;
	if (st)
		return st;
	w = state4_owner_find(s, c->client, true, name->owner_val, name->owner_len);
	if (w && w->v40 && w->seqid != a->lock_seqid)
		return NFS4ERR_BAD_SEQID;
	if (!w)
		w = state4_owner_new(s, c->client, true, name->owner_val, name->owner_len,
				     a->lock_seqid);
	if (!w)
		return no_more(r);
	l->w = state4_owner_get(w);
	l->k = state4_lock_stateid(s, w, o, &l->fresh);
	return l->k ? NFS4_OK : no_more(r);
}

static uint32_t by_lock(struct state4 *s, struct req *r, struct locking *l)
{
	exist_lock_owner4 *a = &l->args.locker.locker4_u.lock_owner;

	return state4_seq_by_id(s, &l->seq, r, &a->lock_stateid, a->lock_seqid, STATE4_LOCK, &l->k);
}

static uint32_t check_grace(struct state4 *s, struct req *r, bool reclaim)
{
	struct state4_client *c = v4(r)->client;

	if (reclaim != state4_in_grace(s))
		return reclaim ? NFS4ERR_NO_GRACE : NFS4ERR_GRACE;
	if (!reclaim)
		return NFS4_OK;
	if (v4(r)->minor > 0 && !state4_client_reclaiming(c))
		return NFS4ERR_NO_GRACE;
	if (!state4_may_reclaim(s, c))
		return NFS4ERR_RECLAIM_BAD;
	state4_tables(s)->reclaims++;
	return NFS4_OK;
}

static uint32_t find(struct state4 *s, struct req *r, struct locking *l)
{
	uint32_t st = l->args.locker.new_lock_owner ? by_open(s, r, l) : by_lock(s, r, l);

	if (st) {
		l->k = NULL;
		return st;
	}
	state4_open_get(l->k);
	if (!state4_open_may(l->k, l->range.write ? STATE4_WRITE : STATE4_READ))
		return NFS4ERR_OPENMODE;
	return check_grace(s, r, l->args.reclaim);
}

/* Under the lock: what this call made for a lock it did not get goes again. */
static void settle(struct state4 *s, struct locking *l, uint32_t st, struct state4_files **dead)
{
	if (st && l->fresh && l->k && !l->k->gone && !l->k->ranges.n)
		state4_open_drop(s, l->k, false, dead);
	if (!l->w)
		return;
	/* The open owner's sequence covers the call, but the lock owner's goes on with it. */
	if (!l->w->gone && l->w->v40 && state4_seq_moves(st))
		l->w->seqid++;
	if (!l->w->gone)
		state4_owner_idle(s, l->w);
	state4_owner_put(l->w);
	l->w = NULL;
}

/*
 * Under the lock: an owner new to the file had a stateid there after all, and FREE_STATEID took it
 * from under us.  Linux sends the two side by side; the one that came last makes another.  4.0 has
 * the order in its sequence numbers.
 */
static bool freed_meanwhile(const struct locking *l, uint32_t st)
{
	return st == NFS4ERR_BAD_STATEID && l->w && !l->w->v40 && l->k && l->k->gone;
}

/* False: to be done again. */
static bool lock_once(struct req *r, struct locking *l, uint32_t *st)
{
	enum state4_lock_kind kind = l->range.write ? STATE4_LOCK_WRITE : STATE4_LOCK_READ;
	struct state4 *s = r->env->state;
	struct state4_files *dead = NULL;
	bool again;

	state4_lock(s);
	*st = find(s, r, l);
	state4_unlock(s);
	if (!*st)
		*st = state4_lock_set(s, l->k, &l->range, kind, &l->denied, &l->id);
	state4_lock(s);
	again = freed_meanwhile(l, *st);
	settle(s, l, *st, &dead);
	state4_unlock(s);
	state4_files_put(dead);
	if (l->k)
		state4_open_put(l->k);
	return !again;
}

static uint32_t lock(struct req *r, struct locking *l)
{
	uint32_t st;

	while (!lock_once(r, l, &st))
		;
	if (st != STATE4_REPLAY)
		st = answer(r, st, &l->id, &l->denied);
	return state4_seq_end(r->env->state, &l->seq, r, st, NULL);
}

uint32_t v4_lock(struct req *r)
{
	struct locking l = {0};
	uint32_t st;

	state4_seq_init(&l.seq, r);
	st = v4_decode(r, (xdrproc_t)xdr_LOCK4args, &l.args);
	if (st)
		return st;
	if (!type_ok(l.args.locktype))
		st = NFS4ERR_BADXDR;
	else if (!state4_range_of(l.args.offset, l.args.length, &l.range))
		st = NFS4ERR_INVAL;
	else
		st = lockable(r);
	l.range.write = writes(l.args.locktype);
	if (!st)
		st = v4_room(r, STATEID_LEN);
	if (!st)
		st = lock(r, &l);
	codec_free((xdrproc_t)xdr_LOCK4args, &l.args);
	return st;
}

/* --- LOCKT --- */

/* Under the lock: by our own owners.  *mine: the asker's own locks on the file, pinned, or NULL. */
static uint32_t test(struct state4 *s, struct req *r, const LOCKT4args *a,
		     const struct state4_range *g, struct state4_conflict *d,
		     struct state4_open **mine, struct state4_client **courtesy)
{
	struct v4 *c = v4(r);
	uint32_t st = c->minor ? NFS4_OK : state4_id_client(s, c, a->owner.clientid);
	struct state4_owner *w;
	struct state4_file *f;

	if (!st && state4_in_grace(s))
		st = NFS4ERR_GRACE;
	f = st ? NULL : state4_file_find(s, &r->fh);
	if (!f)
		return st;
	w = state4_owner_find(s, c->client, true, a->owner.owner.owner_val,
			      a->owner.owner.owner_len);
	*mine = w ? state4_open_find(f, w) : NULL;
	if (*mine)
		state4_open_get(*mine);
	return state4_lock_test(s, f, w, g, d, courtesy);
}

static uint32_t may_test(struct req *r)
{
	struct stat sb;
	uint32_t st = v4_as_caller(r);
	int err = 0;

	if (!st && !fstat(r->file->path_fd, &sb) && sb.st_uid != r->cred->uid)
		err = access_kernel(r->file->path_fd, R_OK);
	cred_assume(NULL);
	return st ? st : err ? status_nfs4(err) : NFS4_OK;
}

static uint32_t lockt(struct req *r, const LOCKT4args *a, const struct state4_range *g)
{
	struct state4 *s = r->env->state;
	struct state4_client *courtesy;
	struct state4_open *mine;
	struct state4_conflict d = {0};
	uint32_t st;

	do {
		courtesy = NULL;
		mine = NULL;
		state4_lock(s);
		st = test(s, r, a, g, &d, &mine, &courtesy);
		state4_unlock(s);
		if (!st)
			st = state4_lock_local(r->file, mine, g, &d);
		if (mine)
			state4_open_put(mine);
		if (courtesy) {
			state4_client_evict(s, courtesy);
			state4_client_put(courtesy);
		}
	} while (courtesy);
	return st == NFS4ERR_DENIED ? put_denied(r, &d) : st;
}

uint32_t v4_lockt(struct req *r)
{
	struct state4_range g = {0};
	LOCKT4args a = {0};
	uint32_t st = v4_decode(r, (xdrproc_t)xdr_LOCKT4args, &a);

	if (st)
		return st;
	if (!type_ok(a.locktype))
		st = NFS4ERR_BADXDR;
	else if (!state4_range_of(a.offset, a.length, &g))
		st = NFS4ERR_INVAL;
	else
		st = lockable(r);
	g.write = writes(a.locktype);
	if (!st)
		st = may_test(r);
	if (!st)
		st = lockt(r, &a, &g);
	codec_free((xdrproc_t)xdr_LOCKT4args, &a);
	return st;
}

/* --- LOCKU --- */

static uint32_t unlock(struct req *r, LOCKU4args *a, struct state4_seq *seq,
		       const struct state4_range *g)
{
	struct state4 *s = r->env->state;
	struct state4_conflict none = {0};
	struct state4_open *k;
	stateid4 id = {0};
	uint32_t st;

	state4_lock(s);
	st = state4_seq_by_id(s, seq, r, &a->lock_stateid, a->seqid, STATE4_LOCK, &k);
	if (!st)
		state4_open_get(k);
	state4_unlock(s);
	if (!st) {
		st = state4_lock_set(s, k, g, STATE4_UNLOCK, &none, &id);
		state4_open_put(k);
	}
	if (st != STATE4_REPLAY)
		st = answer(r, st, &id, &none);
	return state4_seq_end(s, seq, r, st, NULL);
}

uint32_t v4_locku(struct req *r)
{
	struct state4_range g = {0};
	struct state4_seq seq;
	LOCKU4args a = {0};
	uint32_t st;

	state4_seq_init(&seq, r);
	st = v4_decode(r, (xdrproc_t)xdr_LOCKU4args, &a);
	if (st)
		return st;
	if (!type_ok(a.locktype))
		st = NFS4ERR_BADXDR;
	else if (!state4_range_of(a.offset, a.length, &g))
		st = NFS4ERR_INVAL;
	else
		st = v4_room(r, STATEID_LEN);
	if (!st)
		st = unlock(r, &a, &seq, &g);
	codec_free((xdrproc_t)xdr_LOCKU4args, &a);
	return st;
}

/* --- RELEASE_LOCKOWNER --- */

static struct state4_open *first_of(struct state4_owner *w)
{
	return container_of(w->opens.next, struct state4_open, of_owner);
}

/* Under the lock. */
static uint32_t release(struct state4 *s, struct state4_owner *w, struct state4_files **dead)
{
	for (struct state4_link *l = w->opens.next; l != &w->opens; l = l->next)
		if (container_of(l, struct state4_open, of_owner)->ranges.n)
			return NFS4ERR_LOCKS_HELD;
	state4_owner_get(w);
	while (!state4_list_empty(&w->opens))
		state4_open_drop(s, first_of(w), false, dead);
	state4_owner_put(w);
	return NFS4_OK;
}

uint32_t v4_release_lockowner(struct req *r)
{
	RELEASE_LOCKOWNER4args a = {0};
	struct state4 *s = r->env->state;
	struct state4_files *dead = NULL;
	struct state4_owner *w;
	uint32_t st = v4_decode(r, (xdrproc_t)xdr_RELEASE_LOCKOWNER4args, &a);

	if (st)
		return st;
	state4_lock(s);
	st = state4_id_client(s, v4(r), a.lock_owner.clientid);
	if (!st) {
		w = state4_owner_find(s, v4(r)->client, true, a.lock_owner.owner.owner_val,
				      a.lock_owner.owner.owner_len);
		if (w)
			st = release(s, w, &dead);
	}
	state4_unlock(s);
	state4_files_put(dead);
	codec_free((xdrproc_t)xdr_RELEASE_LOCKOWNER4args, &a);
	return st;
}
