/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client that owns every byte it sends: for tests of the wire itself, where a
 * library would be in the way.  Calls are built in a buffer, bent as the test
 * likes, sent in fragments and pieces of its choosing, and replies read record
 * by record in whatever order they come.  One blocking connection; every wait
 * has a deadline of RAWNFS_WAIT_MS.  Single-threaded.
 */
#ifndef TESTS_LIB_RAWNFS_H
#define TESTS_LIB_RAWNFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/cursor.h"

#define RAWNFS_WAIT_MS 20000
#define RAWNFS_MAX (1u << 21)

#define RAWNFS_NFS 100003
#define RAWNFS_MOUNT 100005

struct rawnfs {
	int fd;
	const char *host;
	int port;
	uint32_t xid; /* of the last call begun; the next is one more */
	uint32_t uid, gid;
	uint8_t *in; /* the last reply record, RAWNFS_MAX bytes */
};

struct rawnfs_fh {
	uint32_t len;
	uint8_t data[128]; /* more than is legal */
};

/* A call in the making: put arguments to c.  The record mark is not part of it. */
struct rawnfs_call {
	struct cursor c;
	uint32_t xid;
	uint8_t *byte; /* RAWNFS_MAX bytes, malloc'd */
};

/* How a reply begins. */
struct rawnfs_reply {
	uint32_t xid;
	bool denied;
	/* accept_stat, or when denied reject_stat: 0 RPC_MISMATCH, 1 AUTH_ERROR */
	uint32_t stat;
	uint32_t low, high;  /* of a mismatch */
	uint32_t auth_stat;
	struct cursor c;     /* at the results */
	size_t len;
};

/* Connect, from local_port unless that is 0.  0 or -errno. */
int rawnfs_open(struct rawnfs *r, const char *host, int port, int local_port);
void rawnfs_close(struct rawnfs *r);
/* Close with a reset: the local port is free again at once. */
void rawnfs_reset(struct rawnfs *r);

/* Header of a call as AUTH_SYS r->uid, r->gid; free with rawnfs_call_end(). */
void rawnfs_call_begin(struct rawnfs *r, struct rawnfs_call *call, uint32_t prog, uint32_t vers,
		       uint32_t proc);
void rawnfs_call_end(struct rawnfs_call *call);
static inline size_t rawnfs_call_len(const struct rawnfs_call *call)
{
	return cursor_pos(&call->c);
}

/* All of these: 0 or -errno (-EPIPE, -ECONNRESET: the server closed). */
int rawnfs_send_bytes(struct rawnfs *r, const void *p, size_t len);
/* As one record, in fragments of at most `fragment` bytes (0: one fragment). */
int rawnfs_send(struct rawnfs *r, const struct rawnfs_call *call, size_t fragment);
/* The record's bytes, marks included, malloc'd; *len of them. */
uint8_t *rawnfs_record(const struct rawnfs_call *call, size_t fragment, size_t *len);
/* Until the program on the other side, on this machine, has received everything sent so far. */
int rawnfs_flush(struct rawnfs *r);
/*
 * The next reply record: its header into *out.  -ECONNRESET at the end of the stream, -ETIMEDOUT.
 */
int rawnfs_recv(struct rawnfs *r, struct rawnfs_reply *out);
/* Has a reply begun to come within `ms`? */
bool rawnfs_readable(const struct rawnfs *r, int ms);
/* Send, and take the reply with the call's xid. */
int rawnfs_call(struct rawnfs *r, struct rawnfs_call *call, struct rawnfs_reply *out);
/* Is the connection closed by the server, with nothing more to read, within the deadline? */
bool rawnfs_closed(struct rawnfs *r);
/* Does NULL work over this connection? */
bool rawnfs_alive(struct rawnfs *r);

/* --- arguments ---------------------------------------------------------------- */

void rawnfs_put_fh(struct rawnfs_call *call, const struct rawnfs_fh *fh);
void rawnfs_put_string(struct rawnfs_call *call, const char *s);
void rawnfs_put_write(struct rawnfs_call *call, const struct rawnfs_fh *fh, uint64_t offset,
		      uint32_t count, uint32_t stable, const void *data, uint32_t len);

/* --- calls: the NFS (or MOUNT) status, or -errno, or -EPROTO when RPC refused ---- */

struct rawnfs_attr {
	uint32_t type, mode, nlink, uid, gid;
	uint64_t size, fileid, mtime_ns, ctime_ns;
};
struct rawnfs_data {
	uint32_t count, committed;
	bool eof;
	uint8_t verf[8];
	const uint8_t *data;
	uint32_t len;
};

int rawnfs_mnt(struct rawnfs *r, const char *path, struct rawnfs_fh *root);
int rawnfs_lookup(struct rawnfs *r, const struct rawnfs_fh *dir, const char *name,
		  struct rawnfs_fh *fh);
/* UNCHECKED, mode 0644 */
int rawnfs_create(struct rawnfs *r, const struct rawnfs_fh *dir, const char *name,
		  struct rawnfs_fh *fh);
int rawnfs_getattr(struct rawnfs *r, const struct rawnfs_fh *fh, struct rawnfs_attr *a);
int rawnfs_read(struct rawnfs *r, const struct rawnfs_fh *fh, uint64_t offset, uint32_t count,
		struct rawnfs_data *d);
int rawnfs_write(struct rawnfs *r, const struct rawnfs_fh *fh, uint64_t offset, uint32_t stable,
		 const void *data, uint32_t len, struct rawnfs_data *d);
int rawnfs_commit(struct rawnfs *r, const struct rawnfs_fh *fh, uint64_t offset, uint32_t count,
		  struct rawnfs_data *d);
int rawnfs_remove(struct rawnfs *r, const struct rawnfs_fh *dir, const char *name);

#endif
