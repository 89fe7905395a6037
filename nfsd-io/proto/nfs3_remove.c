/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* REMOVE, RMDIR, RENAME, LINK. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/v3.h"

/*
 * The handle of what is about to lose `name`, so that its cached descriptors
 * can go when no name is left.  0: none (not there, or out of reach).
 */
static bool victim(struct req *r, int dir, const char *name, struct fh *fh)
{
	int fd = object_lookup(r->export->root, dir, name);
	bool ok;

	if (fd < 0)
		return false;
	ok = !handle_of_child(r->env->key, r->export->root, dir, name, fd, fh);
	close(fd);
	return ok;
}

/* As the caller on entry. */
static int unlink_name(struct req *r, const char *name, int flags)
{
	int dir = r->file->path_fd, err;
	struct fh fh;
	bool known = victim(r, dir, name, &fh);

	if (unlinkat(dir, name, flags))
		return -errno;
	err = cred_assume(NULL);
	if (err)
		return err;
	handle_note_remove(r->export->root, dir, name);
	if (known)
		fdcache_forget(r->env->files, &fh);
	return v3_stable(r, dir);
}

static int remove_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	const char *name = c->args.remove.object.name;
	int err = v3_need_dir(r->file);

	if (!err)
		err = v3_name_check(name, -EACCES);
	if (!err)
		err = v3_as_caller(r);
	if (!err)
		err = unlink_name(r, name, 0);
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
		err = v3_as_caller(r);
	if (!err)
		err = unlink_name(r, name, AT_REMOVEDIR);
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

/* Moves the name, as the caller on entry and as the server afterwards; path mode hears of it in time. */
static int rename_noted(struct root *root, int olddir, const char *from, int newdir, const char *to)
{
	int err;

	handle_names_lock(root);
	err = renameat(olddir, from, newdir, to) ? -errno : cred_assume(NULL);
	if (!err)
		handle_note_rename(root, olddir, from, newdir, to);
	handle_names_unlock(root);
	return err;
}

static int rename_names(struct req *r, const char *from, struct file *todir, const char *to)
{
	int olddir = r->file->path_fd, newdir = todir->path_fd, err;
	struct fh fh;
	bool known;

	err = v3_as_caller(r);
	if (err)
		return err;
	known = victim(r, newdir, to, &fh);
	err = rename_noted(r->export->root, olddir, from, newdir, to);
	if (err)
		return err;
	if (known)
		fdcache_forget(r->env->files, &fh);
	err = v3_stable(r, newdir);
	return err || todir == r->file ? err : v3_stable(r, olddir);
}

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
		err = rename_names(r, a->from.name, todir, a->to.name);
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

static int link_name(struct req *r, struct file *dir, const char *name)
{
	char path[32];
	int err = v3_as_caller(r);

	if (err)
		return err;
	/* AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH, which the caller has not. */
	v3_proc_path(path, r->file->path_fd);
	if (linkat(AT_FDCWD, path, dir->path_fd, name, AT_SYMLINK_FOLLOW))
		return -errno;
	if (S_ISREG(r->file->type))
		err = v3_stable(r, r->file->path_fd);
	return err ? err : v3_stable(r, dir->path_fd);
}

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
		err = link_name(r, dir, a->name);
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
