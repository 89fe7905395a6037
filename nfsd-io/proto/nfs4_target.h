/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a name, or the way up, leads to from the current object: an object of the same export, a
 * place in another one, or a node of the pseudo file system.  Offload threads.
 */
#ifndef PROTO_NFS4_TARGET_H
#define PROTO_NFS4_TARGET_H

#include "nfsd-io/proto/pseudo.h"
#include "nfsd-io/proto/v4.h"

struct v4_target {
	const struct pseudo_node *node; /* or: */
	struct export *export;
	/* the caller's entry of `export`; NULL: the request's own */
	const struct export_client *client;
	/* O_PATH, to be closed by v4_target_fini(); -1: a node, or the export's root */
	int fd;
	struct fh fh;			    /* of `fd` */
};

/* NFS4_OK: *t is to be given to v4_target_fini().  The thread is the server again. */
uint32_t v4_target_name(struct req *r, const char *name, struct v4_target *t);
uint32_t v4_target_parent(struct req *r, struct v4_target *t);
void v4_target_fini(struct v4_target *t);
/* It becomes the current object; through the gate where it is another export's. */
uint32_t v4_target_enter(struct req *r, const struct v4_target *t);
/* Options that rule there; NULL: the pseudo file system. */
const struct export_opts *v4_target_opts(struct req *r, const struct v4_target *t);

/*
 * The part of v4_target_name() in an export: `name` in the directory `dirfd`, as whoever the thread
 * is, which it stays.  0 or -errno.
 */
int v4_target_below(struct req *r, int dirfd, const char *name, struct v4_target *t);

#endif
