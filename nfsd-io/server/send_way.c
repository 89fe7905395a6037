/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/conn.h"

static void add(_Atomic uint64_t *n, uint64_t by)
{
	atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

struct pipe *send_pipe(struct conn *c, const struct read_io *io)
{
	const struct root *root = io->io.file->root;
	const struct root_io *want = &root->io;
	const struct dio_segment *seg = &io->io.plan.seg[0];
	const struct reply_facts f = {
		.want = want->reply,
		.len = io->count,
		.direct = seg->kind == DIO_DIRECT,
		.splice_buffered = want->splice_buffered,
		.dontcache = seg->kind == DIO_DONTCACHE,
		.can_splice = c->w->pipes && c->state == CONN_OPEN && read_may_splice(root),
	};
	struct pipe *p;

	if (reply_choose(&f) != REPLY_SPLICE)
		return NULL;
	p = pipe_borrow(c->w->pipes, seg->offset, seg->len);
	if (!p)
		add(&c->w->sent.no_pipe, 1);
	return p;
}

enum reply_way send_way(const struct conn *c, const struct req *r)
{
	const struct reply_facts f = {
		.want = r->data_io ? r->data_io->reply : REPLY_SENDMSG,
		.len = r->data_len,
		.can_zerocopy = r->data_buf && !c->send.copies && ring_zerocopy(c->w->ring),
	};

	return r->data_pipe ? REPLY_SPLICE : reply_choose(&f);
}

void send_count(struct conn *c, const struct req *r, enum reply_way way)
{
	if (!r->data_io)
		return;
	add(&c->w->sent.replies[way], 1);
	add(&c->w->sent.bytes[way], r->data_len);
}
