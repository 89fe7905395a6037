/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/core/io_int.h"

/* Room for the partial blocks on both sides of a request; the pool's sizes count on it. */
#define READ_SLACK (2 * 4096)
#define SPLICE_REFUSALS 8

size_t read_space(uint32_t count)
{
	return (size_t)count + READ_SLACK;
}

static struct read_io *read_of(struct op *op)
{
	return container_of(op, struct read_io, io.op);
}

/* Segments of a READ follow one another in the buffer as they do in the file. */
static uint64_t position(const struct read_io *r)
{
	return r->io.plan.seg[0].offset + r->io.done_len;
}

static void read_more(struct read_io *r)
{
	struct io *io = &r->io;
	const struct dio_segment *seg = &io->plan.seg[io->seg];
	uint64_t pos = position(r);

	if (r->pipe) {
		ring_splice_in(io->ring, &io->op, io_fd(io), pos, r->pipe->in,
			       (uint32_t)(seg->offset + seg->len - pos));
		return;
	}
	ring_read(io->ring, &io->op, io_fd(io), r->buf->base + io->done_len,
		  (uint32_t)(seg->offset + seg->len - pos), pos, io_rwf(io), r->buf->index, NULL);
}

/* `err` counts only when no byte asked for has been read. */
static void read_finish(struct read_io *r, int err)
{
	struct io *io = &r->io;
	const struct dio_plan *p = &io->plan;
	uint32_t got = io->done_len > p->pad ? io->done_len - p->pad : 0;

	if (got > p->keep)
		got = p->keep;
	io->res = err < 0 && !got ? err : (int)got;
	r->data = r->pipe ? NULL : r->buf->base + p->pad;
	if (!io->have_st) {
		err = io_stat(io);
		if (io->res == 0)
			io->res = err;
	}
	r->eof = io->res >= 0 && io->have_st && r->offset + got >= (uint64_t)io->st.st_size;
	atomic_fetch_add_explicit(&root_stats_here(io->file->root)->expand, io->done_len - got,
				  memory_order_relaxed);
	io_finish(io, DIO_READ);
}

/* Shortness says nothing: only the size, looked at after the data, tells where the file ends. */
static void read_short(struct read_io *r)
{
	struct io *io = &r->io;

	if (io_stat(io) < 0 || position(r) >= (uint64_t)io->st.st_size) {
		read_finish(r, 0);
		return;
	}
	io->have_st = false;
	io_continue(io, DIO_READ, position(r), r->buf->base + io->done_len);
	read_more(r);
}

static void on_read(struct op *op, int res, bool more)
{
	struct read_io *r = read_of(op);
	struct io *io = &r->io;
	const struct dio_segment *seg = &io->plan.seg[io->seg];

	(void)more;
	if (res < 0) {
		if (io_retry(io, DIO_READ, res))
			read_more(r);
		else
			read_finish(r, res);
		return;
	}
	if (res == 0 && !io_retry(io, DIO_READ, 0)) {
		read_finish(r, 0);
		return;
	}
	if (res)
		io_moved(io, DIO_READ, (uint32_t)res);
	if (io->done_len >= io->plan.pad + io->plan.keep)
		read_finish(r, 0);
	else if (position(r) < seg->offset + seg->len)
		read_short(r);
	else if (++io->seg < io->plan.nsegs)
		read_more(r);
	else
		read_finish(r, 0);
}

static void give_up(struct read_io *r)
{
	r->needs_buf = true;
	r->io.done(&r->io);
}

bool read_may_splice(const struct root *root)
{
	return atomic_load_explicit(&root->splice_refusals, memory_order_relaxed) < SPLICE_REFUSALS;
}

/* One EINVAL may be an alignment that changed; a file system without splice refuses every time. */
static void learn(struct root *root, int res)
{
	if (res == -EINVAL || res == -EOPNOTSUPP || res == -ENOSYS || res == -EPERM)
		atomic_fetch_add_explicit(&root->splice_refusals, 1, memory_order_relaxed);
	else if (res > 0 && atomic_load_explicit(&root->splice_refusals, memory_order_relaxed))
		atomic_store_explicit(&root->splice_refusals, 0, memory_order_relaxed);
}

/*
 * All of it, or all there is of the file: whatever else happens is for the other way to sort out.
 */
static void on_splice(struct op *op, int res, bool more)
{
	struct read_io *r = read_of(op);
	struct io *io = &r->io;
	const struct dio_plan *p = &io->plan;

	(void)more;
	learn(io->file->root, res);
	if (res > 0) {
		io_moved(io, DIO_READ, (uint32_t)res);
		r->pipe->held += (uint32_t)res;
	}
	if (res < 0 || (io->done_len < p->pad + p->keep &&
			(io_stat(io) < 0 || position(r) < (uint64_t)io->st.st_size)) ||
	    (p->pad && io->done_len > p->pad && pipe_drop(r->pipe, p->pad) < 0))
		give_up(r);
	else
		read_finish(r, 0);
}

static void on_nothing(struct op *op, int res, bool more)
{
	(void)res;
	(void)more;
	read_finish(read_of(op), 0);
}

void read_plan(struct read_io *r, size_t room)
{
	r->needs_buf = false;
	io_plan(&r->io, DIO_READ, r->offset, r->count, NULL, room);
}

void read_go(struct read_io *r)
{
	struct io *io = &r->io;

	assert(!r->pipe || io->plan.nsegs == 1);
	io->op.done = r->pipe ? on_splice : io->plan.nsegs ? on_read : on_nothing;
	if (io->plan.nsegs)
		read_more(r);
	else
		ring_post(io->ring, &io->op, 0);
}

void read_start(struct read_io *r)
{
	assert(r->count <= r->buf->size);
	read_plan(r, r->buf->size);
	read_go(r);
}
