/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nfsd-io/core/compat.h"
#include "nfsd-io/core/io_int.h"
#include "nfsd-io/core/attr.h"
#include "nfsd-io/core/nfsdio_int.h"
#include "nfsd-io/core/sync.h"

_Static_assert(DIO_DISPOSITION_COUNT <= NFSDIO_DECISIONS,
	       "nfsdio_stats has room for each decision");
_Static_assert((int)NFSDIO_DIRECT == DIO_MODE_DIRECT &&
		       (int)NFSDIO_DONTCACHE_ENDS == DIO_RULE_DONTCACHE_ENDS &&
		       (int)NFSDIO_FILE_SYNC == IO_FILE_SYNC &&
		       (int)NFSDIO_ENGINE_INLINE == RING_INLINE,
	       "the public numbers are the internal ones");

static bool reads_dontcache(int fd)
{
	char c;
	struct iovec iov = { &c, 1 };

	return preadv2(fd, &iov, 1, 0, RWF_DONTCACHE) >= 0;
}

/*
 * A file that cannot be read this way may well be written so, but is better
 * left cached.  Asked once a file system: the answer reads a page.
 */
static bool takes_dontcache(struct nfsdio *n, dev_t dev, int fd)
{
	struct nfsdio_dontcache *d = &n->dontcache[dev % NFSDIO_DEVICES];
	bool known, takes;

	pthread_mutex_lock(&n->lock);
	known = d->known && d->dev == dev;
	takes = known && d->takes;
	pthread_mutex_unlock(&n->lock);
	if (known)
		return takes;
	takes = reads_dontcache(fd);
	pthread_mutex_lock(&n->lock);
	*d = (struct nfsdio_dontcache){ .dev = dev, .known = true, .takes = takes };
	pthread_mutex_unlock(&n->lock);
	return takes;
}

static int check_params(const struct nfsdio_file_params *p)
{
	return p->read_mode <= NFSDIO_DIRECT && p->write_mode <= NFSDIO_DIRECT &&
	       p->rule <= NFSDIO_DONTCACHE_ENDS ? 0 : -EINVAL;
}

static void set_params(struct nfsdio_file *f, const struct nfsdio_file_params *p)
{
	f->root.io = (struct root_io){
		.read_mode = (enum dio_mode)p->read_mode,
		.write_mode = (enum dio_mode)p->write_mode,
		.rule = (enum dio_rule)p->rule,
		.read_direct_min = p->read_direct_min,
		.min_middle = p->min_middle,
	};
}

/* Facts of the open file, and a root of its own for settings and counters. */
static int file_init(struct nfsdio_file *f, const struct nfsdio_file_params *p)
{
	struct probe_align a = { 0 };
	struct stat st;

	if (fstat(f->file.fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (f->file.dio_fd >= 0 && probe_file_align(f->file.dio_fd, &a) < 0)
		a = (struct probe_align){ 0 };
	f->file.mem_align = a.mem;
	f->file.offset_align = a.offset;
	f->file.read_align = a.read;
	f->file.type = S_IFREG;
	f->file.access = FILE_WRITE;
	f->file.path_fd = -1;
	f->file.serial = attr_serial();
	f->file.ino = st.st_ino;
	f->file.root = &f->root;
	f->root.dev = st.st_dev;
	set_params(f, p);
	f->root.probe.dontcache_read = f->root.probe.dontcache_write =
		takes_dontcache(f->n, st.st_dev, f->file.fd);
	/* One bank: the library's threads never choose another. */
	f->root.stats = aligned_alloc(_Alignof(struct root_stats), sizeof(struct root_stats));
	if (!f->root.stats)
		return -ENOMEM;
	memset(f->root.stats, 0, sizeof(*f->root.stats));
	reach_init(&f->file.reach, (uint64_t)st.st_size);
	return 0;
}

static void close_fds(struct nfsdio_file *f)
{
	if (!f->owns_fds)
		return;
	if (f->file.fd >= 0)
		close(f->file.fd);
	if (f->file.dio_fd >= 0)
		close(f->file.dio_fd);
}

static int file_new(struct nfsdio *n, struct nfsdio_file **out, int fd, int direct_fd, bool own,
		    const struct nfsdio_file_params *p)
{
	static const struct nfsdio_file_params defaults = NFSDIO_FILE_PARAMS_DEFAULT;
	struct nfsdio_file *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return -ENOMEM;
	f->n = n;
	f->file.fd = fd;
	f->file.dio_fd = direct_fd;
	f->owns_fds = own;
	p = p ? p : &defaults;
	ret = check_params(p);
	if (ret == 0)
		ret = file_init(f, p);
	if (ret < 0)
		free(f);
	else
		*out = f;
	return ret;
}

/* The O_DIRECT twin of `fd`, or -1 when the file system has no direct I/O. */
static int open_direct(int fd, int flags)
{
	struct probe_align a;
	char path[64];

	if (probe_file_align(fd, &a) < 0 || !a.offset)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, (flags & O_ACCMODE) | O_DIRECT | O_CLOEXEC);
}

int nfsdio_file_open(struct nfsdio *n, struct nfsdio_file **out, const char *path, int flags,
		     mode_t mode, const struct nfsdio_file_params *p)
{
	int fd, direct_fd, ret;

	if ((flags & O_ACCMODE) == O_WRONLY || (flags & (O_DIRECT | O_APPEND)))
		return -EINVAL;
	/* O_NONBLOCK only for the opening: no FIFO or device shall hold us up. */
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETFL, 0) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	direct_fd = open_direct(fd, flags);
	ret = file_new(n, out, fd, direct_fd, true, p);
	if (ret < 0) {
		close(fd);
		if (direct_fd >= 0)
			close(direct_fd);
	}
	return ret;
}

int nfsdio_file_wrap(struct nfsdio *n, struct nfsdio_file **out, int fd, int direct_fd,
		     const struct nfsdio_file_params *p)
{
	return file_new(n, out, fd, direct_fd, false, p);
}

int nfsdio_file_close(struct nfsdio_file *f)
{
	if (!f)
		return 0;
	if (atomic_load(&f->busy))
		return -EBUSY;
	close_fds(f);
	reach_fini(&f->file.reach);
	free(f->root.stats);
	free(f);
	return 0;
}

int nfsdio_file_configure(struct nfsdio_file *f, const struct nfsdio_file_params *p)
{
	int ret = check_params(p);

	if (ret < 0)
		return ret;
	if (atomic_load(&f->busy))
		return -EBUSY;
	set_params(f, p);
	return 0;
}

int nfsdio_file_sync(struct nfsdio_file *f)
{
	return sync_now(&f->file, &f->n->verifier);
}

uint64_t nfsdio_file_sync_failures(const struct nfsdio_file *f)
{
	return atomic_load(&f->file.sync_failures);
}

void nfsdio_explain(const struct nfsdio_file *f, enum nfsdio_direction d, uint64_t offset,
		    uint32_t count, char *text, size_t size)
{
	struct io io = { .file = (struct file *)&f->file };
	const uintptr_t in_phase = offset % (uint64_t)sysconf(_SC_PAGESIZE);
	int at;

	if (!size)
		return;
	io_plan(&io, d == NFSDIO_READ ? DIO_READ : DIO_WRITE, offset, count, (const void *)in_phase,
		read_space(count));
	at = snprintf(text, size, "%s", dio_disposition_name(io.plan.why));
	for (unsigned i = 0; i < io.plan.nsegs && at >= 0 && (size_t)at < size; i++) {
		const struct dio_segment *s = &io.plan.seg[i];

		at += snprintf(text + at, size - (size_t)at, "%s %u at %llu %s", i ? "," : ":",
			       s->len, (unsigned long long)s->offset, dio_kind_name(s->kind));
	}
}

void nfsdio_file_stats(const struct nfsdio_file *f, struct nfsdio_stats *out)
{
	const struct root_stats *s = f->root.stats;

	memset(out, 0, sizeof(*out));
	for (int d = 0; d < 2; d++) {
		for (int i = 0; i < DIO_DISPOSITION_COUNT; i++)
			out->ops[d][i] = atomic_load(&s->ops[d][i]);
		for (int i = 0; i < DIO_KIND_COUNT; i++)
			out->bytes[d][i] = atomic_load(&s->bytes[d][i]);
		out->payload[d] = atomic_load(&s->payload[d]);
		out->errors[d] = atomic_load(&s->errors[d]);
	}
	out->head = atomic_load(&s->part[0]);
	out->middle = atomic_load(&s->part[1]);
	out->tail = atomic_load(&s->part[2]);
	out->expand = atomic_load(&s->expand);
	out->fallback_direct = atomic_load(&s->fallback_einval);
	out->fallback_eio = atomic_load(&s->fallback_eio);
	out->fallback_dontcache = atomic_load(&s->fallback_dontcache);
	out->continued = atomic_load(&s->continued);
	out->syncs = atomic_load(&s->syncs);
	for (int d = 0; d < 2; d++)
		out->handed[d] = atomic_load(&f->handed[d]);
}

const char *nfsdio_decision_name(unsigned i)
{
	return i < DIO_DISPOSITION_COUNT ? dio_disposition_name((enum dio_disposition)i) : NULL;
}
