/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rpcgen codecs (rpc/nfs3.h, rpc/mount.h) over a cursor: everything but
 * the hot path goes through here.  Any thread; no state.
 */
#ifndef RPC_CODEC_H
#define RPC_CODEC_H

#include <rpc/types.h>
#include <rpc/xdr.h>

#include "rpc/cursor.h"

/*
 * Decode what stands at the cursor into `out`, which must be zeroed, and move
 * on.  True: free it with codec_free() afterwards.  False: the cursor is bad and
 * nothing is to be freed.
 */
bool codec_decode(struct cursor *c, xdrproc_t proc, void *out);
/*
 * Encode `in` and move on.  False: it does not fit or is
 * not valid; the cursor is bad and did not move.
 */
bool codec_encode(struct cursor *c, xdrproc_t proc, const void *in);
/* Free what decoding allocated; harmless a second time. */
void codec_free(xdrproc_t proc, void *out);

#endif
