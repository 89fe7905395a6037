/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sending half of a connection: replies in order of completion, as many
 * of those ready as fit gathered into one sendmsg, one in flight.  How bytes
 * leave is known here alone.
 */
#ifndef SERVER_SEND_H
#define SERVER_SEND_H

#include <sys/socket.h>

#include "nfsd-io/core/ring.h"
#include "nfsd-io/proto/req.h"

struct conn;

#define SEND_REPLIES 16			/* gathered at most */
#define SEND_IOVS (4 * SEND_REPLIES)	/* mark, header, data, pad */

struct send {
	struct op op;
	bool busy;	 /* op is outstanding */
	bool have_res;
	int res;
	struct req *head, **tail; /* in SEND */
	size_t skip;	 /* bytes of the first reply already sent, mark included */
	uint64_t since_ns; /* when the first reply's turn came */
	struct msghdr msg;
	struct iovec iov[SEND_IOVS];
	uint8_t mark[SEND_REPLIES][4];
};

void send_init(struct conn *c);
/* Takes `r`, in SEND; it leaves with the turn. */
void send_queue(struct conn *c, struct req *r);
/* Note what was sent, retire what is done, send what is ready. */
void send_turn(struct conn *c);
/* The connection is dead: retire all not being sent. */
void send_stop(struct conn *c);
bool send_idle(const struct conn *c);
/* Fill iov and marks from the queue: number of iovs.  For send_turn() and tests. */
unsigned send_gather(struct send *s);

#endif
