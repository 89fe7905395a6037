/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the NFSv3 procedures (nfs3_*.c) share.  Their globals begin with v3_:
 * nfs3_ belongs to libnfs.
 *
 * A metadata procedure is a row (struct v3_meta): the worker decodes the
 * arguments and passes the gate, one offload job does all that blocks, the
 * worker encodes.  READ, WRITE, COMMIT and the two READDIRs have steps of
 * their own.
 */
#ifndef PROTO_V3_H
#define PROTO_V3_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "nfsd-io/proto/access.h"
#include "nfsd-io/proto/act.h"
#include "nfsd-io/proto/req.h"
#include "rpc/codec.h"
#include "rpc/nfs3.h"

#define V3_PROGRAM 100003
#define V3_VERSION 3
#define V3_NPROCS 22
#define V3_WRITE 7

/*
 * Reply bytes of a post_op_attr and a wcc_data without pre-operation attributes, both with
 * attributes.
 */
#define V3_POST_LEN 88
#define V3_WCC_LEN 92

extern const struct req_proc v3_procs[V3_NPROCS];

/* One metadata procedure. */
struct v3_meta {
	xdrproc_t args, res;
	/*
	 * On an offload thread, as the server; r->file is what the first handle
	 * names, r->cred the caller.  Fills res; returns 0 or -errno, which
	 * becomes the status.  What it assumed is undone by the caller.
	 */
	int (*work)(struct req *r);
	bool modifies;
};

struct v3_call {
	const struct v3_meta *meta;
	struct fh fh; /* a handle in the answer points here */
	char *text;   /* malloc'd: READLINK's answer */
	union {
		nfs_fh3 fh; /* every argument begins with a handle */
		GETATTR3args getattr;
		SETATTR3args setattr;
		LOOKUP3args lookup;
		ACCESS3args access;
		READLINK3args readlink;
		CREATE3args create;
		MKDIR3args mkdir;
		SYMLINK3args symlink;
		MKNOD3args mknod;
		REMOVE3args remove;
		RMDIR3args rmdir;
		RENAME3args rename;
		LINK3args link;
		FSSTAT3args fsstat;
		FSINFO3args fsinfo;
		PATHCONF3args pathconf;
	} args;
	union {
		nfsstat3 status; /* every result begins with it */
		GETATTR3res getattr;
		SETATTR3res setattr;
		LOOKUP3res lookup;
		ACCESS3res access;
		READLINK3res readlink;
		CREATE3res create;
		MKDIR3res mkdir;
		SYMLINK3res symlink;
		MKNOD3res mknod;
		REMOVE3res remove;
		RMDIR3res rmdir;
		RENAME3res rename;
		LINK3res link;
		FSSTAT3res fsstat;
		FSINFO3res fsinfo;
		PATHCONF3res pathconf;
	} res;
};
static_assert(sizeof(struct v3_call) <= sizeof(((struct req *)0)->proc_data),
	      "a metadata call fits its request");

static inline struct v3_call *v3_call(struct req *r)
{
	return (struct v3_call *)&r->proc_data;
}

/* --- nfs3_common.c --- */

/* First step of a metadata procedure. */
enum req_step_result v3_meta_step(struct req *r, const struct v3_meta *m);
/*
 * access_enter() for a handle in the arguments, answering a failure with the
 * status and `empties` words of FALSE (attributes unknown).  STEP_MORE: go on.
 */
enum req_step_result v3_enter(struct req *r, const uint8_t *fh, uint32_t len, bool modifies,
			      unsigned empties);
/* The status of an access_enter() failure for the request's procedure. */
uint32_t v3_gate_status(const struct req *r, int err);
/* A handle by cursor; NULL (and the cursor bad) when there is none. */
const uint8_t *v3_get_fh(struct cursor *c, uint32_t *len);
/* Begin a reply of `room` bytes with `status`; counts errors. */
void v3_reply_status(struct req *r, uint32_t status, size_t room);

void v3_fattr(fattr3 *out, const struct root *root, const struct stat *st);
/* Attributes of the open object `fd`, or attributes_follow = FALSE. */
void v3_post(post_op_attr *out, const struct root *root, int fd);
/*
 * Pre-operation attributes are never given: they would not be atomic with the change (RFC 1813
 * s.2.6).
 */
void v3_wcc(wcc_data *out, const struct root *root, int fd);
/* The same by cursor; NULL: unknown. */
void v3_put_fattr(struct cursor *c, const struct root *root, const struct stat *st);
void v3_put_post(struct cursor *c, const struct root *root, const struct stat *st);
void v3_put_wcc(struct cursor *c, const struct root *root, const struct stat *st);

/* The directory `fh` names as a second object of the call: counted file in *out; 0 or -errno. */
int v3_second(struct req *r, const nfs_fh3 *fh, struct file **out);
/* -ENOTDIR unless the request's file is a directory. */
int v3_need_dir(const struct file *f);
/*
 * A name that is to be made or removed: as object_name_check(), and `dot` (an -errno) for "." and
 * "..".
 */
int v3_name_check(const char *name, int dot);

/* --- nfs3_io.c --- */

/* For a step: have r->data_buf of `size` <= pool_max() bytes, then go on with `next`. */
enum req_step_result v3_borrow(struct req *r, size_t size, req_step *next);

/* --- nfs3_sattr.c --- */

void v3_sattr_get(const sattr3 *in, struct sattr *out);

/* --- the procedures --- */

req_step v3_null, v3_getattr, v3_setattr, v3_lookup, v3_access, v3_readlink, v3_read, v3_write,
	v3_create, v3_mkdir, v3_symlink, v3_mknod, v3_remove, v3_rmdir, v3_rename, v3_link,
	v3_readdir, v3_readdirplus, v3_fsstat, v3_fsinfo, v3_pathconf, v3_commit;

#endif
