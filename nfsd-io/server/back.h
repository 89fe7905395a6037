/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls to a client out of one of its connections (proto/back.h): they leave
 * among the replies, and their answers, records that are no calls, come in
 * among the client's calls.  A few may be outstanding on a connection, each for
 * so long; a reply nobody waits for is dropped and counted.  Knows nothing of
 * what is asked.
 */
#ifndef SERVER_BACK_H
#define SERVER_BACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nfsd-io/proto/back.h"
#include "nfsd-io/server/connreg.h"

struct conn;
struct req;

#define BACK_CALLS 8 /* outstanding on a connection, or not sent yet */

/* Per worker, summed by readers. */
struct back_stats {
	/* sent; not answered in time; ended with the connection */
	_Atomic uint64_t calls, late, lost;
	_Atomic uint64_t unasked;	    /* replies nobody waited for */
};

/* Of a connection. */
struct back {
	struct back_call *out; /* outstanding */
	unsigned n;	       /* of them */
	unsigned queued;       /* to be sent */
	uint32_t xid;	       /* the last one */
};

/* Any thread: in the form of struct state4_params.call. */
int back_send(struct connreg *r, struct back_call *b);

/* On the connection's thread. */

/* A whole record is in: if it is a reply, whoever waits for it gets it, and true: it is no call. */
bool back_take(struct conn *c, const struct req *r);
/* Calls overdue end; true while any is outstanding. */
bool back_late(struct conn *c);
/* The connection is dead: they all end. */
void back_stop(struct conn *c);

#endif
