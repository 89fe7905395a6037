/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/core/io_int.h"
#include "nfsd-io/core/sync.h"

static struct write_io *write_of(struct io *io)
{
	return container_of(io, struct write_io, io);
}

static struct io *io_of(struct op *op)
{
	return container_of(op, struct io, op);
}

static void on_write(struct op *op, int res, bool more);

static void write_now(struct write_io *w)
{
	struct io *io = &w->io;

	io->op.done = on_write;
	if (w->pipe) {
		ring_splice_write(io->ring, &io->op, io_fd(io), w->pipe->out, io->apart.len,
				  io->apart.offset, io->cred);
		return;
	}
	ring_write(io->ring, &io->op, io_fd(io), w->data + io->done_len, io->apart.len,
		   io->apart.offset, io_rwf(io), w->buf ? w->buf->index : -1, io->cred);
}

static void on_turn(struct op *op, int res, bool more)
{
	(void)res;
	(void)more;
	write_now(write_of(io_of(op)));
}

static void go(struct apart *a)
{
	struct io *io = container_of(a, struct io, apart);

	ring_post(io->ring, &io->op, 0);
}

/* As soon as no WRITE of the other class is near. */
static void write_apart(struct write_io *w)
{
	struct io *io = &w->io;

	io->op.done = on_turn;
	if (apart_enter(&io->apart))
		write_now(w);
}

static void on_reach(struct op *op, int res, bool more)
{
	(void)res;
	(void)more;
	write_apart(write_of(io_of(op)));
}

static void go_reach(struct reach *r)
{
	struct io *io = container_of(r, struct io, reach);

	ring_post(io->ring, &io->op, 0);
}

/*
 * A cached WRITE makes folios as large as it is, and each later one of 4 KiB then walks all blocks
 * of its folio (ext4: 46 us in one of 1 MiB, 15 us in one of 256 KiB; 5 us are the rest of it).
 */
#define CACHED_PIECE (256u << 10)

static uint32_t piece(const struct dio_segment *seg, uint64_t pos)
{
	uint64_t left = seg->offset + seg->len - pos, most = CACHED_PIECE - pos % CACHED_PIECE;

	return (uint32_t)(seg->kind == DIO_BUFFERED && left > most ? most : left);
}

/* The rest of the segment in hand, when it is its turn. */
static void write_more(struct write_io *w)
{
	struct io *io = &w->io;
	const struct dio_segment *seg = &io->plan.seg[io->seg];
	uint64_t pos = w->offset + io->done_len;

	io->apart = (struct apart){
		.dev = io->file->root->dev,
		.ino = io->file->ino,
		.offset = pos,
		.len = piece(seg, pos),
		.direct = seg->kind == DIO_DIRECT,
		.go = go,
	};
	io->reach = (struct reach){ .end = pos + io->apart.len, .go = go_reach };
	io->op.done = on_reach;
	if (!io->apart.direct || reach_enter(&io->file->reach, &io->reach))
		write_apart(w);
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

/* A pipe is emptied in order, by the page cache alone, and not by every file system. */
static bool from_pipe(const struct io *io)
{
	return io->plan.nsegs == 1 && io->plan.seg[0].kind == DIO_BUFFERED;
}

static void on_unfit(struct op *op, int res, bool more)
{
	struct io *io = io_of(op);

	(void)res;
	(void)more;
	write_of(io)->needs_buf = true;
	io->done(io);
}

static void on_write(struct op *op, int res, bool more)
{
	struct io *io = io_of(op);
	struct write_io *w = write_of(io);
	const struct dio_segment *seg = &io->plan.seg[io->seg];
	uint64_t pos;

	(void)more;
	apart_leave(&io->apart);
	if (io->apart.direct)
		reach_leave(&io->file->reach, &io->reach,
			    res > 0 ? io->apart.offset + (uint32_t)res : 0);
	if (w->pipe && res > 0)
		w->pipe->held -= (uint32_t)res;
	if (res == -EINVAL && w->pipe && !io->done_len) {
		on_unfit(op, res, false);
		return;
	}
	if (res <= 0) {
		if (io_retry(io, DIO_WRITE, res))
			write_more(w);
		else
			write_end(w, res ? res : -EIO);
		return;
	}
	io_moved(io, DIO_WRITE, (uint32_t)res);
	pos = w->offset + io->done_len;
	if (pos < seg->offset + seg->len) {
		if ((uint32_t)res < io->apart.len)
			io_continue(io, DIO_WRITE, pos, w->pipe ? NULL : w->data + io->done_len);
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
	/* As it would lie in a buffer. */
	const void *mem = w->pipe ? (void *)(uintptr_t)(w->offset % 4096) : w->data;

	w->verf = verifier_get(io->verifier);
	w->committed = IO_UNSTABLE;
	io_plan(io, DIO_WRITE, w->offset, w->count, mem, 0);
	w->needs_buf = false;
	if (w->pipe && !from_pipe(io)) {
		io->op.done = on_unfit;
		ring_post(io->ring, &io->op, 0);
		return;
	}
	if (io->plan.nsegs) {
		write_more(w);
		return;
	}
	/* Nothing asked, or nothing below the largest offset. */
	io->op.done = on_nothing;
	ring_post(io->ring, &io->op, w->count ? -EFBIG : 0);
}
