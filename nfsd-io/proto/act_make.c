/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* New directories, symbolic links and special files. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/act.h"

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
static int dress(struct req *r, int fd, const struct sattr *a, bool mode_too)
{
	int err;

	if (fd < 0)
		return fd;
	err = sattr_dress(r, fd, a, mode_too);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int act_mkdir(struct req *r, const char *name, const struct sattr *a)
{
	struct sattr new;
	mode_t mode;

	sattr_new(&new, a, r->file->path_fd);
	mode = sattr_mode(&new, 0700);
	if (mkdirat(r->file->path_fd, name, mode))
		return -errno;
	/* mkdir() ignores the set-id bits. */
	return dress(r, made(r, name, S_IFDIR), &new, mode & 06000);
}

int act_symlink(struct req *r, const char *name, const char *target, const struct sattr *a)
{
	struct sattr new = *a;

	if (!target[0])
		return -EINVAL;
	if (symlinkat(target, r->file->path_fd, name))
		return -errno;
	/* The mode of a symlink means nothing and cannot be set. */
	new.set_mode = false;
	return dress(r, made(r, name, S_IFLNK), &new, false);
}

int act_mknod(struct req *r, const char *name, mode_t type, dev_t dev, const struct sattr *a)
{
	struct sattr new;

	/* A device node is power over the server's hardware: root without squash only. */
	if ((type == S_IFCHR || type == S_IFBLK) && r->cred->uid != 0)
		return -EPERM;
	sattr_new(&new, a, r->file->path_fd);
	if (mknodat(r->file->path_fd, name, type | sattr_mode(&new, 0600), dev))
		return -errno;
	return dress(r, made(r, name, type), &new, false);
}
