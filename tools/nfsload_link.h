/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One TCP connection with `depth` calls in flight, each in a lane of its own.
 * Nothing is allocated and no payload copied more than the socket does: calls
 * that wait go out in one sendmsg, a payload nobody looks at is discarded
 * in the kernel.  One thread.
 */
#ifndef TOOLS_NFSLOAD_LINK_H
#define TOOLS_NFSLOAD_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nfsload_proto.h"

#define LINK_DEPTH_MAX 1024
#define LINK_IN (128 * 1024)

struct client;
struct link;

struct lane { /* one call in flight */
	struct link *link;
	unsigned index;
	bool busy;
	struct op op;
	uint64_t record; /* the source's */
	uint64_t due_ns; /* when it should have been sent; latency counts from here */
	char name[32];	 /* the source's */
	/* the source's: what is written, or where a payload goes (room for padding), or NULL */
	uint8_t *buf;
	uint32_t seq;	 /* the proto's */
	size_t call_len;
	uint8_t call[PROTO_CALL_MAX];
};

struct link {
	struct client *client;
	int fd;
	struct lane *lane;
	unsigned depth, busy;
	unsigned *idle, idles; /* lanes without a call, a stack */
	/* calls to send: lanes in order, the first one perhaps sent in part */
	unsigned *queue, queue_head, queued;
	size_t queue_sent;
	bool want_out; /* the loop's: waits for room in the socket */
	/* replies */
	bool bulk; /* large READs among the calls in flight */
	uint32_t xid_base;
	uint32_t in_have;
	uint64_t payload_left;	/* of `payload_lane`'s READ, padding included */
	uint32_t payload_at;
	struct lane *payload_lane;
	uint8_t *in;
};

/* Connect; buffers for `depth` lanes of `lane_buf` bytes (0: none).  0 or -errno. */
int link_open(struct link *l, struct client *c, const char *host, int port, unsigned depth,
	      uint32_t lane_buf);
void link_close(struct link *l);

/* An idle lane, or NULL. */
struct lane *link_lane(struct link *l);
void link_lane_return(struct lane *lane); /* one that link_lane() gave and nobody sent */
/* Queue the call of lane->op. */
void link_call(struct lane *lane);
/* Send what is queued, as far as the socket takes it.  0 or -errno. */
int link_flush(struct link *l);
/*
 * Receive: link->client's source is told of each answer by loop_done().  With `block`, waits for at
 * least one byte.  0 or -errno; -EPIPE at the end of the stream.
 */
int link_input(struct link *l, bool block);

#endif
