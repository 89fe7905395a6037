/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stddef.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/server/back.h"
#include "nfsd-io/server/conn.h"
#include "rpc/msg.h"

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* The record has left, or never will. */
static void sent(struct req *r)
{
	((struct conn *)r->owner)->back.queued--; /* owner is the first member */
}

/* It leaves as a reply does: a request that is answered before it was asked. */
static int queue(struct conn *c, struct back_call *b)
{
	struct worker_req *q = worker_req_get(c->w);
	struct req *r = &q->req;

	if (!q)
		return -EBUSY;
	req_begin(r, c->w->p.env, c->w->ring, c->w->pool, &c->w->stats, &c->owner);
	req_set_state(r, REQ_RUN);
	cursor_init(&r->reply, r->reply_buf, sizeof(r->reply_buf));
	cursor_put_fixed(&r->reply, b->call, b->len);
	cursor_set_u32(r->reply_buf, b->xid);
	r->fini = sent;
	req_set_state(r, REQ_SEND);
	c->back.queued++;
	send_queue(c, r);
	worker_mark(c);
	return 0;
}

static int start(struct conn *c, struct back_call *b)
{
	struct back *k = &c->back;
	int err;

	if (c->state != CONN_OPEN)
		return -ENOTCONN;
	if (k->n + k->queued >= BACK_CALLS)
		return -EBUSY;
	b->xid = ++k->xid;
	b->until_ns = worker_clock_ns() + b->wait_ns;
	err = queue(c, b);
	if (err)
		return err;
	b->next = k->out;
	k->out = b;
	k->n++;
	count(&c->w->back.calls);
	worker_watch(c->w);
	return 0;
}

static void posted(struct op *op, int res, bool more)
{
	struct back_call *b = (struct back_call *)op; /* its first member */
	struct connreg_node *n = connreg_find(b->carrier, b->conn);
	int err = -ENOTCONN;

	(void)res;
	(void)more;
	if (n)
		err = start(container_of(n, struct conn, reg), b);
	if (err)
		b->done(b, err, NULL, 0);
}

int back_send(struct connreg *r, struct back_call *b)
{
	b->op.done = posted;
	b->carrier = r;
	return connreg_post(r, b->conn, &b->op);
}

/* Out of the table first: whoever is told may call again. */
static void end(struct conn *c, struct back_call **p, int err, const uint8_t *reply, uint32_t len)
{
	struct back_call *b = *p;

	*p = b->next;
	c->back.n--;
	b->done(b, err, reply, len);
}

bool back_take(struct conn *c, const struct req *r)
{
	struct back_call **p = &c->back.out;
	uint32_t xid;

	if (!msg_is_reply(r->call, r->call_len, &xid))
		return false;
	while (*p && (*p)->xid != xid)
		p = &(*p)->next;
	if (*p)
		end(c, p, 0, r->call, r->call_len);
	else
		count(&c->w->back.unasked);
	return true;
}

bool back_late(struct conn *c)
{
	struct back_call **p = &c->back.out;

	while (*p) {
		if (c->w->now_ns < (*p)->until_ns) {
			p = &(*p)->next;
			continue;
		}
		count(&c->w->back.late);
		end(c, p, -ETIMEDOUT, NULL, 0);
		p = &c->back.out; /* it may have changed */
	}
	return c->back.n;
}

void back_stop(struct conn *c)
{
	while (c->back.out) {
		count(&c->w->back.lost);
		end(c, &c->back.out, -ENOTCONN, NULL, 0);
	}
}
