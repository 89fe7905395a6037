/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * READ, WRITE, COMMIT and READ_PLUS: arguments, stateids and results; the data
 * goes the way of NFSv3's (io_call.h, readto.h, core).  All on the worker.
 *
 * A READ at the end of its COMPOUND leaves its data where they were read, to be
 * sent from there; one before other operations, or one whose reply is to be
 * kept in a slot, has them copied into the reply.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/readto.h"
#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v4.h"

/*
 * Bytes before the data: eof and length; READ_PLUS: eof, number of segments, kind, offset, length.
 */
#define READ_HEAD 8
#define PLUS_HEAD 24

static enum req_step_result io_fail(struct req *r, int err)
{
	/* Not to be opened for I/O by its type: 4.0 has no word for it. */
	if (err == -EINVAL && !r->file && v4(r)->minor)
		return v4_over(r, NFS4ERR_WRONG_TYPE);
	return v4_over(r, status_nfs4(err));
}

/*
 * What may fail at once runs as a step, never on the walker's stack: its v4_over() goes on with the
 * COMPOUND, maybe to its end.
 */
static enum req_step_result open_step(struct req *r)
{
	struct io_call *c = io_call(r);

	return io_call_open(r, c->access, c->want, c->go);
}

static enum req_step_result opened_step(struct req *r)
{
	const struct io_call *c = io_call(r);
	const struct state4_open *o = v4(r)->open;

	return io_call_opened(r, c->want, o ? state4_open_uid(o) : STATE4_UIDS, c->go);
}

static uint32_t begin_open(struct req *r, enum file_access a, unsigned want, req_step *go)
{
	struct io_call *c = io_call(r);

	c->access = a;
	c->want = want;
	c->go = go;
	r->step = open_step;
	return V4_STEP;
}

static uint32_t begin_opened(struct req *r, struct file *f, unsigned want, req_step *go)
{
	file_put(r->file);
	r->file = f;
	io_call(r)->want = want;
	io_call(r)->go = go;
	r->step = opened_step;
	return V4_STEP;
}

/*
 * The file for a stateid: that of its open, with the rights the open gave whoever opened it; for a
 * special one as NFSv3 has it.  What the operation answers.
 */
static uint32_t open_for(struct req *r, const stateid4 *id, enum state4_use use, req_step *go)
{
	unsigned want = use == STATE4_WRITE ? IO_CALL_WRITE : IO_CALL_READ | IO_CALL_EXEC;
	struct file *f;
	uint32_t status;

	io_call(r)->fail = io_fail;
	status = state4_io(r, id, use, &f);
	if (status)
		return status;
	if (f)
		return begin_opened(r, f, want, go);
	return begin_open(r, use == STATE4_WRITE ? FILE_WRITE : FILE_READ, want, go);
}

/* --- READ, READ_PLUS ------------------------------------------------------------ */

static uint32_t head_len(const struct v4 *v)
{
	return v->op == OP_READ ? READ_HEAD : PLUS_HEAD;
}

/* What stands before `n` bytes of data, their length included. */
static void put_head(struct req *r, bool eof, uint32_t n)
{
	struct cursor *c = &r->reply;

	cursor_put_bool(c, eof);
	if (v4(r)->op == OP_READ_PLUS) {
		cursor_put_u32(c, n > 0);
		if (!n)
			return;
		cursor_put_u32(c, NFS4_CONTENT_DATA);
		cursor_put_u64(c, io_call(r)->offset);
	}
	cursor_put_u32(c, n);
}

/*
 * The data may follow the reply from where they are: nothing else does, and nobody keeps the reply.
 */
static bool at_end(const struct v4 *v)
{
	return v->at + 1 == v->nops && !v->keep;
}

static uint32_t copy_data(struct req *r)
{
	const struct read_io *io = &r->io.read;
	uint32_t n = (uint32_t)io->io.res, status = v4_room(r, head_len(v4(r)) + ((n + 3) & ~3u));

	if (!status) {
		put_head(r, io->eof, n);
		if (n)
			cursor_put_fixed(&r->reply, io->data, n);
	}
	buf_return(r->data_buf);
	r->data_buf = NULL;
	return status;
}

static enum req_step_result read_reply(struct req *r)
{
	struct read_io *io = &r->io.read;

	if (io->io.res < 0) {
		buf_return(r->data_buf);
		r->data_buf = NULL;
		return io_fail(r, io->io.res);
	}
	if (!at_end(v4(r)))
		return v4_over(r, copy_data(r));
	put_head(r, io->eof, (uint32_t)io->io.res);
	readto_payload(r);
	return v4_over(r, NFS4_OK);
}

static void read_done(struct req *r)
{
	req_resume(r, read_reply);
}

static enum req_step_result read_begin(struct req *r)
{
	struct io_call *c = io_call(r);
	struct v4 *v = v4(r);
	uint32_t room = v4_room_left(r) - head_len(v);

	/* Beyond what a file can have is its end, never an error (clients would retry for ever). */
	if (c->offset > INT64_MAX || !c->count) {
		put_head(r, c->offset >= (uint64_t)c->st.st_size, 0);
		return v4_over(r, NFS4_OK);
	}
	r->io.read.offset = c->offset;
	r->io.read.count = readto_clip(r, c->count);
	if (r->io.read.count > (room & ~3u))
		r->io.read.count = room & ~3u;
	if (!r->io.read.count)
		return v4_over(r, v->to_cache ? NFS4ERR_REP_TOO_BIG_TO_CACHE :
				  v->minor    ? NFS4ERR_REP_TOO_BIG :
						NFS4ERR_RESOURCE);
	if (r->owner->borrows)
		r->owner->borrows(r->owner, r, r->io.read.count);
	return readto_start(r, at_end(v), read_done) ? STEP_WAIT : io_fail(r, -EAGAIN);
}

static uint32_t begin(struct req *r, req_step *go)
{
	struct io_call *c = io_call(r);
	stateid4 id;

	v4_get_stateid(&r->args, &id);
	c->offset = cursor_get_u64(&r->args);
	c->count = cursor_get_u32(&r->args);
	return cursor_ok(&r->args) ? open_for(r, &id, STATE4_READ, go) : NFS4ERR_BADXDR;
}

uint32_t v4_read(struct req *r)
{
	return begin(r, read_begin);
}

/* Where data begin at or behind the offset; -ENXIO: nowhere.  May read the file system's maps. */
static void seek_work(struct req *r)
{
	struct io_call *c = io_call(r);
	off_t at = lseek(r->file->fd, (off_t)c->offset, SEEK_DATA);

	r->err = at < 0 ? -errno : 0;
	c->data_at = at < 0 ? (uint64_t)c->st.st_size : (uint64_t)at;
}

static enum req_step_result sought(struct req *r)
{
	struct io_call *c = io_call(r);
	uint64_t size = (uint64_t)c->st.st_size, end = c->offset + c->count;

	if ((r->err && r->err != -ENXIO) || c->offset >= size || c->data_at <= c->offset)
		return read_begin(r);
	if (end > c->data_at)
		end = c->data_at;
	if (end > size)
		end = size;
	cursor_put_bool(&r->reply, end == size);
	cursor_put_u32(&r->reply, 1);
	cursor_put_u32(&r->reply, NFS4_CONTENT_HOLE);
	cursor_put_u64(&r->reply, c->offset);
	cursor_put_u64(&r->reply, end - c->offset);
	return v4_over(r, NFS4_OK);
}

/*
 * Only a file with fewer blocks than bytes is asked for its holes: others cost no more than READ.
 */
static enum req_step_result plus_begin(struct req *r)
{
	const struct io_call *c = io_call(r);

	if (c->count && c->offset <= INT64_MAX && c->st.st_blocks * 512 < c->st.st_size)
		return req_offload(r, seek_work, sought);
	return read_begin(r);
}

uint32_t v4_read_plus(struct req *r)
{
	return begin(r, plus_begin);
}

/* --- WRITE ----------------------------------------------------------------------- */

static enum req_step_result write_answer(struct req *r, uint32_t n, uint32_t committed,
					 uint64_t verf)
{
	cursor_put_u32(&r->reply, n);
	cursor_put_u32(&r->reply, committed);
	cursor_put_fixed(&r->reply, &verf, sizeof(verf));
	return v4_over(r, NFS4_OK);
}

static enum req_step_result write_reply(struct req *r)
{
	struct write_io *io = &r->io.write;

	/* What stood apart was this one's; a READ behind it may have to wait for a buffer. */
	if (cursor_pos(&r->args) == r->payload_at)
		req_payload_drop(r);
	if (io->io.res < 0)
		return io_fail(r, io->io.res);
	return write_answer(r, (uint32_t)io->io.res, io->committed, io->verf);
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
		return write_answer(r, 0, FILE_SYNC4, verifier_get(req_verifier(r)));
	if (c->offset > INT64_MAX - (uint64_t)c->count)
		return io_fail(r, -EFBIG);
	return io_call_write(r, write_done);
}

uint32_t v4_write(struct req *r)
{
	struct io_call *c = io_call(r);
	stateid4 id;

	v4_get_stateid(&r->args, &id);
	c->offset = cursor_get_u64(&r->args);
	c->stable = cursor_get_u32(&r->args);
	c->count = cursor_get_u32(&r->args);
	if (c->stable > FILE_SYNC4 || !io_call_data(r))
		return NFS4ERR_BADXDR;
	return open_for(r, &id, STATE4_WRITE, write_go);
}

/* --- COMMIT ---------------------------------------------------------------------- */

static enum req_step_result commit_reply(struct req *r)
{
	struct commit_io *io = &r->io.commit;

	if (io->io.res < 0)
		return io_fail(r, io->io.res);
	cursor_put_fixed(&r->reply, &io->verf, sizeof(io->verf));
	return v4_over(r, NFS4_OK);
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

uint32_t v4_commit(struct req *r)
{
	struct io_call *c = io_call(r);
	struct file *f;

	c->offset = cursor_get_u64(&r->args);
	c->count = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	if (c->offset > UINT64_MAX - c->count)
		return NFS4ERR_INVAL;
	c->fail = io_fail;
	/*
	 * No right is needed: it only makes safe what others were
	 * let write.  It may have no name any more.
	 */
	f = state4_file_of(r->env->state, &r->fh, FILE_READ);
	return f ? begin_opened(r, f, 0, commit_go) : begin_open(r, FILE_READ, 0, commit_go);
}
