/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* REMOVE, RMDIR, RENAME, LINK. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "nfsd-io/proto/v3.h"

static int remove_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	const char *name = c->args.remove.object.name;
	int err = v3_need_dir(r->file);

	if (!err)
		err = v3_name_check(name, -EACCES);
	if (!err)
		err = act_as_caller(r);
	if (!err)
		err = act_remove(r, r->file, name, 0);
	v3_wcc(&c->res.remove.REMOVE3res_u.resok.dir_wcc, r->export->root, r->file->path_fd);
	return err;
}

enum req_step_result v3_remove(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_REMOVE3args,
		(xdrproc_t)xdr_REMOVE3res,
		remove_work,
		true,
	};

	return v3_meta_step(r, &meta);
}

static int rmdir_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	const char *name = c->args.rmdir.object.name;
	int err = v3_need_dir(r->file);

	/* RFC 1813 s.3.3.13: "." is INVAL, ".." EXIST. */
	if (!err)
		err = v3_name_check(name, strcmp(name, ".") ? -EEXIST : -EINVAL);
	if (!err)
		err = act_as_caller(r);
	if (!err)
		err = act_remove(r, r->file, name, AT_REMOVEDIR);
	v3_wcc(&c->res.rmdir.RMDIR3res_u.resok.dir_wcc, r->export->root, r->file->path_fd);
	return err;
}

enum req_step_result v3_rmdir(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_RMDIR3args,
		(xdrproc_t)xdr_RMDIR3res,
		rmdir_work,
		true,
	};

	return v3_meta_step(r, &meta);
}

/* --- RENAME --- */

static int rename_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	const RENAME3args *a = &c->args.rename;
	RENAME3resok *ok = &c->res.rename.RENAME3res_u.resok;
	struct file *todir = NULL;
	int err = v3_second(r, &a->to.dir, &todir);

	if (!err)
		err = v3_need_dir(r->file);
	if (!err)
		err = v3_need_dir(todir);
	if (!err)
		err = v3_name_check(a->from.name, -EINVAL);
	if (!err)
		err = v3_name_check(a->to.name, -EINVAL);
	if (!err)
		err = act_as_caller(r);
	if (!err)
		err = act_rename(r, r->file, a->from.name, todir, a->to.name);
	v3_wcc(&ok->fromdir_wcc, r->export->root, r->file->path_fd);
	v3_wcc(&ok->todir_wcc, r->export->root, todir ? todir->path_fd : -1);
	file_put(todir);
	return err;
}

enum req_step_result v3_rename(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_RENAME3args,
		(xdrproc_t)xdr_RENAME3res,
		rename_work,
		true,
	};

	return v3_meta_step(r, &meta);
}

/* --- LINK --- */

static int link_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	const diropargs3 *a = &c->args.link.link;
	LINK3resok *ok = &c->res.link.LINK3res_u.resok;
	struct file *dir = NULL;
	int err = v3_second(r, &a->dir, &dir);

	if (!err)
		err = v3_need_dir(dir);
	if (!err)
		err = v3_name_check(a->name, -EEXIST);
	if (!err)
		err = act_as_caller(r);
	if (!err)
		err = act_link(r, r->file, dir, a->name);
	v3_post(&ok->file_attributes, r->export->root, r->file->path_fd);
	v3_wcc(&ok->linkdir_wcc, r->export->root, dir ? dir->path_fd : -1);
	file_put(dir);
	return err;
}

enum req_step_result v3_link(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_LINK3args,
		(xdrproc_t)xdr_LINK3res,
		link_work,
		true,
	};

	return v3_meta_step(r, &meta);
}
