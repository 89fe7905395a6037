/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What read.c and write.c share: turning a segment's kind into a descriptor
 * and flags, and what to do when one is refused, cut short or stalls.
 */
#ifndef CORE_IO_INT_H
#define CORE_IO_INT_H

#include "nfsd-io/core/io.h"

/*
 * Plan `len` bytes at `offset` from the file's facts and its root's settings.
 * `mem`: WRITE payload (READ: NULL, memory is always aligned); `room`: bytes
 * of buffer there are for an expanded READ.
 */
void io_plan(struct io *io, enum dio_op op, uint64_t offset, uint32_t len, const void *mem,
	     size_t room);

/* Descriptor and RWF_* flags for the segment in hand. */
int io_fd(const struct io *io);
unsigned io_rwf(const struct io *io);

/*
 * A completion that moved nothing: may the segment be started again, perhaps
 * in a humbler kind?  Direct refused (EINVAL): alignment is asked anew and the
 * segment goes buffered; DONTCACHE refused: without; EAGAIN: a few times.
 * A direct READ answered EIO is asked of the page cache: iomap says EIO to one
 * that meets a delayed allocation, and XFS leaves those behind the end of a
 * file whose last WRITE was split, for the expanded READ to meet.  A disk that
 * is broken says it again.
 */
bool io_retry(struct io *io, enum dio_op op, int err);

/*
 * `n` bytes of the segment in hand were moved.  The segment is not over:
 * direct goes on where position and memory are still aligned, else buffered.
 */
void io_moved(struct io *io, enum dio_op op, uint32_t n);
void io_continue(struct io *io, enum dio_op op, uint64_t pos, const void *mem);

/* Count the request, take the file's attributes unless they are fresh, call done. */
void io_finish(struct io *io, enum dio_op op);

/* Attributes into io->st; 0 or -errno. */
int io_stat(struct io *io);

#endif
