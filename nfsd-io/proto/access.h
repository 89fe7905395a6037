/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The gate every call on a handle passes: handle -> export -> client entry ->
 * secure port -> flavor -> identity -> read-only.  Fills the request's table,
 * export, opts, parts, fh and cred.
 */
#ifndef PROTO_ACCESS_H
#define PROTO_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "nfsd-io/proto/req.h"

/*
 * Worker thread; blocks only for a netgroup not yet looked up.  0, or
 * -EBADMSG   not a handle of ours         -ESTALE  of no export, or altered
 * -EACCES    no entry for this client     -EPERM   insecure port
 * -EKEYREJECTED  flavor not served: AUTH_TOOWEAK   -EROFS, -ENOMEM
 * r->cred stays NULL when only access_cred() can find it (manage-gids).
 */
int access_enter(struct req *r, const uint8_t *fh, uint32_t len, bool modifies);
/* The same for a handle of an export whose parts were decoded into r->parts already. */
int access_enter_parts(struct req *r, const uint8_t *fh, uint32_t len, bool modifies);

/* The entry of `e` for the caller, or NULL; remembered by the connection. */
const struct export_client *access_client(struct req *r, const struct export *e);
/* Port and flavor against the entry: 0, -EPERM, -EKEYREJECTED. */
int access_check_opts(const struct req *r, const struct export_opts *o);

/* Fill r->cred if it is NULL; may block: offload threads.  0 or -errno. */
int access_cred(struct req *r);
bool access_needs_groups(const struct req *r);
/* Worker thread: keep r->cred for the next call of the same caller (access_enter() looks there). */
void access_remember(struct req *r);
/* Forget all matches and identities. */
void access_forget(struct req_owner *o);

/*
 * Do the mode bits let `c` do any of `want` (4 read, 2 write, 1 execute)?
 * Owner and root always may (RFC 1813 s.4.4).  Exact only without an ACL.
 */
bool access_mode(const struct stat *st, const struct cred *c, unsigned want);
/*
 * What the kernel would let `c` do with `f` (of `root`): a set of R_OK, W_OK,
 * X_OK.  -1 when its mode, `st`, does not say: access_kernel() knows.
 * Worker thread; does not block.
 */
int access_known(struct root *root, const struct file *f, const struct stat *st,
		 const struct cred *c);
/*
 * Would the kernel let this thread's identity do `mode` (R_OK ...) on the object?  0 or -errno;
 * blocks.
 */
int access_kernel(int fd, int mode);

/* Bits of ACCESS; the same in all versions, XA* from NFSv4.2 on. */
enum {
	ACCESS_READ = 1,
	ACCESS_LOOKUP = 2,
	ACCESS_MODIFY = 4,
	ACCESS_EXTEND = 8,
	ACCESS_DELETE = 16,
	ACCESS_EXECUTE = 32,
	ACCESS_XAREAD = 64,
	ACCESS_XAWRITE = 128,
	ACCESS_XALIST = 256,
	ACCESS_V3 = 63, /* those NFSv3 and NFSv4.0 have */
};
/*
 * Which rights of `asked` the kernel would grant this thread's identity on r->file, without the
 * owner's override; *supported: those that mean something for its type.  Blocks.
 */
uint32_t access_rights(const struct req *r, uint32_t asked, uint32_t *supported);
/*
 * Worker thread: the same for r->cred and the attributes `st`,
 * when access_known() can tell; does not block.
 */
bool access_rights_known(const struct req *r, const struct stat *st, uint32_t asked,
			 uint32_t *supported, uint32_t *granted);

#endif
