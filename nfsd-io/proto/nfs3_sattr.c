/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sattr3: what SETATTR and the making procedures set. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/proto/v3.h"

#define NSEC_PER_SEC 1000000000u
#define NO_ID ((uint32_t)-1)

int v3_sattr_check(const sattr3 *a)
{
	if (a->size.set_it && a->size.set_size3_u.size > INT64_MAX)
		return -EINVAL;
	/* (uid_t)-1 means "leave alone" to the kernel. */
	if (a->uid.set_it && a->uid.set_uid3_u.uid == NO_ID)
		return -EINVAL;
	if (a->gid.set_it && a->gid.set_gid3_u.gid == NO_ID)
		return -EINVAL;
	if (a->atime.set_it == SET_TO_CLIENT_TIME &&
	    a->atime.set_atime_u.atime.nseconds >= NSEC_PER_SEC)
		return -EINVAL;
	if (a->mtime.set_it == SET_TO_CLIENT_TIME &&
	    a->mtime.set_mtime_u.mtime.nseconds >= NSEC_PER_SEC)
		return -EINVAL;
	return 0;
}

static struct timespec wanted_time(time_how how, const nfstime3 *t)
{
	switch (how) {
	case SET_TO_CLIENT_TIME:
		return (struct timespec){.tv_sec = t->seconds, .tv_nsec = t->nseconds};
	case SET_TO_SERVER_TIME:
		return (struct timespec){.tv_nsec = UTIME_NOW};
	default:
		return (struct timespec){.tv_nsec = UTIME_OMIT};
	}
}

static int apply_times(int fd, const sattr3 *a)
{
	struct timespec ts[2] = {
		wanted_time(a->atime.set_it, &a->atime.set_atime_u.atime),
		wanted_time(a->mtime.set_it, &a->mtime.set_mtime_u.mtime),
	};

	if (a->atime.set_it == DONT_CHANGE && a->mtime.set_it == DONT_CHANGE)
		return 0;
	return utimensat(fd, "", ts, AT_EMPTY_PATH) ? -errno : 0;
}

static int apply_mode(int fd, mode_t mode)
{
	char path[32];

	/* fchmod() refuses O_PATH descriptors. */
	v3_proc_path(path, fd);
	return chmod(path, mode & 07777) ? -errno : 0;
}

int v3_sattr_apply(int fd, const sattr3 *a)
{
	uid_t uid = a->uid.set_it ? a->uid.set_uid3_u.uid : NO_ID;
	gid_t gid = a->gid.set_it ? a->gid.set_gid3_u.gid : NO_ID;
	int err = 0;

	/*
	 * Owner before mode, since a change of owner clears set-id bits; times last, since the
	 * others move ctime only.
	 */
	if ((uid != NO_ID || gid != NO_ID) && fchownat(fd, "", uid, gid, AT_EMPTY_PATH))
		err = -errno;
	if (!err && a->mode.set_it)
		err = apply_mode(fd, a->mode.set_mode3_u.mode);
	if (!err)
		err = apply_times(fd, a);
	return err;
}

/* May the caller change the size?  The owner always. */
static int size_right(struct req *r, int path_fd)
{
	struct stat st;

	if (fstat(path_fd, &st))
		return -errno;
	if (r->cred->uid == st.st_uid)
		return 0;
	return access_kernel(path_fd, W_OK);
}

int v3_sattr_size(struct req *r, const struct fh *fh, const struct handle_parts *p, int path_fd,
		  uint64_t size)
{
	struct file *f = NULL;
	int err;

	err = v3_as_caller(r);
	if (!err)
		err = size_right(r, path_fd);
	if (!err)
		err = cred_assume(NULL);
	if (!err)
		err = fdcache_open(r->env->files, r->export->root, fh, p, FILE_WRITE, &f);
	/* As the caller, so that set-id bits go. */
	if (!err)
		err = v3_as_caller(r);
	if (!err && ftruncate(f->fd, (off_t)size))
		err = -errno;
	file_put(f);
	return err;
}
