/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
/* The secret's file: 16 bytes that must outlive the process, or every mount goes stale. */
#include "nfsd-io/core/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int handle_key_random(uint8_t secret[HANDLE_KEY_LEN])
{
	return getrandom(secret, HANDLE_KEY_LEN, 0) == HANDLE_KEY_LEN ? 0 : -EIO;
}

static int handle_key_read(const char *path, uint8_t secret[HANDLE_KEY_LEN])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), rc = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size != HANDLE_KEY_LEN)
		rc = -EINVAL;
	else if ((st.st_mode & 077) || (st.st_uid != 0 && st.st_uid != geteuid()))
		rc = -EPERM;
	else if (pread(fd, secret, HANDLE_KEY_LEN, 0) != HANDLE_KEY_LEN)
		rc = -EIO;
	close(fd);
	return rc;
}

static int handle_key_sync_dir(const char *path)
{
	char dir[PATH_MAX];
	int fd, rc;

	snprintf(dir, sizeof(dir), "%s", path);
	fd = open(dirname(dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

/*
 * Whole and synced under a name of its own, then linked: a crash leaves no
 * half key, and of two servers starting at once the second finds the first's
 * (-EEXIST).
 */
static int handle_key_create(const char *path, const uint8_t secret[HANDLE_KEY_LEN])
{
	char tmp[PATH_MAX];
	int fd, rc = 0;

	if (snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path) >= (int)sizeof(tmp))
		return -ENAMETOOLONG;
	fd = mkostemp(tmp, O_CLOEXEC); /* O_EXCL, 0600 */
	if (fd < 0)
		return -errno;
	if (write(fd, secret, HANDLE_KEY_LEN) != HANDLE_KEY_LEN)
		rc = -ENOSPC;
	else if (fsync(fd) < 0 || link(tmp, path) < 0)
		rc = -errno;
	close(fd);
	unlink(tmp);
	return rc < 0 ? rc : handle_key_sync_dir(path);
}

static int handle_key_secret(const char *path, uint8_t secret[HANDLE_KEY_LEN])
{
	int rc;

	if (!path)
		return handle_key_random(secret);
	rc = handle_key_read(path, secret);
	if (rc != -ENOENT)
		return rc;
	rc = handle_key_random(secret);
	if (rc == 0)
		rc = handle_key_create(path, secret);
	return rc == -EEXIST ? handle_key_read(path, secret) : rc;
}

int handle_key_load(struct handle_key **out, const char *path)
{
	uint8_t secret[HANDLE_KEY_LEN];
	int rc = handle_key_secret(path, secret);

	if (rc == 0)
		rc = handle_key_new(out, secret);
	explicit_bzero(secret, sizeof(secret));
	return rc;
}

const char *handle_key_why(int err)
{
	switch (err) {
	case -EPERM:
		return "others may read it or it is not ours: it must be mode 0600 and owned by "
		       "the server";
	case -EINVAL:
		return "it is not a file of exactly 16 bytes";
	default:
		return strerror(-err);
	}
}
