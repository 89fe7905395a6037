/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <string.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/server/conn.h"

static void sent(struct op *op, int res, bool more)
{
	struct conn *c = container_of(op, struct conn, send.op);

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
	/*
	 * A splice must not wait for a peer that does not read;
	 * io_uring's other operations wait all the same.
	 */
	if (c->w->pipes)
		fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

void send_queue(struct conn *c, struct req *r)
{
	struct send_part *part = &((struct worker_req *)r)->send;
	struct send *s = &c->send;

	part->way = r->data_len ? send_way(c, r) : REPLY_SENDMSG;
	part->zc_tried = part->over = false;
	r->next = NULL;
	*s->tail = r;
	s->tail = &r->next;
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

/* All of it was sent. */
static void let_go(struct conn *c, struct req *r)
{
	if (r->data_len)
		send_count(c, r, ((struct worker_req *)r)->send.way);
	if (r->data_pipe)
		r->data_pipe->held -= r->data_len;
	if (!send_zc_keep(c, r))
		conn_retire(c, r);
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
		/*
		 * Out of the queue first: a buffer given back may
		 * let another request reply at once.
		 */
		let_go(c, pop(s));
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

/* Gather what can be, up to where the next data leaves another way, or send that. */
static void start(struct conn *c)
{
	struct send *s = &c->send;
	unsigned n = send_gather(s);
	struct req *r = s->stop;

	memset(&s->msg, 0, sizeof(s->msg));
	s->msg.msg_iov = s->iov;
	s->msg.msg_iovlen = n;
	s->busy = true;
	if (r && r->data_pipe)
		ring_splice_out(c->w->ring, &s->op, c->fd, n ? &s->msg : NULL, r->data_pipe->out,
				r->data_len - s->from, (r->data_len & 3) || r->next);
	else if (n)
		ring_sendmsg(c->w->ring, &s->op, c->fd, &s->msg, MSG_NOSIGNAL | (r ? MSG_MORE : 0));
	else
		send_zc(c, r, s->from);
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
	start(c);
	worker_watch(c->w);
}

void send_stop(struct conn *c)
{
	if (c->send.busy) /* the kernel still reads the replies */
		return;
	while (c->send.head) {
		struct req *r = pop(&c->send);

		if (!send_zc_keep(c, r))
			conn_retire(c, r);
	}
	/* Nothing will be acknowledged any more: have the kernel let go of the buffers it reads. */
	if (c->send.lent)
		connect(c->fd, &(struct sockaddr){.sa_family = AF_UNSPEC}, sizeof(struct sockaddr));
}

bool send_idle(const struct conn *c)
{
	return !c->send.busy && !c->send.have_res && !c->send.head && !c->send.lent;
}
