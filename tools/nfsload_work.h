/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Workloads: what is asked of the server, and whether it answered well.
 * A workload is a source for the loop with what surrounds the measured part.
 */
#ifndef TOOLS_NFSLOAD_WORK_H
#define TOOLS_NFSLOAD_WORK_H

#include "tools/nfsload_loop.h"

struct work { /* what was asked for, from the command line, and the counts that come of it */
	struct client *client;
	/* read, write, mix, null, create, lookup, getattr, readdir, readdirplus, remove */
	const char *kind;
	const char *name;      /* file or directory in the export */
	uint64_t size, total, first; /* bytes: a call, in all, offset of the first record */
	uint64_t seed;	       /* not 0: records in random order */
	uint64_t count;	       /* names, or NULL calls */
	unsigned read_percent; /* mix */
	uint32_t stable;       /* 0 UNSTABLE and a COMMIT at the end, 2 FILE_SYNC */
	double seconds;	       /* not 0: go round until then */
	bool verify, fresh;
	struct hist *hist; /* NULL where latencies are not wanted */
	/* counts */
	uint64_t ops, bytes, errors;
	double commit_s;
};

/* Reading and writing one file. */
int io_prepare(struct work *w);
int io_run(struct work *w);
/* Read everything back; errors are counted.  0, or -1: the transport failed. */
int io_verify(struct work *w);

/* Names of a directory, and NULL. */
bool meta_knows(const char *kind);
int meta_prepare(struct work *w);
int meta_run(struct work *w);

/* Whether w->seconds are over. */
static inline bool work_over(const struct work *w)
{
	return w->seconds > 0 && w->client->now_ns - w->client->start_ns >= w->seconds * 1e9;
}

#endif
