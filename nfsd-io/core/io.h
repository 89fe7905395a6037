/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * READ, WRITE and COMMIT of an open file: read.c, write.c and commit.c carry
 * out policy/dio plans.  They own short I/O, fallback, stability and errors;
 * they decide nothing about buffered or direct.  Everything happens on the
 * ring's thread; `done` is never called from inside the start function.
 */
#ifndef CORE_IO_H
#define CORE_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "nfsd-io/core/apart.h"
#include "nfsd-io/core/file.h"
#include "nfsd-io/core/pipe.h"
#include "nfsd-io/core/pool.h"
#include "nfsd-io/core/ring.h"
#include "nfsd-io/core/verifier.h"
#include "policy/dio.h"

/* stable_how of RFC 1813 s.3.3.7, same numbers. */
enum io_stable { IO_UNSTABLE = 0, IO_DATA_SYNC = 1, IO_FILE_SYNC = 2 };

/* What each of the three has in common; the caller sets all of it and keeps the references. */
struct io {
	struct ring *ring;
	struct file *file;
	const struct cred *cred; /* data writes run as this identity; NULL = server */
	struct verifier *verifier;
	void (*done)(struct io *io);
	/* results */
	int res;		 /* bytes, or 0 for COMMIT; -errno */
	bool have_st;		 /* st is the file after the operation */
	struct stat st;
	struct dio_plan plan;	 /* what was decided */
	/* private */
	struct op op;
	unsigned seg, middle;	 /* of plan: being carried out; the direct one */
	uint32_t done_len;	 /* bytes moved so far, from the plan's start */
	unsigned retries;	 /* completions in a row that moved nothing */
	struct apart apart;	 /* WRITE: the stretch in hand */
	struct reach reach;	 /* the same, when it is direct */
	struct sync_mark { uint64_t unsynced; uint32_t epoch; } mark; /* see sync.h */
	void (*synced)(struct io *io, int err);
};

struct read_io {
	struct io io;
	uint64_t offset; /* bytes; caller has answered offsets above 2^63-1 */
	uint32_t count;	 /* bytes, <= what `buf` holds: read_space(count) */
	struct buf *buf; /* borrowed by the caller */
	struct pipe *pipe; /* instead of buf, empty; NULL: buf */
	/* results */
	/* io.res bytes of file data inside buf; NULL: they are what comes first out of the pipe */
	const uint8_t *data;
	bool eof;	     /* offset + res >= size seen after the data */
	/* the pipe is no way for this one (all else is void): return it, read into a buffer */
	bool needs_buf;
};

struct write_io {
	struct io io;
	uint64_t offset;
	uint32_t count;	     /* bytes of payload */
	/* payload: data mod 4096 should equal offset mod 4096 (in-phase receive) */
	const uint8_t *data;
	struct buf *buf;     /* that `data` lies in, for registered I/O; may be NULL */
	struct pipe *pipe;   /* the payload, instead of data; NULL: data */
	enum io_stable stable;
	/* results */
	/* the pipe, which still holds all, is no way for this one: do it again from memory */
	bool needs_buf;
	enum io_stable committed; /* >= stable */
	uint64_t verf;		  /* sampled before the write; RFC order as knfsd */
};

struct commit_io {
	struct io io;
	uint64_t offset; /* 0,0 = all */
	uint32_t count;
	/* results */
	uint64_t verf; /* valid when res == 0 */
};

/* Buffer bytes a READ of `count` may need, whatever its alignment (two blocks more). */
size_t read_space(uint32_t count);

void read_start(struct read_io *r);
/*
 * The same in two, for those who choose by the plan where the bytes go.  `room`: bytes of buffer
 * there will be.  A pipe takes plans of one segment and must hold that from its first byte.
 */
/* Is a pipe worth a try?  Not after several that this root's file system refused outright. */
bool read_may_splice(const struct root *root);
void read_plan(struct read_io *r, size_t room);
void read_go(struct read_io *r);
void write_start(struct write_io *w);
void commit_start(struct commit_io *c);

#endif
