/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "nfsd-io/server/conn.h"

static const uint8_t zeros[4];

static void sent(struct op *op, int res, bool more)
{
	struct conn *c = (struct conn *)((char *)op - offsetof(struct conn, send.op));

	(void)more;
	c->send.busy = false;
	c->send.have_res = true;
	c->send.res = res;
	worker_mark(c);
}

void send_init(struct conn *c)
{
	c->send.tail = &c->send.head;
	c->send.op.done = sent;
}

void send_queue(struct conn *c, struct req *r)
{
	struct send *s = &c->send;

	r->next = NULL;
	*s->tail = r;
	s->tail = &r->next;
}

/* One part of a reply, unless all of it was sent before. */
static void put(struct send *s, unsigned *n, size_t *skip, const void *p, size_t len)
{
	if (*skip >= len) {
		*skip -= len;
		return;
	}
	s->iov[*n].iov_base = (uint8_t *)p + *skip;
	s->iov[*n].iov_len = len - *skip;
	*skip = 0;
	++*n;
}

unsigned send_gather(struct send *s)
{
	size_t skip = s->skip;
	unsigned n = 0, i = 0;
	struct req *r;

	for (r = s->head; r && i < SEND_REPLIES; r = r->next, i++) {
		record_mark(s->mark[i], req_reply_len(r));
		put(s, &n, &skip, s->mark[i], sizeof(s->mark[i]));
		put(s, &n, &skip, r->reply.base, cursor_pos(&r->reply));
		if (!r->data_len)
			continue;
		put(s, &n, &skip, r->data, r->data_len);
		put(s, &n, &skip, zeros, -r->data_len & 3);
	}
	return n;
}

static struct req *pop(struct send *s)
{
	struct req *r = s->head;

	s->head = r->next;
	if (!s->head)
		s->tail = &s->head;
	r->next = NULL;
	return r;
}

/* Whole replies among the bytes sent so far are over. */
static void settle(struct conn *c)
{
	struct send *s = &c->send;

	while (s->head) {
		size_t len = sizeof(s->mark[0]) + req_reply_len(s->head);

		if (s->skip < len)
			break;
		s->skip -= len;
		s->since_ns = c->w->now_ns;
		/* Out of the queue first: a buffer given back may let another request reply at once. */
		conn_retire(c, pop(s));
	}
}

static void take_result(struct conn *c)
{
	struct send *s = &c->send;

	s->have_res = false;
	if (s->res == -EINTR || s->res == -EAGAIN)
		return;
	if (s->res <= 0) {
		conn_abort(c);
		return;
	}
	s->skip += (size_t)s->res;
	conn_took(c, (size_t)s->res);
	settle(c);
}

void send_turn(struct conn *c)
{
	struct send *s = &c->send;

	if (s->busy)
		return;
	if (s->have_res)
		take_result(c);
	if (c->state == CONN_DEAD) {
		send_stop(c);
		return;
	}
	if (!s->head)
		return;
	if (!s->skip)
		s->since_ns = c->w->now_ns;
	memset(&s->msg, 0, sizeof(s->msg));
	s->msg.msg_iov = s->iov;
	s->msg.msg_iovlen = send_gather(s);
	s->busy = true;
	ring_sendmsg(c->w->ring, &s->op, c->fd, &s->msg, MSG_NOSIGNAL);
	worker_watch(c->w);
}

void send_stop(struct conn *c)
{
	if (c->send.busy) /* the kernel still reads the replies */
		return;
	while (c->send.head)
		conn_retire(c, pop(&c->send));
}

bool send_idle(const struct conn *c)
{
	return !c->send.busy && !c->send.have_res && !c->send.head;
}
