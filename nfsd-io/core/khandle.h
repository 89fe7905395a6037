/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's own name for an object in its file system: inode and
 * generation, whatever form the file system gives it.  Knows nothing of the
 * wire.  Any thread.
 */
#ifndef CORE_KHANDLE_H
#define CORE_KHANDLE_H

#include <stdbool.h>
#include <stdint.h>

#define KHANDLE_MAX 40	       /* bytes; ext4 8, xfs and tmpfs 12, btrfs 20 */
#define KHANDLE_TYPE_INODE 0xff /* ours, never the kernel's: inode number and birth time */

struct khandle {
	uint8_t type; /* kernel's handle_type */
	uint8_t len;  /* bytes; 0 = none */
	uint8_t data[KHANDLE_MAX];
};

/*
 * Of the object open as `fd` (any kind).  0, -EOPNOTSUPP,
 * -EOVERFLOW (longer than KHANDLE_MAX), -errno.
 */
int khandle_of(int fd, struct khandle *out);

/*
 * An identity that need not be openable: as khandle_of where it works, else
 * what the file system uses to tell objects apart, else inode and birth time.
 */
int khandle_identify(int fd, struct khandle *out);

/*
 * O_PATH descriptor; `mount_fd` is a real (not O_PATH)
 * descriptor on the file system.  -ESTALE, -EPERM, -errno.
 */
int khandle_open(int mount_fd, const struct khandle *k);

bool khandle_equal(const struct khandle *a, const struct khandle *b);

#endif
