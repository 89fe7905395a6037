/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GETATTR, SETATTR, ACCESS. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v3.h"

/* --- GETATTR: answered on the worker when the file is open anyway --- */

static int getattr_stat(struct req *r, struct stat *st)
{
	if (fstat(r->file->path_fd, st))
		return -errno;
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

static int setattr_change(struct req *r, const SETATTR3args *a, const struct stat *st)
{
	const sattr3 *want = &a->new_attributes;
	int fd = r->file->path_fd, err;

	if (want->size.set_it) {
		if (!S_ISREG(st->st_mode))
			return -EINVAL;
		err = v3_sattr_size(r, &r->fh, &r->parts, fd, want->size.set_size3_u.size);
		if (err)
			return err;
	}
	err = v3_as_caller(r);
	if (!err)
		err = v3_sattr_apply(fd, want);
	if (err)
		return err;
	if (S_ISREG(st->st_mode)) {
		err = cred_assume(NULL);
		if (err)
			return err;
		v3_excl_drop(fd);
	}
	/* A symlink or device has no descriptor to sync by; its file system's journal orders it. */
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
		err = v3_stable(r, fd);
	return err;
}

static int setattr_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	const SETATTR3args *a = &c->args.setattr;
	struct stat st;
	int err;

	if (fstat(r->file->path_fd, &st))
		return -errno;
	err = v3_sattr_check(&a->new_attributes);
	if (!err && a->guard.check && a->guard.sattrguard3_u.obj_ctime.nseconds >= 1000000000)
		err = -EINVAL;
	if (!err && !in_sync(&a->guard, &st))
		c->res.status = NFS3ERR_NOT_SYNC;
	else if (!err)
		err = setattr_change(r, a, &st);
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

struct right {
	uint32_t bit;
	int mode;
	bool modifies;
};

static const struct right dir_rights[] = {
	{ACCESS3_READ, R_OK, false},         {ACCESS3_LOOKUP, X_OK, false},
	{ACCESS3_MODIFY, W_OK | X_OK, true}, {ACCESS3_EXTEND, W_OK | X_OK, true},
	{ACCESS3_DELETE, W_OK | X_OK, true}, {0, 0, false},
};

static const struct right file_rights[] = {
	{ACCESS3_READ, R_OK, false},
	{ACCESS3_MODIFY, W_OK, true},
	{ACCESS3_EXTEND, W_OK, true},
	{ACCESS3_EXECUTE, X_OK, false},
	{0, 0, false},
};

static uint32_t granted(struct req *r, uint32_t asked)
{
	const struct right *t = S_ISDIR(r->file->type) ? dir_rights : file_rights;
	uint32_t got = 0;

	for (; t->bit; t++)
		if ((asked & t->bit) && !(t->modifies && !r->opts->rw) &&
		    !access_kernel(r->file->path_fd, t->mode))
			got |= t->bit;
	return got;
}

static int access_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	ACCESS3resok *ok = &c->res.access.ACCESS3res_u.resok;
	int err = v3_as_caller(r);

	v3_post(&ok->obj_attributes, r->export->root, r->file->path_fd);
	if (!err)
		ok->access = granted(r, c->args.access.access);
	return err;
}

enum req_step_result v3_access(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_ACCESS3args,
		(xdrproc_t)xdr_ACCESS3res,
		access_work,
		false,
	};

	return v3_meta_step(r, &meta);
}
