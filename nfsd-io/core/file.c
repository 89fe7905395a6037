/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nfsd-io/core/attr.h"
#include "nfsd-io/core/object.h"
#include "nfsd-io/core/sync.h"

static void file_close_fds(struct file *f)
{
	if (f->dio_fd >= 0)
		close(f->dio_fd);
	if (f->fd >= 0)
		close(f->fd);
	if (f->path_fd >= 0)
		close(f->path_fd);
}

int file_linked(const struct file *f)
{
	struct stat st;

	if (fstat(f->path_fd, &st) < 0)
		return -errno;
	return st.st_nlink > 0 ? 0 : -ESTALE;
}

/*
 * A file of our own that its mode closes to us (0444: git, cp -p).  Root never
 * sees this; NFS lets the owner write, so a server that is the owner must.
 * The mode is opened for a moment, one file at a time lest two such moments
 * leave it open.
 */
static int file_reopen_as_owner(int path_fd, int flags)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct stat st;
	char link[48];
	int fd = -EACCES;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	pthread_mutex_lock(&lock);
	if (fstat(path_fd, &st) == 0 && st.st_uid == geteuid() &&
	    chmod(link, (st.st_mode & 07777) | 0600) == 0) {
		fd = object_reopen(path_fd, flags);
		chmod(link, st.st_mode & 07777);
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

/*
 * O_NONBLOCK (of object_reopen) turns a lease to be broken into -EWOULDBLOCK;
 * it must not stay: io_uring would answer -EAGAIN where it should wait, on
 * file systems without NOWAIT support.
 */
static int file_reopen(int path_fd, int flags)
{
	int fd = object_reopen(path_fd, flags), err;

	if (fd == -EACCES)
		fd = file_reopen_as_owner(path_fd, flags);
	if (fd < 0 || fcntl(fd, F_SETFL, flags & O_DIRECT) == 0)
		return fd;
	err = errno;
	close(fd);
	return -err;
}

static void file_set_align(struct file *f, const struct probe_align *al)
{
	f->mem_align = al->mem;
	f->offset_align = al->offset;
	f->read_align = al->read;
}

/* Where the file reports an alignment and O_DIRECT works; else buffered it is. */
static int file_open_direct(struct file *f, int flags)
{
	struct probe_align al;

	if (probe_file_align(f->fd, &al) < 0 || al.offset == 0)
		return 0;
	f->dio_fd = file_reopen(f->path_fd, flags | O_DIRECT);
	if (f->dio_fd >= 0)
		file_set_align(f, &al);
	else if (f->dio_fd == -EMFILE || f->dio_fd == -ENFILE)
		return f->dio_fd;
	f->dio_fd = f->dio_fd < 0 ? -1 : f->dio_fd;
	return 0;
}

static int file_open_io(struct file *f)
{
	int flags = f->access == FILE_WRITE ? O_RDWR : O_RDONLY;

	if (!S_ISREG(f->type))
		return S_ISDIR(f->type) ? -EISDIR : S_ISLNK(f->type) ? -ELOOP : -EINVAL;
	f->fd = file_reopen(f->path_fd, flags);
	return f->fd < 0 ? f->fd : file_open_direct(f, flags);
}

int file_open(struct file **out, struct fdcache *c, struct root *r, const struct fh *fh,
	      const struct handle_parts *p, enum file_access a)
{
	struct file *f = calloc(1, sizeof(*f));
	struct stat st;
	int rc;

	if (!f)
		return -ENOMEM;
	f->refs = 1;
	f->serial = attr_serial();
	f->cache = c;
	f->fh = *fh;
	f->access = a;
	f->fd = f->dio_fd = -1;
	rc = f->path_fd = handle_open(r, p);
	if (rc < 0)
		goto fail;
	rc = fstat(f->path_fd, &st) < 0 ? -errno : st.st_nlink == 0 ? -ESTALE : 0;
	if (rc < 0)
		goto fail;
	f->type = st.st_mode & S_IFMT;
	f->ino = st.st_ino;
	if (a != FILE_PATH)
		rc = file_open_io(f);
	if (rc < 0)
		goto fail;
	f->root = root_get(r);
	reach_init(&f->reach, (uint64_t)st.st_size);
	*out = f;
	return 0;
fail:
	file_close_fds(f);
	free(f);
	return rc;
}

int file_close(struct file *f, struct verifier *v)
{
	int rc = 0;

	/* What is deleted need not be saved. */
	if (f->unsynced && file_linked(f) == 0)
		rc = sync_now(f, v);
	file_close_fds(f);
	reach_fini(&f->reach);
	root_put(f->root);
	free(f);
	return rc;
}

struct file *file_get(struct file *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

void file_put(struct file *f)
{
	if (f && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1)
		fdcache_release(f->cache, f);
}
