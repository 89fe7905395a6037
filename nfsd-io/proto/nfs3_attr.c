/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GETATTR, SETATTR, ACCESS. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/attr.h"
#include "nfsd-io/proto/excl.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v3.h"

/* --- GETATTR: answered on the worker when the file is open anyway --- */

static int getattr_stat(struct req *r, struct stat *st)
{
	int err = attr_stat(r->file, st);

	if (err)
		return err;
	return st->st_nlink ? 0 : -ESTALE;
}

static void getattr_open(struct req *r)
{
	r->err = fdcache_open(r->env->files, r->export->root, &r->fh, &r->parts, FILE_PATH,
			      &r->file);
}

static enum req_step_result getattr_reply(struct req *r)
{
	struct stat st;
	int err = r->err ? r->err : getattr_stat(r, &st);

	v3_reply_status(r, status_nfs3(err, NFSPROC3_GETATTR), 0);
	if (!err)
		v3_put_fattr(&r->reply, r->export->root, &st);
	return STEP_REPLY;
}

enum req_step_result v3_getattr(struct req *r)
{
	enum req_step_result res;
	uint32_t len;
	const uint8_t *fh = v3_get_fh(&r->args, &len);

	if (!cursor_ok(&r->args))
		return req_garbage(r);
	res = v3_enter(r, fh, len, false, 0);
	if (res != STEP_MORE)
		return res;
	r->file = fdcache_peek(r->env->files, &r->fh, FILE_PATH);
	if (!r->file)
		return req_offload(r, getattr_open, getattr_reply);
	return getattr_reply(r);
}

/* --- SETATTR --- */

/* The guard: a ctime the object must still have (RFC 1813 s.3.3.2). */
static bool in_sync(const sattrguard3 *g, const struct stat *st)
{
	const nfstime3 *t = &g->sattrguard3_u.obj_ctime;

	return !g->check || (t->seconds == (uint32_t)st->st_ctim.tv_sec &&
			     t->nseconds == (uint32_t)st->st_ctim.tv_nsec);
}

static int setattr_change(struct req *r, const struct sattr *want, const struct stat *st)
{
	int fd = r->file->path_fd, err;

	if (want->set_size) {
		if (!S_ISREG(st->st_mode))
			return -EINVAL;
		err = sattr_size(r, &r->fh, &r->parts, fd, want->size);
		if (err)
			return err;
	}
	err = act_as_caller(r);
	if (!err)
		err = sattr_apply(fd, want);
	if (err)
		return err;
	if (S_ISREG(st->st_mode)) {
		err = cred_assume(NULL);
		if (err)
			return err;
		excl_drop(fd);
	}
	/* A symlink or device has no descriptor to sync by; its file system's journal orders it. */
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
		err = act_stable(r, fd);
	return err;
}

static int setattr_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	const SETATTR3args *a = &c->args.setattr;
	struct sattr want;
	struct stat st;
	int err;

	if (fstat(r->file->path_fd, &st))
		return -errno;
	v3_sattr_get(&a->new_attributes, &want);
	err = sattr_check(&want);
	if (!err && a->guard.check && a->guard.sattrguard3_u.obj_ctime.nseconds >= 1000000000)
		err = -EINVAL;
	if (!err && !in_sync(&a->guard, &st))
		c->res.status = NFS3ERR_NOT_SYNC;
	else if (!err)
		err = setattr_change(r, &want, &st);
	v3_wcc(&c->res.setattr.SETATTR3res_u.resok.obj_wcc, r->export->root, r->file->path_fd);
	return err;
}

enum req_step_result v3_setattr(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_SETATTR3args,
		(xdrproc_t)xdr_SETATTR3res,
		setattr_work,
		true,
	};

	return v3_meta_step(r, &meta);
}

/* --- ACCESS: as the kernel would decide for the caller, without the owner's override --- */

struct access_call {
	uint32_t asked, got;
	bool have_st;
	struct stat st;
};
static_assert(sizeof(struct access_call) <= sizeof(((struct req *)0)->proc_data),
	      "an ACCESS call fits its request");

static struct access_call *access_call(struct req *r)
{
	return (struct access_call *)&r->proc_data;
}

static enum req_step_result access_reply(struct req *r)
{
	struct access_call *c = access_call(r);

	v3_reply_status(r, status_nfs3(r->err, NFSPROC3_ACCESS), 0);
	v3_put_post(&r->reply, r->export->root, c->have_st ? &c->st : NULL);
	if (!r->err)
		cursor_put_u32(&r->reply, c->got);
	return STEP_REPLY;
}

static void access_work(struct req *r)
{
	struct access_call *c = access_call(r);
	uint32_t supported;

	r->err = access_cred(r);
	if (!r->err && !r->file)
		r->err = fdcache_open(r->env->files, r->export->root, &r->fh, &r->parts, FILE_PATH,
				      &r->file);
	if (r->err)
		return;
	c->have_st = !attr_stat(r->file, &c->st);
	r->err = act_as_caller(r);
	if (!r->err)
		c->got = access_rights(r, c->asked, &supported);
	cred_assume(NULL);
}

/* What its mode tells is told without leaving the worker. */
static bool access_at_once(struct req *r)
{
	struct access_call *c = access_call(r);
	uint32_t supported;

	r->file = fdcache_peek(r->env->files, &r->fh, FILE_PATH);
	if (!r->file || !r->cred)
		return false;
	c->have_st = !attr_stat(r->file, &c->st);
	return c->have_st && access_rights_known(r, &c->st, c->asked, &supported, &c->got);
}

enum req_step_result v3_access(struct req *r)
{
	enum req_step_result res;
	uint32_t len;
	const uint8_t *fh = v3_get_fh(&r->args, &len);

	access_call(r)->asked = cursor_get_u32(&r->args) & ACCESS_V3;
	if (!cursor_ok(&r->args))
		return req_garbage(r);
	res = v3_enter(r, fh, len, false, 1);
	if (res != STEP_MORE)
		return res;
	return access_at_once(r) ? access_reply(r) : req_offload(r, access_work, access_reply);
}
