/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sending a registered buffer's bytes as they lie: it stays
 * lent until the peer has acknowledged them.
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/server/conn.h"

static struct worker_req *of_op(struct op *op)
{
	return container_of(op, struct worker_req, send.zc);
}

static void note_result(struct conn *c, int res)
{
	c->send.busy = false;
	c->send.have_res = true;
	c->send.res = res;
}

/* Refused at all: copied instead, here and from now on. */
static void refused(struct conn *c)
{
	atomic_fetch_add_explicit(&c->w->sent.zc_refused, 1, memory_order_relaxed);
	c->send.copies = true;
	note_result(c, -EAGAIN);
}

static bool is_refusal(int res)
{
	return res == -EOPNOTSUPP || res == -EINVAL || res == -ENOMEM || res == -ENOBUFS ||
	       res == -EFAULT;
}

/* The buffer is ours again. */
static void given_back(struct conn *c, struct worker_req *wr)
{
	wr->send.zc_out = false;
	if (wr->send.zc.copied && !c->send.copies) {
		c->send.copies = true;
		atomic_fetch_add_explicit(&c->w->sent.copied, 1, memory_order_relaxed);
	}
	if (!wr->send.over)
		return;
	c->send.since_ns = c->w->now_ns;
	c->send.lent--;
	wr->req.next = c->done;
	c->done = &wr->req;
}

/* Once with how much was sent, and once, unless that was all, when the buffer is free. */
static void done(struct op *op, int res, bool more)
{
	struct worker_req *wr = of_op(op);
	struct conn *c = (struct conn *)wr->req.owner; /* owner is its first member */

	if (!wr->send.zc_told) {
		wr->send.zc_told = true;
		if (is_refusal(res))
			refused(c);
		else
			note_result(c, res);
	}
	if (!more)
		given_back(c, wr);
	worker_mark(c);
}

void send_zc(struct conn *c, struct req *r, uint32_t from)
{
	struct worker_req *wr = (struct worker_req *)r;
	struct send_part *part = &wr->send;

	part->zc_tried = part->zc_out = true;
	part->zc_told = false;
	memset(&part->zc, 0, sizeof(part->zc));
	part->zc.done = done;
	ring_send_zc(c->w->ring, &part->zc, c->fd, r->data + from, r->data_len - from,
		     MSG_NOSIGNAL | ((r->data_len & 3) || r->next ? MSG_MORE : 0),
		     r->data_buf->index);
}

bool send_zc_keep(struct conn *c, struct req *r)
{
	struct send_part *part = &((struct worker_req *)r)->send;

	if (!part->zc_out)
		return false;
	part->over = true;
	c->send.lent++;
	return true;
}
