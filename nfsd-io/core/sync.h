/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One flush of an open file to stable storage, for stable WRITEs and COMMIT:
 * write-back errors are looked for on both descriptors (each remembers on its
 * own what it has reported), a failure changes the verifier, and success takes
 * off file->unsynced only the WRITEs that were over when the flush began.
 */
#ifndef CORE_SYNC_H
#define CORE_SYNC_H

#include "nfsd-io/core/io.h"

/* Flush, then over(io, 0 or -errno) on the ring's thread.  Uses io->op. */
void sync_start(struct io *io, bool datasync, void (*over)(struct io *io, int err));

/*
 * The same for a thread that may block, when there is unstable data at all; datasync, not counted.
 */
int sync_now(struct file *f, struct verifier *v);

#endif
