/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The receiving half of a connection: takes the stream apart into calls.  The
 * payload of a WRITE goes straight into a pool buffer at base + (file offset
 * mod 4096); everything else is small and copied into the request.
 *
 * At most one receive is outstanding.  While a connection may not have
 * another request, or waits for a buffer, it is not read from: TCP's window
 * does the rest.
 */
#ifndef SERVER_RECV_H
#define SERVER_RECV_H

#include "nfsd-io/core/pool.h"
#include "nfsd-io/core/ring.h"
#include "nfsd-io/proto/req.h"
#include "policy/receive.h"
#include "rpc/record.h"

struct conn;
struct worker_req;

#define RECV_CHUNK 8192	     /* bytes read at a time for headers and small calls */
/* ... after a large payload: the next header, little of its payload */
#define RECV_CHUNK_STREAM 512
#define RECV_SLACK (1u << 20) /* bytes a record may be longer than max-write */

enum recv_phase {
	RECV_CALL,    /* into req->call, looking for a payload */
	RECV_PLAIN,   /* into req->call; there is no payload, or it stays among the arguments */
	RECV_BUFFER,  /* the payload comes next and needs a buffer */
	RECV_PAYLOAD, /* into the buffer, or the pipe */
	RECV_REST,    /* pad, then what else the record holds: a COMPOUND's further operations */
	RECV_GROW,    /* the call needs a larger buffer */
	RECV_SKIP,    /* too long for what it is: dropped, then rejected */
	RECV_READY,   /* the record is in; the call waits for budget, or runs next */
};

struct recv {
	struct op op;
	bool busy;	/* op is outstanding */
	bool direct;	/* ... into the payload's buffer or pipe */
	bool have_res;
	int res;
	enum recv_phase phase;
	struct record record;
	struct worker_req *req;	     /* being filled, in PARSE */
	struct req_payload payload;  /* from RECV_BUFFER on */
	uint32_t pad;		     /* bytes of it not seen yet */
	bool charged;		     /* ... for its buffer */
	struct pool_waiter waiter;
	/* the record's first byte; moved on by time spent waiting for a buffer */
	uint64_t since_ns;
	uint64_t wait_ns;	     /* when that waiting began */
	size_t ask;		     /* bytes of the next header read */
	enum receive_way want;	     /* policy/receive's facts, of the last large WRITE */
	bool plain;
	/* too small for this peer's segments, or no use to the file system */
	bool no_pipe;
	uint32_t lowat;		     /* the socket's */
	const uint8_t *body;	     /* body bytes in `in` not used yet */
	size_t body_len;
	size_t in_off, in_len;
	uint8_t in[RECV_CHUNK];
};

void recv_init(struct conn *c);
/* Use what arrived and receive more if the connection may. */
void recv_turn(struct conn *c);
/*
 * The connection closes: leave the buffer queue, drop the
 * half-read record.  Repeat until recv_idle().
 */
void recv_stop(struct conn *c);
bool recv_idle(const struct conn *c);
/* A record was begun and its next bytes are due from the peer. */
bool recv_partial(const struct conn *c);

/* struct req_owner's: a WRITE was carried out. */
void recv_pipe_wrote(struct conn *c, const struct write_io *io);

/* --- between the files of recv --- */

/* The payload goes into a pipe, and there is one: now the request's. */
bool recv_pipe(struct conn *c);
/* Do not say that something is there before `bytes` are, or the peer's end. */
void recv_pipe_lowat(struct conn *c, uint32_t bytes);

#endif
