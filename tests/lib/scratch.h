/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small things every test over real files needs; each fails the test rather than return an error.
 */
#ifndef TESTS_LIB_SCRATCH_H
#define TESTS_LIB_SCRATCH_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory of its own under `base` (NULL: TMPDIR or /tmp); static storage, one a test. */
static inline const char *scratch_dir(const char *base)
{
	static char path[256];
	const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";

	snprintf(path, sizeof(path), "%s/scratch-XXXXXX", base ? base : tmp);
	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert_int_eq(chmod(path, 0777), 0);
	return path;
}

/* rm -r, to be called at the end of a passed test (a failed one leaves what it saw). */
static inline void scratch_remove(const char *path)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "rm -rf -- '%s'", path);
	ck_assert_int_eq(system(cmd), 0);
}

static inline void scratch_write(int dirfd, const char *name, const char *text)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_msg(fd >= 0, "%s: %s", name, strerror(errno));
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* O_PATH descriptor of `name`, a symlink itself. */
static inline int scratch_path(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	ck_assert_msg(fd >= 0, "%s: %s", name, strerror(errno));
	return fd;
}

static inline bool scratch_same(int a, int b)
{
	struct stat sa, sb;

	ck_assert_int_eq(fstat(a, &sa), 0);
	ck_assert_int_eq(fstat(b, &sb), 0);
	return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

#endif
