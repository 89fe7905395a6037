/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "nfsd-io/core/ring.h"

#define NOTES 16 /* files a thread keeps in mind */
#define ACL_XATTR "system.posix_acl_access"

struct note {
	uint64_t serial, batch;
	bool have_st, have_acl, acl, immutable;
	int err;
	struct stat st;
};

static _Thread_local struct note notes[NOTES];

uint64_t attr_serial(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static struct timespec time_of(const struct statx_timestamp *t)
{
	return (struct timespec){ .tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec };
}

void attr_of_statx(struct stat *st, const struct statx *x)
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
		.st_blksize = x->stx_blksize,
		.st_blocks = (blkcnt_t)x->stx_blocks,
		.st_atim = time_of(&x->stx_atime),
		.st_mtim = time_of(&x->stx_mtime),
		.st_ctim = time_of(&x->stx_ctime),
	};
}

static void look(struct note *n, const struct file *f)
{
	int fd = f->fd >= 0 ? f->fd : f->path_fd;
	struct statx x;

	n->have_st = true;
	n->err = 0;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x) == 0) {
		attr_of_statx(&n->st, &x);
		n->immutable = x.stx_attributes & STATX_ATTR_IMMUTABLE;
		return;
	}
	/* A container's filter that knows no statx. */
	n->immutable = true;
	if (fstat(fd, &n->st) < 0)
		n->err = -errno;
}

static void look_for_acl(struct note *n, const struct file *f)
{
	char link[48];
	ssize_t len;

	if (f->fd >= 0) {
		len = fgetxattr(f->fd, ACL_XATTR, NULL, 0);
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", f->path_fd);
		len = getxattr(link, ACL_XATTR, NULL, 0);
	}
	n->have_acl = true;
	n->acl = len > 0 || (len < 0 && errno != ENODATA && errno != EOPNOTSUPP);
}

/* What is known of the file in this batch; `scratch`, with nothing, where there is no batch. */
static struct note *note_of(const struct file *f, struct note *scratch)
{
	struct note *n = &notes[f->serial % NOTES];
	uint64_t batch = ring_batch();

	if (!batch || !f->serial)
		n = scratch;
	if (n->batch != batch || n->serial != f->serial || n == scratch) {
		n->serial = f->serial;
		n->batch = batch;
		n->have_st = n->have_acl = false;
	}
	return n;
}

int attr_stat(const struct file *f, struct stat *st)
{
	struct note scratch, *n = note_of(f, &scratch);

	if (!n->have_st)
		look(n, f);
	if (n->err == 0)
		*st = n->st;
	return n->err;
}

bool attr_immutable(const struct file *f)
{
	struct note scratch, *n = note_of(f, &scratch);

	if (!n->have_st)
		look(n, f);
	return n->immutable;
}

bool attr_acl(const struct file *f)
{
	struct note scratch, *n = note_of(f, &scratch);

	if (S_ISLNK(f->type))
		return false;
	if (!n->have_acl)
		look_for_acl(n, f);
	return n->acl;
}

void attr_forget(const struct file *f)
{
	struct note scratch, *n = note_of(f, &scratch);

	n->have_st = n->have_acl = false;
}
