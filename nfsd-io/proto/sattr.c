/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/proto/sattr.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "nfsd-io/proto/access.h"
#include "nfsd-io/proto/act.h"

#define NSEC_PER_SEC 1000000000
#define NO_ID ((uint32_t)-1)

static bool time_ok(enum sattr_time how, const struct timespec *ts)
{
	return how != SATTR_CLIENT || (ts->tv_nsec >= 0 && ts->tv_nsec < NSEC_PER_SEC);
}

int sattr_check(const struct sattr *a)
{
	if (a->set_size && a->size > INT64_MAX)
		return -EINVAL;
	/* (uid_t)-1 means "leave alone" to the kernel. */
	if ((a->set_uid && a->uid == NO_ID) || (a->set_gid && a->gid == NO_ID))
		return -EINVAL;
	if (!time_ok(a->set_atime, &a->atime) || !time_ok(a->set_mtime, &a->mtime))
		return -EINVAL;
	return 0;
}

static struct timespec wanted_time(enum sattr_time how, const struct timespec *ts)
{
	switch (how) {
	case SATTR_CLIENT:
		return *ts;
	case SATTR_SERVER:
		return (struct timespec){.tv_nsec = UTIME_NOW};
	default:
		return (struct timespec){.tv_nsec = UTIME_OMIT};
	}
}

static int apply_times(int fd, const struct sattr *a)
{
	struct timespec ts[2] = {
		wanted_time(a->set_atime, &a->atime),
		wanted_time(a->set_mtime, &a->mtime),
	};

	if (a->set_atime == SATTR_LEAVE && a->set_mtime == SATTR_LEAVE)
		return 0;
	return utimensat(fd, "", ts, AT_EMPTY_PATH) ? -errno : 0;
}

static bool is_link(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISLNK(st.st_mode);
}

static int apply_mode(int fd, mode_t mode)
{
	char path[32];
	int err;

	/* fchmod() refuses O_PATH descriptors. */
	act_proc_path(path, fd);
	err = chmod(path, mode & 07777) ? -errno : 0;
	/*
	 * A link's mode means nothing, and the kernel has none
	 * to set: taken for set, as knfsd does.
	 */
	return err == -EOPNOTSUPP && is_link(fd) ? 0 : err;
}

int sattr_apply(int fd, const struct sattr *a)
{
	uid_t uid = a->set_uid ? a->uid : NO_ID;
	gid_t gid = a->set_gid ? a->gid : NO_ID;
	int err = 0;

	/*
	 * Owner before mode, since a change of owner clears set-id bits; times last, since the
	 * others move ctime only.
	 */
	if ((uid != NO_ID || gid != NO_ID) && fchownat(fd, "", uid, gid, AT_EMPTY_PATH))
		err = -errno;
	if (!err && a->set_mode)
		err = apply_mode(fd, a->mode);
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

int sattr_size(struct req *r, const struct fh *fh, const struct handle_parts *p, int path_fd,
	       uint64_t size)
{
	struct file *f = NULL;
	int err;

	err = act_as_caller(r);
	if (!err)
		err = size_right(r, path_fd);
	if (!err)
		err = cred_assume(NULL);
	if (!err)
		err = fdcache_open(r->env->files, r->export->root, fh, p, FILE_WRITE, &f);
	/* As the caller, so that set-id bits go. */
	if (!err)
		err = act_as_caller(r);
	if (!err && ftruncate(f->fd, (off_t)size))
		err = -errno;
	file_put(f);
	return err;
}

/* The kernel ignores a umask where a default ACL rules, and so must we (RFC 8275 s.2). */
static bool has_default_acl(int dirfd)
{
	char path[32];

	act_proc_path(path, dirfd);
	return getxattr(path, "system.posix_acl_default", NULL, 0) > 0;
}

void sattr_new(struct sattr *out, const struct sattr *a, int dirfd)
{
	*out = *a;
	out->have_umask = false;
	if (a->set_mode && a->have_umask && !has_default_acl(dirfd))
		out->mode &= ~a->umask;
}

mode_t sattr_mode(const struct sattr *a, mode_t otherwise)
{
	return a->set_mode ? a->mode & 07777 : otherwise;
}

int sattr_dress(struct req *r, int fd, const struct sattr *a, bool mode_too)
{
	struct sattr rest = *a;

	/*
	 * Giving files away is root's; anybody else's request for it is passed over, as knfsd
	 * does.
	 */
	if (r->cred->uid != 0)
		rest.set_uid = rest.set_gid = false;
	/* A change of owner clears set-id bits and nothing else. */
	rest.set_mode = rest.set_mode &&
			(mode_too || ((rest.set_uid || rest.set_gid) && (rest.mode & 06000)));
	return sattr_apply(fd, &rest);
}
