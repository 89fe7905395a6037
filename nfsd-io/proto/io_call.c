/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/io_call.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "nfsd-io/core/attr.h"
#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/access.h"
#include "nfsd-io/proto/act.h"

static_assert(sizeof(struct io_call) <= sizeof(((struct req *)0)->proc_data),
	      "an I/O call fits its request");

static void permit_work(struct req *r)
{
	struct io_call *c = io_call(r);

	r->err = act_as_caller(r);
	if (!r->err)
		r->err = access_kernel(r->file->path_fd, c->want & IO_CALL_WRITE ? W_OK : R_OK);
	/* What may be run may be read (as knfsd): the client runs it. */
	if (r->err == -EACCES && (c->want & IO_CALL_EXEC))
		r->err = access_kernel(r->file->path_fd, X_OK);
	cred_assume(NULL);
}

static enum req_step_result permitted(struct req *r)
{
	if (r->err)
		return io_call(r)->fail(r, r->err);
	r->step = io_call(r)->go;
	return STEP_MORE;
}

/* Every call without an open asks anew: modes change. */
static enum req_step_result permit(struct req *r)
{
	struct io_call *c = io_call(r);

	if (c->want && r->cred->uid != 0 && r->cred->uid != c->st.st_uid &&
	    r->cred->uid != c->opener) {
		if (attr_acl(r->file))
			return req_offload(r, permit_work, permitted);
		if (!access_mode(&c->st, r->cred, c->want))
			return c->fail(r, -EACCES);
	}
	return permitted(r);
}

static enum req_step_result opened(struct req *r)
{
	struct io_call *c = io_call(r);
	int err = r->err ? r->err : attr_stat(r->file, &c->st);

	if (err)
		return c->fail(r, err);
	if (!c->st.st_nlink) {
		/* Removed behind our back: let its space go. */
		fdcache_forget(r->env->files, &r->fh);
		return c->fail(r, -ESTALE);
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

enum req_step_result io_call_open(struct req *r, enum file_access a, unsigned want, req_step *go)
{
	struct io_call *c = io_call(r);

	c->access = a;
	c->want = want;
	c->opener = UINT32_MAX;
	c->go = go;
	if (r->file && r->file->access < a) {
		file_put(r->file);
		r->file = NULL;
	}
	if (!r->file)
		r->file = fdcache_peek(r->env->files, &r->fh, a);
	r->err = 0;
	if (!r->file || !r->cred)
		return req_offload(r, open_work, opened);
	return opened(r);
}

static void cred_work(struct req *r)
{
	r->err = access_cred(r);
}

static enum req_step_result known(struct req *r)
{
	return r->err ? permitted(r) : permit(r);
}

enum req_step_result io_call_opened(struct req *r, unsigned want, uint32_t opener, req_step *go)
{
	struct io_call *c = io_call(r);

	c->want = want;
	c->opener = opener;
	c->go = go;
	r->err = attr_stat(r->file, &c->st);
	if (r->err)
		return c->fail(r, r->err);
	c->have_st = true;
	return r->cred ? permit(r) : req_offload(r, cred_work, known);
}

static void begin(struct req *r, struct io *io, void (*done)(struct io *io))
{
	*io = (struct io){
		.ring = r->ring, .file = r->file, .verifier = req_verifier(r), .done = done};
	r->inflight++;
}

static void from_memory(struct req *r, struct buf *b)
{
	struct write_io *io = &r->io.write;
	int err = req_payload_unpipe(r, b, io->offset);

	io->pipe = NULL;
	io->data = r->payload_data;
	io->buf = r->payload;
	if (!err) {
		write_start(io);
		return;
	}
	io->io.res = err;
	io_call(r)->written(&io->io);
}

static void borrowed(struct pool_waiter *w, struct buf *b)
{
	from_memory(container_of(w, struct req, waiter), b);
}

static void wrote(struct io *io)
{
	struct req *r = container_of(io, struct req, io.write.io);
	struct write_io *w = &r->io.write;
	struct buf *b;

	if (r->owner->wrote)
		r->owner->wrote(r->owner, w);
	if (!w->needs_buf) {
		io_call(r)->written(io);
		return;
	}
	r->waiter.ready = borrowed;
	b = pool_borrow_or_wait(r->pool, w->count + w->offset % 4096, &r->waiter);
	if (b)
		from_memory(r, b);
}

enum req_step_result io_call_write(struct req *r, void (*done)(struct io *io))
{
	struct io_call *c = io_call(r);
	struct write_io *io = &r->io.write;

	begin(r, &io->io, wrote);
	c->written = done;
	/* As the caller, so that set-id bits go and quotas count. */
	io->io.cred = r->cred;
	io->offset = c->offset;
	io->count = c->count;
	io->pipe = c->data ? NULL : r->payload_pipe;
	io->data = c->data;
	io->buf = c->data == r->payload_data ? r->payload : NULL;
	io->stable = (enum io_stable)c->stable;
	write_start(io);
	return STEP_WAIT;
}

enum req_step_result io_call_commit(struct req *r, void (*done)(struct io *io))
{
	struct io_call *c = io_call(r);
	struct commit_io *io = &r->io.commit;

	begin(r, &io->io, done);
	io->offset = c->offset;
	io->count = c->count;
	commit_start(io);
	return STEP_WAIT;
}

bool io_call_data(struct req *r)
{
	struct io_call *c = io_call(r);

	if (!cursor_ok(&r->args))
		return false;
	if (req_payload_apart(r) && cursor_pos(&r->args) == r->payload_at) {
		c->data = r->payload_data;
		/* What was more than a WRITE may have is not there: a short write. */
		if (c->count > r->payload_len && r->payload_len == r->env->max_write)
			c->count = r->payload_len;
		return r->payload_len == c->count;
	}
	c->data = cursor_get_fixed(&r->args, c->count);
	return cursor_ok(&r->args);
}

const struct stat *io_call_after(struct req *r, const struct io *io)
{
	struct io_call *c = io_call(r);

	if (io->have_st)
		c->st = io->st;
	else
		c->have_st = !attr_stat(r->file, &c->st);
	return c->have_st ? &c->st : NULL;
}
