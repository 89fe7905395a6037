/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names under a root: one component at a time, never through a symlink, a
 * mount or "..".  Blocking: offload threads only, as whoever cred_assume()
 * made the thread.
 */
#ifndef CORE_OBJECT_H
#define CORE_OBJECT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "nfsd-io/core/handle.h"

/* 0, or -EINVAL/-ENAMETOOLONG/-EACCES: empty, "." or "..", '/' or NUL inside, too long.  `len` bytes, not terminated. */
int object_name_check(const char *name, unsigned len);

/*
 * O_PATH descriptor of `name` in directory `dirfd`.  "." gives the directory,
 * ".." its parent but never above the root (the root's ".." is the root).
 * A mount point below is -EXDEV unless it is the root's own file system.
 */
int object_lookup(struct root *r, int dirfd, const char *name);

/* Re-open an O_PATH descriptor through /proc/self/fd with `flags` (O_CLOEXEC|O_NOCTTY|O_NONBLOCK added). */
int object_reopen(int path_fd, int flags);

/* fsync a directory or file given by O_PATH or other descriptor; for metadata that must be stable before the reply. */
int object_sync(int fd);

#endif
