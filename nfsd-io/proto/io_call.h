/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What READ, WRITE and COMMIT of all versions have in common: the file opened
 * and the caller's rights looked at, the I/O begun, the file after it.  With the
 * file in the cache and no ACL on it all of that happens on the worker, whose
 * thread calls everything here.  Knows no wire format.
 */
#ifndef PROTO_IO_CALL_H
#define PROTO_IO_CALL_H

#include "nfsd-io/proto/req.h"

/* Permission bits, any of which will do. */
#define IO_CALL_READ 4u
#define IO_CALL_WRITE 2u
#define IO_CALL_EXEC 1u

/* First in r->proc_data. */
struct io_call {
	uint64_t offset;
	uint32_t count, stable;
	const uint8_t *data; /* WRITE */
	uint64_t data_at;    /* READ_PLUS: where data begin */
	unsigned want;	     /* 0: none needed */
	uint32_t opener;     /* this uid has them by an open; UINT32_MAX: nobody */
	enum file_access access;
	void (*written)(struct io *io);
	req_step *go;	     /* runs when the file is open and the caller may */
	/* Answers for a step what failed; err is a -errno. */
	enum req_step_result (*fail)(struct req *r, int err);
	bool have_st;
	struct stat st;
};

static inline struct io_call *io_call(struct req *r)
{
	return (struct io_call *)&r->proc_data;
}

/* For a step: open r->file, see whether the caller has `want`, then `go`. */
enum req_step_result io_call_open(struct req *r, enum file_access a, unsigned want, req_step *go);
/*
 * For a step with r->file set by an OPEN of uid `opener`, which may have no name left: that one has
 * the rights the OPEN gave whatever the mode is now, others are looked at as without it.
 */
enum req_step_result io_call_opened(struct req *r, unsigned want, uint32_t opener, req_step *go);
/* Then, for `go` of WRITE and COMMIT; done() is called in WAIT and must resume.  STEP_WAIT. */
enum req_step_result io_call_write(struct req *r, void (*done)(struct io *io));
enum req_step_result io_call_commit(struct req *r, void (*done)(struct io *io));
/*
 * The `count` bytes of WRITE's data, whose length word was the last thing read from r->args:
 * received apart by the connection, or still in the call.  False: they are not all there.
 */
bool io_call_data(struct req *r);
/* The file after the operation, or NULL. */
const struct stat *io_call_after(struct req *r, const struct io *io);

#endif
