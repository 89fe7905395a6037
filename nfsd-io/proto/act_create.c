/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* New regular files: unchecked, guarded, exclusive. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/act.h"
#include "nfsd-io/proto/excl.h"

/* Lost races between "exists" and "gone" before we give up. */
#define TRIES 8
#define NEW_FLAGS (O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* What an exclusive create without attributes has until SETATTR: nobody but the owner may look. */
#define EXCLUSIVE_MODE 0600

static int create_new(struct req *r, const char *name, const struct sattr *attrs)
{
	struct sattr new;
	int fd, err = 0;

	sattr_new(&new, attrs, r->file->path_fd);
	fd = openat(r->file->path_fd, name, NEW_FLAGS, sattr_mode(&new, EXCLUSIVE_MODE));
	if (fd < 0)
		return -errno;
	if (new.set_size && new.size && ftruncate(fd, (off_t)new.size))
		err = -errno;
	if (!err)
		err = sattr_dress(r, fd, &new, false);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int resize_existing(struct req *r, const char *name, int fd, uint64_t size)
{
	struct root *root = r->export->root;
	struct handle_parts parts;
	struct fh fh;
	int err = handle_of_child(r->env->key, root, r->file->path_fd, name, fd, &fh);

	if (!err)
		err = handle_decode(r->env->key, fh.data, fh.len, &parts);
	return err ? err : sattr_size(r, &fh, &parts, fd, size);
}

static int open_existing(struct req *r, const char *name, const struct act_create *c)
{
	int fd = object_lookup(r->export->root, r->file->path_fd, name), err = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EEXIST;
	if (!err && c->attrs->set_size && !c->leave_size)
		err = resize_existing(r, name, fd, c->attrs->size);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int create_plain(struct req *r, const char *name, struct act_create *c)
{
	int fd = -EEXIST;

	for (int i = 0; i < TRIES; i++) {
		c->existed = false;
		fd = create_new(r, name, c->attrs);
		if (fd != -EEXIST || c->how == ACT_GUARDED)
			break;
		c->existed = true;
		fd = open_existing(r, name, c);
		if (fd != -ENOENT)
			break;
	}
	return fd;
}

/* Our own earlier answer to the same verifier, or EXIST; ENOENT: there is nothing yet. */
static int exclusive_existing(struct req *r, const char *name, const uint8_t *verf)
{
	int fd = object_lookup(r->export->root, r->file->path_fd, name), err;

	if (fd < 0)
		return fd;
	err = cred_assume(NULL);
	if (!err && !excl_matches(fd, verf))
		err = -EEXIST;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * Attributes that came along, and the verifier, are stable
 * before anybody can see them missing; takes `fd`.
 */
static int exclusive_mark(struct req *r, int fd, const struct act_create *c)
{
	int err = 0;

	if (c->attrs)
		err = sattr_dress(r, fd, c->attrs, false);
	if (!err)
		err = cred_assume(NULL);
	if (!err)
		err = excl_store(fd, c->verf);
	if (!err)
		err = act_stable(r, fd);
	if (!err)
		err = act_as_caller(r);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int exclusive_link(struct req *r, const char *name, const struct act_create *c, mode_t mode)
{
	int fd = openat(r->file->path_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
	char path[32];
	int err;

	if (fd < 0)
		return -errno;
	fd = exclusive_mark(r, fd, c);
	if (fd < 0)
		return fd;
	act_proc_path(path, fd);
	if (!linkat(AT_FDCWD, path, r->file->path_fd, name, AT_SYMLINK_FOLLOW))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* For file systems without unnamed files: the name appears a moment before the verifier. */
static int exclusive_open(struct req *r, const char *name, const struct act_create *c, mode_t mode)
{
	int fd = openat(r->file->path_fd, name, NEW_FLAGS, mode);

	return fd < 0 ? -errno : exclusive_mark(r, fd, c);
}

static int exclusive_new(struct req *r, const char *name, const struct act_create *c)
{
	struct act_create mine = *c;
	mode_t mode = EXCLUSIVE_MODE;
	struct sattr new;
	int fd;

	if (c->attrs) {
		sattr_new(&new, c->attrs, r->file->path_fd);
		mine.attrs = &new;
		mode = sattr_mode(&new, EXCLUSIVE_MODE);
	}
	fd = exclusive_link(r, name, &mine, mode);
	if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL)
		fd = exclusive_open(r, name, &mine, mode);
	return fd;
}

static int create_exclusive(struct req *r, const char *name, struct act_create *c)
{
	int fd = -EEXIST;

	for (int i = 0; i < TRIES; i++) {
		c->existed = true;
		fd = exclusive_existing(r, name, c->verf);
		if (fd != -ENOENT)
			break;
		fd = act_as_caller(r);
		if (fd)
			break;
		c->existed = false;
		fd = exclusive_new(r, name, c);
		if (fd != -EEXIST)
			break;
		fd = act_as_caller(r);
		if (fd)
			break;
		fd = -EEXIST;
	}
	return fd;
}

int act_create(struct req *r, const char *name, struct act_create *c)
{
	return c->how == ACT_EXCLUSIVE ? create_exclusive(r, name, c) : create_plain(r, name, c);
}
