/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What comes after OPEN: OPEN_CONFIRM, OPEN_DOWNGRADE,
 * CLOSE; FREE_STATEID, TEST_STATEID, DELEGRETURN.
 */
#include <string.h>

#include "nfsd-io/proto/nfs4_open.h"

static void get_stateid(struct cursor *c, stateid4 *id)
{
	const uint8_t *other;

	id->seqid = cursor_get_u32(c);
	other = cursor_get_fixed(c, NFS4_OTHER_SIZE);
	if (other)
		memcpy(id->other, other, NFS4_OTHER_SIZE);
}

/* The result of the three: the stateid as it is now, which becomes the current one. */
static uint32_t answer(struct req *r, struct state4_seq *t, uint32_t st, const stateid4 *id)
{
	if (!st) {
		v4(r)->id = *id;
		v4(r)->have_id = t->op != OP_CLOSE;
		v4_put_stateid(&r->reply, id);
	}
	return state4_seq_end(r->env->state, t, r, st, NULL);
}

/* --- OPEN_CONFIRM --- */

uint32_t v4_open_confirm(struct req *r)
{
	struct state4 *s = r->env->state;
	struct state4_seq seq;
	struct state4_open *o;
	stateid4 id = {0};
	uint32_t seqid, st;

	state4_seq_init(&seq, r);
	get_stateid(&r->args, &id);
	seqid = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	state4_lock(s);
	st = state4_seq_by_id(s, &seq, r, &id, seqid, STATE4_OPEN, &o);
	if (!st && o->owner->confirmed)
		st = NFS4ERR_BAD_STATEID;
	if (!st) {
		o->owner->confirmed = true;
		state4_id_bump(o, &id);
	}
	state4_unlock(s);
	if (!st)
		state4_client_record(s, v4(r)->client);
	return answer(r, &seq, st, &id);
}

/* --- OPEN_DOWNGRADE --- */

/* The sets of modes that lie within `to`. */
static uint8_t within(uint8_t modes, unsigned to)
{
	uint8_t left = 0;

	for (unsigned m = 0; m <= 3; m++)
		if ((modes & (1u << m)) && (m & to) == m)
			left |= 1u << m;
	return left;
}

/* Only to modes that were opened (RFC 8881 s.18.18.3). */
static uint32_t downgrade(struct state4_open *o, unsigned access, unsigned deny, stateid4 *id)
{
	if (!(o->access & (1u << access)) || !(o->deny & (1u << deny)))
		return NFS4ERR_INVAL;
	state4_share_set(o, within(o->access, access), within(o->deny, deny));
	state4_id_bump(o, id);
	return NFS4_OK;
}

uint32_t v4_open_downgrade(struct req *r)
{
	struct state4 *s = r->env->state;
	struct state4_seq seq;
	struct state4_open *o;
	stateid4 id = {0};
	uint32_t seqid, access, deny, st;

	state4_seq_init(&seq, r);
	get_stateid(&r->args, &id);
	seqid = cursor_get_u32(&r->args);
	access = cursor_get_u32(&r->args);
	deny = cursor_get_u32(&r->args);
	if (v4(r)->minor > 0)
		access &= ~(uint32_t)OPEN4_SHARE_ACCESS_WANT_DELEG_MASK;
	if (!cursor_ok(&r->args) || !access || access > OPEN4_SHARE_ACCESS_BOTH ||
	    deny > OPEN4_SHARE_DENY_BOTH)
		return NFS4ERR_BADXDR;
	state4_lock(s);
	st = state4_seq_by_id(s, &seq, r, &id, seqid, STATE4_OPEN, &o);
	if (!st && !o->owner->confirmed)
		st = NFS4ERR_BAD_STATEID;
	if (!st)
		st = downgrade(o, access, deny, &id);
	state4_unlock(s);
	return answer(r, &seq, st, &id);
}

/* --- CLOSE --- */

uint32_t v4_close(struct req *r)
{
	struct state4 *s = r->env->state;
	struct state4_files *dead = NULL;
	struct state4_seq seq;
	struct state4_open *o;
	stateid4 id = {0};
	uint32_t seqid, st;

	state4_seq_init(&seq, r);
	seqid = cursor_get_u32(&r->args);
	get_stateid(&r->args, &id);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	state4_lock(s);
	st = state4_seq_by_id(s, &seq, r, &id, seqid, STATE4_OPEN | STATE4_CLOSED, &o);
	/* Locks made under it go with it. */
	if (!st)
		state4_open_drop(s, o, v4(r)->minor == 0, &dead);
	state4_unlock(s);
	/* Before the reply: whoever waits for those locks may have them then. */
	state4_files_put(dead);
	state4_id_invalid(&id);
	return answer(r, &seq, st, &id);
}

/* --- FREE_STATEID, TEST_STATEID --- */

/* Only what was revoked, or a lock stateid without locks, can be freed. */
static uint32_t free_id(struct state4 *s, struct req *r, stateid4 *id, struct state4_files **dead)
{
	struct state4_open *o;
	uint32_t st;

	state4_id_current(v4(r), id);
	st = state4_id_find(s, v4(r), id, STATE4_OPEN | STATE4_LOCK, &o);
	if (st == NFS4ERR_ADMIN_REVOKED)
		return state4_revoke_free(s, v4(r)->client, state4_id_number(id));
	if (!st)
		st = state4_id_seqid(id, o, false);
	if (!st && (!o->lock || o->ranges.n))
		st = NFS4ERR_LOCKS_HELD;
	if (!st)
		state4_open_drop(s, o, false, dead);
	return st;
}

uint32_t v4_free_stateid(struct req *r)
{
	struct state4 *s = r->env->state;
	struct state4_files *dead = NULL;
	stateid4 id = {0};
	uint32_t st;

	get_stateid(&r->args, &id);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	state4_lock(s);
	st = free_id(s, r, &id, &dead);
	state4_unlock(s);
	state4_files_put(dead);
	return st;
}

static uint32_t test_id(struct state4 *s, struct req *r, const stateid4 *id)
{
	struct state4_open *o;
	uint32_t st = state4_id_find(s, v4(r), id, STATE4_OPEN | STATE4_LOCK, &o);

	return st ? st : state4_id_seqid(id, o, false);
}

uint32_t v4_test_stateid(struct req *r)
{
	struct state4 *s = r->env->state;
	uint32_t n = cursor_get_u32(&r->args), st;

	if (!cursor_ok(&r->args) || n > cursor_left(&r->args) / (4 + NFS4_OTHER_SIZE))
		return NFS4ERR_BADXDR;
	st = v4_room(r, 4 + 4 * n);
	if (st)
		return st;
	cursor_put_u32(&r->reply, n);
	state4_lock(s);
	for (uint32_t i = 0; i < n; i++) {
		stateid4 id = {0};

		get_stateid(&r->args, &id);
		cursor_put_u32(&r->reply, test_id(s, r, &id));
	}
	state4_unlock(s);
	return NFS4_OK;
}

/* --- DELEGRETURN --- */

uint32_t v4_delegreturn(struct req *r)
{
	struct state4 *s = r->env->state;
	struct state4_open *o;
	stateid4 id = {0};
	uint32_t st;

	get_stateid(&r->args, &id);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	/* There are none: but a stale or expired one is told as such. */
	state4_lock(s);
	st = state4_id_find(s, v4(r), &id, 0, &o);
	state4_unlock(s);
	return st;
}
