/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The drill: what a mount is put through, by system calls from one static process, since a
 * process is the dearest thing there is in a user-mode Linux.  The mount is at DRILL_A, a second
 * one of the same export at DRILL_B where a step asks for it.  A step is true when all was well;
 * what was not is said on standard output with its line.
 */
#ifndef TESTS_KERNEL_DRILL_H
#define TESTS_KERNEL_DRILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DRILL_A "/mnt/a"
#define DRILL_B "/mnt/b"

struct drill {
	const char *source;  /* HOST:/PATH */
	const char *options; /* of the kernel's NFS client, without sizes */
	unsigned size;       /* rsize and wsize, bytes */
	const char *fs;      /* the server's file system */
	uint64_t bytes;      /* its size */
	uint64_t seed;
	unsigned cuts; /* how often the host is asked to cut the connections */
};

bool drill_failed(const char *file, int line, const char *what);
#define MUST(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return drill_failed(__FILE__, __LINE__, #cond);                            \
	} while (0)

/* --- drill.c: the mounts, and the host that runs the server ------------------------- */

bool drill_attach(const struct drill *d, const char *where, unsigned size);
bool drill_detach(const char *where);
/* So that nothing comes from the client's cache. */
bool drill_remount(const struct drill *d);
/* Have a verb of the host script carried out; its answer goes to standard output. */
bool drill_ask(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A forked process ended, and well. */
bool drill_reap(pid_t pid);
double drill_seconds(void);

/* --- drill_file.c: bytes ------------------------------------------------------------- */

#define DRILL_DATA 1048576
/* The same bytes at each call; aligned for O_DIRECT. */
const unsigned char *drill_data(void);
bool drill_write(int fd, const void *buf, size_t len, off_t at);
/* A file's bytes are these and no more. */
bool drill_same(const char *path, const void *want, size_t len);
/* A new file of the first `len` bytes of drill_data(). */
bool drill_make(const char *path, size_t len);

bool drill_direct(const struct drill *d);
bool drill_truncate(const struct drill *d);
bool drill_open_files(const struct drill *d);
bool drill_stamps(const struct drill *d);

/* --- drill_tree.c, drill_lock.c, drill_space.c, drill_break.c -------------------------- */

bool drill_tree(const struct drill *d);
bool drill_umask(const struct drill *d);
bool drill_statfs(const struct drill *d);
bool drill_empty(const struct drill *d);
bool drill_flock(const struct drill *d);
bool drill_fcntl(const struct drill *d);
bool drill_wait_lock(const struct drill *d);
bool drill_holes(const struct drill *d);
bool drill_copies(const struct drill *d);
bool drill_xattrs(const struct drill *d);
bool drill_first_open(const struct drill *d);
bool drill_restart_copy(const struct drill *d);
bool drill_restart_lock(const struct drill *d);
bool drill_cuts(const struct drill *d);

/* --- drill_large.c: d->bytes of it ------------------------------------------------------ */

/* What the file is to be, on standard output. */
bool drill_source(uint64_t bytes);
bool drill_large_write(const struct drill *d);
bool drill_large_read(const struct drill *d);
bool drill_large_cached(const struct drill *d);
bool drill_large_remove(const struct drill *d);

#endif
