/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What CREATE, MKDIR, SYMLINK and MKNOD share: one new name in a directory.  Offload threads. */
#ifndef PROTO_NFS3_MAKE_H
#define PROTO_NFS3_MAKE_H

#include "nfsd-io/proto/v3.h"

/*
 * Check the name and `attrs` (may be NULL), have `maker` make it as the caller,
 * make it stable and fill the result.  `maker` returns a descriptor of the
 * object (any kind, taken), or -errno.
 */
int v3_make(struct req *r, const sattr3 *attrs,
	    int (*maker)(struct req *r, const char *name, const struct sattr *a));

#endif
