/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What NFSv4.2 added: holes, copies by the server, extended attributes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/kernel/drill.h"

#define LEN 100000
#define GROWN 300000

static bool punched(int fd, unsigned char *model)
{
	struct stat st;

	MUST(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 16384, 32768));
	memset(model + 16384, 0, 32768);
	MUST(drill_same(DRILL_A "/h", model, LEN));
	MUST(lseek(fd, 0, SEEK_HOLE) == 16384);
	MUST(lseek(fd, 16384, SEEK_DATA) == 49152);
	MUST(!fallocate(fd, 0, 0, GROWN));
	MUST(!fstat(fd, &st) && st.st_size == GROWN);
	MUST(drill_same(DRILL_A "/h", model, GROWN));
	MUST(!fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1000000) || errno == EOPNOTSUPP);
	MUST(!fstat(fd, &st) && st.st_size == GROWN);
	return true;
}

/* A hole of many megabytes around a little data. */
static bool sparse(int fd)
{
	off_t size = 40 << 20, data, hole;

	MUST(!ftruncate(fd, 0) && !ftruncate(fd, size));
	MUST(lseek(fd, 0, SEEK_HOLE) == 0);
	MUST(lseek(fd, 0, SEEK_DATA) == -1 && errno == ENXIO);
	MUST(drill_write(fd, drill_data(), 65536, 16 << 20) && !fsync(fd));
	data = lseek(fd, 0, SEEK_DATA);
	MUST(data > 0 && data <= 16 << 20);
	hole = lseek(fd, 16 << 20, SEEK_HOLE);
	MUST(hole >= (16 << 20) + 65536 && hole < size);
	MUST(lseek(fd, size, SEEK_DATA) == -1 && errno == ENXIO);
	return true;
}

bool drill_holes(const struct drill *d)
{
	static unsigned char model[GROWN];
	int fd;

	(void)d;
	memcpy(model, drill_data(), LEN);
	MUST(drill_make(DRILL_A "/h", LEN));
	fd = open(DRILL_A "/h", O_RDWR);
	MUST(fd >= 0);
	MUST(punched(fd, model) && sparse(fd));
	MUST(!close(fd) && !unlink(DRILL_A "/h"));
	return true;
}

static bool copy(int in, int out, off_t from, off_t to, size_t len)
{
	while (len) {
		ssize_t n = copy_file_range(in, &from, out, &to, len, 0);

		MUST(n > 0);
		len -= (size_t)n;
	}
	return true;
}

static bool copied(int in, int out)
{
	static unsigned char model[LEN + 777];

	MUST(copy(in, out, 0, 0, LEN));
	MUST(drill_same(DRILL_A "/d", drill_data(), LEN));
	MUST(copy(in, out, 1000, 50777, 50000));
	memcpy(model, drill_data(), LEN);
	memcpy(model + 50777, drill_data() + 1000, 50000);
	MUST(drill_same(DRILL_A "/d", model, 100777));
	return true;
}

static bool cloned(const struct drill *d, int in)
{
	int fd = open(DRILL_A "/r", O_RDWR | O_CREAT, 0644), rc;

	MUST(fd >= 0);
	rc = ioctl(fd, FICLONE, in);
	if (strcmp(d->fs, "xfs") && strcmp(d->fs, "btrfs")) {
		MUST(rc && (errno == EOPNOTSUPP || errno == ENOTTY || errno == EXDEV));
	} else {
		MUST(!rc && drill_same(DRILL_A "/r", drill_data(), LEN));
		MUST(drill_write(fd, "X", 1, 0) && !fsync(fd)); /* nothing to the other */
		MUST(drill_same(DRILL_A "/c", drill_data(), LEN));
	}
	MUST(!close(fd) && !unlink(DRILL_A "/r"));
	return true;
}

bool drill_copies(const struct drill *d)
{
	int in, out;

	MUST(drill_make(DRILL_A "/c", LEN));
	in = open(DRILL_A "/c", O_RDONLY);
	out = open(DRILL_A "/d", O_RDWR | O_CREAT, 0644);
	MUST(in >= 0 && out >= 0);
	MUST(copied(in, out) && cloned(d, in));
	MUST(!close(in) && !close(out));
	MUST(!unlink(DRILL_A "/c") && !unlink(DRILL_A "/d"));
	return true;
}

static bool holds(const char *path, const char *name, const void *want, size_t len)
{
	char got[4096];

	MUST(getxattr(path, name, got, sizeof(got)) == (ssize_t)len);
	MUST(!memcmp(got, want, len));
	return true;
}

static bool of_file(const char *path)
{
	char list[256];

	MUST(!setxattr(path, "user.one", "1", 1, 0));
	MUST(!setxattr(path, "user.two", drill_data(), 2000, XATTR_CREATE));
	MUST(setxattr(path, "user.two", "2", 1, XATTR_CREATE) == -1 && errno == EEXIST);
	MUST(setxattr(path, "user.three", "3", 1, XATTR_REPLACE) == -1 && errno == ENODATA);
	MUST(holds(path, "user.one", "1", 1) && holds(path, "user.two", drill_data(), 2000));
	MUST(listxattr(path, list, sizeof(list)) >= 18);
	MUST(!removexattr(path, "user.one"));
	MUST(getxattr(path, "user.one", list, sizeof(list)) == -1 && errno == ENODATA);
	return true;
}

bool drill_xattrs(const struct drill *d)
{
	(void)d;
	MUST(drill_make(DRILL_A "/x", 10) && !mkdir(DRILL_A "/xd", 0755));
	MUST(of_file(DRILL_A "/x") && of_file(DRILL_A "/xd"));
	MUST(!unlink(DRILL_A "/x") && !rmdir(DRILL_A "/xd"));
	return true;
}
