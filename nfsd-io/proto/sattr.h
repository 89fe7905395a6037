/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What SETATTR and the making procedures set, whatever the version that asked.
 * Knows no wire format.  Offload threads, but for sattr_check().
 */
#ifndef PROTO_SATTR_H
#define PROTO_SATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "nfsd-io/proto/req.h"

enum sattr_time { SATTR_LEAVE, SATTR_SERVER, SATTR_CLIENT };

struct sattr {
	bool set_mode, set_uid, set_gid, set_size;
	/*
	 * take `umask` off the mode of a new object, unless its
	 * directory has a default ACL (RFC 8275)
	 */
	bool have_umask;
	mode_t mode, umask;
	uid_t uid;
	gid_t gid;
	uint64_t size;
	enum sattr_time set_atime, set_mtime;
	struct timespec atime, mtime; /* SATTR_CLIENT */
};

/* Sizes, times and ids a client may ask for: 0, -EINVAL. */
int sattr_check(const struct sattr *a);
/*
 * Apply all but the size to the object open as `fd` (any descriptor) as whoever the thread is.
 */
int sattr_apply(int fd, const struct sattr *a);
/*
 * Set the size of the regular file `fh`, open as `path_fd`, as the caller with the owner's
 * override (RFC 1813 s.4.4).
 */
int sattr_size(struct req *r, const struct fh *fh, const struct handle_parts *p, int path_fd,
	       uint64_t size);
/* `a` for a new object in the directory `dirfd` (any descriptor): its umask is taken off. */
void sattr_new(struct sattr *out, const struct sattr *a, int dirfd);
/* The mode asked for, or `otherwise`. */
mode_t sattr_mode(const struct sattr *a, mode_t otherwise);
/*
 * What making could not set on the new object `fd`: owner (root only), times, and the mode when
 * `mode_too`; not the size.  As the caller.
 */
int sattr_dress(struct req *r, int fd, const struct sattr *a, bool mode_too);

#endif
