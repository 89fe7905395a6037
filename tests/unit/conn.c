/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * conn, recv and send with everything around them played by the test: it picks
 * how many bytes each receive and send moves, when a buffer is free, and when
 * a request replies.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nfsd-io/server/conn.h"
#include "rpc/msg.h"
#include "tests/lib/unit.h"

#define CALLS 256
#define MAX_WRITE (1u << 20)

/* What reached the protocol. */
struct seen {
	uint32_t xid, call_len, record_len, payload_len;
	uint8_t *payload;
	uintptr_t phase;
};

static struct seen seen[CALLS];
static unsigned nseen, nretired;
static bool hold;		/* requests do not reply by themselves */
static struct req *held[CALLS]; /* ... and wait here */
static unsigned nheld;
static uint32_t reply_data;	/* bytes of opaque data in each reply */
static uint8_t data[70000];

static struct worker w;
static struct conn *conn;
static int peer_fd;
static struct op *recv_op, *send_op;
static uint8_t *recv_to;
static size_t recv_len;
static const struct msghdr *send_msg;
static unsigned nsends, buffers_free, logged;
static struct pool_waiter *waiting;
static uint8_t out[1 << 20];
static size_t nout;

/* --- the worker, ring and pool ------------------------------------------------- */

void worker_mark(struct conn *c) { c->dirty = true; }
void worker_block(struct conn *c) { c->blocked = true; }
void worker_link(struct worker *wk, struct conn *c) { wk->conns = c; }
void worker_unlink(struct worker *wk, struct conn *c) { (void)c; wk->conns = NULL; }
void worker_watch(struct worker *wk) { wk->ticking = true; }
uint64_t worker_clock_ns(void) { return w.now_ns; }
struct worker_req *worker_req_get(struct worker *wk) { (void)wk; return calloc(1, sizeof(struct worker_req)); }
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
	ck_assert_int_eq(flags, MSG_NOSIGNAL);
	send_op = op;
	send_msg = msg;
	nsends++;
}

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

void buf_return(struct buf *b)
{
	if (!b)
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
	r->state = REQ_PARSE;
}

static void finish(struct req *r)
{
	cursor_init(&r->reply, r->reply_buf, sizeof(r->reply_buf));
	cursor_put_u32(&r->reply, seen[nseen - 1].xid);
	r->data = data;
	r->data_len = reply_data;
	r->state = REQ_SEND;
	r->owner->reply(r->owner, r);
}

void req_dispatch(struct req *r)
{
	struct seen *s = &seen[nseen++];

	ck_assert_uint_lt(nseen, CALLS);
	cursor_init_const(&r->args, r->call, r->call_len);
	s->xid = cursor_get_u32(&r->args);
	s->call_len = r->call_len;
	s->record_len = r->record_len;
	s->payload_len = r->payload_len;
	s->phase = (uintptr_t)r->payload_data % 4096;
	s->payload = r->payload_len ? malloc(r->payload_len) : NULL;
	if (r->payload_len)
		memcpy(s->payload, r->payload_data, r->payload_len);
	r->state = REQ_WAIT;
	if (hold)
		held[nheld++] = r;
	else
		finish(r);
}

void req_retire(struct req *r)
{
	buf_return(r->payload);
	r->payload = NULL;
	nretired++;
}

uint32_t req_reply_len(const struct req *r)
{
	return (uint32_t)cursor_pos(&r->reply) + ((r->data_len + 3) & ~3u);
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
	if (call.proc != 7)
		return REQ_PEEK_PLAIN;
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

static uint8_t *stream;
static size_t stream_len;

static void put(const void *p, size_t n)
{
	memcpy(stream + stream_len, p, n);
	stream_len += n;
}

/* A record in fragments of at most `frag` bytes, with an empty one in front when there are several. */
static void put_record(const uint8_t *rec, size_t len, size_t frag)
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

static uint8_t pattern(uint32_t xid, uint32_t i)
{
	return (uint8_t)(xid * 31 + i * 7 + (i >> 8));
}

/* `bytes` of arguments for a plain call; a WRITE's payload otherwise. */
static void put_call(uint32_t xid, uint32_t proc, uint64_t offset, uint32_t bytes, size_t frag)
{
	uint8_t *rec = malloc(bytes + 256), fh[28] = {1};
	struct cursor c;
	uint32_t i;

	cursor_init(&c, rec, bytes + 256);
	cursor_put_u32(&c, xid);
	cursor_put_u32(&c, 0);
	cursor_put_u32(&c, 2);
	cursor_put_u32(&c, 100003);
	cursor_put_u32(&c, 3);
	cursor_put_u32(&c, proc);
	cursor_put_u64(&c, 0);
	cursor_put_u64(&c, 0);
	cursor_put_opaque(&c, fh, sizeof(fh));
	if (proc == 7) {
		cursor_put_u64(&c, offset);
		cursor_put_u32(&c, bytes);
		cursor_put_u32(&c, 0);
		cursor_put_u32(&c, bytes);
	}
	for (i = 0; i < bytes; i++)
		*c.p++ = pattern(xid, i);
	while (cursor_pos(&c) & 3)
		*c.p++ = 0;
	put_record(rec, cursor_pos(&c), frag);
	free(rec);
}

static void log_line(void *arg, int priority, const char *fmt, ...)
{
	(void)arg; (void)priority; (void)fmt;
	logged++;
}

static struct proto_env env = {.max_read = 1 << 20, .max_write = MAX_WRITE, .log = log_line};

static void pump(void)
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

static void open_conn(void)
{
	static const struct budget_use max = {.reqs = 512, .bufs = 32, .bytes = 64 << 20};
	struct peer peer = {.text = "test"};
	int fds[2];

	memset(&w, 0, sizeof(w));
	w.p.env = &env;
	w.large_min = 65536;
	ck_assert_int_eq(connreg_new(&w.p.conns), 0);
	budget_init(&w.budget, NULL, &max);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	peer_fd = fds[1];
	nseen = nretired = nheld = nsends = logged = 0;
	nout = 0;
	hold = false;
	reply_data = 0;
	buffers_free = 8;
	recv_op = send_op = NULL;
	waiting = NULL;
	conn = conn_new(&w, fds[0], &peer);
	conn_start(conn);
	pump();
}

/* Complete the receive in progress with up to `max` bytes of p; returns how many it took. */
static size_t feed(const uint8_t *p, size_t max)
{
	struct op *op = recv_op;
	size_t n = max < recv_len ? max : recv_len;

	memcpy(recv_to, p, n);
	recv_op = NULL;
	op->done(op, (int)n, false);
	pump();
	return n;
}

/* Complete the send in progress, the kernel taking at most `max` bytes. */
static void take(size_t max)
{
	struct op *op = send_op;
	size_t i, n = 0;

	for (i = 0; i < send_msg->msg_iovlen && n < max; i++) {
		size_t m = send_msg->msg_iov[i].iov_len;

		if (m > max - n)
			m = max - n;
		memcpy(out + nout, send_msg->msg_iov[i].iov_base, m);
		nout += m;
		n += m;
	}
	send_op = NULL;
	op->done(op, (int)n, false);
	pump();
}

/* Feed all of the stream in pieces no longer than `piece`, a cut at `cut`; replies are taken at once. */
static void play(size_t cut, size_t piece)
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

static void eof(void)
{
	struct op *op = recv_op;

	recv_op = NULL;
	if (op)
		op->done(op, 0, false);
	pump();
}

static void close_conn(void)
{
	unsigned i;

	while (send_op)
		take(SIZE_MAX);
	eof();
	ck_assert_ptr_null(conn);
	ck_assert_uint_eq(w.budget.used.reqs, 0);
	ck_assert_uint_eq(w.budget.used.bufs, 0);
	ck_assert_uint_eq(w.budget.used.bytes, 0);
	ck_assert_uint_eq(connreg_count(w.p.conns), 0);
	connreg_free(w.p.conns);
	close(peer_fd);
	for (i = 0; i < nseen; i++)
		free(seen[i].payload);
}

static void new_stream(void)
{
	stream = realloc(stream, 4 << 20);
	stream_len = 0;
}

static void mixed_stream(void)
{
	new_stream();
	put_call(1, 1, 0, 0, 1 << 20);
	put_call(2, 7, 1000, 700, 100);	    /* payload in several fragments, the first ends inside the header */
	put_call(3, 7, 4095, 5, 60);	    /* padded; the pad in another fragment */
	put_call(4, 1, 0, 16, 1);	    /* a byte a fragment */
	put_call(5, 7, 0, 0, 1 << 20);	    /* nothing to write */
	put_call(6, 7, 8191, 33, 1);
	put_call(7, 1, 0, 4, 1 << 20);
	put_call(8, 7, 3, 1, 1 << 20);
}

static void check_mixed(void)
{
	static const uint32_t len[] = {0, 0, 700, 5, 0, 0, 33, 0, 1};
	static const unsigned phase[] = {0, 0, 1000, 4095, 0, 0, 8191 % 4096, 0, 3};
	uint32_t i, k;

	ck_assert_uint_eq(nseen, 8);
	for (i = 1; i <= 8; i++) {
		const struct seen *s = &seen[i - 1];

		ck_assert_uint_eq(s->xid, i);
		ck_assert_uint_eq(s->payload_len, len[i]);
		ck_assert_uint_eq(s->phase, len[i] ? phase[i] : 0);
		for (k = 0; k < len[i]; k++)
			ck_assert_uint_eq(s->payload[k], pattern(i, k));
	}
	ck_assert_uint_eq(seen[0].call_len, 72);
	ck_assert_uint_eq(seen[1].call_len, 92);
	ck_assert_uint_eq(seen[1].record_len, 92 + 700);
	ck_assert_uint_eq(seen[2].record_len, 92 + 8);
}

START_TEST(calls_arrive_whole_wherever_the_stream_is_cut)
{
	size_t cut;

	mixed_stream();
	for (cut = 0; cut <= stream_len; cut++) {
		open_conn();
		play(cut, SIZE_MAX);
		check_mixed();
		close_conn();
		ck_assert_uint_eq(nretired, 8);
	}
}
END_TEST

START_TEST(calls_arrive_whole_in_pieces_of_any_size)
{
	size_t piece;

	mixed_stream();
	for (piece = 1; piece < 300; piece++) {
		open_conn();
		play(0, piece);
		check_mixed();
		close_conn();
	}
}
END_TEST

START_TEST(large_payloads_are_received_in_place)
{
	uint64_t copied, in_place;
	unsigned i;

	new_stream();
	for (i = 0; i < 3; i++)
		put_call(1 + i, 7, 12345 + i * MAX_WRITE, MAX_WRITE, SIZE_MAX);
	open_conn();
	play(0, SIZE_MAX);
	ck_assert_uint_eq(nseen, 3);
	for (i = 0; i < 3; i++)
		ck_assert_uint_eq(seen[i].phase, 12345 % 4096);
	copied = w.stats.payload_copied;
	in_place = w.stats.payload_in_place;
	ck_assert_uint_eq(copied + in_place, 3 * MAX_WRITE);
	ck_assert_uint_lt(copied * 100, copied + in_place);
	close_conn();
}
END_TEST

START_TEST(pipelined_calls_are_answered_in_one_send)
{
	unsigned i;

	new_stream();
	for (i = 0; i < 10; i++)
		put_call(1 + i, 1, 0, 0, SIZE_MAX);
	open_conn();
	feed(stream, stream_len);
	ck_assert_uint_eq(nseen, 10);
	ck_assert_uint_eq(nsends, 1);
	take(SIZE_MAX);
	ck_assert_uint_eq(nsends, 1);
	ck_assert_uint_eq(nout, 80);
	ck_assert_uint_eq(nretired, 10);
	close_conn();
}
END_TEST

START_TEST(short_sends_are_continued)
{
	uint8_t *whole;
	size_t len, step;
	unsigned i;

	new_stream();
	for (i = 0; i < 20; i++)
		put_call(1 + i, 1, 0, 0, SIZE_MAX);
	for (i = 0; i < sizeof(data); i++)
		data[i] = pattern(9, i);
	open_conn();
	reply_data = 29; /* a pad of three */
	play(0, SIZE_MAX);
	len = nout;
	ck_assert_uint_eq(len, 20 * (4 + 4 + 32));
	whole = malloc(len);
	memcpy(whole, out, len);
	close_conn();
	for (step = 1; step < 100; step++) {
		open_conn();
		reply_data = 29;
		feed(stream, stream_len);
		while (send_op)
			take(step);
		ck_assert_uint_eq(nout, len);
		ck_assert_mem_eq(out, whole, len);
		ck_assert_uint_eq(nretired, 20);
		close_conn();
	}
	free(whole);
}
END_TEST

START_TEST(a_peer_that_never_reads_is_not_read_from)
{
	size_t at = 0;
	unsigned i;

	new_stream();
	for (i = 0; i < 200; i++)
		put_call(1 + i, 1, 0, 0, SIZE_MAX);
	open_conn();
	while (recv_op && at < stream_len)
		at += feed(stream + at, stream_len - at);
	ck_assert_uint_eq(nseen, CONN_REQS_MAX);
	ck_assert_ptr_null(recv_op);
	ck_assert(conn->blocked);
	/* It reads after all: everything is answered. */
	while (send_op || at < stream_len) {
		if (send_op)
			take(SIZE_MAX);
		else
			at += feed(stream + at, stream_len - at);
	}
	ck_assert_uint_eq(nseen, 200);
	ck_assert_uint_eq(nretired, 200);
	close_conn();
}
END_TEST

START_TEST(reads_asked_for_are_held_to_the_budget_of_buffers)
{
	size_t at = 0;
	unsigned i;

	new_stream();
	for (i = 0; i < 60; i++) {
		/* READ: the put_call() arguments are offset and count */
		uint8_t rec[96];
		struct cursor c;

		cursor_init(&c, rec, sizeof(rec));
		cursor_put_u32(&c, 1 + i);
		cursor_put_u32(&c, 0);
		cursor_put_u32(&c, 2);
		cursor_put_u32(&c, 100003);
		cursor_put_u32(&c, 3);
		cursor_put_u32(&c, 6);
		cursor_put_u64(&c, 0);
		cursor_put_u64(&c, 0);
		cursor_put_opaque(&c, "handle", 6);
		cursor_put_u64(&c, 0);
		cursor_put_u32(&c, 1 << 20);
		put_record(rec, cursor_pos(&c), SIZE_MAX);
	}
	open_conn();
	while (recv_op && at < stream_len)
		at += feed(stream + at, stream_len - at);
	ck_assert_uint_eq(w.budget.used.bufs, 16); /* half of 32: the other half is left to others */
	ck_assert_uint_eq(nseen, 16);
	eof();
	while (send_op)
		take(SIZE_MAX);
	while (at < stream_len && recv_op)
		at += feed(stream + at, stream_len - at);
	close_conn();
	ck_assert_uint_eq(nseen, 60);
}
END_TEST

START_TEST(a_payload_waits_for_its_buffer)
{
	struct pool_waiter *wt;
	struct buf *b;
	size_t at = 0;

	new_stream();
	put_call(1, 7, 5000, 100, SIZE_MAX);
	open_conn();
	buffers_free = 0;
	at += feed(stream, stream_len);
	ck_assert_ptr_null(recv_op);
	ck_assert_ptr_nonnull(waiting);
	ck_assert_uint_eq(at, stream_len);
	buffers_free = 1;
	wt = waiting;
	wt->queued = false;
	b = pool_borrow_or_wait(NULL, wt->size, wt);
	wt->ready(wt, b);
	pump();
	ck_assert_uint_eq(nseen, 1);
	ck_assert_uint_eq(seen[0].payload_len, 100);
	ck_assert_ptr_nonnull(recv_op);
	close_conn();
}
END_TEST

START_TEST(a_connection_that_dies_waiting_for_a_buffer_leaves_the_queue)
{
	new_stream();
	put_call(1, 7, 5000, 100, SIZE_MAX);
	open_conn();
	buffers_free = 0;
	feed(stream, stream_len);
	ck_assert_ptr_nonnull(waiting);
	conn_abort(conn);
	pump();
	ck_assert_ptr_null(waiting);
	close_conn();
	ck_assert_uint_eq(nretired, 1);
}
END_TEST

START_TEST(oversize_records_close_the_connection)
{
	static const uint8_t mark[4] = {0xff, 0xff, 0xff, 0xff};

	open_conn();
	feed(mark, 4);
	ck_assert_uint_eq(w.cuts.bad_record, 1);
	ck_assert_uint_eq(logged, 1);
	ck_assert_ptr_null(conn);
	close_conn();
}
END_TEST

START_TEST(long_calls_without_payload_are_cut_to_their_header)
{
	new_stream();
	put_call(1, 1, 0, 20000, 5000);
	put_call(2, 1, 0, 0, SIZE_MAX);
	put_call(3, 7, 0, MAX_WRITE + 1024, SIZE_MAX);
	put_call(4, 1, 0, 0, SIZE_MAX);
	open_conn();
	play(0, SIZE_MAX);
	ck_assert_uint_eq(nseen, 4);
	ck_assert_uint_eq(seen[0].call_len, 40);
	ck_assert_uint_eq(seen[0].record_len, 20072);
	ck_assert_uint_eq(seen[1].call_len, 72);
	ck_assert_uint_eq(seen[2].call_len, 40);
	ck_assert_uint_eq(seen[2].payload_len, 0);
	ck_assert_uint_eq(seen[3].call_len, 72);
	close_conn();
}
END_TEST

START_TEST(a_record_shorter_than_its_payload_says_so)
{
	new_stream();
	put_call(1, 7, 0, 1000, SIZE_MAX);
	/* The mark claims less than the WRITE does. */
	record_mark(stream, 92 + 600);
	stream_len = 4 + 92 + 600;
	open_conn();
	play(0, SIZE_MAX);
	ck_assert_uint_eq(nseen, 1);
	ck_assert_uint_eq(seen[0].payload_len, 600);
	close_conn();
}
END_TEST

START_TEST(end_of_stream_inside_a_record_frees_everything)
{
	size_t cut;

	mixed_stream();
	for (cut = 0; cut < stream_len; cut++) {
		size_t at = 0;

		open_conn();
		while (at < cut) {
			at += feed(stream + at, cut - at);
			while (send_op)
				take(SIZE_MAX);
		}
		close_conn();
		ck_assert_uint_eq(buffers_free, 8);
	}
}
END_TEST

START_TEST(replies_still_go_out_after_the_peer_closed_its_side)
{
	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	open_conn();
	hold = true;
	feed(stream, stream_len);
	eof();
	ck_assert_ptr_nonnull(conn);
	finish(held[0]);
	pump();
	ck_assert_ptr_nonnull(send_op);
	take(3);
	take(SIZE_MAX);
	ck_assert_ptr_null(conn);
	ck_assert_uint_eq(nout, 8);
	close_conn();
}
END_TEST

START_TEST(death_of_the_connection_does_not_interrupt_a_request)
{
	struct op *op;

	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	put_call(2, 1, 0, 0, SIZE_MAX);
	open_conn();
	hold = true;
	feed(stream, stream_len);
	ck_assert_uint_eq(nheld, 2);
	finish(held[0]);
	pump();
	ck_assert_ptr_nonnull(send_op);
	conn_abort(conn);
	pump();
	/* The kernel still holds the first reply and the receive; the second request still runs. */
	eof();
	ck_assert_uint_eq(nretired, 0);
	op = send_op;
	send_op = NULL;
	op->done(op, -ECANCELED, false);
	pump();
	ck_assert_uint_eq(nretired, 1);
	ck_assert_ptr_nonnull(conn);
	finish(held[1]);
	pump();
	ck_assert_uint_eq(nretired, 2);
	ck_assert_ptr_null(conn);
	ck_assert_ptr_null(send_op);
	close_conn();
}
END_TEST

START_TEST(a_request_without_reply_sends_nothing)
{
	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	open_conn();
	hold = true;
	feed(stream, stream_len);
	held[0]->drop = true;
	finish(held[0]);
	pump();
	ck_assert_ptr_null(send_op);
	ck_assert_uint_eq(nretired, 1);
	close_conn();
}
END_TEST

START_TEST(slow_peers_are_those_below_the_rate_after_the_grace)
{
	const uint64_t s = 1000000000;

	ck_assert(!conn_too_slow(CONN_GRACE_NS, 0, false));
	ck_assert(conn_too_slow(CONN_GRACE_NS + 1, 0, false));
	ck_assert(conn_too_slow(55 * s, 55, false));		  /* a byte a second */
	ck_assert(!conn_too_slow(200 * s, 1 << 20, false));	  /* 5 KiB/s */
	ck_assert(!conn_too_slow(CONN_GRACE_STRICT_NS, 0, true));
	ck_assert(conn_too_slow(6 * s, 1000, true));
	ck_assert(!conn_too_slow(15 * s, 1 << 20, true));
}
END_TEST

START_TEST(a_dribbler_is_cut_and_an_idle_connection_is_not)
{
	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	open_conn();
	w.now_ns = 1000 * CONN_GRACE_NS;
	ck_assert(!conn_late(conn, false));
	feed(stream, 6);
	ck_assert(conn_late(conn, false));
	w.now_ns += CONN_GRACE_NS + 1;
	ck_assert(conn_late(conn, false));
	ck_assert_uint_eq(w.cuts.slow_call, 1);
	pump();
	close_conn();
}
END_TEST

START_TEST(a_reader_that_stalls_is_cut_and_a_late_reply_is_not_its_fault)
{
	new_stream();
	put_call(1, 1, 0, 0, SIZE_MAX);
	open_conn();
	hold = true;
	feed(stream, stream_len);
	w.now_ns += 10 * CONN_GRACE_NS; /* the disk took its time */
	ck_assert(!conn_late(conn, false));
	finish(held[0]);
	pump();
	ck_assert(conn_late(conn, false));
	ck_assert_uint_eq(w.cuts.slow_reply, 0);
	w.now_ns += CONN_GRACE_NS + 1;
	conn_late(conn, false);
	ck_assert_uint_eq(w.cuts.slow_reply, 1);
	pump();
	close_conn();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("conn");
	TCase *tc = tcase_create("conn");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, calls_arrive_whole_wherever_the_stream_is_cut);
	tcase_add_test(tc, calls_arrive_whole_in_pieces_of_any_size);
	tcase_add_test(tc, large_payloads_are_received_in_place);
	tcase_add_test(tc, pipelined_calls_are_answered_in_one_send);
	tcase_add_test(tc, short_sends_are_continued);
	tcase_add_test(tc, a_peer_that_never_reads_is_not_read_from);
	tcase_add_test(tc, reads_asked_for_are_held_to_the_budget_of_buffers);
	tcase_add_test(tc, a_payload_waits_for_its_buffer);
	tcase_add_test(tc, a_connection_that_dies_waiting_for_a_buffer_leaves_the_queue);
	tcase_add_test(tc, oversize_records_close_the_connection);
	tcase_add_test(tc, long_calls_without_payload_are_cut_to_their_header);
	tcase_add_test(tc, a_record_shorter_than_its_payload_says_so);
	tcase_add_test(tc, end_of_stream_inside_a_record_frees_everything);
	tcase_add_test(tc, replies_still_go_out_after_the_peer_closed_its_side);
	tcase_add_test(tc, death_of_the_connection_does_not_interrupt_a_request);
	tcase_add_test(tc, a_request_without_reply_sends_nothing);
	tcase_add_test(tc, slow_peers_are_those_below_the_rate_after_the_grace);
	tcase_add_test(tc, a_dribbler_is_cut_and_an_idle_connection_is_not);
	tcase_add_test(tc, a_reader_that_stalls_is_cut_and_a_late_reply_is_not_its_fault);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
