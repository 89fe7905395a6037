/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A synchronous NFSv3 and MOUNTv3 client for tests, one call at a time over
 * one TCP connection, on libnfs's raw RPC layer (which makes it a second
 * opinion on our codecs).  Any failure of the transport ends a call with
 * V3C_BROKEN instead of an NFS status.  Single-threaded.
 */
#ifndef TESTS_LIB_V3C_H
#define TESTS_LIB_V3C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#define V3C_BROKEN (-1)

struct v3c_fh {
	uint32_t len;
	char data[NFS3_FHSIZE];
};

/* What replies carry, whichever of it the procedure has. */
struct v3c_result {
	int status; /* nfsstat3 or mountstat3, or V3C_BROKEN */
	bool has_fh, has_attr, has_dir_attr, has_before;
	struct v3c_fh fh;
	fattr3 attr;
	uint32_t count, access;
	bool eof;
	stable_how committed;
	char verf[8];
	char text[4097]; /* READLINK */
	FSINFO3resok fsinfo;
	FSSTAT3resok fsstat;
	PATHCONF3resok pathconf;
};

struct v3c_entry {
	char name[256];
	uint64_t cookie, fileid;
	bool has_attr, has_fh;
};

/* One page of a directory, appended to by v3c_readdir and v3c_readdirplus. */
struct v3c_dir {
	struct v3c_entry *entry;
	size_t n, room;
	bool eof;
	char verf[8];
};

struct v3c {
	struct rpc_context *rpc;
	const char *host; /* the caller's */
	struct v3c_fh root;
	struct v3c_result r; /* of the last call */
	int timeout_ms;	     /* a call's limit; 30000 */
	/* one call in progress */
	bool done;
	int rpc_status;
	void (*take)(struct v3c *c, void *res);
	void *out;
	size_t room;
};

/* Connect as (uid, gid, groups); no MOUNT yet.  0 or V3C_BROKEN. */
int v3c_open(struct v3c *c, const char *host, int port, uint32_t uid, uint32_t gid,
	     uint32_t ngroups, uint32_t *groups);
void v3c_close(struct v3c *c);
/* Become another user on the same connection. */
void v3c_user(struct v3c *c, uint32_t uid, uint32_t gid, uint32_t ngroups, uint32_t *groups);

/* All return the status, also found in c->r with what came along. */
/*
 * Root handle into c->root.  MOUNT is asked on the same
 * connection, or on port V3C_MOUNT_PORT of the environment.
 */
int v3c_mnt(struct v3c *c, const char *path);
int v3c_null(struct v3c *c);
int v3c_getattr(struct v3c *c, const struct v3c_fh *fh);
int v3c_setattr(struct v3c *c, const struct v3c_fh *fh, const sattr3 *set, const nfstime3 *guard);
int v3c_lookup(struct v3c *c, const struct v3c_fh *dir, const char *name);
int v3c_access(struct v3c *c, const struct v3c_fh *fh, uint32_t want);
int v3c_readlink(struct v3c *c, const struct v3c_fh *fh);
int v3c_read(struct v3c *c, const struct v3c_fh *fh, uint64_t offset, uint32_t count, void *buf);
int v3c_write(struct v3c *c, const struct v3c_fh *fh, uint64_t offset, uint32_t count,
	      stable_how how, const void *buf);
int v3c_commit(struct v3c *c, const struct v3c_fh *fh, uint64_t offset, uint32_t count);
int v3c_create(struct v3c *c, const struct v3c_fh *dir, const char *name, createmode3 mode,
	       const sattr3 *set, const char verf[8]);
int v3c_mkdir(struct v3c *c, const struct v3c_fh *dir, const char *name, uint32_t mode);
int v3c_symlink(struct v3c *c, const struct v3c_fh *dir, const char *name, const char *target);
int v3c_mknod(struct v3c *c, const struct v3c_fh *dir, const char *name, ftype3 type,
	      uint32_t mode);
int v3c_remove(struct v3c *c, const struct v3c_fh *dir, const char *name);
int v3c_rmdir(struct v3c *c, const struct v3c_fh *dir, const char *name);
int v3c_rename(struct v3c *c, const struct v3c_fh *from, const char *name, const struct v3c_fh *to,
	       const char *newname);
int v3c_link(struct v3c *c, const struct v3c_fh *fh, const struct v3c_fh *dir, const char *name);
int v3c_readdir(struct v3c *c, const struct v3c_fh *dir, uint64_t cookie, uint32_t count,
		struct v3c_dir *d);
int v3c_readdirplus(struct v3c *c, const struct v3c_fh *dir, uint64_t cookie, uint32_t dircount,
		    uint32_t maxcount, struct v3c_dir *d);
int v3c_fsstat(struct v3c *c, const struct v3c_fh *fh);
int v3c_fsinfo(struct v3c *c, const struct v3c_fh *fh);
int v3c_pathconf(struct v3c *c, const struct v3c_fh *fh);
int v3c_umnt(struct v3c *c, const char *path);
/* Number of entries of MOUNT's EXPORT and DUMP lists, or V3C_BROKEN. */
int v3c_exports(struct v3c *c);
int v3c_dump(struct v3c *c);

/* A file open for UNCHECKED creation with this mode; attributes that change nothing. */
sattr3 v3c_mode(uint32_t mode);
sattr3 v3c_size(uint64_t size);
bool v3c_same_fh(const struct v3c_fh *a, const struct v3c_fh *b);
nfs_fh3 v3c_wire_fh(const struct v3c_fh *fh);

#endif
