/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A connection (conn, recv, send) with everything around it played by the
 * test: it picks how many bytes each receive and send moves, when a buffer is
 * free, and when a request replies.  Stands in for worker, ring, pool and req.
 */
#ifndef TESTS_LIB_CONNPLAY_H
#define TESTS_LIB_CONNPLAY_H

#include "nfsd-io/server/conn.h"

#define CONNPLAY_CALLS 256
#define CONNPLAY_MAX_WRITE (1u << 20)

/* What reached the protocol. */
struct seen {
	uint32_t xid, call_len, record_len, payload_len;
	uint8_t *payload;
	uintptr_t phase;
	bool tail; /* procedure 9: what stood behind the payload came too */
};

extern struct seen seen[CONNPLAY_CALLS];
extern unsigned nseen, nretired, nsends, buffers_free, logged;
extern bool hold;		  /* requests do not reply by themselves ... */
extern struct req *held[CONNPLAY_CALLS]; /* ... and wait here for finish() */
extern unsigned nheld;
extern uint32_t reply_data;	  /* bytes of opaque data in each reply */
extern enum reply_way reply_by;	  /* ... and how they are to leave; SENDMSG by itself */
extern uint8_t data[70000];	  /* ... which are these */
extern struct worker w;
extern struct conn *conn;	  /* NULL when it has been reaped */
extern struct op *recv_op, *send_op; /* in progress */
extern struct pool_waiter *waiting;
extern struct op *posted;	  /* the last op posted to the connection's thread */
/* number of the last connection that ended of those that carried calls */
extern uint64_t carried;
extern uint8_t out[1 << 20];	  /* what was sent */
extern size_t nout;
extern uint8_t *stream;		  /* what will be received */
extern size_t stream_len;

void finish(struct req *r); /* reply now */
void new_stream(void);
/*
 * A record in fragments of at most `frag` bytes, with an empty one in front when there are several.
 */
void put_record(const uint8_t *rec, size_t len, size_t frag);
uint8_t pattern(uint32_t xid, uint32_t i);
/*
 * `bytes` of arguments for a plain call (8: one that may be
 * long); of payload for a WRITE (7; 9: more follows).
 */
void put_call(uint32_t xid, uint32_t proc, uint64_t offset, uint32_t bytes, size_t frag);
void put_read(uint32_t xid, uint32_t count);
void open_conn(void);
void pump(void); /* loop turns until nothing is left to do */
/* Complete the receive in progress with up to `max` bytes of p; returns how many it took. */
size_t feed(const uint8_t *p, size_t max);
void recv_fails(int res); /* ... with an error */
/*
 * Complete the send in progress, the kernel taking at most `max` bytes; returns how many it took.
 */
size_t take(size_t max);
void send_fails(int res); /* ... with an error */
/* The kernel has no more use for what was sent without a copy, but copied some: `copied`. */
void give_back(bool copied);
extern unsigned nlent; /* sends it has yet to give back */
extern struct pipe_pool *pipes; /* w.pipes after open_conn() */
/*
 * Feed all of the stream in pieces no longer than `piece`, with
 * a cut at `cut`; replies are taken at once.
 */
void play(size_t cut, size_t piece);
void eof(void);
/* Ends the stream; the connection must go and give everything back. */
void close_conn(void);

#endif
