/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Call and reply headers (RFC 5531 s.9) and every rejection at the RPC level.
 * msg alone rejects RPC; NFS statuses are none of its business.
 */
#ifndef RPC_MSG_H
#define RPC_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/cred.h"
#include "rpc/cursor.h"

struct msg_call {
	uint32_t xid, prog, vers, proc;
	struct rpccred cred;
};

enum msg_verdict {
	MSG_CALL_OK,    /* header decoded; the cursor stands at the arguments */
	MSG_CALL_REJECT, /* an answer is due: msg_reject() */
	MSG_CALL_DROP, /* a reply, or no xid to answer to: ignore the record */
	MSG_CALL_MORE, /* msg_peek only: header not complete yet */
};

enum msg_accept {
	MSG_SUCCESS,
	MSG_PROG_UNAVAIL,
	MSG_PROG_MISMATCH,
	MSG_PROC_UNAVAIL,
	MSG_GARBAGE_ARGS,
	MSG_SYSTEM_ERR
};

/* Why a call is rejected. */
struct msg_error {
	enum { MSG_ERR_ACCEPTED, MSG_ERR_RPCVERS, MSG_ERR_AUTH } kind;
	enum msg_accept accept;	     /* ERR_ACCEPTED */
	uint32_t low, high;	     /* PROG_MISMATCH */
	uint32_t auth_stat;	     /* ERR_AUTH */
};

enum msg_verdict msg_call_decode(struct cursor *c, struct msg_call *out, struct msg_error *err);
/* Success reply header (24 bytes): xid, REPLY, MSG_ACCEPTED, AUTH_NONE verifier, SUCCESS. */
void msg_reply_ok(struct cursor *c, uint32_t xid);
void msg_reject(struct cursor *c, uint32_t xid, const struct msg_error *err);
#define MSG_REPLY_OK_LEN 24

/*
 * A call of our own: header with xid 0, to be set where it starts; `cred`: flavor, length and body.
 * And its answer: is the record at the cursor a reply that says SUCCESS?  The results are next
 * then.
 */
void msg_call_put(struct cursor *c, uint32_t prog, uint32_t vers, uint32_t proc,
		  const uint8_t *cred, size_t len);
bool msg_reply_accepted(struct cursor *c);
/* Is the record buf[0..len) a reply, to which call? */
bool msg_is_reply(const uint8_t *buf, size_t len, uint32_t *xid);

/*
 * Where the arguments of the call in buf[0..len) begin, from a prefix of it:
 * fills prog, vers, proc, xid (not cred) and *args.  MSG_CALL_MORE until the
 * verifier is complete; MSG_CALL_DROP when it never will be a call.
 */
enum msg_verdict msg_peek(const uint8_t *buf, size_t len, struct msg_call *out, size_t *args);

#endif
