/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "tests/lib/loopfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define IMAGE_SIZE (512ll << 20)

/* A namespace of our own, once per process: mounts end with it. */
static int loopfs_isolate(void)
{
	static bool done;

	if (done)
		return 0;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	done = true;
	return 0;
}

bool loopfs_able(const char **why)
{
	*why = "";
	if (geteuid() != 0)
		*why = "needs root to mount";
	else if (loopfs_isolate() < 0)
		*why = "may not make a mount namespace";
	else if (access("/dev/loop-control", R_OK | W_OK) < 0)
		*why = "needs /dev/loop-control";
	return !**why;
}

int loopfs_skip(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	return EXIT_SUCCESS;
}

/* Runs mkfs.TYPE on the image through /proc, as the image has no name. */
static int loopfs_mkfs(const struct loopfs *l, const char *option)
{
	extern char **environ;
	char prog[32], path[64];
	bool ext4 = !strcmp(l->fstype, "ext4");
	char *argv[] = {prog, "-q", ext4 ? "-F" : "-f", path, (char *)(uintptr_t)option, NULL};
	posix_spawn_file_actions_t fa;
	pid_t pid;
	int rc, status;

	snprintf(prog, sizeof(prog), "mkfs.%s", l->fstype);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), l->image);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
	setenv("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", 1);
	rc = -posix_spawnp(&pid, prog, &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (rc < 0)
		return rc;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* Binds the image to a free loop device that is not number `avoid`; returns its open descriptor. */
static int loopfs_attach(struct loopfs *l, int avoid)
{
	int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd = -1, n, err = ENXIO;

	for (int tries = 0; ctl >= 0 && tries < 64; tries++) {
		struct loop_config conf = { .fd = l->image, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
		char dev[32];

		n = avoid < 0 ? ioctl(ctl, LOOP_CTL_GET_FREE) : avoid + 1 + tries;
		if (n < 0)
			break;
		if (avoid >= 0)
			ioctl(ctl, LOOP_CTL_ADD, n); /* EEXIST is as good */
		snprintf(dev, sizeof(dev), "/dev/loop%d", n);
		fd = open(dev, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &conf) == 0) {
			l->loop = n;
			break;
		}
		err = errno;
		if (fd >= 0)
			close(fd);
		fd = -1; /* somebody else took it: next */
	}
	if (ctl >= 0)
		close(ctl);
	return fd >= 0 ? fd : -err;
}

static int loopfs_mount(struct loopfs *l, int avoid)
{
	char dev[32] = "tmpfs";
	int fd = -1, rc = 0;

	if (l->image >= 0) {
		fd = loopfs_attach(l, avoid);
		if (fd < 0)
			return fd;
		snprintf(dev, sizeof(dev), "/dev/loop%d", l->loop);
	}
	if (mount(dev, l->dir, l->fstype, 0, NULL) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd); /* the mount holds the device now */
	return rc;
}

static int loopfs_make(struct loopfs *l, const char *fstype, const char *option)
{
	const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	int rc = loopfs_isolate();

	*l = (struct loopfs){ .image = -1, .loop = -1 };
	if (rc < 0)
		return rc;
	snprintf(l->fstype, sizeof(l->fstype), "%s", fstype);
	snprintf(l->dir, sizeof(l->dir), "%s/nfsdio-test-XXXXXX", tmp);
	if (!mkdtemp(l->dir)) {
		l->dir[0] = 0;
		return -errno;
	}
	if (strcmp(fstype, "tmpfs")) {
		l->image = open(tmp, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (l->image < 0 || ftruncate(l->image, IMAGE_SIZE) < 0) {
			rc = -errno;
			goto fail;
		}
		rc = loopfs_mkfs(l, option);
		if (rc < 0)
			goto fail;
	}
	rc = loopfs_mount(l, -1);
	if (rc < 0)
		goto fail;
	if (chmod(l->dir, 0755) < 0)
		rc = -errno;
	return rc;
fail:
	loopfs_down(l);
	return rc;
}

int loopfs_up(struct loopfs *l, const char *fstype)
{
	return loopfs_make(l, fstype, NULL);
}

int loopfs_up_nameless(struct loopfs *l)
{
	return loopfs_make(l, "ext4", "-Uclear");
}

int loopfs_remount(struct loopfs *l, bool elsewhere)
{
	if (l->image < 0)
		return -EINVAL;
	if (umount2(l->dir, 0) < 0)
		return -errno;
	return loopfs_mount(l, elsewhere ? l->loop : -1);
}

void loopfs_down(struct loopfs *l)
{
	if (!l->dir[0])
		return;
	umount2(l->dir, MNT_DETACH);
	rmdir(l->dir);
	if (l->image >= 0)
		close(l->image);
	*l = (struct loopfs){ .image = -1, .loop = -1 };
}
