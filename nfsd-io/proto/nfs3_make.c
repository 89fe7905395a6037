/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MKDIR, SYMLINK, MKNOD, and what all four making procedures (nfs3_create.c too) share. */
#include "nfsd-io/proto/nfs3_make.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"

mode_t v3_make_mode(const sattr3 *a, mode_t otherwise)
{
	return a->mode.set_it ? a->mode.set_mode3_u.mode & 07777 : otherwise;
}

int v3_make_attrs(struct req *r, int fd, const sattr3 *a, bool mode_too)
{
	sattr3 rest = *a;

	/*
	 * Giving files away is root's; anybody else's request for it is passed over, as knfsd
	 * does.
	 */
	if (r->cred->uid != 0)
		rest.uid.set_it = rest.gid.set_it = FALSE;
	rest.mode.set_it = rest.mode.set_it && (mode_too || rest.uid.set_it || rest.gid.set_it);
	return v3_sattr_apply(fd, &rest);
}

/* Handle and attributes of the new object, and all of it stable. */
static int describe(struct req *r, const char *name, int fd, CREATE3resok *ok)
{
	struct v3_call *c = v3_call(r);
	struct root *root = r->export->root;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		err = v3_stable(r, fd);
	if (!err)
		err = v3_stable(r, r->file->path_fd);
	if (err)
		return err;
	if (!handle_of_child(r->env->key, root, r->file->path_fd, name, fd, &c->fh)) {
		ok->obj.handle_follows = TRUE;
		ok->obj.post_op_fh3_u.handle.data.data_val = (char *)c->fh.data;
		ok->obj.post_op_fh3_u.handle.data.data_len = c->fh.len;
	}
	v3_post(&ok->obj_attributes, root, fd);
	return 0;
}

int v3_make(struct req *r, const sattr3 *attrs, int (*maker)(struct req *r, const char *name))
{
	struct v3_call *c = v3_call(r);
	CREATE3res *res = &c->res.create; /* MKDIR's, SYMLINK's and MKNOD's are the same */
	const char *name = c->args.create.where.name;
	int fd = -1, err = v3_need_dir(r->file);

	if (!err)
		err = v3_name_check(name, -EEXIST);
	if (!err && attrs)
		err = v3_sattr_check(attrs);
	if (!err)
		err = v3_as_caller(r);
	if (!err) {
		fd = maker(r, name);
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

/* The object just made under `name`, if it is still that. */
static int made(struct req *r, const char *name, mode_t type)
{
	int fd = object_lookup(r->export->root, r->file->path_fd, name);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && (st.st_mode & S_IFMT) == type))
		return fd;
	close(fd);
	return -ESTALE;
}

/* Attributes for what was made; takes `fd`. */
static int dress(struct req *r, int fd, const sattr3 *a, bool mode_too)
{
	int err;

	if (fd < 0)
		return fd;
	err = v3_make_attrs(r, fd, a, mode_too);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* --- MKDIR --- */

static int make_dir(struct req *r, const char *name)
{
	const sattr3 *a = &v3_call(r)->args.mkdir.attributes;
	mode_t mode = v3_make_mode(a, 0700);

	if (mkdirat(r->file->path_fd, name, mode))
		return -errno;
	/* mkdir() ignores the set-id bits. */
	return dress(r, made(r, name, S_IFDIR), a, mode & 06000);
}

static int mkdir_work(struct req *r)
{
	return v3_make(r, &v3_call(r)->args.mkdir.attributes, make_dir);
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

static int make_symlink(struct req *r, const char *name)
{
	const symlinkdata3 *d = &v3_call(r)->args.symlink.symlink;

	if (!d->symlink_data[0])
		return -EINVAL;
	if (symlinkat(d->symlink_data, r->file->path_fd, name))
		return -errno;
	/* The mode of a symlink means nothing and cannot be set. */
	sattr3 a = d->symlink_attributes;
	a.mode.set_it = FALSE;
	return dress(r, made(r, name, S_IFLNK), &a, false);
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

static int make_node(struct req *r, const char *name)
{
	const mknoddata3 *d = &v3_call(r)->args.mknod.what;
	const sattr3 *a = mknod_attrs(d);
	mode_t type = d->type == NF3FIFO   ? S_IFIFO
		      : d->type == NF3SOCK ? S_IFSOCK
		      : d->type == NF3CHR  ? S_IFCHR
					   : S_IFBLK;
	dev_t dev = 0;

	if (type == S_IFCHR || type == S_IFBLK) {
		const specdata3 *spec = &d->mknoddata3_u.device.spec;

		/* A device node is power over the server's hardware: root without squash only. */
		if (r->cred->uid != 0)
			return -EPERM;
		dev = makedev(spec->specdata1, spec->specdata2);
	}
	if (mknodat(r->file->path_fd, name, type | v3_make_mode(a, 0600), dev))
		return -errno;
	return dress(r, made(r, name, type), a, false);
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
