/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A real file system for a test: a sparse image, mkfs, a loop device, a mount
 * ("tmpfs": just a mount).  Everything lives in a private mount namespace, the
 * loop device clears itself and the image has no name, so that nothing stays
 * behind even when the test is killed.  Call loopfs_up() from the main thread
 * before others start (a libcheck unchecked fixture, or main).
 */
#ifndef TESTS_LIB_LOOPFS_H
#define TESTS_LIB_LOOPFS_H

#include <stdbool.h>

struct loopfs {
	char fstype[16]; /* "ext4", "xfs", "btrfs", "tmpfs" */
	char dir[128];	 /* mount point; root-owned, mode 0755 */
	int image;	 /* fd of the image; -1 for tmpfs */
	int loop;	 /* N of /dev/loopN; -1 for tmpfs */
};

/* May this process mount at all?  When not, *why says what is missing. */
bool loopfs_able(const char **why);
/*
 * For main(): a suite that needs mounts and cannot have them;
 * prints a TAP skip; returns the exit status.
 */
int loopfs_skip(const char *why);

/*
 * Make, format and mount; 512 MiB sparse.  0 or -errno (-EPERM,
 * -ENODEV: no such file system, -ENOENT: no mkfs).
 */
int loopfs_up(struct loopfs *l, const char *fstype);
/* An ext4 without a UUID. */
int loopfs_up_nameless(struct loopfs *l);
/* Unmount and mount the same image again (tmpfs: -EINVAL); `elsewhere`: on another loop device. */
int loopfs_remount(struct loopfs *l, bool elsewhere);
/* Unmount and forget; fine when up failed. */
void loopfs_down(struct loopfs *l);

#endif
