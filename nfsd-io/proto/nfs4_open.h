/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What OPEN's parts share: nfs4_open.c (whose turn, what is granted) and nfs4_opening.c (the file).
 */
#ifndef PROTO_NFS4_OPEN_H
#define PROTO_NFS4_OPEN_H

#include "nfsd-io/proto/sattr.h"
#include "nfsd-io/proto/state4_held.h"
#include "nfsd-io/proto/v4.h"

/* An OPEN in hand. */
struct v4_opening {
	OPEN4args args;
	unsigned access, deny;	  /* bits of READ and WRITE */
	struct state4_seq seq;
	struct v4_sattr attrs;	  /* with OPEN4_CREATE */
	/* What nfs4_opening.c came to. */
	int fd;			  /* the object, any kind of descriptor; -1 */
	bool created;		  /* by this call, or by an earlier one of the same verifier */
	bool truncate;
	struct v4_attrs set;
	uint64_t before, after;	  /* change of the directory */
	struct fh fh;
	struct handle_parts parts;
	struct file *file;	  /* counted */
};

/*
 * Offload threads.  The file the claim names: found or created, its type and the caller's rights
 * looked at, opened.  NFS4_OK or a status; o->fd and o->file are the caller's to give up.
 */
uint32_t v4_opening_file(struct req *r, struct v4_opening *o);
/* The size becomes 0, as the caller; stable on sync exports. */
uint32_t v4_opening_truncate(struct req *r, struct v4_opening *o);
/* NFS4_OK for a regular file; else what OPEN, or `other` operations, answer for its type. */
uint32_t v4_regular(const struct req *r, mode_t mode, bool open);
/* The stateid on the wire. */
void v4_put_stateid(struct cursor *c, const stateid4 *id);

#endif
