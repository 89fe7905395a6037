/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * READ, WRITE, COMMIT: arguments and results; the rest is io_call.h's and core's.
 */
#include <errno.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/io_call.h"
#include "nfsd-io/proto/readto.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v3.h"

/* --- buffers --- */

static void borrowed(struct pool_waiter *w, struct buf *b)
{
	struct req *r = container_of(w, struct req, waiter);

	r->data_buf = b;
	r->inflight--;
	req_resume(r, r->step);
}

enum req_step_result v3_borrow(struct req *r, size_t size, req_step *next)
{
	r->step = next;
	r->waiter.ready = borrowed;
	r->data_buf = pool_borrow_or_wait(r->pool, size, &r->waiter);
	if (r->data_buf)
		return STEP_MORE;
	r->inflight++;
	return STEP_WAIT;
}

static enum req_step_result io_fail(struct req *r, int err)
{
	struct io_call *c = io_call(r);
	const struct stat *st = c->have_st ? &c->st : NULL;

	v3_reply_status(r, status_nfs3(err, r->hdr.proc), 0);
	if (r->hdr.proc == NFSPROC3_READ)
		v3_put_post(&r->reply, r->export->root, st);
	else
		v3_put_wcc(&r->reply, r->export->root, st);
	return STEP_REPLY;
}

/* --- READ --- */

static enum req_step_result read_answer(struct req *r, const struct stat *st, uint32_t n, bool eof)
{
	v3_reply_status(r, NFS3_OK, 0);
	v3_put_post(&r->reply, r->export->root, st);
	cursor_put_u32(&r->reply, n);
	cursor_put_bool(&r->reply, eof);
	cursor_put_u32(&r->reply, n);
	return STEP_REPLY;
}

static enum req_step_result read_reply(struct req *r)
{
	struct read_io *io = &r->io.read;
	const struct stat *st = io_call_after(r, &io->io);

	if (io->io.res < 0)
		return io_fail(r, io->io.res);
	read_answer(r, st, (uint32_t)io->io.res, io->eof);
	readto_payload(r);
	return STEP_REPLY;
}

static void read_done(struct req *r)
{
	req_resume(r, read_reply);
}

static enum req_step_result read_begin(struct req *r)
{
	struct io_call *c = io_call(r);

	/* Beyond what a file can have is its end, never an error (clients would retry for ever). */
	if (c->offset > INT64_MAX || !c->count)
		return read_answer(r, &c->st, 0, c->offset >= (uint64_t)c->st.st_size);
	r->io.read.offset = c->offset;
	r->io.read.count = readto_clip(r, c->count);
	return readto_start(r, true, read_done) ? STEP_WAIT : io_fail(r, -EAGAIN);
}

enum req_step_result v3_read(struct req *r)
{
	struct io_call *c = io_call(r);
	enum req_step_result res;
	uint32_t len;
	const uint8_t *fh = v3_get_fh(&r->args, &len);

	c->fail = io_fail;
	c->offset = cursor_get_u64(&r->args);
	c->count = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return req_garbage(r);
	res = v3_enter(r, fh, len, false, 1);
	return res == STEP_MORE
		       ? io_call_open(r, FILE_READ, IO_CALL_READ | IO_CALL_EXEC, read_begin)
		       : res;
}

/* --- WRITE --- */

static enum req_step_result write_answer(struct req *r, const struct stat *st, uint32_t n,
					 uint32_t committed, uint64_t verf)
{
	v3_reply_status(r, NFS3_OK, 0);
	v3_put_wcc(&r->reply, r->export->root, st);
	cursor_put_u32(&r->reply, n);
	cursor_put_u32(&r->reply, committed);
	cursor_put_fixed(&r->reply, &verf, sizeof(verf));
	return STEP_REPLY;
}

static enum req_step_result write_reply(struct req *r)
{
	struct write_io *io = &r->io.write;
	const struct stat *st = io_call_after(r, &io->io);

	if (io->io.res < 0)
		return io_fail(r, io->io.res);
	return write_answer(r, st, (uint32_t)io->io.res, io->committed, io->verf);
}

static void write_done(struct io *io)
{
	struct req *r = container_of(io, struct req, io.write.io);

	r->inflight--;
	req_resume(r, write_reply);
}

static enum req_step_result write_go(struct req *r)
{
	struct io_call *c = io_call(r);

	if (!c->count) /* no data, no change, not even of mtime */
		return write_answer(r, &c->st, 0, FILE_SYNC, verifier_get(req_verifier(r)));
	if (c->offset > INT64_MAX - (uint64_t)c->count)
		return io_fail(r, -EFBIG);
	return io_call_write(r, write_done);
}

enum req_step_result v3_write(struct req *r)
{
	struct io_call *c = io_call(r);
	enum req_step_result res;
	uint32_t len;
	const uint8_t *fh = v3_get_fh(&r->args, &len);

	c->fail = io_fail;
	c->offset = cursor_get_u64(&r->args);
	c->count = cursor_get_u32(&r->args);
	c->stable = cursor_get_u32(&r->args);
	if (c->stable > FILE_SYNC || cursor_get_u32(&r->args) != c->count || !io_call_data(r))
		return req_garbage(r);
	res = v3_enter(r, fh, len, true, 2);
	return res == STEP_MORE ? io_call_open(r, FILE_WRITE, IO_CALL_WRITE, write_go) : res;
}

/* --- COMMIT --- */

static enum req_step_result commit_reply(struct req *r)
{
	struct commit_io *io = &r->io.commit;
	const struct stat *st = io_call_after(r, &io->io);

	if (io->io.res < 0)
		return io_fail(r, io->io.res);
	v3_reply_status(r, NFS3_OK, 0);
	v3_put_wcc(&r->reply, r->export->root, st);
	cursor_put_fixed(&r->reply, &io->verf, sizeof(io->verf));
	return STEP_REPLY;
}

static void commit_done(struct io *io)
{
	struct req *r = container_of(io, struct req, io.commit.io);

	r->inflight--;
	req_resume(r, commit_reply);
}

static enum req_step_result commit_go(struct req *r)
{
	return io_call_commit(r, commit_done);
}

enum req_step_result v3_commit(struct req *r)
{
	struct io_call *c = io_call(r);
	enum req_step_result res;
	uint32_t len;
	const uint8_t *fh = v3_get_fh(&r->args, &len);

	c->fail = io_fail;
	c->offset = cursor_get_u64(&r->args);
	c->count = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return req_garbage(r);
	/* No right is needed: it only makes safe what others were let write. */
	res = v3_enter(r, fh, len, false, 2);
	return res == STEP_MORE ? io_call_open(r, FILE_READ, 0, commit_go) : res;
}
