/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one place that turns errno into an NFS status.  Pure. */
#ifndef PROTO_STATUS_H
#define PROTO_STATUS_H

#include <stdint.h>

/*
 * nfsstat3 for a negative errno and the procedure: only statuses in that procedure's list (RFC
 * 1813) are given.
 */
uint32_t status_nfs3(int err, uint32_t proc);
/* nfsstat4; what an operation must say otherwise it says itself. */
uint32_t status_nfs4(int err);
/* mountstat3 */
uint32_t status_mount3(int err);

#endif
