/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Path mode's log: what the table learnt, appended a record at a time, so
 * that handles outlive the process.  Belongs to one process (locked); the
 * owner serializes.
 *
 *   sum 4 | len 2 | op 1 | id: type 1, len 1, data | parent: the same | name
 */
#ifndef CORE_PATHMAP_LOG_H
#define CORE_PATHMAP_LOG_H

#include "nfsd-io/core/pathmap_table.h"

struct pathmap_log {
	int fd;		  /* -1: none, or given up after a write error */
	char *path;
	uint64_t records; /* in the file, dead ones included */
	bool unsynced;	  /* since the last fdatasync */
};

/*
 * Opens or makes the file and replays it into `t`; a torn
 * end is cut off.  0, or -errno: the log is off.
 */
int pathmap_log_open(struct pathmap_log *log, const char *path, struct pathmap_table *t);
void pathmap_log_close(struct pathmap_log *log);

/*
 * (parent, name) means `id` from now on; id NULL: means
 * nothing.  Rewrites the file when mostly dead.
 */
void pathmap_log_append(struct pathmap_log *log, const struct pathmap_table *t,
			const struct khandle *id, const struct khandle *parent, const char *name);

#endif
