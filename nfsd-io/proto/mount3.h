/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MOUNT version 3 (RFC 1813 appendix I): paths to root handles. */
#ifndef PROTO_MOUNT3_H
#define PROTO_MOUNT3_H

#include "nfsd-io/proto/req.h"

#define MOUNT3_PROGRAM 100005
#define MOUNT3_VERSION 3
#define MOUNT3_NPROCS 6

extern const struct req_proc mount3_procs[MOUNT3_NPROCS];

#endif
