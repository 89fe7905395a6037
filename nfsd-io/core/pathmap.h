/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Path mode: how handles are opened where the kernel will not do it (no
 * CAP_DAC_READ_SEARCH: containers, plain users; or a file system without
 * openable handles).  A table from identity to (parent, name), learnt as
 * handles are given out, kept in memory and in an append-only log.  A path
 * found there is only a guess: the object must have the identity asked for.
 *
 * Limits: what was renamed behind the server's back is found again only
 * within the same directory; of several hard links only those seen through us
 * are known; the oldest of PATHMAP_MAX names are forgotten.
 * The log survives the process; a power failure what pathmap_sync() saw.
 * Any thread; blocks.
 */
#ifndef CORE_PATHMAP_H
#define CORE_PATHMAP_H

#include "nfsd-io/core/khandle.h"

#define PATHMAP_MAX 1000000 /* names remembered */

struct pathmap;

/*
 * `rootfd` is borrowed and must outlive the map; `log` is a file name or NULL
 * (memory only).  A log that cannot be read or written is not fatal: *why (may
 * be NULL) says so, in words, and the map works from memory.
 */
int pathmap_new(struct pathmap **out, int rootfd, const char *log, const char **why);
void pathmap_free(struct pathmap *m);

/* O_PATH descriptor of the object, or -ESTALE. */
int pathmap_open(struct pathmap *m, const struct khandle *id);

/* The object `id`, open as `fd`, is `name` in `dirfd`. */
int pathmap_learn(struct pathmap *m, int dirfd, const char *name, const struct khandle *id);
/*
 * As above when only the descriptor is known: its path is
 * asked of the kernel, and every step of it learnt.
 */
int pathmap_learn_fd(struct pathmap *m, int fd, const struct khandle *id);

/*
 * Keep pathmap_open() out while a name moves: around the rename and
 * pathmap_moved(), or what is being moved would be found at neither place.
 */
void pathmap_names_lock(struct pathmap *m);
void pathmap_names_unlock(struct pathmap *m);
void pathmap_moved(struct pathmap *m, int olddir, const char *oldname, int newdir,
		   const char *newname);
void pathmap_removed(struct pathmap *m, int dirfd, const char *name);

/*
 * Make durable what was learnt; 1 when there was something, 0, or
 * -errno.  Blocks on the disk, without holding up others.
 */
int pathmap_sync(struct pathmap *m);
/* Names held now. */
unsigned pathmap_count(struct pathmap *m);

#endif
