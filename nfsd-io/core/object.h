/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names under a root: one component at a time, never through a symlink, a
 * mount or "..".  Blocking: offload threads only, as whoever cred_assume()
 * made the thread.
 */
#ifndef CORE_OBJECT_H
#define CORE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "nfsd-io/core/handle.h"

static inline bool object_is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/*
 * May it name an entry to be made, moved or removed?  `len` bytes, not
 * terminated.  0; -EINVAL: "." or ".."; -ENAMETOOLONG; -EACCES: empty, or '/'
 * or NUL inside.
 */
int object_name_check(const char *name, unsigned len);

/*
 * O_PATH descriptor of `name` in directory `dirfd`.  "." gives the directory,
 * ".." its parent but never above the root (the root's ".." is the root).
 * A mount point below is -EXDEV unless it is the root's own file system.
 */
int object_lookup(struct root *r, int dirfd, const char *name);

/*
 * As object_lookup() for a name other than "." and "..", but never blocks:
 * -EAGAIN when the kernel would have to ask the file system.
 */
int object_lookup_cached(int dirfd, const char *name);

/*
 * Attributes and handle of `fd`, which object_lookup() just gave for `name` in
 * `dirfd`.  0, or -errno (fh->len 0): it has no handle; attributes may be known all the same.
 */
int object_tell(const struct handle_key *k, struct root *r, int dirfd, const char *name, int fd,
		struct stat *st, bool *have_st, struct fh *fh);

/*
 * Re-open an O_PATH descriptor through /proc/self/fd with
 * `flags` (O_CLOEXEC|O_NOCTTY|O_NONBLOCK added).
 */
int object_reopen(int path_fd, int flags);

/*
 * fsync a directory or file given by O_PATH or other descriptor; for metadata
 * that must be stable before the reply.  As the server: a caller may write to
 * a directory that it cannot open.  0 for what cannot be synced (symlink, FIFO).
 */
int object_sync(int fd);

/*
 * The rest is for core itself.
 * One step down: O_PATH descriptor of `name` in `dirfd`, never out of the
 * mount unless to the same device `dev`; `name` is one component, not "..".
 */
int object_step(dev_t dev, int dirfd, const char *name);

/*
 * Where `fd` lies below `rootfd` ("" = there) by the
 * kernel's word; -ESTALE: nowhere; -ENAMETOOLONG.
 */
int object_path_below(int rootfd, int fd, char *out, size_t size);

#endif
