/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a file system can do, measured with real I/O when a root is opened,
 * never assumed: accepted flags lie (ext4 takes DONTCACHE on overwrite and
 * keeps every page; btrfs and tmpfs take O_DIRECT and do not do it).
 */
#ifndef CORE_PROBE_H
#define CORE_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/dio.h"

/* Direct-I/O alignment of one file, from statx; all 0 = none. */
struct probe_align {
	uint32_t mem, offset, read; /* bytes */
};

struct probe {
	struct probe_align align; /* of a regular file in the root */
	bool dontcache_read;	  /* RWF_DONTCACHE accepted by READ */
	bool dontcache_write;	  /* ... and by WRITE */
	bool dontcache_drops;	  /* ... and pages were really gone afterwards (new file) */
	/* a temporary file could be written; else statx on the directory tree only */
	bool measured;
	bool handles;		  /* name_to_handle_at and open_by_handle_at both work */
	const char *handles_why;  /* static words; "" when they do */
	/* two changes in a row give different ctimes (multigrain, Linux >= 6.13) */
	bool ctime_moves;
	bool read_only;		  /* mounted ro */
	dev_t dev;
	/* of the file system; else from statfs' f_fsid; else from dev: never zero */
	uint8_t uuid[16];
	bool uuid_stable;	  /* false: may differ after remount (tmpfs) */
	char fstype[32];	  /* "ext4" */
};

/* Examine the tree under `dirfd`.  0 or -errno (only when `dirfd` is unusable). */
int probe_run(int dirfd, struct probe *out);

/*
 * Alignment of the open file `fd` now (statx); also used after an EINVAL, since reflink changes it.
 */
int probe_file_align(int fd, struct probe_align *out);

/*
 * What file system `fd` (a real descriptor of any file on it)
 * lies on: fills fstype, dev, uuid and uuid_stable only.
 */
void probe_identify(int fd, struct probe *out);

/* What `asked` comes down to here, and in words why; the why is "" when it is what was asked. */
enum dio_mode probe_effective(const struct probe *p, enum dio_op op, enum dio_mode asked,
			      const char **why);

#endif
