/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens by file: share reservations (RFC 8881 s.9.7), what is pinned, and what goes. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_held.h"
#include "nfsd-io/proto/v4.h"

static struct state4_open *by_file(struct state4_link *l)
{
	return container_of(l, struct state4_open, of_file);
}

static struct state4_open *by_owner(struct state4_link *l)
{
	return container_of(l, struct state4_open, of_owner);
}

int state4_tables_new(struct state4_tables **out, const struct state4_params *p)
{
	struct state4_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	state4_list_init(&t->idle);
	t->next_id = 1;
	t->max_opens = p->max_opens ? p->max_opens : 100000;
	t->max_locks = p->max_locks ? p->max_locks : 1000000;
	if (state4_map_init(&t->ids) || state4_map_init(&t->owners) || state4_map_init(&t->files) ||
	    state4_map_init(&t->revoked)) {
		state4_tables_free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void state4_tables_free(struct state4_tables *t)
{
	if (!t)
		return;
	state4_map_fini(&t->ids);
	state4_map_fini(&t->owners);
	state4_map_fini(&t->files);
	state4_map_fini(&t->revoked);
	free(t);
}

void state4_held_stats(struct state4 *s, struct state4_stats *out)
{
	const struct state4_tables *t = state4_tables(s);

	out->opens = t->nopens;
	out->locks = t->nlocks;
	out->owners = t->nowners;
	out->replays = t->replays;
	out->reclaims = t->reclaims;
}

bool state4_held_any(const struct state4_held *h)
{
	return h->nopens > 0;
}

/* --- files --- */

struct state4_file *state4_file_find(struct state4 *s, const struct fh *fh)
{
	struct state4_tables *t = state4_tables(s);
	struct state4_node *n;

	for (n = state4_map_first(&t->files, state4_map_hash(&t->files, fh->data, fh->len)); n;
	     n = state4_map_next(n)) {
		struct state4_file *f = container_of(n, struct state4_file, node);

		if (f->fh.len == fh->len && !memcmp(f->fh.data, fh->data, fh->len))
			return f;
	}
	return NULL;
}

struct state4_file *state4_file_make(struct state4 *s, const struct fh *fh)
{
	struct state4_tables *t = state4_tables(s);
	struct state4_file *f = state4_file_find(s, fh);

	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->fh = *fh;
	state4_list_init(&f->opens);
	state4_map_add(&t->files, &f->node, state4_map_hash(&t->files, fh->data, fh->len));
	return f;
}

void state4_file_check(struct state4 *s, struct state4_file *f)
{
	if (f->users || !state4_list_empty(&f->opens))
		return;
	state4_map_del(&state4_tables(s)->files, &f->node);
	free(f);
}

struct file *state4_file_of(struct state4 *s, const struct fh *fh, enum file_access a)
{
	struct file *file = NULL;
	struct state4_file *f;

	state4_lock(s);
	f = state4_file_find(s, fh);
	if (f) {
		for (struct state4_link *l = f->opens.next; l != &f->opens && !file; l = l->next) {
			struct state4_open *o = by_file(l);

			if (!o->lock && o->file->access >= a)
				file = file_get(o->file);
		}
	}
	state4_unlock(s);
	return file;
}

/* --- share modes --- */

unsigned state4_share_union(uint8_t modes)
{
	unsigned bits = 0;

	for (unsigned m = 1; m <= 3; m++)
		if (modes & (1u << m))
			bits |= m;
	return bits;
}

bool state4_open_may(const struct state4_open *o, enum state4_use use)
{
	if (o->lock)
		o = o->open;
	return state4_share_union(o->access) & use;
}

static void count(unsigned n[2], unsigned was, unsigned is)
{
	for (unsigned i = 0; i < 2; i++)
		n[i] += ((is >> i) & 1) - ((was >> i) & 1);
}

void state4_share_set(struct state4_open *o, uint8_t access, uint8_t deny)
{
	count(o->sfile->access, state4_share_union(o->access), state4_share_union(access));
	count(o->sfile->deny, state4_share_union(o->deny), state4_share_union(deny));
	o->access = access;
	o->deny = deny;
}

/*
 * One owner's own modes stand in its way like anybody's; only access it asked for before in the
 * same words is not looked at again.
 */
static bool asks_anew(const struct state4_open *o, unsigned access)
{
	return !o || !(o->access & (1u << access));
}

uint32_t state4_share_check(const struct state4_file *f, const struct state4_open *o,
			    unsigned access, unsigned deny)
{
	for (unsigned i = 0; i < 2; i++) {
		if ((deny >> i) & 1 && f->access[i])
			return NFS4ERR_SHARE_DENIED;
		if ((access >> i) & 1 && asks_anew(o, access) && f->deny[i])
			return NFS4ERR_SHARE_DENIED;
	}
	return NFS4_OK;
}

struct state4_client *state4_share_courtesy(const struct state4_file *f,
					    const struct state4_open *o, unsigned access,
					    unsigned deny)
{
	if (!asks_anew(o, access))
		access = 0;
	for (struct state4_link *l = f->opens.next; l != &f->opens; l = l->next) {
		struct state4_open *other = by_file(l);

		if (other->lock || !state4_client_courtesy(other->owner->client))
			continue;
		if ((state4_share_union(other->access) & deny) ||
		    (state4_share_union(other->deny) & access))
			return state4_client_get(other->owner->client);
	}
	return NULL;
}

bool state4_denied(struct state4 *s, const struct fh *fh, enum state4_use use)
{
	struct state4_file *f;
	bool denied;

	state4_lock(s);
	f = state4_file_find(s, fh);
	denied = f && f->deny[use == STATE4_WRITE];
	state4_unlock(s);
	return denied;
}

/* --- opens --- */

struct state4_open *state4_open_find(const struct state4_file *f, const struct state4_owner *w)
{
	/* Along both lists at once: either may be long, and the shorter one decides. */
	struct state4_link *a = f->opens.next, *b = w->opens.next;

	for (; a != &f->opens && b != &w->opens; a = a->next, b = b->next) {
		if (by_file(a)->owner == w)
			return by_file(a);
		if (by_owner(b)->sfile == f)
			return by_owner(b);
	}
	return NULL;
}

/* In the tables, with the pin that is theirs. */
static struct state4_open *stateid_new(struct state4 *s, struct state4_owner *w,
				       struct state4_file *f)
{
	struct state4_tables *t = state4_tables(s);
	struct state4_open *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->refs = 1;
	o->id = state4_id_new(t);
	o->lock = w->lock;
	o->fd = -1;
	o->sfile = f;
	o->owner = w;
	state4_list_add_tail(&f->opens, &o->of_file);
	state4_list_add_tail(&w->opens, &o->of_owner);
	state4_list_del(&w->idle);
	state4_map_add(&t->ids, &o->node, o->id);
	state4_client_held(w->client)->nopens++;
	state4_client_held(w->client)->changes++;
	t->nopens++;
	return o;
}

static bool may_have_more(struct state4 *s, const struct state4_owner *w)
{
	return state4_client_held(w->client)->nopens < state4_tables(s)->max_opens;
}

struct state4_open *state4_open_new(struct state4 *s, struct state4_owner *w, struct state4_file *f,
				    struct file *file)
{
	struct state4_open *o = may_have_more(s, w) ? stateid_new(s, w, f) : NULL;

	if (o)
		o->file = file;
	else
		file_put(file);
	return o;
}

uint32_t state4_open_uid(const struct state4_open *o)
{
	return atomic_load_explicit(&o->uid, memory_order_relaxed);
}

struct state4_open *state4_lock_stateid(struct state4 *s, struct state4_owner *w,
					struct state4_open *o, bool *fresh)
{
	struct state4_open *k = state4_open_find(o->sfile, w);

	*fresh = !k;
	if (k || !may_have_more(s, w))
		return k;
	k = stateid_new(s, w, o->sfile);
	if (!k)
		return NULL;
	k->open = o;
	k->file = file_get(o->file);
	o->nlocks++;
	return k;
}

struct state4_open *state4_open_get(struct state4_open *o)
{
	atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
	return o;
}

void state4_open_put(struct state4_open *o)
{
	if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1)
		return;
	assert(o->gone);
	/* With the description go its locks. */
	if (o->fd >= 0)
		close(o->fd);
	file_put(o->file);
	state4_ranges_fini(&o->ranges);
	free(o);
}

void state4_files_put(struct state4_files *f)
{
	while (f) {
		struct state4_open *o = container_of(f, struct state4_open, dead);

		f = f->next;
		state4_open_put(o);
	}
}

/* Out of all tables but that of the stateids. */
static void detach(struct state4 *s, struct state4_open *o)
{
	struct state4_tables *t = state4_tables(s);
	struct state4_held *h = state4_client_held(o->owner->client);
	struct state4_file *f = o->sfile;

	if (o->lock)
		o->open->nlocks--;
	else
		state4_share_set(o, 0, 0);
	h->nopens--;
	h->changes++;
	h->nlocks -= o->ranges.n;
	t->nopens--;
	t->nlocks -= o->ranges.n;
	/* Whoever sets a lock through a pin of it finds it gone. */
	o->ranges.n = 0;
	o->gone = true;
	state4_list_del(&o->of_file);
	state4_list_del(&o->of_owner);
	o->sfile = NULL;
	o->open = NULL;
	state4_file_check(s, f);
}

static void drop_one(struct state4 *s, struct state4_open *o, struct state4_files **out)
{
	struct state4_owner *w = o->owner;

	detach(s, o);
	state4_map_del(&state4_tables(s)->ids, &o->node);
	o->owner = NULL;
	o->dead.next = *out;
	*out = &o->dead;
	state4_owner_idle(s, w);
}

/* The locks made under `o`. */
static void drop_locks(struct state4 *s, struct state4_open *o, struct state4_files **out)
{
	struct state4_link *l = o->sfile->opens.next, *next;

	for (; o->nlocks && l != &o->sfile->opens; l = next) {
		next = l->next;
		if (by_file(l)->open == o)
			drop_one(s, by_file(l), out);
	}
}

void state4_open_drop(struct state4 *s, struct state4_open *o, bool keep, struct state4_files **out)
{
	struct state4_owner *w = o->owner;

	if (!o->lock)
		drop_locks(s, o, out);
	if (!keep || o->lock) {
		drop_one(s, o, out);
		return;
	}
	detach(s, o);
	file_put(o->file);
	o->file = NULL;
	if (w->closed) {
		w->closed->owner = NULL;
		state4_map_del(&state4_tables(s)->ids, &w->closed->node);
		state4_open_put(w->closed);
	}
	w->closed = o;
	state4_owner_idle(s, w);
}

struct state4_files *state4_held_drop(struct state4 *s, struct state4_client *c)
{
	struct state4_held *h = state4_client_held(c);
	struct state4_files *list = NULL;

	while (h->owners) {
		struct state4_owner *w = state4_owner_get(h->owners);

		while (!state4_list_empty(&w->opens))
			state4_open_drop(s, by_owner(w->opens.next), false, &list);
		if (!w->gone)
			state4_owner_drop(s, w);
		state4_owner_put(w);
	}
	state4_revoke_forget(s, c);
	return list;
}

/* --- READ, WRITE and SETATTR --- */

/*
 * READ and WRITE cannot wait for an eviction: who is kept by courtesy only is marked for the next
 * sweep, and the caller comes back.
 */
static uint32_t denied_by(const struct state4_file *f, enum state4_use use)
{
	struct state4_client *courtesy = state4_share_courtesy(f, NULL, use, 0);

	if (!courtesy)
		return NFS4ERR_LOCKED;
	courtesy->in_the_way = true;
	state4_client_put(courtesy);
	return NFS4ERR_DELAY;
}

static uint32_t special_io(struct state4 *s, const struct req *r, const stateid4 *id,
			   enum state4_use use)
{
	struct state4_file *f;
	uint32_t st = NFS4_OK;

	/* READ by all ones bypasses what others deny (RFC 8881 s.8.2.3). */
	if (use == STATE4_READ && state4_id_bypass(id))
		return NFS4_OK;
	state4_lock(s);
	if (state4_in_grace(s)) {
		st = NFS4ERR_GRACE;
	} else {
		f = state4_file_find(s, &r->fh);
		if (f && f->deny[use == STATE4_WRITE])
			st = denied_by(f, use);
	}
	state4_unlock(s);
	return st;
}

/* Under the lock: what `id` names, for this use of the current filehandle. */
static uint32_t real_io(struct state4 *s, struct req *r, const stateid4 *id, enum state4_use use,
			struct state4_open **out)
{
	struct v4 *c = v4(r);
	struct state4_open *o, *open;
	uint32_t st = state4_id_find(s, c, id, STATE4_OPEN | STATE4_LOCK, &o);

	if (st == NFS4ERR_ADMIN_REVOKED && !c->minor)
		state4_revoke_told(s, c->client, state4_id_number(id), NULL);
	if (!st)
		st = state4_id_seqid(id, o, c->minor == 0);
	if (st)
		return st;
	open = o->lock ? o->open : o;
	if (!open->owner->confirmed)
		return NFS4ERR_BAD_STATEID;
	/* Whoever may write may read, as clients' caches must (RFC 8881 s.9.1.2). */
	if (use == STATE4_WRITE && !state4_open_may(open, STATE4_WRITE))
		return NFS4ERR_OPENMODE;
	if (o->sfile->fh.len != r->fh.len || memcmp(o->sfile->fh.data, r->fh.data, r->fh.len))
		return NFS4ERR_BAD_STATEID;
	*out = state4_open_get(open);
	return NFS4_OK;
}

uint32_t state4_io(struct req *r, const stateid4 *id, enum state4_use use, struct file **file)
{
	struct state4 *s = r->env->state;
	struct state4_open *o = NULL;
	struct v4 *c = v4(r);
	stateid4 cur = *id;
	uint32_t st;

	*file = NULL;
	state4_id_current(c, &cur);
	if (state4_id_anonymous(&cur) || state4_id_bypass(&cur))
		return special_io(s, r, &cur, use);
	state4_lock(s);
	st = real_io(s, r, &cur, use, &o);
	/*
	 * Reading what was opened for writing only is for the
	 * file's mode to allow: as without an open.
	 */
	if (!st && state4_open_may(o, use))
		*file = file_get(o->file);
	state4_unlock(s);
	if (st)
		return st;
	if (c->open)
		state4_open_put(c->open);
	c->open = o;
	return NFS4_OK;
}
