/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sending half of a connection: replies in order of completion, as many
 * of those ready as fit gathered into one sendmsg, one in flight.  A payload
 * may leave another way (policy/reply): out of a pipe, or without a copy.
 * How bytes leave is known here alone.
 */
#ifndef SERVER_SEND_H
#define SERVER_SEND_H

#include <stdatomic.h>
#include <sys/socket.h>

#include "nfsd-io/core/ring.h"
#include "nfsd-io/proto/req.h"
#include "policy/reply.h"

struct conn;
struct worker_req;

#define SEND_REPLIES 16			/* gathered at most */
#define SEND_IOVS (4 * SEND_REPLIES)	/* mark, header, data, pad */

/* Per worker, summed by readers: READ replies by the way their data left. */
struct send_stats {
	_Atomic uint64_t replies[REPLY_WAYS], bytes[REPLY_WAYS]; /* AUTO stays 0 */
	/* spliced but for want of a pipe (none free, refused, too long) */
	_Atomic uint64_t no_pipe;
	_Atomic uint64_t copied;      /* connections on which the kernel copied "zero-copy" data */
	_Atomic uint64_t zc_refused;  /* zero-copy sends the kernel refused; copied instead */
};

/* Of a request: how its data leaves. */
struct send_part {
	enum reply_way way;
	struct op zc;	   /* ZEROCOPY: the kernel still reads the buffer until it is over */
	bool zc_out;	   /* it is outstanding */
	bool zc_told;	   /* how much it sent is known */
	bool zc_tried;	   /* once only: what is left over is copied */
	bool over;	   /* all of the reply was sent */
};

struct send {
	struct op op;
	bool busy;	 /* op, or a zero-copy send's first completion, is outstanding */
	bool have_res;
	int res;
	struct req *head, **tail; /* in SEND */
	size_t skip;	 /* bytes of the first reply already sent, mark included */
	uint64_t since_ns; /* when the first reply's turn came */
	unsigned lent;	 /* replies sent whose buffers the kernel still reads */
	bool copies;	 /* zero-copy is none here */
	struct msghdr msg;
	struct iovec iov[SEND_IOVS];
	uint8_t mark[SEND_REPLIES][4];
	/*
	 * where gathering ended, for the other ways: its data
	 * from `from` on comes next; NULL: nowhere
	 */
	struct req *stop;
	uint32_t from;
};

void send_init(struct conn *c);
/* Takes `r`, in SEND; it leaves with the turn. */
void send_queue(struct conn *c, struct req *r);
/* Note what was sent, retire what is done, send what is ready. */
void send_turn(struct conn *c);
/* The connection is dead: retire all not being sent. */
void send_stop(struct conn *c);
bool send_idle(const struct conn *c);

/* struct req_owner's question. */
struct pipe *send_pipe(struct conn *c, const struct read_io *io);

/* --- between the files of send --- */

/* Fill iov and marks from the queue: number of iovs; sets stop and from. */
unsigned send_gather(struct send *s);
/* How the data of `r`, ready to be sent, leaves. */
enum reply_way send_way(const struct conn *c, const struct req *r);
void send_count(struct conn *c, const struct req *r, enum reply_way way);
/*
 * Start sending the data of `r` from byte `from` on without a copy; its first completion is s->res.
 */
void send_zc(struct conn *c, struct req *r, uint32_t from);
/* A reply that is over but whose buffer is lent stays until it is given back: true. */
bool send_zc_keep(struct conn *c, struct req *r);

#endif
