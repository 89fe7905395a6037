/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Attributes of an object and their encoding (RFC 8881 s.5), between the
 * nfs4_attr*.c, READDIR and the pseudo file system.  Any thread; only
 * v4_object_stat() and v4_object_space() make system calls.
 */
#ifndef PROTO_NFS4_ATTR_H
#define PROTO_NFS4_ATTR_H

#include <sys/statvfs.h>
#include <time.h>

#include "nfsd-io/proto/idmap.h"
#include "nfsd-io/proto/v4.h"

/* What attributes are told of. */
struct v4_object {
	const struct root *root; /* NULL: a node of the pseudo file system */
	const struct fh *fh;
	struct stat st;
	bool have_btime;
	struct timespec btime;
	struct statvfs space;
	uint64_t fsid[2];
	uint64_t mounted_on;
	uint32_t maxlink;
	struct idmap_text owner, group;
};

bool v4_attr_has(const struct v4_attrs *a, unsigned attr);
void v4_attr_add(struct v4_attrs *a, unsigned attr);
/*
 * Attributes served in this minor version; those that can
 * be set; those an exclusive create can set.
 */
void v4_attr_supported(uint32_t minor, struct v4_attrs *out);
void v4_attr_settable(uint32_t minor, struct v4_attrs *out);
void v4_attr_exclcreat(uint32_t minor, struct v4_attrs *out);
/* a &= b */
void v4_attr_and(struct v4_attrs *a, const struct v4_attrs *b);
bool v4_attr_within(const struct v4_attrs *a, const struct v4_attrs *all);
/* Any that can only be set: INVAL when asked for. */
bool v4_attr_writeonly(uint32_t minor, const struct v4_attrs *a);
/* Any that needs v4_object_space(). */
bool v4_attr_needs_space(const struct v4_attrs *a);
/* Any that needs v4_object_owners(). */
bool v4_attr_needs_owners(const struct v4_attrs *a);
/* bitmap4 at the cursor, `beyond` set when a bit lies in a word that is not kept. */
uint32_t v4_attr_get(struct cursor *c, struct v4_attrs *out, bool *beyond);

/*
 * The object `fd` (any descriptor) of `root`: one statx(), and what follows from it.  0 or -errno.
 */
int v4_object_stat(struct v4_object *o, const struct export *e, int fd, const struct fh *fh);
/* The same; handle_glance() will know it the next time. */
int v4_object_found(struct v4_object *o, const struct export *e, int fd, const struct fh *fh);
/* The same where all is known: `x` has the basic attributes and birth. */
void v4_object_seen(struct v4_object *o, const struct export *e, const struct statx *x,
		    const struct fh *fh);
/* For v4_attr_needs_space(): 0 or -errno. */
int v4_object_space(struct v4_object *o, int fd);
/*
 * For v4_attr_needs_owners(): the texts for who owns it, or V4_ELSEWHERE on a worker that would
 * have to look up.  An offload thread that looks up is the server itself afterwards.
 */
uint32_t v4_object_owners(struct req *r, struct v4_object *o);
/* The current object, opened if need be, with what `asked` takes; an nfsstat4 or V4_ELSEWHERE. */
uint32_t v4_object_current(struct req *r, const struct v4_attrs *asked, struct v4_object *o);

/* Bytes v4_attr_put() takes at most; and exactly, for what may just fit. */
uint32_t v4_attr_size(const struct req *r, const struct v4_attrs *asked, const struct v4_object *o);
uint32_t v4_attr_room(const struct v4_attrs *asked, const struct v4_object *o);
/*
 * fattr4: those of `asked` (supported ones only) that the object has, in order.  `error`: what
 * rdattr_error says.
 */
void v4_attr_put(struct cursor *c, const struct req *r, const struct v4_attrs *asked,
		 const struct v4_object *o, uint32_t error);
/* The value of one attribute. */
void v4_attr_put_value(struct cursor *c, const struct req *r, unsigned attr,
		       const struct v4_object *o, uint32_t error);

#endif
