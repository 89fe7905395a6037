/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A synchronous NFSv4 client for tests: a COMPOUND is built operation by operation
 * from the generated types, sent, and its results decoded; tests/lib/rawnfs.h below
 * it lets a test bend the bytes.  Nothing retries, nothing is hidden: what the server
 * says is what the test sees.  Single-threaded, one connection each; several clients
 * may share a session (v4c_join).
 *
 *	v4c_begin(c);                      // with SEQUENCE when there is a session
 *	v4c_putfh(c, &dir);
 *	v4c_lookup(c, "name");
 *	v4c_getfh(c);
 *	if (v4c_run(c) == NFS4_OK) ... v4c_res(c, OP_GETFH)->nfs_resop4_u.opgetfh ...
 *
 * What arguments point to must last until v4c_run().  Results last until the next v4c_begin().
 */
#ifndef TESTS_LIB_V4C_H
#define TESTS_LIB_V4C_H

#include "rpc/codec.h"
#include "rpc/nfs4.h"
#include "tests/lib/rawnfs.h"

#define V4C_OPS 256
#define V4C_SLOTS 64
#define V4C_BROKEN 0xffffffffu /* no COMPOUND4res came: c->err says why */

struct v4c_fh {
	uint32_t len;
	uint8_t data[NFS4_FHSIZE];
};

struct v4c {
	struct rawnfs raw; /* uid, gid: the caller */
	uint32_t minor;
	clientid4 clientid;
	/* 4.1: a session, and the sequence number of each slot's last call */
	bool session;
	uint8_t sessionid[NFS4_SESSIONID_SIZE];
	uint32_t seqid[V4C_SLOTS];
	uint32_t slot;	     /* to be used by the next calls */
	bool cachethis;
	channel_attrs4 fore; /* as granted */
	/* the COMPOUND in the making */
	const char *tag;
	uint32_t tag_len;
	nfs_argop4 op[V4C_OPS];
	uint32_t nops;
	/* the last reply */
	/* 0; -errno of the transport; -EPROTO: RPC refused (rpc), or undecodable */
	int err;
	struct rawnfs_reply rpc;
	COMPOUND4res res;
	uint32_t reply_len;
};

/* Connect; minor 0 to 2.  0 or -errno. */
int v4c_open(struct v4c *c, const char *host, int port, uint32_t minor);
void v4c_close(struct v4c *c);
/* Another connection of the same client: its clientid and session, this slot. */
int v4c_join(struct v4c *c, const struct v4c *first, const char *host, int port, uint32_t slot);

/* --- a COMPOUND -------------------------------------------------------------------- */

/* Empty, but for SEQUENCE on c->slot when there is a session. */
void v4c_begin(struct v4c *c);
/* The same without SEQUENCE. */
void v4c_begin_bare(struct v4c *c);
/* One more operation, its argument zeroed. */
nfs_argop4 *v4c_op(struct v4c *c, nfs_opnum4 op);
/* Send and take the reply: the COMPOUND's status, or V4C_BROKEN. */
uint32_t v4c_run(struct v4c *c);
/* The two halves, for replays and for calls side by side. */
void v4c_encode(struct v4c *c, struct rawnfs_call *call);
uint32_t v4c_send(struct v4c *c, struct rawnfs_call *call);
uint32_t v4c_take(struct v4c *c, struct rawnfs_reply *reply);

/* The last result of operation `op`, or NULL.  Its status, or V4C_BROKEN when there is none. */
nfs_resop4 *v4c_res(struct v4c *c, nfs_opnum4 op);
uint32_t v4c_status(struct v4c *c, nfs_opnum4 op);
/* The last result there is: its operation. */
uint32_t v4c_last(const struct v4c *c);

/* --- operations --------------------------------------------------------------------- */

void v4c_sequence(struct v4c *c, uint32_t slot, uint32_t seqid, bool cachethis);
void v4c_putfh(struct v4c *c, const struct v4c_fh *fh);
void v4c_putrootfh(struct v4c *c);
void v4c_lookup(struct v4c *c, const char *name);
void v4c_getfh(struct v4c *c);
/* Attributes 0-31 in w0, and so on. */
void v4c_getattr(struct v4c *c, uint32_t w0, uint32_t w1, uint32_t w2);
void v4c_access(struct v4c *c, uint32_t want);
/* The special stateids. */
extern const stateid4 v4c_anonymous, v4c_bypass, v4c_current;
void v4c_read(struct v4c *c, const stateid4 *id, uint64_t offset, uint32_t count);
void v4c_write(struct v4c *c, const stateid4 *id, uint64_t offset, stable_how4 how,
	       const void *data, uint32_t len);
void v4c_commit(struct v4c *c, uint64_t offset, uint32_t count);
/*
 * CLAIM_NULL of a name in the current directory; access and
 * deny bits; `create`: UNCHECKED4, mode 0644.
 */
void v4c_opens(struct v4c *c, const void *owner, uint32_t owner_len, uint32_t seqid,
	       const char *name, uint32_t access, uint32_t deny, bool create);
component4 v4c_name(const char *name);

/* --- more than one call ---------------------------------------------------------------- */

/* What GETFH gave. */
bool v4c_keep_fh(struct v4c *c, struct v4c_fh *fh);
/*
 * The root of export `path` by MOUNT version 3: handles are
 * the same in all versions.  0 or a status.
 */
int v4c_mount(struct v4c *c, const char *path, struct v4c_fh *root);
/*
 * 4.1: EXCHANGE_ID, CREATE_SESSION (64 slots), RECLAIM_COMPLETE as
 * `owner`; the first status that is not OK.
 */
uint32_t v4c_hello(struct v4c *c, const char *owner);
uint32_t v4c_exchange_id(struct v4c *c, const char *owner, const char verf[8], uint32_t flags,
			 uint32_t *seqid);
uint32_t v4c_create_session(struct v4c *c, uint32_t seqid, uint32_t slots);
/* 4.0: SETCLIENTID and SETCLIENTID_CONFIRM. */
uint32_t v4c_setclientid(struct v4c *c, const char *owner, const char verf[8]);

#endif
