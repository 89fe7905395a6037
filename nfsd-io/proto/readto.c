/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/readto.h"

#include <errno.h>

#include "nfsd-io/core/container.h"

static void read_done(struct io *io);

uint32_t readto_clip(const struct req *r, uint32_t count)
{
	size_t most = pool_max(r->pool), slack;

	if (count > r->env->max_read)
		count = r->env->max_read;
	slack = read_space(count) - count;
	return count > most - slack ? (uint32_t)(most - slack) : count;
}

/* The buffer is there. */
static void begin(struct req *r)
{
	struct read_io *io = &r->io.read;

	r->inflight++;
	io->buf = r->data_buf;
	read_start(io);
}

static void borrowed(struct pool_waiter *w, struct buf *b)
{
	struct req *r = container_of(w, struct req, waiter);

	r->inflight--;
	r->data_buf = b;
	begin(r);
}

static bool to_buffer(struct req *r)
{
	size_t size = read_space(r->io.read.count);
	bool may_wait = !req_has_buffer(r);

	r->waiter.ready = borrowed;
	r->data_buf = may_wait ? pool_borrow_or_wait(r->pool, size, &r->waiter)
			       : pool_borrow(r->pool, size);
	if (r->data_buf)
		begin(r);
	else if (may_wait)
		r->inflight++;
	return may_wait || r->data_buf;
}

static bool to_pipe(struct req *r)
{
	struct read_io *io = &r->io.read;

	if (!r->owner->pipe)
		return false;
	read_plan(io, read_space(io->count));
	r->data_pipe = io->io.plan.nsegs == 1 ? r->owner->pipe(r->owner, io) : NULL;
	if (!r->data_pipe)
		return false;
	r->inflight++;
	io->pipe = r->data_pipe;
	read_go(io);
	return true;
}

static void read_done(struct io *io)
{
	struct req *r = container_of(io, struct req, io.read.io);

	r->inflight--;
	if (!r->io.read.needs_buf) {
		r->read_done(r);
		return;
	}
	atomic_fetch_add_explicit(&r->stats->pipe_given_up, 1, memory_order_relaxed);
	pipe_return(r->data_pipe);
	r->data_pipe = NULL;
	r->io.read.pipe = NULL;
	if (to_buffer(r))
		return;
	io->res = -EAGAIN;
	r->read_done(r);
}

bool readto_start(struct req *r, bool may_pipe, void (*done)(struct req *r))
{
	struct read_io *io = &r->io.read;

	r->read_done = done;
	io->io = (struct io){
		.ring = r->ring, .file = r->file, .verifier = req_verifier(r), .done = read_done};
	io->pipe = NULL;
	return (may_pipe && to_pipe(r)) || to_buffer(r);
}

void readto_payload(struct req *r)
{
	r->data = r->io.read.data;
	r->data_io = &r->file->root->io;
	r->data_len = (uint32_t)r->io.read.io.res;
}
