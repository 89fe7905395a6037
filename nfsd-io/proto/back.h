/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A call to a client (RFC 8881 s.2.10.3.1): made by state4_back.c, carried by
 * one of the client's own connections, on which its answer comes in among the
 * client's calls.  This is all that the two know of each other.
 */
#ifndef PROTO_BACK_H
#define PROTO_BACK_H

#include <stdint.h>

#include "nfsd-io/core/ring.h"

struct state4;

#define BACK_BYTES 1024 /* a call at most: credentials of AUTH_SYS are below 400 */

struct back_call {
	/* The carrier's, from the handing over to done(). */
	struct op op;
	struct back_call *next;
	void *carrier;
	uint32_t xid;
	uint64_t until_ns;

	/* The maker's. */
	uint64_t conn;	  /* number of the connection */
	uint64_t wait_ns; /* how long the answer may take */
	uint32_t len;
	uint8_t call[BACK_BYTES]; /* an RPC call; its xid is put in by the carrier */
	/*
	 * Once for each call taken, on a worker's thread, which may hold no lock: 0 and the whole
	 * reply record; -ENOTCONN: the connection is gone; -ETIMEDOUT; -EBUSY: too many are
	 * outstanding.  `b` is the maker's again.
	 */
	void (*done)(struct back_call *b, int err, const uint8_t *reply, uint32_t len);
};

/*
 * The connection is gone, no request of it is left: it carries
 * nobody's calls any more.  Takes the lock of state4.h.
 */
void state4_back_lost(struct state4 *s, uint64_t conn);

#endif
