/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verifier lives in an extended attribute.  Where there are none it is folded into atime and
 * mtime: all 64 bits, spread so that every file system can hold each part, plus a check
 * value, so that a file with times of its own is never taken for ours.
 */
#include "nfsd-io/proto/excl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "nfsd-io/proto/act.h"

static void fold(const uint8_t verf[8], struct timespec ts[2])
{
	uint64_t v, mix;

	memcpy(&v, verf, sizeof(v));
	mix = (v ^ (v >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
	ts[0].tv_sec = (time_t)(v & 0x7fffffff);          /* 31 bits: every file system */
	ts[0].tv_nsec = (long)((v >> 31) & 0x1fffffff);   /* 29 bits: below 10^9 */
	ts[1].tv_sec = (time_t)(0x10000000 | (v >> 60));  /* the last 4 */
	ts[1].tv_nsec = (long)((mix >> 35) & 0x1fffffff); /* the check value */
}

int excl_store(int fd, const uint8_t verf[8])
{
	struct timespec ts[2];

	if (!fsetxattr(fd, EXCL_XATTR, verf, 8, 0))
		return 0;
	if (errno != EOPNOTSUPP && errno != EPERM)
		return -errno;
	fold(verf, ts);
	return futimens(fd, ts) ? -errno : 0;
}

bool excl_matches(int path_fd, const uint8_t verf[8])
{
	struct timespec ts[2];
	uint8_t have[8];
	struct stat st;
	char path[32];
	ssize_t n;

	/* Made, but no longer empty or already set up: somebody's file by now. */
	if (fstat(path_fd, &st) || !S_ISREG(st.st_mode))
		return false;
	act_proc_path(path, path_fd);
	n = getxattr(path, EXCL_XATTR, have, sizeof(have));
	if (n == (ssize_t)sizeof(have))
		return !memcmp(have, verf, sizeof(have));
	fold(verf, ts);
	return st.st_size == 0 && st.st_atim.tv_sec == ts[0].tv_sec &&
	       st.st_atim.tv_nsec == ts[0].tv_nsec && st.st_mtim.tv_sec == ts[1].tv_sec &&
	       st.st_mtim.tv_nsec == ts[1].tv_nsec;
}

void excl_drop(int path_fd)
{
	char path[32];

	act_proc_path(path, path_fd);
	removexattr(path, EXCL_XATTR);
}
