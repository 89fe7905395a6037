/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opens and locks for tests with v4c: an owner that counts its 4.0 sequence as
 * a client must, and OPEN, CLOSE, LOCK and their kin as one call each.  What is
 * asked for is in the structures; what was answered too.
 */
#ifndef TESTS_LIB_V4OWNER_H
#define TESTS_LIB_V4OWNER_H

#include <string.h>

#include "tests/lib/v4c.h"

struct v4owner {
	const char *name;
	uint32_t seqid; /* the next one */
};

struct v4open {
	uint32_t access, deny;
	bool create;
	createmode4 how;
	const char *verf;	      /* 8 bytes */
	bool set_mode, set_size;
	uint32_t mode;
	uint64_t size;
	open_claim_type4 claim;
	bool unconfirmed;	      /* leave it so */
	/* what was answered */
	stateid4 id;
	struct v4c_fh fh;
	OPEN4resok ok;
};

static inline bool v4owner_moves(uint32_t st)
{
	switch (st) {
	case NFS4ERR_STALE_CLIENTID:
	case NFS4ERR_STALE_STATEID:
	case NFS4ERR_BAD_STATEID:
	case NFS4ERR_BAD_SEQID:
	case NFS4ERR_BADXDR:
	case NFS4ERR_RESOURCE:
	case NFS4ERR_NOFILEHANDLE:
	case V4C_BROKEN:
		return false;
	default:
		return true;
	}
}

static inline void v4owner_went(struct v4c *c, struct v4owner *w, uint32_t st)
{
	if (c->minor == 0 && v4owner_moves(st))
		w->seqid++;
}

static inline fattr4 v4owner_attrs(const struct v4open *o, uint8_t buf[12])
{
	fattr4 f = {.attrmask.bitmap4_len = 2, .attr_vals.attrlist4_val = (char *)buf};
	uint32_t n = 0;

	if (o->set_size) {
		f.attrmask.bitmap4_val[0] = 1u << FATTR4_SIZE;
		for (int i = 7; i >= 0; i--)
			buf[n++] = (uint8_t)(o->size >> (8 * i));
	}
	if (o->set_mode) {
		f.attrmask.bitmap4_val[1] = 1u << (FATTR4_MODE - 32);
		for (int i = 3; i >= 0; i--)
			buf[n++] = (uint8_t)(o->mode >> (8 * i));
	}
	f.attr_vals.attrlist4_len = n;
	return f;
}

/* The operation alone; `buf` must last until the run. */
static inline void v4owner_op_open(struct v4c *c, const struct v4owner *w, const char *name,
				   const struct v4open *o, uint8_t buf[12])
{
	OPEN4args *a = &v4c_op(c, OP_OPEN)->nfs_argop4_u.opopen;
	createhow4 *how = &a->openhow.openflag4_u.how;

	a->seqid = w->seqid;
	a->share_access = o->access;
	a->share_deny = o->deny;
	a->owner.clientid = c->clientid;
	a->owner.owner.owner_len = (uint32_t)strlen(w->name);
	a->owner.owner.owner_val = (char *)(uintptr_t)w->name;
	a->claim.claim = o->claim;
	if (o->claim == CLAIM_NULL)
		a->claim.open_claim4_u.file = v4c_name(name);
	if (!o->create)
		return;
	a->openhow.opentype = OPEN4_CREATE;
	how->mode = o->how;
	if (o->how == EXCLUSIVE4)
		memcpy(how->createhow4_u.createverf, o->verf, NFS4_VERIFIER_SIZE);
	else if (o->how == EXCLUSIVE4_1)
		memcpy(how->createhow4_u.ch_createboth.cva_verf, o->verf, NFS4_VERIFIER_SIZE);
	if (o->how == EXCLUSIVE4_1)
		how->createhow4_u.ch_createboth.cva_attrs = v4owner_attrs(o, buf);
	else if (o->how != EXCLUSIVE4)
		how->createhow4_u.createattrs = v4owner_attrs(o, buf);
}

static inline uint32_t v4owner_confirm(struct v4c *c, struct v4owner *w, const struct v4c_fh *fh,
				       stateid4 *id)
{
	uint32_t st;

	v4c_begin(c);
	v4c_putfh(c, fh);
	v4c_op(c, OP_OPEN_CONFIRM)->nfs_argop4_u.opopen_confirm =
		(OPEN_CONFIRM4args){.open_stateid = *id, .seqid = w->seqid};
	st = v4c_run(c);
	v4owner_went(c, w, st);
	if (!st)
		*id = v4c_res(c, OP_OPEN_CONFIRM)
			      ->nfs_resop4_u.opopen_confirm.OPEN_CONFIRM4res_u.resok4.open_stateid;
	return st;
}

/* PUTFH `at` (NULL: none), OPEN, GETFH; in 4.0 OPEN_CONFIRM when it is asked for. */
static inline uint32_t v4owner_open(struct v4c *c, struct v4owner *w, const struct v4c_fh *at,
				    const char *name, struct v4open *o)
{
	uint8_t buf[12];
	uint32_t st;

	v4c_begin(c);
	if (at)
		v4c_putfh(c, at);
	v4owner_op_open(c, w, name, o, buf);
	v4c_getfh(c);
	st = v4c_run(c);
	v4owner_went(c, w, st);
	if (st)
		return st;
	o->ok = v4c_res(c, OP_OPEN)->nfs_resop4_u.opopen.OPEN4res_u.resok4;
	o->id = o->ok.stateid;
	v4c_keep_fh(c, &o->fh);
	if (!o->unconfirmed && (o->ok.rflags & OPEN4_RESULT_CONFIRM))
		st = v4owner_confirm(c, w, &o->fh, &o->id);
	return st;
}

static inline uint32_t v4owner_close(struct v4c *c, struct v4owner *w, const struct v4c_fh *fh,
				     const stateid4 *id)
{
	uint32_t st;

	v4c_begin(c);
	if (fh)
		v4c_putfh(c, fh);
	v4c_op(c, OP_CLOSE)->nfs_argop4_u.opclose =
		(CLOSE4args){.seqid = w->seqid, .open_stateid = *id};
	st = v4c_run(c);
	v4owner_went(c, w, st);
	return st;
}

static inline uint32_t v4owner_downgrade(struct v4c *c, struct v4owner *w, const struct v4c_fh *fh,
					 stateid4 *id, uint32_t access, uint32_t deny)
{
	uint32_t st;

	v4c_begin(c);
	if (fh)
		v4c_putfh(c, fh);
	v4c_op(c, OP_OPEN_DOWNGRADE)->nfs_argop4_u.opopen_downgrade = (OPEN_DOWNGRADE4args){
		.open_stateid = *id, .seqid = w->seqid, .share_access = access, .share_deny = deny};
	st = v4c_run(c);
	v4owner_went(c, w, st);
	if (!st)
		*id = v4c_res(c, OP_OPEN_DOWNGRADE)
			      ->nfs_resop4_u.opopen_downgrade.OPEN_DOWNGRADE4res_u.resok4
			      .open_stateid;
	return st;
}

struct v4lock {
	nfs_lock_type4 type;
	uint64_t offset, length;
	bool reclaim;
	/* what was answered */
	stateid4 id;
	LOCK4denied denied; /* its owner's bytes last until the next call */
};

static inline uint32_t v4lock_answer(struct v4c *c, struct v4lock *l, uint32_t st)
{
	nfs_resop4 *r = v4c_res(c, OP_LOCK);

	if (st == NFS4_OK)
		l->id = r->nfs_resop4_u.oplock.LOCK4res_u.resok4.lock_stateid;
	else if (st == NFS4ERR_DENIED)
		l->denied = r->nfs_resop4_u.oplock.LOCK4res_u.denied;
	return st;
}

/* LOCK by a lock owner new to the file, under an open. */
static inline uint32_t v4lock_new(struct v4c *c, struct v4owner *w, const struct v4c_fh *fh,
				  const stateid4 *open, struct v4owner *locker, struct v4lock *l)
{
	LOCK4args *a;
	uint32_t st;

	v4c_begin(c);
	if (fh)
		v4c_putfh(c, fh);
	a = &v4c_op(c, OP_LOCK)->nfs_argop4_u.oplock;
	*a = (LOCK4args){.locktype = l->type,
			 .reclaim = l->reclaim,
			 .offset = l->offset,
			 .length = l->length};
	a->locker.new_lock_owner = TRUE;
	a->locker.locker4_u.open_owner = (open_to_lock_owner4){
		.open_seqid = w->seqid,
		.open_stateid = *open,
		.lock_seqid = locker->seqid,
		.lock_owner = {.clientid = c->clientid,
			       .owner = {(uint32_t)strlen(locker->name),
					 (char *)(uintptr_t)locker->name}},
	};
	st = v4c_run(c);
	v4owner_went(c, w, st);
	if (!st)
		v4owner_went(c, locker, st);
	return v4lock_answer(c, l, st);
}

static inline uint32_t v4lock_more(struct v4c *c, struct v4owner *locker, const struct v4c_fh *fh,
				   const stateid4 *id, struct v4lock *l)
{
	LOCK4args *a;
	uint32_t st;

	v4c_begin(c);
	if (fh)
		v4c_putfh(c, fh);
	a = &v4c_op(c, OP_LOCK)->nfs_argop4_u.oplock;
	*a = (LOCK4args){.locktype = l->type,
			 .reclaim = l->reclaim,
			 .offset = l->offset,
			 .length = l->length};
	a->locker.locker4_u.lock_owner =
		(exist_lock_owner4){.lock_stateid = *id, .lock_seqid = locker->seqid};
	st = v4c_run(c);
	v4owner_went(c, locker, st);
	return v4lock_answer(c, l, st);
}

static inline uint32_t v4lock_test(struct v4c *c, const struct v4c_fh *fh, const char *locker,
				   struct v4lock *l)
{
	uint32_t st;

	v4c_begin(c);
	if (fh)
		v4c_putfh(c, fh);
	v4c_op(c, OP_LOCKT)->nfs_argop4_u.oplockt = (LOCKT4args){
		.locktype = l->type,
		.offset = l->offset,
		.length = l->length,
		.owner = {.clientid = c->clientid,
			  .owner = {(uint32_t)strlen(locker), (char *)(uintptr_t)locker}},
	};
	st = v4c_run(c);
	if (st == NFS4ERR_DENIED)
		l->denied = v4c_res(c, OP_LOCKT)->nfs_resop4_u.oplockt.LOCKT4res_u.denied;
	return st;
}

static inline uint32_t v4lock_free(struct v4c *c, struct v4owner *locker, const struct v4c_fh *fh,
				   stateid4 *id, uint64_t offset, uint64_t length)
{
	uint32_t st;

	v4c_begin(c);
	if (fh)
		v4c_putfh(c, fh);
	v4c_op(c, OP_LOCKU)->nfs_argop4_u.oplocku = (LOCKU4args){.locktype = READ_LT,
								 .seqid = locker->seqid,
								 .lock_stateid = *id,
								 .offset = offset,
								 .length = length};
	st = v4c_run(c);
	v4owner_went(c, locker, st);
	if (!st)
		*id = v4c_res(c, OP_LOCKU)->nfs_resop4_u.oplocku.LOCKU4res_u.lock_stateid;
	return st;
}

/* The same file, another stateid: altered where `how` says. */
static inline stateid4 v4owner_stale(stateid4 id)
{
	memset(id.other, 0, 4);
	return id;
}

#endif
