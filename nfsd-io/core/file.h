/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Open files, found by handle and kept while they are used: an O_PATH
 * descriptor for any object; for regular files a buffered one and, where
 * direct I/O exists, its O_DIRECT twin.  One bounded table for all workers
 * (sharded locks held for a few pointer moves only).
 */
#ifndef CORE_FILE_H
#define CORE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "nfsd-io/core/handle.h"
#include "nfsd-io/core/offload.h"
#include "nfsd-io/core/probe.h"
#include "nfsd-io/core/reach.h"
#include "nfsd-io/core/root.h"
#include "nfsd-io/core/verifier.h"

/* What descriptors the caller needs. */
enum file_access { FILE_PATH, FILE_READ, FILE_WRITE };

struct fdcache;

struct file {
	_Atomic unsigned refs;
	struct fdcache *cache;
	struct root *root;    /* counted */
	struct fh fh;
	enum file_access access; /* FILE_WRITE serves READ too */
	mode_t type;	      /* S_IFMT bits; never changes */
	ino_t ino;
	uint64_t serial;      /* of this opening, see attr.h; 0: none */
	int path_fd;	      /* O_PATH|O_NOFOLLOW */
	int fd;		      /* buffered; -1 below FILE_READ */
	int dio_fd;	      /* O_DIRECT; -1 when the file system has none */
	_Atomic uint32_t mem_align, offset_align, read_align; /* bytes; refreshed after EINVAL */
	/* WRITEs completed UNSTABLE and not covered by a good sync since */
	_Atomic uint64_t unsynced;
	_Atomic uint32_t sync_epoch; /* sync.c's own: starts at 0 */
	/* flushes that failed, each before the next is told its result */
	_Atomic uint32_t sync_failures;
	struct reach_gate reach; /* of direct WRITEs */
	/* the cache's own, under its shard's lock */
	struct file *hash_next, *newer, *older;
	uint64_t used_ns;
	bool hashed;	/* in the table, which then holds a reference */
	bool cleaning;	/* being synced before it is dropped */
	struct offload_job job;
};

struct fdcache_params {
	/*
	 * Open for I/O; of objects held by O_PATH alone three count as
	 * one.  0: a quarter of RLIMIT_NOFILE, at most 16384
	 */
	unsigned max_files;
	uint64_t idle_ns;	   /* close after this much disuse; 0 = 10 s */
	struct offload *offload;   /* closes and syncs run there */
	struct verifier *verifier; /* a failed sync before a close changes it */
};

int fdcache_new(struct fdcache **out, const struct fdcache_params *p);
/* Syncs unsynced files first.  All references must be put; free it before its offload threads. */
void fdcache_free(struct fdcache *c);

/*
 * Counted reference when cached with enough access; else
 * NULL.  Never blocks or makes a system call.
 */
struct file *fdcache_peek(struct fdcache *c, const struct fh *fh, enum file_access a);

/*
 * Find or open (server's identity, blocks: offload threads only).
 * 0 or -errno: -ESTALE gone; -EISDIR/-ELOOP/-EINVAL not regular for READ/WRITE;
 * -EROFS, -ETXTBSY, -EPERM; -EMFILE/-ENFILE only after evicting all it could.
 * FIFOs, sockets and devices are only ever opened O_PATH.
 */
int fdcache_open(struct fdcache *c, struct root *r, const struct fh *fh,
		 const struct handle_parts *p, enum file_access a, struct file **out);

struct file *file_get(struct file *f);
/* NULL is fine.  The last one closes, on an offload thread, after a sync when one is due. */
void file_put(struct file *f);

/*
 * The object lost a name (REMOVE, RENAME over): drop it when no
 * link is left, so that space is freed.  Any thread.
 */
void fdcache_forget(struct fdcache *c, const struct fh *fh);
/* Root `r` is unexported or replaced: close what belongs to it, and keep no more. */
void fdcache_purge(struct fdcache *c, struct root *r);
/*
 * Close idle files; the server calls it about once a second
 * while fdcache_count() > 0.  CLOCK_MONOTONIC.
 */
void fdcache_sweep(struct fdcache *c, uint64_t now_ns);
/* Free descriptors in a hurry (accept hit EMFILE); returns how many files were dropped. */
unsigned fdcache_shed(struct fdcache *c, unsigned want);
unsigned fdcache_count(const struct fdcache *c);

struct fdcache_stats {
	uint64_t hits, misses, evictions, sync_failures;
	unsigned files;
};
void fdcache_stats(struct fdcache *c, struct fdcache_stats *out);

/*
 * The rest is between file.c and fdcache.c.
 * Open what `p` names under `r` without looking at any cache; one reference.
 */
int file_open(struct file **out, struct fdcache *c, struct root *r, const struct fh *fh,
	      const struct handle_parts *p, enum file_access a);
/*
 * Give up a file with no references left: sync if due (result as sync_now), close, free.  Blocks.
 */
int file_close(struct file *f, struct verifier *v);
/* 0, -ESTALE when no name is left. */
int file_linked(const struct file *f);
/* Called by file_put() for the last reference. */
void fdcache_release(struct fdcache *c, struct file *f);

#endif
