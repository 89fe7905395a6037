/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The whole protocol in one process: a real root, file cache, offload threads
 * and ring, but no sockets.  A call is the generated types in and out.  One
 * thread; call it from the thread that made it.
 */
#ifndef TESTS_LIB_V3PLAY_H
#define TESTS_LIB_V3PLAY_H

#include "nfsd-io/proto/req.h"
#include "rpc/codec.h"
#include "rpc/mount.h"
#include "rpc/nfs3.h"

struct v3play {
	char dir[128]; /* the exported directory */
	struct proto_env env;
	struct export_client client;
	struct export export;
	struct export_table table;
	struct ring *ring;
	struct pool *pool;
	struct req_stats stats;
	struct req_owner owner;
	struct req req;
	bool replied;
	/* who calls */
	uint32_t flavor, uid, gid, ngids, gids[16];
	uint32_t xid;
	uint8_t *reply; /* the last one, without record mark */
	size_t reply_len;
	struct cursor results;
	char log[512]; /* the last log line */
};

/* Export `dir`, an existing directory; rw, sync, no_root_squash until changed in client.opts. */
void v3play_start(struct v3play *p, const char *dir);
void v3play_stop(struct v3play *p);
/* As if the server had been started again: new key-holder, caches, same key. */
void v3play_restart(struct v3play *p);

/*
 * One call.  Returns accept_stat (0 = success), or 100 + auth_stat when denied,
 * or 1000 when dropped.  `res` is zeroed and decoded into, to be freed by codec_free().
 */
unsigned v3play_call(struct v3play *p, uint32_t proc, xdrproc_t xargs, const void *args,
		     xdrproc_t xres, void *res, size_t size);
unsigned v3play_mount(struct v3play *p, uint32_t proc, xdrproc_t xargs, const void *args,
		      xdrproc_t xres, void *res, size_t size);
/* Send raw argument bytes instead. */
unsigned v3play_raw(struct v3play *p, uint32_t proc, const void *args, size_t len);
/* WRITE with the payload received in phase, as a connection does. */
nfsstat3 v3play_write(struct v3play *p, const nfs_fh3 *fh, uint64_t offset, const void *data,
		      uint32_t len, stable_how stable, WRITE3res *res);

/* Statuses of the common calls; handles point into fh_out. */
nfs_fh3 v3play_root(struct v3play *p, struct fh *out);
nfsstat3 v3play_lookup(struct v3play *p, const nfs_fh3 *dir, const char *name, struct fh *out);
nfsstat3 v3play_create(struct v3play *p, const nfs_fh3 *dir, const char *name, mode_t mode,
		       struct fh *out);
nfsstat3 v3play_mkdir(struct v3play *p, const nfs_fh3 *dir, const char *name, mode_t mode,
		      struct fh *out);
nfsstat3 v3play_getattr(struct v3play *p, const nfs_fh3 *fh, fattr3 *out);
nfs_fh3 v3play_fh(struct fh *fh);

#define V3PLAY_ARGS(t) (xdrproc_t) xdr_##t##3args
#define V3PLAY_RES(t) (xdrproc_t) xdr_##t##3res
/* v3play_do(p, GETATTR, &args, &res) */
#define v3play_do(p, t, args, res)                                                                 \
	v3play_call(p, NFSPROC3_##t, V3PLAY_ARGS(t), args, V3PLAY_RES(t), res, sizeof(*(res)))

#endif
