/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nfsd-io/core/compat.h"
#include "nfsd-io/core/khandle.h"

#define PROBE_LEN 65536	   /* bytes of the sample written and read */
#define PROBE_ENTRIES 1000 /* names looked at for a regular file, when none may be made */
#define PROBE_KNOWN 16	   /* file systems whose answers are remembered */
#define PROBE_DEPTH 3	   /* directories below the root */

int probe_file_align(int fd, struct probe_align *out)
{
	union {
		uint8_t bytes[COMPAT_STATX_SIZE];
		uint32_t mask;
		uint64_t aligned;
	} stx = { { 0 } };

	*out = (struct probe_align){ 0 };
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH,
		    STATX_TYPE | COMPAT_STATX_DIOALIGN | COMPAT_STATX_DIO_READ_ALIGN,
		    stx.bytes) < 0)
		return -errno;
	if (!(stx.mask & COMPAT_STATX_DIOALIGN))
		return 0;
	memcpy(&out->mem, stx.bytes + COMPAT_STATX_DIO_MEM_AT, sizeof(out->mem));
	memcpy(&out->offset, stx.bytes + COMPAT_STATX_DIO_OFFSET_AT, sizeof(out->offset));
	if (stx.mask & COMPAT_STATX_DIO_READ_ALIGN)
		memcpy(&out->read, stx.bytes + COMPAT_STATX_DIO_READ_AT, sizeof(out->read));
	if (out->mem == 0 || out->offset == 0)
		*out = (struct probe_align){ 0 }; /* asked and told: not this file */
	else if (out->read == 0)
		out->read = out->offset;
	return 0;
}

/* A file of no name in the root, so that a crash leaves nothing; -errno. */
static int probe_temp(int dirfd)
{
	int fd = openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char name[48];
	uint64_t salt;

	if (fd >= 0 ||
	    (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL))
		return fd >= 0 ? fd : -errno;
	if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) < 0)
		return -errno;
	snprintf(name, sizeof(name), ".nfsd-io-probe-%016llx", (unsigned long long)salt);
	fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	unlinkat(dirfd, name, 0);
	return fd;
}

/*
 * Any regular file of this file system near the root, only to
 * look at; -ENOENT.  *budget names are read at most.
 */
static int probe_sample(int dirfd, int depth, int *budget)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -ENOENT;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct stat here, st;
	const struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -ENOENT;
	}
	if (fstat(fd, &here) < 0)
		*budget = 0;
	while (found < 0 && *budget > 0 && (d = readdir(dir))) {
		(*budget)--;
		if (d->d_name[0] == '.' || fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_dev != here.st_dev)
			continue;
		if (S_ISREG(st.st_mode)) {
			found = openat(fd, d->d_name,
				       O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		} else if (S_ISDIR(st.st_mode) && depth > 0) {
			int sub = openat(fd, d->d_name,
					 O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			found = sub < 0 ? -ENOENT : probe_sample(sub, depth - 1, budget);
			if (sub >= 0)
				close(sub);
		}
	}
	closedir(dir);
	return found < 0 ? -ENOENT : found;
}

/* Pages of the first PROBE_LEN bytes that are in the page cache; -1 = cannot tell. */
static int probe_cached(int fd)
{
	long page = sysconf(_SC_PAGESIZE);
	unsigned char in[PROBE_LEN / 4096] = { 0 };
	void *map = mmap(NULL, PROBE_LEN, PROT_READ, MAP_SHARED, fd, 0);
	int n = 0;

	if (map == MAP_FAILED)
		return -1;
	if (mincore(map, PROBE_LEN, in) < 0)
		n = -1;
	for (long i = 0; n >= 0 && i < (long)PROBE_LEN / page; i++)
		n += in[i] & 1;
	munmap(map, PROBE_LEN);
	return n;
}

/* RWF_DSYNC makes the drop visible on return instead of some writeback later. */
static void probe_dontcache_measure(int fd, struct probe *out)
{
	void *buf = calloc(1, PROBE_LEN);
	struct iovec iov = { buf, PROBE_LEN };

	if (buf && pwritev2(fd, &iov, 1, 0, RWF_DONTCACHE | RWF_DSYNC) == PROBE_LEN) {
		out->dontcache_write = true;
		out->dontcache_drops = probe_cached(fd) == 0;
	}
	free(buf);
}

/*
 * Do files of both places behave alike?  A directory's flags change its files' alignment; a copy of
 * an image has its UUID.
 */
static bool probe_alike(const struct probe *a, const struct probe *b)
{
	return a->dev == b->dev && !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) &&
	       !strcmp(a->fstype, b->fstype) && a->align.mem == b->align.mem &&
	       a->align.offset == b->align.offset && a->align.read == b->align.read;
}

/*
 * The sync takes milliseconds, and there may be thousands of exports: once for what is alike.  A no
 * is not remembered: it may be that of a full disk.
 */
static void probe_dontcache_write(int fd, struct probe *out)
{
	static _Thread_local struct probe known[PROBE_KNOWN];
	static _Thread_local unsigned n;
	const struct probe *k = known;

	while (k < known + PROBE_KNOWN && !(k->measured && probe_alike(k, out)))
		k++;
	if (k < known + PROBE_KNOWN) {
		out->dontcache_write = k->dontcache_write;
		out->dontcache_drops = k->dontcache_drops;
		return;
	}
	probe_dontcache_measure(fd, out);
	if (out->dontcache_write && out->dontcache_drops)
		known[n++ % PROBE_KNOWN] = *out;
}

static void probe_dontcache_read(int fd, struct probe *out)
{
	char byte;
	struct iovec iov = { &byte, 1 };

	out->dontcache_read = preadv2(fd, &iov, 1, 0, RWF_DONTCACHE) >= 0;
}

/* A kernel without fine timestamps gives changes within one tick (1 to 10 ms) the same time. */
static bool probe_ctime_moves(int fd)
{
	struct stat st[4];

	for (int i = 0; i < 4; i++)
		if (fchmod(fd, 0600) < 0 || fstat(fd, &st[i]) < 0)
			return false;
	for (int i = 1; i < 4; i++)
		if (st[i].st_ctim.tv_sec == st[i - 1].st_ctim.tv_sec &&
		    st[i].st_ctim.tv_nsec == st[i - 1].st_ctim.tv_nsec)
			return false;
	return true;
}

/* "" when handles can be made and opened, else why not. */
static const char *probe_handles(int real_fd)
{
	struct khandle k;
	int fd;

	if (khandle_of(real_fd, &k) < 0)
		return "the file system gives no file handles";
	fd = khandle_open(real_fd, &k);
	if (fd == -EPERM)
		return "open_by_handle_at needs CAP_DAC_READ_SEARCH";
	if (fd < 0)
		return "open_by_handle_at is refused";
	close(fd);
	return "";
}

/* What only a file can tell: one of our own when we may, else one that is there. */
static void probe_file(int dirfd, struct probe *out)
{
	int fd = out->read_only ? -EROFS : probe_temp(dirfd), budget = PROBE_ENTRIES;

	out->measured = fd >= 0;
	if (fd < 0)
		fd = probe_sample(dirfd, PROBE_DEPTH, &budget);
	if (fd < 0)
		return;
	probe_file_align(fd, &out->align);
	if (out->measured) {
		out->ctime_moves = probe_ctime_moves(fd);
		probe_dontcache_write(fd, out);
	}
	probe_dontcache_read(fd, out);
	close(fd);
}

int probe_run(int dirfd, struct probe *out)
{
	struct statvfs sv;
	int fd;

	*out = (struct probe){ .handles_why = "the directory cannot be read" };
	if (fstatvfs(dirfd, &sv) < 0)
		return -errno;
	out->read_only = sv.f_flag & ST_RDONLY;
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		/* Searchable, not readable: names can still be served, in path mode. */
		if (errno != EACCES)
			return -errno;
		probe_identify(dirfd, out);
		return 0;
	}
	probe_identify(fd, out);
	out->handles_why = probe_handles(fd);
	out->handles = !*out->handles_why;
	probe_file(fd, out);
	close(fd);
	return 0;
}

static bool probe_dontcache(const struct probe *p, enum dio_op op, const char **why)
{
	bool accepted = op == DIO_READ ? p->dontcache_read : p->dontcache_write;

	if (!accepted && !p->measured)
		*why = "no file here that RWF_DONTCACHE could be tried on";
	else if (!accepted)
		*why = "the file system refuses RWF_DONTCACHE";
	else if (op == DIO_WRITE && !p->dontcache_drops)
		*why = "RWF_DONTCACHE is accepted, but written pages stay in the cache";
	else
		return true;
	return false;
}

enum dio_mode probe_effective(const struct probe *p, enum dio_op op, enum dio_mode asked,
			      const char **why)
{
	*why = "";
	if (asked == DIO_MODE_DIRECT && p->align.offset == 0) {
		*why = p->measured ? "the file system reports no direct I/O alignment (statx)" :
				     "no file here to ask for its direct I/O alignment";
		return DIO_MODE_BUFFERED;
	}
	if (asked == DIO_MODE_DONTCACHE && !probe_dontcache(p, op, why))
		return DIO_MODE_BUFFERED;
	return asked;
}
