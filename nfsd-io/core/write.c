/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "nfsd-io/core/io_int.h"
#include "nfsd-io/core/sync.h"

static struct write_io *write_of(struct io *io)
{
	return (struct write_io *)((char *)io - offsetof(struct write_io, io));
}

static struct io *io_of(struct op *op)
{
	return (struct io *)((char *)op - offsetof(struct io, op));
}

static void write_more(struct write_io *w)
{
	struct io *io = &w->io;
	const struct dio_segment *seg = &io->plan.seg[io->seg];
	uint64_t pos = w->offset + io->done_len;

	ring_write(io->ring, &io->op, io_fd(io), w->data + io->done_len,
		   (uint32_t)(seg->offset + seg->len - pos), pos, io_rwf(io),
		   w->buf ? w->buf->index : -1, io->cred);
}

static void on_synced(struct io *io, int err)
{
	struct write_io *w = write_of(io);

	if (err < 0)
		io->res = err;
	else
		w->committed = w->stable;
	io_finish(io, DIO_WRITE);
}

/* All written, or as much as could be: what is there is made as stable as asked. */
static void write_end(struct write_io *w, int err)
{
	struct io *io = &w->io;

	if (err < 0)
		verifier_error(io->verifier, err);
	io->res = io->done_len ? (int)io->done_len : err;
	if (io->done_len && w->stable != IO_UNSTABLE) {
		sync_start(io, w->stable == IO_DATA_SYNC, on_synced);
		return;
	}
	w->committed = w->stable;
	if (io->done_len)
		atomic_fetch_add(&io->file->unsynced, 1);
	io_finish(io, DIO_WRITE);
}

static void on_write(struct op *op, int res, bool more)
{
	struct io *io = io_of(op);
	struct write_io *w = write_of(io);
	const struct dio_segment *seg = &io->plan.seg[io->seg];
	uint64_t pos;

	(void)more;
	if (res <= 0) {
		if (io_retry(io, res))
			write_more(w);
		else
			write_end(w, res ? res : -EIO);
		return;
	}
	io_moved(io, DIO_WRITE, (uint32_t)res);
	pos = w->offset + io->done_len;
	if (pos < seg->offset + seg->len) {
		io_continue(io, DIO_WRITE, pos, w->data + io->done_len);
		write_more(w);
	} else if (++io->seg < io->plan.nsegs) {
		write_more(w);
	} else {
		write_end(w, 0);
	}
}

static void on_nothing(struct op *op, int res, bool more)
{
	(void)more;
	write_end(write_of(io_of(op)), res);
}

void write_start(struct write_io *w)
{
	struct io *io = &w->io;

	w->verf = verifier_get(io->verifier);
	w->committed = IO_UNSTABLE;
	io_plan(io, DIO_WRITE, w->offset, w->count, w->data, 0);
	io->op.done = io->plan.nsegs ? on_write : on_nothing;
	if (io->plan.nsegs)
		write_more(w);
	else /* nothing asked, or nothing below the largest offset */
		ring_post(io->ring, &io->op, w->count ? -EFBIG : 0);
}
