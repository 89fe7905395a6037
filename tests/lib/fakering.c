/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "tests/lib/fakering.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CALLS 256

struct fakering_call fakering_log[CALLS];
unsigned fakering_calls;

static int script[CALLS];
static unsigned nscript, next_answer;
static struct op *pending[CALLS];
static unsigned npending;

void fakering_script(const int *answers, unsigned n)
{
	ck_assert_uint_eq(npending, 0);
	ck_assert_uint_le(n, CALLS);
	if (n)
		memcpy(script, answers, n * sizeof(*answers));
	nscript = n;
	next_answer = 0;
	fakering_calls = 0;
}

static void start(struct op *op, enum op_kind kind, int fd)
{
	ck_assert_int_eq(op->kind, RING_OP_NONE);
	ck_assert_uint_lt(npending, CALLS);
	op->kind = kind;
	op->fd = fd;
	pending[npending++] = op;
}

static void start_rw(struct op *op, enum op_kind kind, int fd, void *buf, uint32_t len,
		     uint64_t offset, unsigned rwf, int buf_index, const struct cred *cred)
{
	ck_assert_uint_gt(len, 0);
	op->iov = (struct iovec){ buf, len };
	op->offset = offset;
	op->flags = rwf;
	op->buf_index = buf_index;
	op->cred = cred;
	start(op, kind, fd);
}

void ring_read(struct ring *r, struct op *op, int fd, void *buf, uint32_t len, uint64_t offset,
	       unsigned rwf, int buf_index, const struct cred *cred)
{
	(void)r;
	start_rw(op, RING_OP_READ, fd, buf, len, offset, rwf, buf_index, cred);
}

void ring_write(struct ring *r, struct op *op, int fd, const void *buf, uint32_t len,
		uint64_t offset, unsigned rwf, int buf_index, const struct cred *cred)
{
	(void)r;
	start_rw(op, RING_OP_WRITE, fd, (void *)buf, len, offset, rwf, buf_index, cred);
}

void ring_splice_in(struct ring *r, struct op *op, int fd, uint64_t offset, int pipe, uint32_t len)
{
	(void)r;
	op->pipe = pipe;
	start_rw(op, RING_OP_SPLICE_IN, fd, NULL, len, offset, 0, -1, NULL);
}

void ring_splice_write(struct ring *r, struct op *op, int fd, int pipe, uint32_t len,
		       uint64_t offset, const struct cred *cred)
{
	(void)r;
	op->pipe = pipe;
	start_rw(op, RING_OP_SPLICE_WRITE, fd, NULL, len, offset, 0, -1, cred);
}

void ring_fsync(struct ring *r, struct op *op, int fd, bool datasync)
{
	(void)r;
	op->iov = (struct iovec){ NULL, 0 };
	op->offset = 0;
	op->flags = datasync;
	start(op, RING_OP_FSYNC, fd);
}

void ring_post(struct ring *r, struct op *op, int res)
{
	(void)r;
	op->res = res;
	start(op, RING_OP_POSTED, -1);
}

uint64_t ring_batch(void)
{
	return 0;
}

int ring_buffer_register(struct ring *r, unsigned index, void *base, size_t len)
{
	(void)r;
	(void)index;
	(void)base;
	(void)len;
	return -ENOTSUP;
}

static int carry_out(const struct op *op)
{
	int answer = next_answer < nscript ? script[next_answer] : FAKERING_ALL;
	size_t len = op->iov.iov_len;
	off_t offset = (off_t)op->offset;
	ssize_t n = 0;

	if (op->kind == RING_OP_POSTED)
		return op->res;
	next_answer++;
	if (answer < 0)
		return answer;
	if (len > (size_t)answer)
		len = (size_t)answer;
	if (op->kind == RING_OP_READ)
		n = pread(op->fd, op->iov.iov_base, len, (off_t)op->offset);
	else if (op->kind == RING_OP_WRITE)
		n = pwrite(op->fd, op->iov.iov_base, len, (off_t)op->offset);
	else if (op->kind == RING_OP_SPLICE_IN)
		n = splice(op->fd, &offset, op->pipe, NULL, len, SPLICE_F_NONBLOCK);
	else if (op->kind == RING_OP_SPLICE_WRITE)
		n = splice(op->pipe, NULL, op->fd, &offset, len, SPLICE_F_NONBLOCK);
	return n < 0 ? -errno : (int)n;
}

void fakering_run(bool last_first)
{
	while (npending) {
		unsigned i = last_first ? npending - 1 : 0;
		struct op *op = pending[i];
		int res = carry_out(op);

		npending--;
		memmove(&pending[i], &pending[i + 1], (npending - i) * sizeof(pending[0]));
		ck_assert_uint_lt(fakering_calls, CALLS);
		fakering_log[fakering_calls++] = (struct fakering_call){
			op->kind, op->fd,	 op->offset,	   (uint32_t)op->iov.iov_len,
			op->flags, op->buf_index, op->iov.iov_base, op->cred, res,
		};
		op->kind = RING_OP_NONE;
		op->done(op, res, false);
	}
}
