/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes found out: one statx() of the object, and what follows from where it lies. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/core/attr.h"
#include "nfsd-io/core/compat.h"
#include "nfsd-io/proto/nfs4_attr.h"
#include "nfsd-io/proto/pseudo.h"
#include "nfsd-io/proto/status.h"

#define BTRFS_SUBVOLUME_INO 256

/*
 * Tells the subvolumes of one file system apart: btrfs' own
 * number where the kernel gives it, else the device's.
 */
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

void v4_object_seen(struct v4_object *o, const struct export *e, const struct statx *x,
		    const struct fh *fh)
{
	o->root = e->root;
	o->fh = fh;
	o->have_btime = x->stx_mask & STATX_BTIME;
	o->btime =
		(struct timespec){.tv_sec = x->stx_btime.tv_sec, .tv_nsec = x->stx_btime.tv_nsec};
	attr_of_statx(&o->st, x);
	place(o, e, x);
}

static int ask(int fd, struct statx *x)
{
	unsigned mask = STATX_BASIC_STATS | STATX_BTIME | COMPAT_STATX_SUBVOL;

	return statx(fd, "", AT_EMPTY_PATH, mask, x) ? -errno : 0;
}

int v4_object_stat(struct v4_object *o, const struct export *e, int fd, const struct fh *fh)
{
	struct statx x;
	int err = ask(fd, &x);

	if (!err)
		v4_object_seen(o, e, &x, fh);
	return err;
}

int v4_object_found(struct v4_object *o, const struct export *e, int fd, const struct fh *fh)
{
	struct statx x;
	int err = ask(fd, &x);

	if (err)
		return err;
	handle_note(e->root, &x, fh);
	v4_object_seen(o, e, &x, fh);
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

static int tell_owners(struct idmap *m, bool may_block, struct v4_object *o)
{
	struct timespec now;
	int err;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	err = idmap_tell(m, HOSTDB_USERS, o->st.st_uid, may_block, (uint64_t)now.tv_sec, &o->owner);
	if (!err)
		err = idmap_tell(m, HOSTDB_GROUPS, o->st.st_gid, may_block, (uint64_t)now.tv_sec,
				 &o->group);
	return err;
}

uint32_t v4_object_owners(struct req *r, struct v4_object *o)
{
	int err = tell_owners(r->env->idmap, false, o);

	if (!err)
		return NFS4_OK;
	if (v4(r)->worker)
		return V4_ELSEWHERE;
	/* As the server: whose name is looked up is nobody's business. */
	err = cred_assume(NULL);
	return status_nfs4(err ? err : tell_owners(r->env->idmap, true, o));
}

static uint32_t find_object(struct req *r, const struct v4_attrs *asked, struct v4_object *o)
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

uint32_t v4_object_current(struct req *r, const struct v4_attrs *asked, struct v4_object *o)
{
	uint32_t status = find_object(r, asked, o);

	return !status && v4_attr_needs_owners(asked) ? v4_object_owners(r, o) : status;
}
