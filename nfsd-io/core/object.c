/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nfsd-io/core/attr.h"
#include "nfsd-io/core/handle_memo.h"

#define OBJECT_FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)

int object_name_check(const char *name, unsigned len)
{
	if (len == 0)
		return -EACCES;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return -EINVAL;
	return memchr(name, '/', len) || memchr(name, 0, len) ? -EACCES : 0;
}

/* Through a mount only when it shows the same file system again (a bind mount). */
static int object_cross(dev_t dev, int dirfd, const char *name)
{
	int fd = openat(dirfd, name, OBJECT_FLAGS);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_dev == dev)
		return fd;
	close(fd);
	return -EXDEV;
}

int object_step(dev_t dev, int dirfd, const char *name)
{
	struct open_how how = {
		.flags = OBJECT_FLAGS,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS,
	};
	int fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	/* EPERM: a container's filter that knows no openat2. */
	if (errno == EXDEV || errno == ENOSYS || errno == EPERM)
		return object_cross(dev, dirfd, name);
	return -errno;
}

int object_lookup_cached(int dirfd, const char *name)
{
	struct open_how how = {
		.flags = OBJECT_FLAGS,
		.resolve =
			RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
	};
	int fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	/* A mount point, or a kernel that does not know how: for those who may block. */
	return errno == EXDEV || errno == ENOSYS || errno == EPERM || errno == EINVAL ? -EAGAIN
										      : -errno;
}

int object_path_below(int rootfd, int fd, char *out, size_t size)
{
	char root[PATH_MAX], path[PATH_MAX], link[48];
	ssize_t nroot, n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", rootfd);
	nroot = readlink(link, root, sizeof(root));
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	if (n < 0 || nroot < 0)
		return -errno;
	if (n == sizeof(path) || nroot == sizeof(root) || (size_t)n >= size)
		return -ENAMETOOLONG;
	path[n] = 0;
	if (nroot == 1)
		nroot = 0; /* "/" itself: every path starts behind it */
	if (path[0] != '/' || n < nroot || memcmp(path, root, nroot))
		return -ESTALE;
	if (path[nroot] == 0 || (nroot == 0 && n == 1)) {
		out[0] = 0;
		return 0;
	}
	if (path[nroot] != '/')
		return -ESTALE;
	memcpy(out, path + nroot + 1, n - nroot);
	return 0;
}

/*
 * The parent, if it is in the export still: a directory that was moved out of
 * it keeps its handle, and must not become a way up.  The kernel's path tells,
 * without needing search permission on what lies between.
 */
static int object_parent(struct root *r, int dirfd)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, rc;

	if (fstat(dirfd, &st) < 0)
		return -errno;
	if (st.st_dev == r->dev && st.st_ino == r->ino) {
		fd = fcntl(r->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	fd = openat(dirfd, "..", OBJECT_FLAGS | O_DIRECTORY);
	if (fd < 0)
		return -errno;
	rc = object_path_below(r->fd, fd, path, sizeof(path));
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int object_lookup(struct root *r, int dirfd, const char *name)
{
	int fd;

	if (!strcmp(name, ".."))
		return object_parent(r, dirfd);
	if (strcmp(name, "."))
		return object_step(r->dev, dirfd, name);
	fd = openat(dirfd, ".", OBJECT_FLAGS | O_DIRECTORY);
	return fd < 0 ? -errno : fd;
}

int object_tell(const struct handle_key *k, struct root *r, int dirfd, const char *name, int fd,
		struct stat *st, bool *have_st, struct fh *fh)
{
	struct statx x = { 0 };
	int rc;

	*have_st = statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | HANDLE_MEMO_MASK, &x) == 0;
	if (*have_st)
		attr_of_statx(st, &x);
	else /* a container's filter that knows no statx */
		*have_st = fstat(fd, st) == 0;
	if (handle_recall(k, r, &x, fh))
		return 0;
	rc = handle_of_child(k, r, dirfd, name, fd, fh);
	if (rc < 0)
		fh->len = 0;
	else
		handle_note(r, &x, fh);
	return rc;
}

int object_reopen(int path_fd, int flags)
{
	char link[48];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int object_sync(int fd)
{
	struct stat st;
	int real, rc;

	if (fsync(fd) == 0)
		return 0;
	if (errno != EBADF)
		return errno == EINVAL || errno == EROFS ? 0 : -errno;
	/* Only an O_PATH descriptor gets here. */
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	real = object_reopen(fd, O_RDONLY);
	if (real < 0)
		return real;
	rc = fsync(real) < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
	close(real);
	return rc;
}
