/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/khandle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "nfsd-io/core/compat.h"

union khandle_arg {
	struct file_handle fh;
	uint8_t room[sizeof(struct file_handle) + KHANDLE_MAX];
};

static int khandle_ask(int fd, int flags, struct khandle *out)
{
	union khandle_arg arg = { .fh.handle_bytes = KHANDLE_MAX };
	int mount_id;

	if (name_to_handle_at(fd, "", &arg.fh, &mount_id, AT_EMPTY_PATH | flags) < 0)
		return -errno;
	if (arg.fh.handle_type < 0 || arg.fh.handle_type >= KHANDLE_TYPE_INODE ||
	    !arg.fh.handle_bytes)
		return -EOVERFLOW;
	*out = (struct khandle){ .type = arg.fh.handle_type, .len = arg.fh.handle_bytes };
	memcpy(out->data, arg.room + sizeof(arg.fh), out->len);
	return 0;
}

int khandle_of(int fd, struct khandle *out)
{
	return khandle_ask(fd, 0, out);
}

/*
 * On overlayfs both the file identity and the birth time change when a file
 * is copied up by its first WRITE; only the inode number stays.
 */
static int khandle_inode(int fd, bool overlay, struct khandle *out)
{
	struct statx stx;
	uint64_t part[3] = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_TYPE | STATX_BTIME, &stx) < 0)
		return -errno;
	part[0] = stx.stx_ino;
	if (!overlay && (stx.stx_mask & STATX_BTIME)) {
		part[1] = (uint64_t)stx.stx_btime.tv_sec;
		part[2] = stx.stx_btime.tv_nsec;
	}
	*out = (struct khandle){ .type = KHANDLE_TYPE_INODE, .len = sizeof(part) };
	memcpy(out->data, part, sizeof(part));
	return 0;
}

int khandle_identify(int fd, struct khandle *out)
{
	struct statfs sfs;
	int rc = khandle_of(fd, out);

	if (rc == 0)
		return 0;
	if (fstatfs(fd, &sfs) < 0)
		return -errno;
	if (sfs.f_type == OVERLAYFS_SUPER_MAGIC)
		return khandle_inode(fd, true, out);
	rc = khandle_ask(fd, AT_HANDLE_FID, out);
	return rc == 0 ? 0 : khandle_inode(fd, false, out);
}

int khandle_open(int mount_fd, const struct khandle *k)
{
	union khandle_arg arg = { .fh = { .handle_bytes = k->len, .handle_type = k->type } };
	int fd;

	if (k->len > KHANDLE_MAX || k->type == KHANDLE_TYPE_INODE)
		return -ESTALE;
	memcpy(arg.room + sizeof(arg.fh), k->data, k->len);
	fd = open_by_handle_at(mount_fd, &arg.fh, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	/* A handle the file system cannot make sense of names nothing that exists now. */
	return errno == ENOENT || errno == EINVAL || errno == EOVERFLOW ? -ESTALE : -errno;
}

bool khandle_equal(const struct khandle *a, const struct khandle *b)
{
	return a->type == b->type && a->len == b->len && !memcmp(a->data, b->data, a->len);
}
