/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A TCP connection: receives records in phase (recv), runs requests, sends
 * replies in one go (send).  Belongs to one worker's thread from hand-over to
 * reaping.  Costs a bounded amount whatever its peer does: requests and
 * buffers by policy/budget, time by conn_late().
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include "nfsd-io/proto/req.h"
#include "nfsd-io/server/back.h"
#include "nfsd-io/server/connreg.h"
#include "nfsd-io/server/recv.h"
#include "nfsd-io/server/send.h"
#include "nfsd-io/server/worker.h"
#include "policy/budget.h"

/* Requests of one connection that may run at a time. */
#define CONN_REQS_MAX 64

/*
 * A peer may take this long for a record or a reply plus a second for each
 * `rate` bytes that moved; the strict pair holds while others wait for the
 * buffer that such a peer occupies.
 */
/* More than a peer that does not read lets its socket acknowledge. */
#define CONN_PROOF (1u << 20)
/* without progress for this long it has to prove itself again */
#define CONN_DOUBT_NS 1000000000ull
#define CONN_GRACE_NS (50ull * 1000000000)
#define CONN_RATE 4096u
#define CONN_GRACE_STRICT_NS (5ull * 1000000000)
#define CONN_RATE_STRICT 65536u

enum conn_state {
	CONN_OPEN,
	CONN_CLOSING, /* not read from; closes when the last reply is sent */
	CONN_DEAD,    /* the socket is shut; closes when nothing is in flight */
};

struct conn {
	struct req_owner owner; /* first */
	struct worker *w;
	int fd;
	struct connreg_node reg;
	enum conn_state state;
	unsigned running; /* requests dispatched and not replied to */
	struct budget calls;  /* requests running */
	struct budget budget; /* buffers and reply bytes */
	bool proven;	      /* takes its replies, sends what it announces */
	uint64_t handed;      /* bytes of replies given to the socket since it was last doubted */
	struct req *done; /* requests to retire without sending */
	struct recv recv;
	struct send send;
	struct back back;
	/* the worker's */
	struct op hand;
	struct conn *prev, *next;
	struct conn *dirty_next, *blocked_next;
	bool dirty, blocked;
};

/*
 * Any thread.  Takes over `fd`, a connected stream socket; `peer` is copied.
 * NULL when memory is out (fd closed).
 */
struct conn *conn_new(struct worker *w, int fd, const struct peer *peer);
/* The first call on the worker's thread. */
void conn_start(struct conn *c);
/* Stop reading, finish what runs, send what can be sent, then close.  Idempotent. */
void conn_close(struct conn *c);
/* As close, by the peer: when it had all it asked for, the replay cache hears of it. */
void conn_ended(struct conn *c);
/* As close, but nothing more is sent.  Idempotent. */
void conn_abort(struct conn *c);
/* Do what completions left to do; may free the connection. */
void conn_turn(struct conn *c);
/* Bytes of buffer the call in `r` will need for its reply; 0 = none to speak of. */
uint32_t conn_demand(const struct conn *c, const struct worker_req *r);
/* Is there budget for a buffer?  Else worker_block(). */
bool conn_may_take(const struct conn *c);
/* Charge `r` for a buffer of `bytes`. */
void conn_charge(struct conn *c, struct worker_req *r, uint32_t bytes);
/* Run a request whose record is in. */
void conn_dispatch(struct conn *c, struct worker_req *r);
/* Retire a request in any state but WAIT and give back what it was charged. */
void conn_retire(struct conn *c, struct req *r);
/*
 * The peer takes replies (conn_took() saw it) or sent a payload whole; or it does neither any more.
 */
void conn_prove(struct conn *c, bool proven);
/*
 * `bytes` of replies were handed to the socket: proves the
 * peer once it has acknowledged enough of them.
 */
void conn_took(struct conn *c, size_t bytes);
/*
 * Cut the connection when its peer is too slow; `strict` while others wait for
 * buffers.  True while something is outstanding that may yet be late.
 */
bool conn_late(struct conn *c, bool strict);
/* Pure: `elapsed_ns` for `bytes` is too slow. */
bool conn_too_slow(uint64_t elapsed_ns, uint64_t bytes, bool strict);

#endif
