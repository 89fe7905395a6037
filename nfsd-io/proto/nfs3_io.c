/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * READ, WRITE, COMMIT: the hot path.  With the file in the cache and no ACL on
 * it everything up to the I/O happens on the worker.
 */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "nfsd-io/proto/readto.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v3.h"

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define ACL_XATTR "system.posix_acl_access"
#define MAY_READ 4u
#define MAY_WRITE 2u
#define MAY_EXEC 1u

struct io_call {
	uint64_t offset;
	uint32_t count, stable;
	const uint8_t *data; /* WRITE */
	unsigned want;       /* permission bits, any of which will do; 0: none needed */
	enum file_access access;
	req_step *go; /* runs when the file is open and the caller may */
	bool have_st;
	struct stat st;
};
static_assert(sizeof(struct io_call) <= sizeof(((struct req *)0)->proc_data),
	      "an I/O call fits its request");

static struct io_call *io_call(struct req *r)
{
	return (struct io_call *)&r->proc_data;
}

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

/* --- open and permission --- */

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

static void permit_work(struct req *r)
{
	struct io_call *c = io_call(r);

	r->err = act_as_caller(r);
	if (!r->err)
		r->err = access_kernel(r->file->path_fd, c->want & MAY_WRITE ? W_OK : R_OK);
	/* What may be run may be read (as knfsd): the client runs it. */
	if (r->err == -EACCES && (c->want & MAY_EXEC))
		r->err = access_kernel(r->file->path_fd, X_OK);
	cred_assume(NULL);
}

static enum req_step_result permitted(struct req *r)
{
	if (r->err)
		return io_fail(r, r->err);
	r->step = io_call(r)->go;
	return STEP_MORE;
}

/* Every call asks anew: v3 has no open, and modes change. */
static enum req_step_result permit(struct req *r)
{
	struct io_call *c = io_call(r);

	if (c->want && r->cred->uid != 0 && r->cred->uid != c->st.st_uid) {
		if (fgetxattr(r->file->fd, ACL_XATTR, NULL, 0) > 0)
			return req_offload(r, permit_work, permitted);
		if (!access_mode(&c->st, r->cred, c->want))
			return io_fail(r, -EACCES);
	}
	return permitted(r);
}

static enum req_step_result opened(struct req *r)
{
	struct io_call *c = io_call(r);

	if (r->err)
		return io_fail(r, r->err);
	if (fstat(r->file->fd, &c->st))
		return io_fail(r, -errno);
	if (!c->st.st_nlink) {
		/* Removed behind our back: let its space go. */
		fdcache_forget(r->env->files, &r->fh);
		return io_fail(r, -ESTALE);
	}
	c->have_st = true;
	return permit(r);
}

static void open_work(struct req *r)
{
	r->err = access_cred(r);
	if (!r->err && !r->file)
		r->err = fdcache_open(r->env->files, r->export->root, &r->fh, &r->parts,
				      io_call(r)->access, &r->file);
}

static enum req_step_result open_file(struct req *r, enum file_access a, unsigned want,
				      req_step *go)
{
	struct io_call *c = io_call(r);

	c->access = a;
	c->want = want;
	c->go = go;
	r->file = fdcache_peek(r->env->files, &r->fh, a);
	if (!r->file || !r->cred)
		return req_offload(r, open_work, opened);
	return opened(r);
}

static void io_begin(struct req *r, struct io *io, void (*done)(struct io *io))
{
	*io = (struct io){
		.ring = r->ring, .file = r->file, .verifier = req_verifier(r), .done = done};
	r->inflight++;
}

/* The file after the operation. */
static const struct stat *io_after(struct req *r, const struct io *io)
{
	struct io_call *c = io_call(r);

	if (io->have_st)
		c->st = io->st;
	else
		c->have_st = !fstat(r->file->fd, &c->st);
	return c->have_st ? &c->st : NULL;
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
	const struct stat *st = io_after(r, &io->io);

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
	readto_start(r, true, read_done);
	return STEP_WAIT;
}

enum req_step_result v3_read(struct req *r)
{
	struct io_call *c = io_call(r);
	enum req_step_result res;
	uint32_t len;
	const uint8_t *fh = v3_get_fh(&r->args, &len);

	c->offset = cursor_get_u64(&r->args);
	c->count = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return req_garbage(r);
	res = v3_enter(r, fh, len, false, 1);
	return res == STEP_MORE ? open_file(r, FILE_READ, MAY_READ | MAY_EXEC, read_begin) : res;
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
	const struct stat *st = io_after(r, &io->io);

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
	struct write_io *io = &r->io.write;

	if (!c->count) /* no data, no change, not even of mtime */
		return write_answer(r, &c->st, 0, FILE_SYNC, verifier_get(req_verifier(r)));
	if (c->offset > INT64_MAX - (uint64_t)c->count)
		return io_fail(r, -EFBIG);
	io_begin(r, &io->io, write_done);
	/* As the caller, so that set-id bits go and quotas count. */
	io->io.cred = r->cred;
	io->offset = c->offset;
	io->count = c->count;
	io->data = c->data;
	io->buf = r->payload;
	io->stable = (enum io_stable)c->stable;
	write_start(io);
	return STEP_WAIT;
}

/*
 * The opaque data: received apart by the connection, or still in the call.  False: not what was
 * promised.
 */
static bool write_data(struct req *r)
{
	struct io_call *c = io_call(r);
	uint32_t len = cursor_get_u32(&r->args);

	if (!cursor_ok(&r->args) || len != c->count)
		return false;
	if (r->payload) {
		c->data = r->payload_data;
		return r->payload_len == len;
	}
	c->data = cursor_get_fixed(&r->args, len);
	return cursor_ok(&r->args);
}

enum req_step_result v3_write(struct req *r)
{
	struct io_call *c = io_call(r);
	enum req_step_result res;
	uint32_t len;
	const uint8_t *fh = v3_get_fh(&r->args, &len);

	c->offset = cursor_get_u64(&r->args);
	c->count = cursor_get_u32(&r->args);
	c->stable = cursor_get_u32(&r->args);
	if (c->stable > FILE_SYNC || !write_data(r))
		return req_garbage(r);
	res = v3_enter(r, fh, len, true, 2);
	return res == STEP_MORE ? open_file(r, FILE_WRITE, MAY_WRITE, write_go) : res;
}

/* --- COMMIT --- */

static enum req_step_result commit_reply(struct req *r)
{
	struct commit_io *io = &r->io.commit;
	const struct stat *st = io_after(r, &io->io);

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
	struct io_call *c = io_call(r);
	struct commit_io *io = &r->io.commit;

	io_begin(r, &io->io, commit_done);
	io->offset = c->offset;
	io->count = c->count;
	commit_start(io);
	return STEP_WAIT;
}

enum req_step_result v3_commit(struct req *r)
{
	struct io_call *c = io_call(r);
	enum req_step_result res;
	uint32_t len;
	const uint8_t *fh = v3_get_fh(&r->args, &len);

	c->offset = cursor_get_u64(&r->args);
	c->count = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return req_garbage(r);
	/* No right is needed: it only makes safe what others were let write. */
	res = v3_enter(r, fh, len, false, 2);
	return res == STEP_MORE ? open_file(r, FILE_READ, 0, commit_go) : res;
}
