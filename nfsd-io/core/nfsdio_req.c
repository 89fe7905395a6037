/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/core/cred.h"
#include "nfsd-io/core/io_int.h"
#include "nfsd-io/core/nfsdio_int.h"

/* One operation, from the call to its callback. */
struct nfsdio_req {
	struct nfsdio_req *next;
	struct nfsdio_file *f;
	struct nfsdio_lane *lane; /* NULL: the caller's own thread */
	struct op arrive;	  /* brings it to the lane's thread */
	bool over;		  /* on the caller's thread: all is done but to say so */
	struct pool_waiter waiter;
	struct buf in_place; /* the caller's memory, dressed as a buffer */
	struct buf *buf;     /* borrowed, or NULL */
	void *mem;	     /* the caller's, in one piece; NULL: iov */
	const struct iovec *iov;
	int iovcnt;
	uint32_t count;
	struct cred *cred; /* counted, or NULL */
	nfsdio_done *done;
	void *arg;
	enum { REQ_READ, REQ_WRITE, REQ_COMMIT } what;
	union {
		struct io io;
		struct read_io read;
		struct write_io write;
		struct commit_io commit;
	};
};

static struct nfsdio_req *req_of_io(struct io *io)
{
	return container_of(io, struct nfsdio_req, io);
}

static void pump(struct nfsdio_lane *l);

void nfsdio_req_drop(struct nfsdio *n)
{
	struct nfsdio_req *r;

	while ((r = n->spare)) {
		n->spare = r->next;
		free(r);
	}
}

static void fill_result(const struct nfsdio_req *r, struct nfsdio_result *out)
{
	*out = (struct nfsdio_result){
		.res = r->io.res,
		.st = r->io.have_st ? &r->io.st : NULL,
		.decision = r->what == REQ_COMMIT ? "" : dio_disposition_name(r->io.plan.why),
	};
	if (r->what == REQ_READ)
		out->eof = r->read.eof;
	else
		out->verifier = r->what == REQ_WRITE ? r->write.verf : r->commit.verf;
	if (r->what == REQ_WRITE)
		out->committed = (enum nfsdio_stable)r->write.committed;
}

/* Bytes read go out to the caller's memory... */
static void scatter(const struct nfsdio_req *r, const uint8_t *from, size_t len)
{
	for (int i = 0; i < r->iovcnt && len; i++) {
		size_t n = r->iov[i].iov_len < len ? r->iov[i].iov_len : len;

		memcpy(r->iov[i].iov_base, from, n);
		from += n;
		len -= n;
	}
	if (r->mem)
		memcpy(r->mem, from, len);
}

/* ...and those to write come in. */
static void gather(const struct nfsdio_req *r, uint8_t *to)
{
	for (int i = 0; i < r->iovcnt; i++) {
		memcpy(to, r->iov[i].iov_base, r->iov[i].iov_len);
		to += r->iov[i].iov_len;
	}
	if (r->mem)
		memcpy(to, r->mem, r->count);
}

static void put_back(struct nfsdio *n, struct nfsdio_req *r)
{
	pthread_mutex_lock(&n->lock);
	r->next = n->spare;
	n->spare = r;
	if (--n->inflight == 0)
		pthread_cond_broadcast(&n->idle);
	pthread_mutex_unlock(&n->lock);
}

static void tell(struct nfsdio_req *r)
{
	struct nfsdio_result result;

	cred_put(r->cred);
	fill_result(r, &result);
	/* Before the callback, so that it may close the file. */
	atomic_fetch_sub(&r->f->busy, 1);
	r->done(r->arg, &result);
}

static void on_io(struct io *io)
{
	struct nfsdio_req *r = req_of_io(io);
	struct nfsdio_lane *l = r->lane;

	if (r->what == REQ_READ && io->res > 0 && r->read.data != r->mem)
		scatter(r, r->read.data, (size_t)io->res);
	if (!l) {
		r->over = true;
		return;
	}
	buf_return(r->buf);
	l->bytes -= r->count;
	tell(r);
	pump(l);
	put_back(l->n, r);
}

/* `b` NULL: in place. */
static void begin_with(struct nfsdio_req *r, struct buf *b)
{
	r->buf = b;
	if (!b)
		r->in_place = (struct buf){ .base = r->mem, .size = r->count, .index = -1 };
	if (r->what == REQ_READ) {
		r->read.buf = b ? b : &r->in_place;
		read_start(&r->read);
		return;
	}
	r->write.buf = b;
	r->write.data = r->mem;
	if (b) {
		r->write.data = b->base + r->write.offset % (uint64_t)sysconf(_SC_PAGESIZE);
		gather(r, (uint8_t *)r->write.data);
	}
	write_start(&r->write);
}

static void on_buffer(struct pool_waiter *w, struct buf *b)
{
	begin_with(container_of(w, struct nfsdio_req, waiter), b);
}

/*
 * May the caller's memory be used as it is, whatever the plan turns out to be?  Direct I/O wants
 * it aligned as the device says (512 bytes, or 4): what is cut off in front of a middle is cut at
 * a multiple of that, so that memory and offset need only agree there.
 */
static bool in_place(const struct nfsdio_req *r)
{
	const struct file *f = &r->f->file;
	const struct root_io *io = &r->f->root.io;
	uint32_t mem = atomic_load(&f->mem_align), block = atomic_load(&f->read_align);

	if (r->iovcnt)
		return false;
	block = block ? block : atomic_load(&f->offset_align);
	if ((r->what == REQ_WRITE ? io->write_mode : io->read_mode) != DIO_MODE_DIRECT ||
	    f->dio_fd < 0 || !mem || !block)
		return true;
	if (r->what == REQ_WRITE)
		return ((uintptr_t)r->mem - r->write.offset) % mem == 0;
	return !((uintptr_t)r->mem % mem || r->count % block || r->read.offset % block);
}

static void begin(struct nfsdio_req *r)
{
	struct buf *b;

	r->io.ring = r->lane->ring;
	if (r->what == REQ_COMMIT) {
		commit_start(&r->commit);
	} else if (in_place(r)) {
		begin_with(r, NULL);
	} else {
		r->waiter.ready = on_buffer;
		b = pool_borrow_or_wait(r->lane->pool, read_space(r->count), &r->waiter);
		if (b)
			begin_with(r, b);
	}
}

/* Begin what waits, as far as the budget goes; one operation always may. */
static void pump(struct nfsdio_lane *l)
{
	struct nfsdio_req *r;

	while ((r = l->queue) && (!l->bytes || l->bytes + r->count <= l->n->p.max_bytes)) {
		l->queue = r->next;
		if (!l->queue)
			l->tail = &l->queue;
		l->bytes += r->count;
		begin(r);
	}
}

static void on_arrive(struct op *op, int res, bool more)
{
	struct nfsdio_req *r = container_of(op, struct nfsdio_req, arrive);
	struct nfsdio_lane *l = r->lane;

	(void)res;
	(void)more;
	r->next = NULL;
	*l->tail = r;
	l->tail = &r->next;
	pump(l);
}

/*
 * On this thread, from beginning to end.  The seat is left, and the server's own identity taken on
 * again, before the callback, which may start something else.
 */
static int carry_out(struct nfsdio *n, struct nfsdio_req *r)
{
	struct nfsdio_seat *s = nfsdio_seat_take(n, r->count);
	struct buf *b;
	int ret = 0;

	if (!s)
		return -ENOMEM;
	r->io.ring = s->ring;
	if (r->what == REQ_COMMIT) {
		commit_start(&r->commit);
	} else if (in_place(r)) {
		begin_with(r, NULL);
	} else if ((b = nfsdio_seat_buf(n, s))) {
		begin_with(r, b);
	} else {
		ret = -ENOMEM;
	}
	while (ret == 0 && !r->over)
		ring_turn(s->ring);
	cred_assume(NULL);
	nfsdio_seat_leave(n, s, r->count);
	return ret;
}

/*
 * A WRITE that is cut waits between its pieces for those of its neighbours, one that makes the file
 * longer for the one before it: a thread with a ring does that for many at once without sleeping.
 */
static bool would_wait(struct nfsdio_req *r)
{
	uint64_t end = r->write.offset + r->count;
	const void *phase = (const void *)(uintptr_t)(r->write.offset % 4096);

	if (r->what != REQ_WRITE)
		return false;
	io_plan(&r->io, DIO_WRITE, r->write.offset, r->count, in_place(r) ? r->mem : phase, 0);
	return r->io.plan.nsegs > 1 ||
	       (r->io.plan.nsegs && r->io.plan.seg[0].kind == DIO_DIRECT &&
		end > reach_known(&r->f->file.reach));
}

/*
 * NULL: the caller's own thread; but never that of a lane, whose callback may start more: others
 * wait for what it has in flight.
 */
static struct nfsdio_lane *lane_for(struct nfsdio_req *r)
{
	struct nfsdio *n = r->f->n;

	if (!n->nlanes ||
	    (n->p.engine == NFSDIO_ENGINE_MIXED && !nfsdio_own_lane && !would_wait(r)))
		return NULL;
	if (r->what != REQ_COMMIT)
		atomic_fetch_add(&r->f->handed[r->what == REQ_WRITE], 1);
	return &n->lane[atomic_fetch_add(&n->next_lane, 1) % n->nlanes];
}

/* 0, and the callback is called; or -errno, and it never is. */
static int launch(struct nfsdio_req *r)
{
	struct nfsdio_file *f = r->f;
	struct nfsdio *n = f->n;
	int ret;

	r->lane = lane_for(r);
	if (r->lane) {
		ring_post(r->lane->ring, &r->arrive, 0);
		return 0;
	}
	ret = carry_out(n, r);
	if (ret == 0) {
		tell(r);
	} else {
		cred_put(r->cred);
		atomic_fetch_sub(&f->busy, 1);
	}
	put_back(n, r);
	return ret;
}

static struct nfsdio_req *req_get(struct nfsdio *n)
{
	struct nfsdio_req *r;

	pthread_mutex_lock(&n->lock);
	r = n->spare;
	if (r)
		n->spare = r->next;
	else
		r = malloc(sizeof(*r));
	if (r)
		n->inflight++;
	pthread_mutex_unlock(&n->lock);
	if (r)
		memset(r, 0, sizeof(*r));
	return r;
}

static struct nfsdio_req *req_new(struct nfsdio_file *f, uint32_t count, nfsdio_done *done,
				  void *arg)
{
	struct nfsdio *n = f->n;
	struct nfsdio_req *r = req_get(n);

	if (!r)
		return NULL;
	atomic_fetch_add(&f->busy, 1);
	r->f = f;
	r->count = count;
	r->done = done;
	r->arg = arg;
	r->io.file = &f->file;
	r->io.verifier = &n->verifier;
	r->io.done = on_io;
	r->arrive.done = on_arrive;
	return r;
}

/* Bytes of all pieces, or -EINVAL. */
static int64_t iov_count(const struct nfsdio *n, const struct iovec *iov, int iovcnt)
{
	uint64_t count = 0;

	if (iovcnt < 0 || iovcnt > IOV_MAX)
		return -EINVAL;
	for (int i = 0; i < iovcnt; i++) {
		if (iov[i].iov_len > n->p.max_io)
			return -EINVAL;
		count += iov[i].iov_len;
	}
	return count > n->p.max_io ? -EINVAL : (int64_t)count;
}

static void set_memory(struct nfsdio_req *r, const struct iovec *iov, int iovcnt)
{
	if (iovcnt == 1) {
		r->mem = iov[0].iov_base;
		return;
	}
	r->iov = iov;
	r->iovcnt = iovcnt;
}

int nfsdio_readv(struct nfsdio_file *f, const struct iovec *iov, int iovcnt, uint64_t offset,
		 nfsdio_done *done, void *arg)
{
	int64_t count = iov_count(f->n, iov, iovcnt);
	struct nfsdio_req *r;

	if (count < 0 || offset > INT64_MAX)
		return -EINVAL;
	r = req_new(f, (uint32_t)count, done, arg);
	if (!r)
		return -ENOMEM;
	r->what = REQ_READ;
	set_memory(r, iov, iovcnt);
	r->read.offset = offset;
	r->read.count = r->count;
	return launch(r);
}

int nfsdio_writev(struct nfsdio_file *f, const struct iovec *iov, int iovcnt, uint64_t offset,
		  enum nfsdio_stable stable, const struct nfsdio_cred *cred, nfsdio_done *done,
		  void *arg)
{
	int64_t count = iov_count(f->n, iov, iovcnt);
	struct nfsdio_req *r;

	if (count < 0 || offset > INT64_MAX || stable > NFSDIO_FILE_SYNC)
		return -EINVAL;
	r = req_new(f, (uint32_t)count, done, arg);
	if (!r)
		return -ENOMEM;
	r->what = REQ_WRITE;
	set_memory(r, iov, iovcnt);
	r->cred = cred ? cred_get((struct cred *)cred) : NULL;
	r->io.cred = r->cred;
	r->write.offset = offset;
	r->write.count = r->count;
	r->write.stable = (enum io_stable)stable;
	return launch(r);
}

int nfsdio_read(struct nfsdio_file *f, void *buf, uint32_t count, uint64_t offset,
		nfsdio_done *done, void *arg)
{
	const struct iovec iov = { buf, count };

	return nfsdio_readv(f, &iov, 1, offset, done, arg);
}

int nfsdio_write(struct nfsdio_file *f, const void *buf, uint32_t count, uint64_t offset,
		 enum nfsdio_stable stable, nfsdio_done *done, void *arg)
{
	const struct iovec iov = { (void *)buf, count };

	return nfsdio_writev(f, &iov, 1, offset, stable, NULL, done, arg);
}

int nfsdio_commit(struct nfsdio_file *f, uint64_t offset, uint32_t count, nfsdio_done *done,
		  void *arg)
{
	struct nfsdio_req *r = req_new(f, 0, done, arg);

	if (!r)
		return -ENOMEM;
	r->what = REQ_COMMIT;
	r->commit.offset = offset;
	r->commit.count = count;
	return launch(r);
}
