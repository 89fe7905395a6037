/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MKDIR, SYMLINK, MKNOD, and what all four making procedures (nfs3_create.c too) share. */
#include "nfsd-io/proto/nfs3_make.h"

#include <errno.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Handle and attributes of the new object, and all of it stable. */
static int describe(struct req *r, const char *name, int fd, CREATE3resok *ok)
{
	struct v3_call *c = v3_call(r);
	int err = act_finish(r, name, fd, &c->fh);

	if (err)
		return err;
	if (c->fh.len) {
		ok->obj.handle_follows = TRUE;
		ok->obj.post_op_fh3_u.handle.data.data_val = (char *)c->fh.data;
		ok->obj.post_op_fh3_u.handle.data.data_len = c->fh.len;
	}
	v3_post(&ok->obj_attributes, r->export->root, fd);
	return 0;
}

int v3_make(struct req *r, const sattr3 *attrs,
	    int (*maker)(struct req *r, const char *name, const struct sattr *a))
{
	struct v3_call *c = v3_call(r);
	CREATE3res *res = &c->res.create; /* MKDIR's, SYMLINK's and MKNOD's are the same */
	const char *name = c->args.create.where.name;
	int fd = -1, err = v3_need_dir(r->file);
	struct sattr a = {0};

	if (attrs)
		v3_sattr_get(attrs, &a);
	if (!err)
		err = v3_name_check(name, -EEXIST);
	if (!err)
		err = sattr_check(&a);
	if (!err)
		err = act_as_caller(r);
	if (!err) {
		fd = maker(r, name, &a);
		err = fd < 0 ? fd : 0;
	}
	cred_assume(NULL);
	if (!err)
		err = describe(r, name, fd, &res->CREATE3res_u.resok);
	if (fd >= 0)
		close(fd);
	v3_wcc(err ? &res->CREATE3res_u.resfail.dir_wcc : &res->CREATE3res_u.resok.dir_wcc,
	       r->export->root, r->file->path_fd);
	return err;
}

/* --- MKDIR --- */

static int mkdir_work(struct req *r)
{
	return v3_make(r, &v3_call(r)->args.mkdir.attributes, act_mkdir);
}

enum req_step_result v3_mkdir(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_MKDIR3args,
		(xdrproc_t)xdr_MKDIR3res,
		mkdir_work,
		true,
	};

	return v3_meta_step(r, &meta);
}

/* --- SYMLINK --- */

static int make_symlink(struct req *r, const char *name, const struct sattr *a)
{
	return act_symlink(r, name, v3_call(r)->args.symlink.symlink.symlink_data, a);
}

static int symlink_work(struct req *r)
{
	return v3_make(r, &v3_call(r)->args.symlink.symlink.symlink_attributes, make_symlink);
}

enum req_step_result v3_symlink(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_SYMLINK3args,
		(xdrproc_t)xdr_SYMLINK3res,
		symlink_work,
		true,
	};

	return v3_meta_step(r, &meta);
}

/* --- MKNOD --- */

static const sattr3 *mknod_attrs(const mknoddata3 *d)
{
	switch (d->type) {
	case NF3CHR:
	case NF3BLK:
		return &d->mknoddata3_u.device.dev_attributes;
	case NF3SOCK:
	case NF3FIFO:
		return &d->mknoddata3_u.pipe_attributes;
	default:
		return NULL;
	}
}

static int make_node(struct req *r, const char *name, const struct sattr *a)
{
	const mknoddata3 *d = &v3_call(r)->args.mknod.what;
	const specdata3 *spec = &d->mknoddata3_u.device.spec;

	switch (d->type) {
	case NF3FIFO:
		return act_mknod(r, name, S_IFIFO, 0, a);
	case NF3SOCK:
		return act_mknod(r, name, S_IFSOCK, 0, a);
	default:
		return act_mknod(r, name, d->type == NF3CHR ? S_IFCHR : S_IFBLK,
				 makedev(spec->specdata1, spec->specdata2), a);
	}
}

static int mknod_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	const sattr3 *a = mknod_attrs(&c->args.mknod.what);

	if (a)
		return v3_make(r, a, make_node);
	c->res.status = NFS3ERR_BADTYPE;
	v3_wcc(&c->res.mknod.MKNOD3res_u.resfail.dir_wcc, r->export->root, r->file->path_fd);
	return 0;
}

enum req_step_result v3_mknod(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_MKNOD3args,
		(xdrproc_t)xdr_MKNOD3res,
		mknod_work,
		true,
	};

	return v3_meta_step(r, &meta);
}
