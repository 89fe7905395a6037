/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/connplay.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/msg.h"

struct seen seen[CONNPLAY_CALLS];
unsigned nseen, nretired;
bool hold;		/* requests do not reply by themselves */
struct req *held[CONNPLAY_CALLS]; /* ... and wait here */
unsigned nheld;
uint32_t reply_data;	/* bytes of opaque data in each reply */
enum reply_way reply_by;
struct pipe_pool *pipes;
static const struct root_io by_zc = {.reply = REPLY_ZEROCOPY}, by_splice = {.reply = REPLY_SPLICE};
static struct buf registered = {.index = 3};
uint8_t data[70000];

struct worker w;
struct conn *conn;
static int peer_fd;
struct op *recv_op, *send_op;
static uint8_t *recv_to;
static size_t recv_len;
static int recv_pipe_fd; /* when recv_to is NULL */
static const struct msghdr *send_msg;
static int send_pipe_fd;
static const void *send_mem; /* of a zero-copy send */
static size_t send_len;	     /* behind the message: in pipe or memory */
static struct op *lent[CONNPLAY_CALLS];
unsigned nlent;
unsigned nsends, buffers_free, logged;
struct op *posted;
uint64_t carried;
struct pool_waiter *waiting;
uint8_t out[1 << 20];
size_t nout;

/* --- the worker, ring and pool ------------------------------------------------- */

void worker_mark(struct conn *c) { c->dirty = true; }
void worker_block(struct conn *c) { c->blocked = true; }
void worker_link(struct worker *wk, struct conn *c) { wk->conns = c; }
void worker_unlink(struct worker *wk, struct conn *c) { (void)c; wk->conns = NULL; }
void worker_watch(struct worker *wk) { wk->ticking = true; }
uint64_t worker_clock_ns(void) { return w.now_ns; }
void ring_post(struct ring *r, struct op *op, int res) { (void)r; (void)res; posted = op; }
void state4_back_lost(struct state4 *s, uint64_t number) { (void)s; carried = number; }
struct worker_req *worker_req_get(struct worker *wk)
{
	(void)wk;
	return calloc(1, sizeof(struct worker_req));
}
void worker_req_put(struct worker *wk, struct worker_req *r) { (void)wk; free(r); }

void ring_recv(struct ring *r, struct op *op, int fd, void *buf, size_t len, int flags)
{
	(void)r; (void)fd; (void)flags;
	ck_assert_ptr_null(recv_op);
	ck_assert_uint_gt(len, 0);
	recv_op = op;
	recv_to = buf;
	recv_len = len;
}

void ring_sendmsg(struct ring *r, struct op *op, int fd, const struct msghdr *msg, int flags)
{
	(void)r; (void)fd;
	ck_assert_ptr_null(send_op);
	ck_assert_int_eq(flags & ~MSG_MORE, MSG_NOSIGNAL);
	send_op = op;
	send_msg = msg;
	send_len = 0;
	nsends++;
}

void ring_splice_out(struct ring *r, struct op *op, int fd, const struct msghdr *msg, int pipe,
		     uint32_t len, bool more)
{
	(void)r; (void)fd; (void)more;
	ck_assert_ptr_null(send_op);
	ck_assert_uint_gt(len, 0);
	send_op = op;
	send_msg = msg;
	send_mem = NULL;
	send_pipe_fd = pipe;
	send_len = len;
	nsends++;
}

void ring_send_zc(struct ring *r, struct op *op, int fd, const void *buf, size_t len, int flags,
		  int buf_index)
{
	(void)r; (void)fd;
	ck_assert_ptr_null(send_op);
	ck_assert_int_eq(buf_index, registered.index);
	ck_assert_int_eq(flags & ~MSG_MORE, MSG_NOSIGNAL);
	send_op = op;
	send_msg = NULL;
	send_mem = buf;
	send_len = len;
	nsends++;
}

void ring_splice_recv(struct ring *r, struct op *op, int fd, int pipe, uint32_t len)
{
	(void)r; (void)fd;
	ck_assert_ptr_null(recv_op);
	ck_assert_uint_gt(len, 0);
	recv_op = op;
	recv_to = NULL;
	recv_pipe_fd = pipe;
	recv_len = len;
}

bool read_may_splice(const struct root *root) { (void)root; return true; }
bool ring_zerocopy(const struct ring *r) { (void)r; return true; }

struct buf *pool_borrow_or_wait(struct pool *p, size_t size, struct pool_waiter *wt)
{
	struct buf *b;

	(void)p;
	if (!buffers_free) {
		wt->size = size;
		wt->queued = true;
		waiting = wt;
		return NULL;
	}
	buffers_free--;
	b = calloc(1, sizeof(*b));
	b->size = (size + 4095) & ~4095ul;
	b->base = aligned_alloc(4096, b->size);
	return b;
}

void pool_unwait(struct pool *p, struct pool_waiter *wt)
{
	(void)p;
	wt->queued = false;
	waiting = NULL;
}

size_t pool_max(const struct pool *p)
{
	(void)p;
	return CONNPLAY_MAX_WRITE + 65536;
}

void buf_return(struct buf *b)
{
	if (!b || b == &registered)
		return;
	buffers_free++;
	free(b->base);
	free(b);
}

/* --- the protocol -------------------------------------------------------------- */

void req_set_state(struct req *r, enum req_state s) { r->state = s; }

void req_begin(struct req *r, const struct proto_env *env, struct ring *ring, struct pool *pool,
	       struct req_stats *stats, struct req_owner *owner)
{
	(void)ring; (void)pool; (void)stats;
	r->env = env;
	r->owner = owner;
	r->call = r->call_buf;
	r->call_max = REQ_CALL_MAX;
	r->state = REQ_PARSE;
}

static void put_data(struct req *r)
{
	r->data = data;
	r->data_len = reply_data;
	r->data_io = NULL;
	if (!reply_data)
		return;
	if (reply_by == REPLY_ZEROCOPY) {
		r->data_io = &by_zc;
		r->data_buf = &registered;
	} else if (reply_by == REPLY_SPLICE) {
		r->data_io = &by_splice;
		r->data = NULL;
		r->data_pipe = pipe_borrow(pipes, 0, sizeof(data));
		ck_assert_ptr_nonnull(r->data_pipe);
		/* With the tail of an expanded READ behind. */
		ck_assert_int_eq(write(r->data_pipe->in, data, sizeof(data)), sizeof(data));
		r->data_pipe->held = sizeof(data);
	}
}

void finish(struct req *r)
{
	cursor_init(&r->reply, r->reply_buf, sizeof(r->reply_buf));
	cursor_put_u32(&r->reply, seen[nseen - 1].xid);
	put_data(r);
	r->state = REQ_SEND;
	r->owner->reply(r->owner, r);
}

void req_dispatch(struct req *r)
{
	struct seen *s = &seen[nseen++];

	ck_assert_uint_lt(nseen, CONNPLAY_CALLS);
	cursor_init_const(&r->args, r->call, r->call_len);
	s->xid = cursor_get_u32(&r->args);
	s->call_len = r->call_len;
	s->record_len = r->record_len;
	s->payload_len = r->payload_len;
	s->tail = r->call_len < 12 ? 0 : !memcmp(r->call + r->call_len - 12, "what follows", 12);
	s->phase = (uintptr_t)r->payload_data % 4096;
	s->payload = r->payload_len ? malloc(r->payload_len) : NULL;
	if (r->payload_pipe)
		ck_assert_int_eq(pipe_read(r->payload_pipe, s->payload, r->payload_len), 0);
	else if (r->payload_len)
		memcpy(s->payload, r->payload_data, r->payload_len);
	r->state = REQ_WAIT;
	if (hold)
		held[nheld++] = r;
	else
		finish(r);
}

void req_retire(struct req *r)
{
	if (r->fini)
		r->fini(r);
	r->fini = NULL;
	buf_return(r->payload);
	buf_return(r->call_large);
	r->payload = r->call_large = NULL;
	pipe_return(r->data_pipe);
	pipe_return(r->payload_pipe);
	r->data_pipe = r->payload_pipe = NULL;
	nretired++;
}

int req_payload_unpipe(struct req *r, struct buf *b, uint64_t offset)
{
	r->payload = b;
	r->payload_data = b->base + offset % 4096;
	ck_assert_int_eq(pipe_read(r->payload_pipe, (uint8_t *)r->payload_data, r->payload_len), 0);
	pipe_return(r->payload_pipe);
	r->payload_pipe = NULL;
	w.stats.payload_unpiped++;
	return 0;
}

void req_owner_fini(struct req_owner *o) { (void)o; }

void drc_settle(struct drc *d, uint64_t number) { (void)d; (void)number; }

uint32_t req_reply_len(const struct req *r)
{
	return (uint32_t)cursor_pos(&r->reply) + ((r->data_len + 3) & ~3u);
}

/*
 * Procedure 8 stands for a COMPOUND: it may be long; 9 is one with a WRITE, and more behind it; 6,
 * READ, is what a COMPOUND may ask for, too.
 */
bool req_call_may_grow(const uint8_t *buf, size_t len)
{
	struct msg_call call;
	size_t args;

	return msg_peek(buf, len, &call, &args) == MSG_CALL_OK &&
	       (call.proc == 6 || call.proc == 8 || call.proc == 9);
}

void req_call_move(struct req *r, struct buf *b)
{
	memcpy(b->base, r->call, r->call_len);
	r->call_large = b;
	r->call = b->base;
	r->call_max = (uint32_t)b->size;
}

enum req_peek req_peek_payload(const uint8_t *buf, size_t len, struct req_payload *o)
{
	struct msg_call call;
	struct cursor c;
	size_t args;
	uint32_t n;

	switch (msg_peek(buf, len, &call, &args)) {
	case MSG_CALL_MORE:
		return REQ_PEEK_MORE;
	case MSG_CALL_OK:
		break;
	default:
		return REQ_PEEK_PLAIN;
	}
	if (call.proc != 7 && call.proc != 9)
		return REQ_PEEK_PLAIN;
	o->more = call.proc == 9;
	cursor_init_const(&c, buf, len);
	cursor_skip(&c, args);
	cursor_get_opaque(&c, 64, &n);
	o->offset = cursor_get_u64(&c);
	cursor_skip(&c, 8);
	o->len = cursor_get_u32(&c);
	o->at = cursor_pos(&c);
	return cursor_ok(&c) ? REQ_PEEK_PAYLOAD : REQ_PEEK_MORE;
}

/* --- streams ------------------------------------------------------------------- */

uint8_t *stream;
size_t stream_len;

void new_stream(void)
{
	stream = realloc(stream, 4 << 20);
	stream_len = 0;
}

static void put(const void *p, size_t n)
{
	memcpy(stream + stream_len, p, n);
	stream_len += n;
}

/*
 * A record in fragments of at most `frag` bytes, with an empty one in front when there are several.
 */
void put_record(const uint8_t *rec, size_t len, size_t frag)
{
	uint8_t mark[4] = {0};

	if (frag < len)
		put(mark, 4);
	while (len) {
		size_t n = len < frag ? len : frag;

		record_mark(mark, (uint32_t)n);
		if (n < len)
			mark[0] &= 0x7f;
		put(mark, 4);
		put(rec, n);
		rec += n;
		len -= n;
	}
}

uint8_t pattern(uint32_t xid, uint32_t i)
{
	return (uint8_t)(xid * 31 + i * 7 + (i >> 8));
}

static void put_header(struct cursor *c, uint32_t xid, uint32_t proc)
{
	cursor_put_u32(c, xid);
	cursor_put_u32(c, 0);
	cursor_put_u32(c, 2);
	cursor_put_u32(c, 100003);
	cursor_put_u32(c, 3);
	cursor_put_u32(c, proc);
	cursor_put_u64(c, 0);
	cursor_put_u64(c, 0);
}

/* `bytes` of arguments for a plain call; a WRITE's payload otherwise. */
void put_call(uint32_t xid, uint32_t proc, uint64_t offset, uint32_t bytes, size_t frag)
{
	uint8_t *rec = malloc(bytes + 256), fh[28] = {1};
	struct cursor c;
	uint32_t i;

	cursor_init(&c, rec, bytes + 256);
	put_header(&c, xid, proc);
	cursor_put_opaque(&c, fh, sizeof(fh));
	if (proc == 7 || proc == 9) {
		cursor_put_u64(&c, offset);
		cursor_put_u32(&c, bytes);
		cursor_put_u32(&c, 0);
		cursor_put_u32(&c, bytes);
	}
	for (i = 0; i < bytes; i++)
		*c.p++ = pattern(xid, i);
	while (cursor_pos(&c) & 3)
		*c.p++ = 0;
	if (proc == 9)
		cursor_put_fixed(&c, "what follows", 12);
	put_record(rec, cursor_pos(&c), frag);
	free(rec);
}

void put_read(uint32_t xid, uint32_t count)
{
	uint8_t rec[96];
	struct cursor c;

	cursor_init(&c, rec, sizeof(rec));
	put_header(&c, xid, 6);
	cursor_put_opaque(&c, "handle", 6);
	cursor_put_u64(&c, 0);
	cursor_put_u32(&c, count);
	put_record(rec, cursor_pos(&c), SIZE_MAX);
}

static void log_line(void *arg, int priority, const char *fmt, ...)
{
	(void)arg; (void)priority; (void)fmt;
	logged++;
}

static struct proto_env env = {
	.max_read = 1 << 20, .max_write = CONNPLAY_MAX_WRITE, .log = log_line};

void pump(void)
{
	while (conn && (conn->dirty || (conn->blocked && w.credited))) {
		conn->dirty = false;
		if (w.credited)
			conn->blocked = false;
		w.credited = false;
		conn_turn(conn);
		if (!w.conns)
			conn = NULL;
	}
}

void open_conn(void)
{
	static const struct budget_use calls = {.reqs = 512}, max = {.bufs = 32, .bytes = 64 << 20},
				       none = {0};
	struct peer peer = {.text = "test"};
	int fds[2];

	memset(&w, 0, sizeof(w));
	w.p.env = &env;
	w.large_min = 65536;
	ck_assert_int_eq(connreg_new(&w.p.conns), 0);
	budget_init(&w.calls, NULL, &calls);
	budget_init(&w.budget, NULL, &max);
	budget_init(&w.fresh, &w.budget, &none);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	peer_fd = fds[1];
	nseen = nretired = nheld = nsends = logged = 0;
	nout = 0;
	hold = false;
	reply_data = 0;
	reply_by = REPLY_SENDMSG;
	nlent = 0;
	ck_assert_int_eq(pipe_pool_new(&pipes, 64, 1 << 20), 0);
	w.pipes = pipes;
	buffers_free = 8;
	recv_op = send_op = posted = NULL;
	carried = 0;
	waiting = NULL;
	conn = conn_new(&w, fds[0], &peer);
	conn_start(conn);
	pump();
}

/* Complete the receive in progress with up to `max` bytes of p; returns how many it took. */
size_t feed(const uint8_t *p, size_t max)
{
	struct op *op = recv_op;
	size_t n = max < recv_len ? max : recv_len;

	if (recv_to)
		memcpy(recv_to, p, n);
	else
		ck_assert_int_eq(write(recv_pipe_fd, p, n), n);
	recv_op = NULL;
	op->done(op, (int)n, false);
	pump();
	return n;
}

void recv_fails(int res)
{
	struct op *op = recv_op;

	recv_op = NULL;
	op->done(op, res, false);
	pump();
}

/* What a send takes from the pipe or the memory behind its message. */
static size_t take_data(size_t max)
{
	size_t n = send_len < max ? send_len : max;

	if (!n)
		return 0;
	if (send_mem)
		memcpy(out + nout, send_mem, n);
	else
		ck_assert_int_eq(read(send_pipe_fd, out + nout, n), n);
	nout += n;
	return n;
}

/* Complete the send in progress, the kernel taking at most `max` bytes. */
size_t take(size_t max)
{
	struct op *op = send_op;
	size_t i, n = 0;

	for (i = 0; send_msg && i < send_msg->msg_iovlen && n < max; i++) {
		size_t m = send_msg->msg_iov[i].iov_len;

		if (m > max - n)
			m = max - n;
		memcpy(out + nout, send_msg->msg_iov[i].iov_base, m);
		nout += m;
		n += m;
	}
	n += take_data(max - n);
	send_op = NULL;
	if (!send_msg && send_mem)
		lent[nlent++] = op;
	op->done(op, (int)n, !send_msg && send_mem);
	pump();
	return n;
}

void send_fails(int res)
{
	struct op *op = send_op;

	send_op = NULL;
	op->done(op, res, false);
	pump();
}

void give_back(bool copied)
{
	while (nlent) {
		struct op *op = lent[--nlent];

		op->copied = copied;
		op->done(op, 0, false);
	}
	pump();
}

/*
 * Feed all of the stream in pieces no longer than `piece`,
 * a cut at `cut`; replies are taken at once.
 */
void play(size_t cut, size_t piece)
{
	size_t at = 0;

	while (at < stream_len) {
		size_t end = at < cut ? cut : stream_len, n = end - at < piece ? end - at : piece;

		ck_assert_ptr_nonnull(recv_op);
		at += feed(stream + at, n);
		while (send_op)
			take(SIZE_MAX);
	}
}

void eof(void)
{
	struct op *op = recv_op;

	recv_op = NULL;
	if (op)
		op->done(op, 0, false);
	pump();
}

void close_conn(void)
{
	unsigned i;

	while (send_op)
		take(SIZE_MAX);
	eof();
	ck_assert_ptr_null(conn);
	ck_assert_uint_eq(w.calls.used.reqs, 0);
	ck_assert_uint_eq(w.budget.used.bufs, 0);
	ck_assert_uint_eq(w.budget.used.bytes, 0);
	ck_assert_uint_eq(connreg_count(w.p.conns), 0);
	connreg_free(w.p.conns);
	ck_assert_uint_eq(pipe_pool_in_use(pipes), 0);
	pipe_pool_free(pipes);
	close(peer_fd);
	for (i = 0; i < nseen; i++)
		free(seen[i].payload);
}
