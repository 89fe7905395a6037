/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's handles of objects whose attributes were just asked for: an
 * inode number and the moment of its birth are one object for good, so that
 * what was learnt never has to be thrown away.  One bounded table of the
 * process; any thread, without a lock.
 *
 * Only for file systems of which root_tells_births() is true.
 */
#ifndef CORE_HANDLE_MEMO_H
#define CORE_HANDLE_MEMO_H

#include <stdbool.h>
#include <sys/stat.h>

#include "nfsd-io/core/khandle.h"

struct statx;

/* What statx() must be asked for, besides what else is wanted. */
#define HANDLE_MEMO_MASK (STATX_INO | STATX_BTIME)

/* The handle of the object whose attributes are `x`; false: not known. */
bool handle_memo_find(const struct statx *x, struct khandle *out);
/* `k` and `x` are of the same object, by the same descriptor. */
void handle_memo_note(const struct statx *x, const struct khandle *k);

#endif
