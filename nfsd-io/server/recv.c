/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <syslog.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/server/conn.h"

/*
 * The kernel fills up to this much of a payload before it tells: less waking
 * up, and conn_late() still sees a peer advance that is just fast enough.
 */
#define PIECE (256u << 10)
#define PAGE 4096u /* what a payload's phase is measured in, whatever the machine's page */

static struct conn *conn_of_op(struct op *op)
{
	return container_of(op, struct conn, recv.op);
}

static void received(struct op *op, int res, bool more)
{
	struct conn *c = conn_of_op(op);

	(void)more;
	c->recv.busy = false;
	c->recv.have_res = true;
	c->recv.res = res;
	worker_mark(c);
}

static void set_buffer(struct conn *c, struct buf *b)
{
	struct recv *r = &c->recv;
	struct req *q = &r->req->req;

	r->phase = RECV_PAYLOAD;
	if (q->payload_pipe) {
		if (req_payload_unpipe(q, b, r->payload.offset) < 0)
			conn_abort(c);
		return;
	}
	q->payload = b;
	q->payload_data = b->base + r->payload.offset % PAGE;
	q->payload_len = 0;
}

static void grown(struct conn *c, struct buf *b)
{
	req_call_move(&c->recv.req->req, b);
	c->recv.phase = RECV_PLAIN;
}

static void buffer_ready(struct pool_waiter *w, struct buf *b)
{
	struct conn *c = container_of(w, struct conn, recv.waiter);

	if (c->recv.phase == RECV_GROW)
		grown(c, b);
	else
		set_buffer(c, b);
	c->recv.since_ns += worker_clock_ns() - c->recv.wait_ns;
	worker_mark(c);
}

void recv_init(struct conn *c)
{
	struct recv *r = &c->recv;

	r->op.done = received;
	r->waiter.ready = buffer_ready;
	r->ask = RECV_CHUNK;
	r->lowat = 1;
	record_init(&r->record, c->w->p.env->max_write + RECV_SLACK);
}

/* A record's first body byte: it needs a request, and the budget for one. */
static bool begin(struct conn *c)
{
	struct worker *w = c->w;
	struct recv *r = &c->recv;

	if (!budget_may_read(&c->calls)) {
		worker_block(c);
		return false;
	}
	r->req = worker_req_get(w);
	if (!r->req) {
		conn_abort(c);
		return false;
	}
	req_begin(&r->req->req, w->p.env, w->ring, w->pool, &w->stats, &c->owner);
	r->phase = RECV_CALL;
	r->charged = false;
	r->since_ns = w->now_ns;
	return true;
}

/* The call is charged for a buffer of `bytes`; false: the connection has to wait. */
static bool charge(struct conn *c, uint32_t bytes)
{
	struct recv *r = &c->recv;

	if (r->waiter.queued)
		return false;
	if (r->charged)
		return true;
	if (!conn_may_take(c)) {
		worker_block(c);
		return false;
	}
	conn_charge(c, r->req, bytes);
	r->charged = true;
	return true;
}

/* A buffer of `size` from the pool, charged as `bytes`; NULL: the connection has to wait. */
static struct buf *take_buffer(struct conn *c, size_t size, uint32_t bytes)
{
	struct recv *r = &c->recv;
	struct buf *b;

	if (!charge(c, bytes))
		return NULL;
	b = pool_borrow_or_wait(c->w->pool, size, &r->waiter);
	if (!b) {
		r->wait_ns = c->w->now_ns;
		worker_watch(c->w);
	}
	return b;
}

/* The whole payload needs one buffer, its start in phase with the file; or one pipe. */
static bool borrow(struct conn *c)
{
	struct recv *r = &c->recv;
	struct buf *b;

	if (!charge(c, r->payload.len))
		return false;
	if (!r->req->req.payload_pipe && recv_pipe(c)) {
		r->phase = RECV_PAYLOAD;
		return true;
	}
	b = take_buffer(c, r->payload.len + r->payload.offset % PAGE, r->payload.len);
	if (b)
		set_buffer(c, b);
	return b;
}

/* One step, to the largest there is: who waits for a buffer holds none. */
static bool grow(struct conn *c)
{
	size_t size = pool_max(c->w->pool);
	struct buf *b = take_buffer(c, size, (uint32_t)size);

	if (b)
		grown(c, b);
	return b;
}

/* The call up to its payload is in: where to with what follows? */
static void found_payload(struct conn *c)
{
	struct recv *r = &c->recv;
	uint32_t max = c->w->p.env->max_write;

	r->pad = -r->payload.len & 3;
	/* More than a WRITE may have is passed over: the reply tells how much was written. */
	if (r->payload.len > max) {
		r->pad += r->payload.len - max;
		r->payload.len = max;
	}
	if (!r->payload.len) {
		r->phase = RECV_REST;
	} else {
		r->phase = RECV_BUFFER;
	}
}

/*
 * More stands behind the payload than req->call has room for, so all of the record goes to a large
 * buffer: the data stay among the arguments, as a second WRITE's do.
 */
static bool long_tail(const struct conn *c)
{
	const struct recv *r = &c->recv;
	const struct req *q = &r->req->req;
	const struct req_payload *p = &r->payload;
	size_t len = r->record.len + record_direct(&r->record),
	       data = p->at + p->len + (-p->len & 3);

	return p->more && r->record.last && p->len <= c->w->p.env->max_write && len > data &&
	       len - data > q->call_max - p->at && len <= pool_max(c->w->pool);
}

/* Body bytes into req->call as far as they fit.  Returns bytes used. */
static size_t append(struct conn *c)
{
	struct recv *r = &c->recv;
	struct req *q = &r->req->req;
	size_t n = q->call_max - q->call_len;

	if (n > r->body_len)
		n = r->body_len;
	memcpy(q->call + q->call_len, r->body, n);
	q->call_len += (uint32_t)n;
	return n;
}

/* Body bytes into req->call, no further than the payload's start.  Returns bytes used. */
static size_t take_call(struct conn *c)
{
	struct recv *r = &c->recv;
	struct req *q = &r->req->req;
	size_t old = q->call_len, n = append(c);

	if (r->phase == RECV_CALL) {
		switch (req_peek_payload(q->call, q->call_len, &r->payload)) {
		case REQ_PEEK_MORE:
			break;
		case REQ_PEEK_PLAIN:
			r->phase = RECV_PLAIN;
			break;
		case REQ_PEEK_PAYLOAD:
			if (long_tail(c)) {
				r->phase = RECV_PLAIN;
				break;
			}
			assert(r->payload.at > old && r->payload.at <= q->call_len);
			n = r->payload.at - old;
			q->call_len = q->payload_at = (uint32_t)r->payload.at;
			found_payload(c);
			return n;
		}
	}
	if (n < r->body_len)
		r->phase = !q->call_large && req_call_may_grow(q->call, q->call_len) ? RECV_GROW
										     : RECV_SKIP;
	return n;
}

/* What stands behind the payload: what did not fit was seen in time, if it could be. */
static size_t take_rest(struct conn *c)
{
	struct recv *r = &c->recv;
	size_t n = r->pad < r->body_len ? r->pad : r->body_len;

	r->pad -= (uint32_t)n;
	if (n)
		return n;
	if (!r->payload.more)
		return r->body_len;
	n = append(c);
	if (n < r->body_len)
		r->phase = RECV_SKIP;
	return n;
}

/* The pipe takes no more: what is in it, and the rest, goes to a buffer; from now on at once. */
static void overflow(struct conn *c)
{
	c->recv.no_pipe = true;
	c->recv.phase = RECV_BUFFER;
}

/* Bytes used, 0: it is full. */
static size_t put_in_pipe(struct conn *c, size_t n)
{
	struct recv *r = &c->recv;
	int ret = pipe_write(r->req->req.payload_pipe, r->body, (uint32_t)n);

	if (ret <= 0)
		overflow(c);
	return ret > 0 ? (size_t)ret : 0;
}

/* Payload bytes that came along with the header.  Returns bytes used. */
static size_t take_payload(struct conn *c)
{
	struct recv *r = &c->recv;
	struct req *q = &r->req->req;
	size_t n = r->payload.len - q->payload_len;

	if (n > r->body_len)
		n = r->body_len;
	if (q->payload_pipe)
		n = put_in_pipe(c, n);
	else
		memcpy((uint8_t *)q->payload_data + q->payload_len, r->body, n);
	q->payload_len += (uint32_t)n;
	atomic_fetch_add_explicit(&c->w->stats.payload_copied, n, memory_order_relaxed);
	if (q->payload_len == r->payload.len)
		r->phase = RECV_REST;
	return n;
}

/* Some body bytes to where they belong; false when the connection has to wait. */
static bool take_body(struct conn *c)
{
	struct recv *r = &c->recv;
	size_t n = r->body_len;

	if (!r->req && !begin(c))
		return false;
	switch (r->phase) {
	case RECV_CALL:
	case RECV_PLAIN:
		n = take_call(c);
		break;
	case RECV_BUFFER:
		return borrow(c);
	case RECV_PAYLOAD:
		n = take_payload(c);
		break;
	case RECV_REST:
		n = take_rest(c);
		break;
	case RECV_GROW:
		return grow(c);
	case RECV_SKIP:
	case RECV_READY:
		break;
	}
	r->req->req.record_len += (uint32_t)n;
	r->body += n;
	r->body_len -= n;
	return true;
}

/*
 * A call longer than any we serve: cut down to its header, so that its
 * arguments do not decode and it is answered GARBAGE_ARGS.
 */
static void behead(struct req *q)
{
	struct msg_call call;
	size_t args;

	if (msg_peek(q->call, q->call_len, &call, &args) == MSG_CALL_OK && args < q->call_len)
		q->call_len = (uint32_t)args;
}

static void finish_record(struct conn *c)
{
	struct recv *r = &c->recv;

	if (!r->req) /* a record without a byte */
		return;
	r->ask = r->req->req.payload_len > RECV_CHUNK ? RECV_CHUNK_STREAM : RECV_CHUNK;
	if (r->req->req.payload_len)
		conn_prove(c, true);
	/* Behind its data stands more than there is room for: the COMPOUND says so itself. */
	if (r->phase == RECV_SKIP && r->req->req.payload && r->payload.more)
		r->req->req.cut = true;
	/* Of what was to be passed over the most is missing: no such call. */
	else if (r->phase == RECV_SKIP || (r->phase == RECV_REST && r->pad > 3))
		behead(&r->req->req);
	r->phase = RECV_READY;
}

/* What is in is no call but the answer to one of ours, or pretends to be. */
static void take_reply(struct conn *c)
{
	struct recv *r = &c->recv;
	struct req *q = &r->req->req;

	r->req = NULL;
	r->phase = RECV_CALL;
	r->since_ns = 0;
	conn_retire(c, q);
}

/*
 * Run the call that is in; one that needs a buffer for its reply waits for the budget.  Not one
 * that has had a part of it: those who keep the rest may wait here, too.
 */
static bool dispatch(struct conn *c)
{
	struct recv *r = &c->recv;
	struct worker_req *q = r->req;
	uint32_t demand;

	if (back_take(c, &q->req)) {
		take_reply(c);
		return true;
	}
	demand = conn_demand(c, q);
	if (demand && !r->charged && !conn_may_take(c)) {
		worker_block(c);
		return false;
	}
	if (demand)
		conn_charge(c, q, demand);
	r->req = NULL;
	r->phase = RECV_CALL;
	r->since_ns = 0;
	conn_dispatch(c, q);
	return true;
}

/* What is between the input and the call may have to wait.  True when the input is next. */
static bool unstuck(struct conn *c)
{
	const struct recv *r = &c->recv;

	if (r->req && r->phase == RECV_READY)
		return dispatch(c);
	if (r->req && r->phase == RECV_BUFFER)
		return borrow(c);
	if (r->req && r->phase == RECV_GROW)
		return grow(c);
	return true;
}

static void bad_record(struct conn *c)
{
	const struct proto_env *env = c->w->p.env;

	atomic_fetch_add_explicit(&c->w->cuts.bad_record, 1, memory_order_relaxed);
	env->log(env->arg, LOG_NOTICE,
		 "%s: record too long or in too many empty fragments: connection closed",
		 c->owner.peer.text);
	conn_abort(c);
}

/* Take the input apart until it is used up or the connection has to wait. */
static void parse(struct conn *c)
{
	struct recv *r = &c->recv;
	enum record_event event;
	size_t used;

	while (c->state == CONN_OPEN) {
		if (!unstuck(c))
			return;
		if (r->body_len) {
			if (!take_body(c))
				return;
			continue;
		}
		/* Asked even without input: the record's end is an event of its own. */
		event = record_next(&r->record, r->in + r->in_off, r->in_len - r->in_off, &used,
				    &r->body, &r->body_len);
		r->in_off += used;
		if (event == RECORD_END)
			finish_record(c);
		else if (event == RECORD_BAD)
			bad_record(c);
		else if (event == RECORD_MORE)
			return;
	}
}

static void took_direct(struct conn *c)
{
	struct recv *r = &c->recv;
	struct req *q = &r->req->req;
	uint32_t n = (uint32_t)r->res;
	struct req_stats *stats = &c->w->stats;

	q->payload_len += n;
	q->record_len += n;
	if (q->payload_pipe)
		q->payload_pipe->held += n;
	atomic_fetch_add_explicit(q->payload_pipe ? &stats->payload_spliced
						  : &stats->payload_in_place,
				  n, memory_order_relaxed);
	if (q->payload_len == r->payload.len)
		r->phase = RECV_REST;
	record_advance(&r->record, n);
	if (record_ended(&r->record))
		finish_record(c);
}

static void take_result(struct conn *c)
{
	struct recv *r = &c->recv;

	r->have_res = false;
	if (c->state != CONN_OPEN || r->res == -EINTR || r->res == -EAGAIN)
		return;
	if (r->res == -ENOSPC && r->direct && r->req->req.payload_pipe) {
		overflow(c);
	} else if (r->res < 0) {
		conn_abort(c);
	} else if (!r->res) {
		conn_ended(c);
	} else {
		if (r->direct) {
			took_direct(c);
		} else {
			r->in_off = 0;
			r->in_len = (size_t)r->res;
		}
	}
}

bool recv_partial(const struct conn *c)
{
	const struct recv *r = &c->recv;

	return r->req || r->record.nmark || r->record.in_fragment || r->record.nfrags;
}

/* Ask for what comes next: payload in place, a mark alone, or a chunk of headers. */
static void start(struct conn *c)
{
	struct recv *r = &c->recv;
	void *to = r->in;
	size_t len = r->ask;
	int flags = 0;
	struct pipe *pipe = NULL;

	r->direct = false;
	if (r->req && r->phase == RECV_PAYLOAD) {
		struct req *q = &r->req->req;
		uint32_t left = r->payload.len - q->payload_len, run = record_direct(&r->record);

		len = sizeof(r->record.mark) - r->record.nmark;
		if (run) {
			r->direct = true;
			pipe = q->payload_pipe;
			len = left < run ? left : run;
		}
		/* A pipe takes all there is as soon as enough is there. */
		if (run && !pipe) {
			to = (uint8_t *)q->payload_data + q->payload_len;
			len = len < PIECE ? len : PIECE;
			flags = MSG_WAITALL;
		}
	}
	if (recv_partial(c)) {
		if (!r->req && !r->since_ns)
			r->since_ns = c->w->now_ns;
		worker_watch(c->w);
	} else {
		r->since_ns = 0;
	}
	r->busy = true;
	recv_pipe_lowat(c, !pipe ? 1 : len < PIECE ? (uint32_t)len : PIECE);
	if (pipe)
		ring_splice_recv(c->w->ring, &r->op, c->fd, pipe->in, (uint32_t)len);
	else
		ring_recv(c->w->ring, &r->op, c->fd, to, len, flags);
}

void recv_turn(struct conn *c)
{
	struct recv *r = &c->recv;

	if (r->busy)
		return;
	if (r->have_res)
		take_result(c);
	parse(c);
	if (c->state == CONN_OPEN && !r->body_len && r->in_off == r->in_len &&
	    !(r->req &&
	      (r->phase == RECV_BUFFER || r->phase == RECV_GROW || r->phase == RECV_READY)))
		start(c);
}

void recv_stop(struct conn *c)
{
	struct recv *r = &c->recv;

	if (r->waiter.queued)
		pool_unwait(c->w->pool, &r->waiter);
	if (r->busy || !r->req) /* the kernel may still write to the buffer */
		return;
	conn_retire(c, &r->req->req);
	r->req = NULL;
}

bool recv_idle(const struct conn *c)
{
	return !c->recv.busy && !c->recv.req;
}
