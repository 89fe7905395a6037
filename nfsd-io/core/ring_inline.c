/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inline engine: the thread that starts file I/O carries it out there and then. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nfsd-io/core/cred.h"
#include "nfsd-io/core/ring_int.h"

int ring_inline_carry(const struct op *op)
{
	ssize_t n = cred_assume(op->cred);

	if (n < 0)
		return (int)n;
	if (op->kind == RING_OP_SPLICE_IN || op->kind == RING_OP_SPLICE_WRITE)
		return ring_splice_carry(op);
	do {
		if (op->kind == RING_OP_READ)
			n = preadv2(op->fd, &op->iov, 1, (off_t)op->offset, (int)op->flags);
		else if (op->kind == RING_OP_WRITE)
			n = pwritev2(op->fd, &op->iov, 1, (off_t)op->offset, (int)op->flags);
		else
			n = op->flags ? fdatasync(op->fd) : fsync(op->fd);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

static void start(struct ring *r, struct op *op)
{
	bool file =
		op->kind == RING_OP_READ || op->kind == RING_OP_WRITE || op->kind == RING_OP_FSYNC;

	ring_ready(r, op, file ? ring_inline_carry(op) : -EOPNOTSUPP);
}

/* What is started is over: there is nothing to take back. */
static void cancel(struct ring *r, struct op *op)
{
	(void)r;
	(void)op;
}

/* What comes from other threads is all there is to wait for. */
static void collect(struct ring *r, bool wait)
{
	uint64_t n;

	while (wait && read(r->event_fd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
}

static int buffer_register(struct ring *r, unsigned index, void *base, size_t len)
{
	(void)r;
	(void)index;
	(void)base;
	(void)len;
	return -EOPNOTSUPP;
}

static void inline_free(struct ring *r)
{
	ring_fini(r);
	free(r);
}

int ring_inline_new(struct ring **out)
{
	static const struct ring_engine_ops ops = {
		.name = "inline",
		.start = start,
		.cancel = cancel,
		.collect = collect,
		.buffer_register = buffer_register,
		.free = inline_free,
	};
	struct ring *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return -ENOMEM;
	ret = ring_init(r, &ops);
	if (ret < 0)
		free(r);
	else
		*out = r;
	return ret;
}
