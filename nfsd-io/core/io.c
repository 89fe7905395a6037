/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/io_int.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nfsd-io/core/attr.h"
#include "nfsd-io/core/compat.h"

#define RETRIES 8

static void count(_Atomic uint64_t *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static uint32_t end_align(const struct file *f, enum dio_op op)
{
	uint32_t read = op == DIO_READ ? atomic_load(&f->read_align) : 0;

	return read ? read : atomic_load(&f->offset_align);
}

void io_plan(struct io *io, enum dio_op op, uint64_t offset, uint32_t len, const void *mem,
	     size_t room)
{
	const struct file *file = io->file;
	const struct root *root = file->root;
	bool direct = file->dio_fd >= 0;
	struct dio_facts f = {
		.op = op,
		.mode = op == DIO_READ ? root->io.read_mode : root->io.write_mode,
		.rule = root->io.rule,
		.offset = offset,
		.len = len,
		.mem_align = direct ? atomic_load(&file->mem_align) : 0,
		.offset_align = direct ? atomic_load(&file->offset_align) : 0,
		.read_align = direct ? atomic_load(&file->read_align) : 0,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
		.dontcache_ok = op == DIO_READ ? root->probe.dontcache_read
					       : root->probe.dontcache_write,
		.read_direct_min = root->io.read_direct_min,
		.min_middle = root->io.min_middle,
	};
	const struct dio_segment *last;

	f.mem_phase = (uint32_t)((uintptr_t)mem % f.page_size);
	dio_plan(&f, &io->plan);
	last = &io->plan.seg[io->plan.nsegs ? io->plan.nsegs - 1 : 0];
	/* Blocks larger than the slack of a buffer: as good as no direct I/O. */
	if (op == DIO_READ && io->plan.nsegs &&
	    last->offset + last->len - io->plan.seg[0].offset > room) {
		f.offset_align = 0;
		f.read_align = 0;
		dio_plan(&f, &io->plan);
	}
	for (io->middle = 0; io->middle < io->plan.nsegs; io->middle++)
		if (io->plan.seg[io->middle].kind == DIO_DIRECT)
			break;
	io->seg = 0;
	io->done_len = 0;
	io->retries = 0;
	io->res = 0;
	io->have_st = false;
}

int io_fd(const struct io *io)
{
	return io->plan.seg[io->seg].kind == DIO_DIRECT ? io->file->dio_fd : io->file->fd;
}

unsigned io_rwf(const struct io *io)
{
	return io->plan.seg[io->seg].kind == DIO_DONTCACHE ? RWF_DONTCACHE : 0;
}

/* A reflink can raise the alignment of a file that is open. */
static void refresh_align(struct file *f)
{
	struct probe_align a;

	if (probe_file_align(f->dio_fd, &a) < 0)
		return;
	atomic_store(&f->mem_align, a.mem);
	atomic_store(&f->offset_align, a.offset);
	atomic_store(&f->read_align, a.read);
}

bool io_retry(struct io *io, enum dio_op op, int err)
{
	struct dio_segment *seg = &io->plan.seg[io->seg];
	struct root_stats *stats = root_stats_here(io->file->root);

	if (err == -EINVAL && seg->kind == DIO_DIRECT) {
		refresh_align(io->file);
		seg->kind = DIO_BUFFERED;
		io->plan.why = DIO_FALLBACK;
		count(&stats->fallback_einval, 1);
		return true;
	}
	if (err == -EIO && op == DIO_READ && seg->kind == DIO_DIRECT) {
		seg->kind = DIO_BUFFERED;
		io->plan.why = DIO_FALLBACK;
		count(&stats->fallback_eio, 1);
		return true;
	}
	if (err == -EOPNOTSUPP && seg->kind == DIO_DONTCACHE) {
		seg->kind = DIO_BUFFERED;
		count(&stats->fallback_dontcache, 1);
		return true;
	}
	return (err == -EAGAIN || err == 0) && ++io->retries <= RETRIES;
}

/* Head, middle or tail of a SPLIT WRITE. */
static unsigned part_of(const struct io *io)
{
	return io->seg < io->middle ? 0 : io->seg == io->middle ? 1 : 2;
}

void io_moved(struct io *io, enum dio_op op, uint32_t n)
{
	struct root_stats *stats = root_stats_here(io->file->root);

	count(&stats->bytes[op][io->plan.seg[io->seg].kind], n);
	if (op == DIO_WRITE && io->plan.why == DIO_SPLIT)
		count(&stats->part[part_of(io)], n);
	io->done_len += n;
	io->retries = 0;
}

void io_continue(struct io *io, enum dio_op op, uint64_t pos, const void *mem)
{
	struct dio_segment *seg = &io->plan.seg[io->seg];
	const struct file *f = io->file;
	uint32_t align = end_align(f, op), mem_align = atomic_load(&f->mem_align);

	count(&root_stats_here(f->root)->continued, 1);
	if (seg->kind == DIO_DIRECT &&
	    (!align || !mem_align || pos % align || (uintptr_t)mem % mem_align))
		seg->kind = DIO_BUFFERED;
}

int io_stat(struct io *io)
{
	int err = attr_stat(io->file, &io->st);

	io->have_st = err == 0;
	return err;
}

void io_finish(struct io *io, enum dio_op op)
{
	struct root_stats *stats = root_stats_here(io->file->root);

	count(&stats->ops[op][io->plan.why], 1);
	if (io->res < 0)
		count(&stats->errors[op], 1);
	else
		count(&stats->payload[op], (uint64_t)io->res);
	if (!io->have_st)
		io_stat(io);
	if (io->have_st && op == DIO_WRITE)
		reach_saw(&io->file->reach, (uint64_t)io->st.st_size);
	io->done(io);
}
