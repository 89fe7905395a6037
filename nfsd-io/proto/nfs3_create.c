/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CREATE in its three modes (RFC 1813 s.3.3.8). */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/nfs3_make.h"

/* Lost races between "exists" and "gone" before we give up. */
#define TRIES 8
#define NEW_FLAGS (O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* What an exclusive create has until SETATTR: nobody but the owner may look. */
#define EXCLUSIVE_MODE 0600

static int create_new(struct req *r, const char *name, const sattr3 *a)
{
	int fd = openat(r->file->path_fd, name, NEW_FLAGS, v3_make_mode(a, 0600)), err = 0;

	if (fd < 0)
		return -errno;
	if (a->size.set_it && a->size.set_size3_u.size &&
	    ftruncate(fd, (off_t)a->size.set_size3_u.size))
		err = -errno;
	if (!err)
		err = v3_make_attrs(r, fd, a, false);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * UNCHECKED on a file that is there: only the size applies, as every client expects of
 * O_CREAT|O_TRUNC.
 */
static int open_existing(struct req *r, const char *name, const sattr3 *a)
{
	struct root *root = r->export->root;
	int fd = object_lookup(root, r->file->path_fd, name), err = 0;
	struct handle_parts parts;
	struct stat st;
	struct fh fh;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EEXIST;
	if (!err && a->size.set_it) {
		err = handle_of_child(r->env->key, root, r->file->path_fd, name, fd, &fh);
		if (!err)
			err = handle_decode(r->env->key, fh.data, fh.len, &parts);
		if (!err)
			err = v3_sattr_size(r, &fh, &parts, fd, a->size.set_size3_u.size);
	}
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int create_plain(struct req *r, const char *name, const sattr3 *a, bool guarded)
{
	int fd = -EEXIST;

	for (int i = 0; i < TRIES; i++) {
		fd = create_new(r, name, a);
		if (fd != -EEXIST || guarded)
			break;
		fd = open_existing(r, name, a);
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
	if (!err && !v3_excl_matches(fd, verf))
		err = -EEXIST;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* The verifier is stored and stable before anybody can see it missing; takes `fd`. */
static int exclusive_mark(struct req *r, int fd, const uint8_t *verf)
{
	int err = cred_assume(NULL);

	if (!err)
		err = v3_excl_store(fd, verf);
	if (!err)
		err = v3_stable(r, fd);
	if (!err)
		err = v3_as_caller(r);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int exclusive_link(struct req *r, const char *name, const uint8_t *verf)
{
	int fd = openat(r->file->path_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, EXCLUSIVE_MODE);
	char path[32];
	int err;

	if (fd < 0)
		return -errno;
	fd = exclusive_mark(r, fd, verf);
	if (fd < 0)
		return fd;
	v3_proc_path(path, fd);
	if (!linkat(AT_FDCWD, path, r->file->path_fd, name, AT_SYMLINK_FOLLOW))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* For file systems without unnamed files: the name appears a moment before the verifier. */
static int exclusive_open(struct req *r, const char *name, const uint8_t *verf)
{
	int fd = openat(r->file->path_fd, name, NEW_FLAGS, EXCLUSIVE_MODE);

	return fd < 0 ? -errno : exclusive_mark(r, fd, verf);
}

static int create_exclusive(struct req *r, const char *name, const uint8_t *verf)
{
	int fd = -EEXIST;

	for (int i = 0; i < TRIES; i++) {
		fd = exclusive_existing(r, name, verf);
		if (fd != -ENOENT)
			break;
		fd = v3_as_caller(r);
		if (fd)
			break;
		fd = exclusive_link(r, name, verf);
		if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL)
			fd = exclusive_open(r, name, verf);
		if (fd != -EEXIST)
			break;
		fd = v3_as_caller(r);
		if (fd)
			break;
		fd = -EEXIST;
	}
	return fd;
}

static int create_file(struct req *r, const char *name)
{
	const createhow3 *how = &v3_call(r)->args.create.how;

	if (how->mode == EXCLUSIVE)
		return create_exclusive(r, name, (const uint8_t *)how->createhow3_u.verf);
	return create_plain(r, name, &how->createhow3_u.obj_attributes, how->mode == GUARDED);
}

static int create_work(struct req *r)
{
	const createhow3 *how = &v3_call(r)->args.create.how;

	return v3_make(r, how->mode == EXCLUSIVE ? NULL : &how->createhow3_u.obj_attributes,
		       create_file);
}

enum req_step_result v3_create(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_CREATE3args,
		(xdrproc_t)xdr_CREATE3res,
		create_work,
		true,
	};

	return v3_meta_step(r, &meta);
}
