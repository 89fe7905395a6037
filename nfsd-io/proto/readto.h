/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A READ of any version from the open file to the reply: into a borrowed
 * buffer, or into a pipe when the owner asks for that.  The worker's thread.
 */
#ifndef PROTO_READTO_H
#define PROTO_READTO_H

#include "nfsd-io/proto/req.h"

/* `count` bytes cut to what one READ may be. */
uint32_t readto_clip(const struct req *r, uint32_t count);

/*
 * Read r->io.read.offset, count (clipped, not 0, offset <= INT64_MAX) of r->file.  For a step that
 * then returns STEP_WAIT: done(r) is called later, r still in WAIT with nothing outstanding of
 * this, and must resume it; r->io.read.io.res, eof and the attributes are the results.  may_pipe:
 * the bytes are only to be sent, as the reply's payload; else they are in memory at io.read.data.
 * False: nothing was begun, since there is no buffer now and the request has one (req_has_buffer),
 * so that it may not wait; -EAGAIN, as which the same is told when it is found out later.
 */
bool readto_start(struct req *r, bool may_pipe, void (*done)(struct req *r));

/* What was read (io.read.io.res > 0) becomes the payload behind r->reply. */
void readto_payload(struct req *r);

#endif
