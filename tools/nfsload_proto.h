/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the load generator can ask of a server, and the seam between that and
 * a version of the protocol.  An `op` is a question and, later, its answer;
 * a `proto` turns it into bytes and bytes into the answer.  Neither knows
 * sockets nor why it is asked.
 */
#ifndef TOOLS_NFSLOAD_PROTO_H
#define TOOLS_NFSLOAD_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/nfsload_wire.h"

#define PROTO_FH_MAX 128
/* bytes of a call without its payload; a path of MOUNT is what takes most */
#define PROTO_CALL_MAX 1408
#define PROTO_BROKEN (-1)   /* in `status`: the RPC layer refused, or the reply makes no sense */

enum op_kind {
	OP_NULL,
	OP_MOUNT, /* name: path -> got */
	OP_GETATTR,
	OP_LOOKUP, /* fh, name -> got */
	OP_READ,
	OP_WRITE,
	OP_COMMIT,
	OP_CREATE, /* an empty file, or the one there is -> got */
	OP_MKDIR,
	OP_REMOVE,
	OP_READDIR, /* offset: cookie, len: bytes -> cookie, count: entries, eof */
	OP_READDIRPLUS,
	OP_HELLO,   /* v4 alone, as those below */
	OP_SESSION, /* len: slots, count: its number */
	OP_READY,
	OP_OPEN, /* fh, name -> got */
	OP_CLOSE,
	OP_SESSION_OVER, /* count: its number */
	OP_BYE,
};

struct proto_fh {
	uint32_t len;
	uint8_t data[PROTO_FH_MAX];
};

struct op {
	enum op_kind kind;
	/* the question */
	const struct proto_fh *fh; /* the caller's, until the answer is there */
	const char *name;	   /* likewise */
	const void *payload;	   /* WRITE, likewise */
	uint64_t offset;
	uint32_t len; /* bytes of a READ, WRITE or page of a directory */
	uint32_t stable; /* WRITE: 0 UNSTABLE, 2 FILE_SYNC */
	uint8_t verf[8]; /* of READDIR's cookies, from the page before; the answer's too */
	/* the answer */
	int status;	/* 0, the protocol's error, or PROTO_BROKEN */
	uint32_t count; /* bytes, or entries */
	bool eof;
	uint64_t cookie, size;
	struct proto_fh got;
};

struct client;
struct lane;

struct proto {
	const char *name;
	/* bytes of a READ's reply, record mark included, before its payload */
	uint32_t read_prefix;
	/*
	 * Reach the export on all connections: the root
	 * handle into c->root.  0 or -1 with c->error.
	 */
	int (*attach)(struct client *c, const char *path);
	/* Find, or with `create` make, a file of the root.  0 or -1 with c->error. */
	int (*open)(struct client *c, const char *name, bool create, struct proto_fh *fh);
	/* Leave nothing behind that the server would have to keep; NULL: nothing is. */
	void (*detach)(struct client *c);
	/*
	 * The call for l->op, with its record mark, into `buf` (PROTO_CALL_MAX); returns its
	 * length.  A WRITE's payload and padding follow it on the wire and are not put.  xid is the
	 * lane's.
	 */
	size_t (*call)(struct lane *l, uint32_t xid, uint8_t *buf);
	/*
	 * The answer into l->op from a reply after its xid; a
	 * READ's payload is what is at in->at then.
	 */
	void (*reply)(struct lane *l, struct wire_in *in);
};

extern const struct proto v3_proto, v4_proto;

#endif
