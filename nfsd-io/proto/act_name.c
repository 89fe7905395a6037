/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that go, move or are added. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/act.h"

/*
 * The handle of what is about to lose `name`, so that its cached descriptors
 * can go when no name is left.  False: none (not there, or out of reach).
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

int act_remove(struct req *r, struct file *dir, const char *name, int flags)
{
	struct fh fh;
	bool known = victim(r, dir->path_fd, name, &fh);
	int err;

	if (unlinkat(dir->path_fd, name, flags))
		return -errno;
	err = cred_assume(NULL);
	if (err)
		return err;
	handle_note_remove(r->export->root, dir->path_fd, name);
	if (known)
		fdcache_forget(r->env->files, &fh);
	return act_stable(r, dir->path_fd);
}

/*
 * Moves the name, as the caller on entry and as the
 * server afterwards; path mode hears of it in time.
 */
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

int act_rename(struct req *r, struct file *olddir, const char *from, struct file *newdir,
	       const char *to)
{
	struct fh fh;
	bool known = victim(r, newdir->path_fd, to, &fh);
	int err = rename_noted(r->export->root, olddir->path_fd, from, newdir->path_fd, to);

	if (err)
		return err;
	if (known)
		fdcache_forget(r->env->files, &fh);
	err = act_stable(r, newdir->path_fd);
	return err || newdir == olddir ? err : act_stable(r, olddir->path_fd);
}

int act_link(struct req *r, struct file *f, struct file *dir, const char *name)
{
	char path[32];
	int err = 0;

	/* AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH, which the caller has not. */
	act_proc_path(path, f->path_fd);
	if (linkat(AT_FDCWD, path, dir->path_fd, name, AT_SYMLINK_FOLLOW))
		return -errno;
	if (S_ISREG(f->type))
		err = act_stable(r, f->path_fd);
	return err ? err : act_stable(r, dir->path_fd);
}
