/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
/* Which file system is it: its type's name and an identity that survives a remount. */
#include "nfsd-io/core/probe.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "nfsd-io/core/compat.h"

_Static_assert(sizeof(struct compat_xfs_geom_v1) == 112, "the kernel's layout");

/*
 * "36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw":
 * the word after " - " of our mount's line.
 */
static bool probe_mountinfo_type(unsigned long long id, char *out, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *type;
	size_t room = 0;
	bool found = false;

	while (f && !found && getline(&line, &room, f) > 0) {
		if (strtoull(line, NULL, 10) != id)
			continue;
		type = strstr(line, " - ");
		if (!type)
			break;
		type += 3;
		type[strcspn(type, " \n")] = 0;
		snprintf(out, size, "%s", type);
		found = true;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

static void probe_fstype(int fd, long magic, char *out, size_t size)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) == 0 &&
	    (stx.stx_mask & STATX_MNT_ID) && probe_mountinfo_type(stx.stx_mnt_id, out, size))
		return;
	snprintf(out, size, "0x%lx", magic);
}

/* Of all file systems that have none it is the same. */
static bool probe_none(const void *id, size_t len)
{
	static const uint8_t none[16];

	return !memcmp(id, none, len);
}

/* A UUID by ioctl: the general one, then what older kernels have. */
static bool probe_uuid_ioctl(int fd, uint8_t uuid[16])
{
	struct compat_fsuuid2 any = { 0 };
	struct compat_ext4_fsuuid ext4 = { .len = 16 };
	struct compat_xfs_geom_v1 xfs = { 0 };
	struct btrfs_ioctl_fs_info_args btrfs = { 0 };
	const uint8_t *found = NULL;

	if (ioctl(fd, COMPAT_FS_IOC_GETFSUUID, &any) == 0 && any.len == 16)
		found = any.uuid;
	else if (ioctl(fd, COMPAT_EXT4_IOC_GETFSUUID, &ext4) == 0 && ext4.len == 16)
		found = ext4.uuid;
	else if (ioctl(fd, COMPAT_XFS_IOC_FSGEOMETRY_V1, &xfs) == 0)
		found = xfs.uuid;
	else if (ioctl(fd, BTRFS_IOC_FS_INFO, &btrfs) == 0)
		found = btrfs.fsid;
	if (!found || probe_none(found, 16)) /* as mkfs.ext4 -U clear makes it */
		return false;
	memcpy(uuid, found, 16);
	return true;
}

/* Without a UUID: what statfs says, else the device number, as knfsd's handles do. */
static bool probe_other_id(const struct statfs *sfs, struct probe *out)
{
	if (probe_none(&sfs->f_fsid, sizeof(sfs->f_fsid))) {
		memcpy(out->uuid, &out->dev, sizeof(out->dev));
		return false;
	}
	memcpy(out->uuid, &sfs->f_fsid, sizeof(sfs->f_fsid));
	/* Of ext2..4 it is a fold of the UUID, elsewhere often the device number. */
	return !strncmp(out->fstype, "ext", 3);
}

void probe_identify(int fd, struct probe *out)
{
	struct statfs sfs = { 0 };
	struct stat st = { 0 };
	bool btrfs, tmpfs;

	memset(out->uuid, 0, sizeof(out->uuid));
	fstatfs(fd, &sfs);
	fstat(fd, &st);
	out->dev = st.st_dev;
	probe_fstype(fd, sfs.f_type, out->fstype, sizeof(out->fstype));
	btrfs = !strcmp(out->fstype, "btrfs");
	tmpfs = !strcmp(out->fstype, "tmpfs") || !strcmp(out->fstype, "ramfs");
	out->uuid_stable = probe_uuid_ioctl(fd, out->uuid) && !tmpfs;
	if (!out->uuid_stable) {
		memset(out->uuid, 0, sizeof(out->uuid)); /* that of a tmpfs */
		out->uuid_stable = probe_other_id(&sfs, out);
	} else if (btrfs) {
		/*
		 * Subvolumes share the UUID and count their inodes
		 * alike; f_fsid has the subvolume in it.
		 */
		for (unsigned i = 0; i < sizeof(sfs.f_fsid); i++)
			out->uuid[i] ^= ((const uint8_t *)&sfs.f_fsid)[i];
	}
}
