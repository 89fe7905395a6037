/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes found out: one statx() of the object, and what follows from where it lies. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nfsd-io/core/compat.h"
#include "nfsd-io/proto/nfs4_attr.h"
#include "nfsd-io/proto/pseudo.h"
#include "nfsd-io/proto/status.h"

#define BTRFS_SUBVOLUME_INO 256

static struct timespec time_of(const struct statx_timestamp *t)
{
	return (struct timespec){.tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec};
}

static void from_statx(struct stat *st, const struct statx *x)
{
	*st = (struct stat){
		.st_dev = makedev(x->stx_dev_major, x->stx_dev_minor),
		.st_ino = x->stx_ino,
		.st_mode = x->stx_mode,
		.st_nlink = x->stx_nlink,
		.st_uid = x->stx_uid,
		.st_gid = x->stx_gid,
		.st_rdev = makedev(x->stx_rdev_major, x->stx_rdev_minor),
		.st_size = (off_t)x->stx_size,
		.st_blocks = (blkcnt_t)x->stx_blocks,
		.st_atim = time_of(&x->stx_atime),
		.st_mtim = time_of(&x->stx_mtime),
		.st_ctim = time_of(&x->stx_ctime),
	};
}

/* Tells the subvolumes of one file system apart: btrfs' own number where the kernel gives it, else the device's. */
static uint64_t part_of(const struct statx *x)
{
	uint64_t subvol = 0;

	if (x->stx_mask & COMPAT_STATX_SUBVOL)
		memcpy(&subvol, (const char *)x + COMPAT_STATX_SUBVOL_AT, sizeof(subvol));
	return subvol ? subvol : makedev(x->stx_dev_major, x->stx_dev_minor);
}

/*
 * Inode numbers repeat where the device is another one below the export (subvolumes), so that is a
 * file system of its own to the client, and its root is seen from above by another number.
 */
static void place(struct v4_object *o, const struct export *e, const struct statx *x)
{
	const struct root *root = o->root;

	memcpy(&o->fsid[0], root->fskey, sizeof(o->fsid[0]));
	o->fsid[1] = o->st.st_dev == root->dev ? 0 : part_of(x);
	o->mounted_on = o->st.st_ino;
	if (o->st.st_ino == root->ino && o->st.st_dev == root->dev)
		o->mounted_on = pseudo_fileid(e);
	else if (o->st.st_dev != root->dev && o->st.st_ino == BTRFS_SUBVOLUME_INO)
		o->mounted_on = part_of(x);
}

int v4_object_stat(struct v4_object *o, const struct export *e, int fd, const struct fh *fh)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME | COMPAT_STATX_SUBVOL, &x))
		return -errno;
	o->root = e->root;
	o->fh = fh;
	o->have_btime = x.stx_mask & STATX_BTIME;
	o->btime = time_of(&x.stx_btime);
	from_statx(&o->st, &x);
	place(o, e, &x);
	return 0;
}

int v4_object_space(struct v4_object *o, int fd)
{
	char path[32];
	long links;

	if (fstatvfs(fd, &o->space))
		return -errno;
	act_proc_path(path, fd);
	links = pathconf(path, _PC_LINK_MAX);
	o->maxlink = links > 0 && links < UINT32_MAX ? (uint32_t)links : UINT32_MAX;
	return 0;
}

uint32_t v4_object_current(struct req *r, const struct v4_attrs *asked, struct v4_object *o)
{
	uint32_t status;
	int err;

	if (v4_pseudo(r))
		return pseudo_object(r, o);
	/* A file system that is asked for its space may have to look. */
	if (v4_attr_needs_space(asked) && v4(r)->worker)
		return V4_ELSEWHERE;
	status = v4_file(r, FILE_PATH);
	if (status)
		return status;
	err = v4_object_stat(o, r->export, r->file->path_fd, &r->fh);
	if (!err && v4_attr_needs_space(asked))
		err = v4_object_space(o, r->file->path_fd);
	return status_nfs4(err);
}
