/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A payload that waits in a pipe, not in a buffer, until its call was checked. */
#include "config.h"

#include <stdatomic.h>
#include <sys/socket.h>

#include "nfsd-io/server/conn.h"
#include "policy/receive.h"

bool recv_pipe(struct conn *c)
{
	struct recv *r = &c->recv;
	const struct receive_facts f = {
		.want = r->want,
		.len = r->payload.len,
		.plain = r->plain,
		.more = r->payload.more,
		.can_splice = c->w->pipes && !r->no_pipe,
	};

	if (receive_choose(&f) == RECEIVE_SPLICE)
		r->req->req.payload_pipe = pipe_borrow(c->w->pipes, 0, r->payload.len);
	return r->req->req.payload_pipe;
}

void recv_pipe_lowat(struct conn *c, uint32_t bytes)
{
	int n = (int)bytes;

	if (c->recv.lowat == bytes)
		return;
	c->recv.lowat = bytes;
	/* Without it the worker is woken more often, nothing else. */
	setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &n, sizeof(n));
}

void recv_pipe_wrote(struct conn *c, const struct write_io *io)
{
	const struct dio_plan *plan = &io->io.plan;
	struct recv *r = &c->recv;

	if (io->count < RECEIVE_SPLICE_MIN)
		return;
	r->want = io->io.file->root->io.receive;
	r->plain = plan->nsegs == 1 && plan->seg[0].kind == DIO_BUFFERED;
	/* It was as it should be, so the file system cannot. */
	if (r->plain && io->needs_buf)
		r->no_pipe = true;
}
