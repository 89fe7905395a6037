/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/ring.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nfsd-io/core/ring_int.h"

int ring_init(struct ring *r, const struct ring_engine_ops *engine)
{
	r->engine = engine;
	r->owner = pthread_self();
	r->ready_tail = &r->ready;
	r->event_fd = eventfd(0, EFD_CLOEXEC);
	return r->event_fd < 0 ? -errno : 0;
}

void ring_fini(struct ring *r)
{
	/* A poster may still be between its push, already delivered, and its wake-up call. */
	while (atomic_load(&r->posting))
		sched_yield();
	close(r->event_fd);
}

int ring_new(struct ring **out, const struct ring_params *p)
{
	char why[sizeof((*out)->why)] = "asked for";
	int ret = -ENOTSUP;

	if (p->engine == RING_INLINE)
		ret = ring_inline_new(out);
	else if (p->engine != RING_THREADS)
		ret = ring_uring_new(out, p, why, sizeof(why));
	if (ret < 0 && p->engine != RING_IO_URING && p->engine != RING_INLINE)
		ret = ring_threads_new(out, p);
	if (ret == 0)
		memcpy((*out)->why, why, sizeof(why));
	return ret;
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	assert(ring_inflight(r) == 0);
	r->engine->free(r);
}

const char *ring_engine_name(const struct ring *r)
{
	return r->engine->name;
}

const char *ring_engine_why(const struct ring *r)
{
	return r->why;
}

int ring_unbound(const struct ring *r)
{
	return r->unbound;
}

unsigned ring_inflight(const struct ring *r)
{
	return r->inflight + (atomic_load(&r->posted) != NULL);
}

static void start(struct ring *r, struct op *op, enum op_kind kind, int fd)
{
	assert(op->kind == RING_OP_NONE && op->done);
	op->kind = kind;
	op->fd = fd;
	op->cancelled = false;
	op->more = op->ended = op->copied = false;
	op->engine = NULL;
	r->inflight++;
	r->engine->start(r, op);
}

static void start_rw(struct ring *r, struct op *op, enum op_kind kind, int fd, struct iovec iov,
		     uint64_t offset, unsigned rwf, int buf_index, const struct cred *cred)
{
	op->iov = iov;
	op->offset = offset;
	op->flags = rwf;
	op->buf_index = buf_index;
	op->cred = cred;
	start(r, op, kind, fd);
}

void ring_read(struct ring *r, struct op *op, int fd, void *buf, uint32_t len, uint64_t offset,
	       unsigned rwf, int buf_index, const struct cred *cred)
{
	start_rw(r, op, RING_OP_READ, fd, (struct iovec){ buf, len }, offset, rwf, buf_index, cred);
}

void ring_write(struct ring *r, struct op *op, int fd, const void *buf, uint32_t len,
		uint64_t offset, unsigned rwf, int buf_index, const struct cred *cred)
{
	start_rw(r, op, RING_OP_WRITE, fd, (struct iovec){(void *)buf, len}, offset, rwf, buf_index,
		 cred);
}

void ring_fsync(struct ring *r, struct op *op, int fd, bool datasync)
{
	op->flags = datasync;
	op->cred = NULL;
	start(r, op, RING_OP_FSYNC, fd);
}

void ring_accept(struct ring *r, struct op *op, int fd)
{
	start(r, op, RING_OP_ACCEPT, fd);
}

void ring_recv(struct ring *r, struct op *op, int fd, void *buf, size_t len, int flags)
{
	op->iov = (struct iovec){ buf, len };
	op->flags = (unsigned)flags;
	start(r, op, RING_OP_RECV, fd);
}

void ring_sendmsg(struct ring *r, struct op *op, int fd, const struct msghdr *msg, int flags)
{
	op->msg = msg;
	op->flags = (unsigned)flags;
	start(r, op, RING_OP_SENDMSG, fd);
}

void ring_splice_in(struct ring *r, struct op *op, int fd, uint64_t offset, int pipe, uint32_t len)
{
	op->iov = (struct iovec){ NULL, len };
	op->offset = offset;
	op->pipe = pipe;
	op->cred = NULL;
	start(r, op, RING_OP_SPLICE_IN, fd);
}

void ring_splice_out(struct ring *r, struct op *op, int fd, const struct msghdr *msg, int pipe,
		     uint32_t len, bool more)
{
	op->msg = msg;
	op->iov = (struct iovec){ NULL, len };
	op->pipe = pipe;
	op->flags = more;
	start(r, op, RING_OP_SPLICE_OUT, fd);
}

void ring_splice_recv(struct ring *r, struct op *op, int fd, int pipe, uint32_t len)
{
	op->iov = (struct iovec){ NULL, len };
	op->pipe = pipe;
	start(r, op, RING_OP_SPLICE_RECV, fd);
}

void ring_splice_write(struct ring *r, struct op *op, int fd, int pipe, uint32_t len,
		       uint64_t offset, const struct cred *cred)
{
	op->pipe = pipe;
	start_rw(r, op, RING_OP_SPLICE_WRITE, fd, (struct iovec){ NULL, len }, offset, 0, -1, cred);
}

void ring_send_zc(struct ring *r, struct op *op, int fd, const void *buf, size_t len, int flags,
		  int buf_index)
{
	op->iov = (struct iovec){ (void *)buf, len };
	op->flags = (unsigned)flags;
	op->buf_index = buf_index;
	start(r, op, RING_OP_SEND_ZC, fd);
}

bool ring_zerocopy(const struct ring *r)
{
	return r->zerocopy;
}

bool ring_nonblock(const struct ring *r)
{
	return r->nonblock;
}

void ring_poll(struct ring *r, struct op *op, int fd, unsigned mask)
{
	op->flags = mask;
	start(r, op, RING_OP_POLL, fd);
}

void ring_timeout(struct ring *r, struct op *op, uint64_t ns)
{
	op->ts.tv_sec = (time_t)(ns / 1000000000u);
	op->ts.tv_nsec = (long)(ns % 1000000000u);
	start(r, op, RING_OP_TIMEOUT, -1);
}

void ring_cancel(struct ring *r, struct op *op)
{
	if (op->kind == RING_OP_NONE || op->kind == RING_OP_POSTED || op->cancelled)
		return;
	op->cancelled = true;
	r->engine->cancel(r, op);
}

int ring_buffer_register(struct ring *r, unsigned index, void *base, size_t len)
{
	return r->engine->buffer_register(r, index, base, len);
}

void ring_ready(struct ring *r, struct op *op, int res)
{
	op->res = res;
	op->next = NULL;
	*r->ready_tail = op;
	r->ready_tail = &op->next;
}

static void wake(struct ring *r)
{
	uint64_t one = 1;

	while (write(r->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void ring_ready_remote(struct ring *r, struct op *op, int res)
{
	struct op *head;

	op->res = res;
	/* Before the push: after it the owner may finish everything and be freed. */
	atomic_fetch_add(&r->posting, 1);
	head = atomic_load(&r->posted);
	do
		op->next = head;
	while (!atomic_compare_exchange_weak(&r->posted, &head, op));
	/* Whoever found the list empty wakes the owner for all that follow. */
	if (!head)
		wake(r);
	atomic_fetch_sub(&r->posting, 1);
}

void ring_post(struct ring *r, struct op *op, int res)
{
	assert(op->kind == RING_OP_NONE && op->done);
	op->kind = RING_OP_POSTED;
	op->more = false;
	ring_ready_remote(r, op, res);
}

void ring_stop(struct ring *r)
{
	atomic_fetch_add(&r->posting, 1);
	atomic_store(&r->stop, true);
	wake(r);
	atomic_fetch_sub(&r->posting, 1);
}

/* Append what other threads posted to the ready list, oldest first. */
static void take_posted(struct ring *r)
{
	struct op *op = atomic_exchange(&r->posted, NULL), *fifo = NULL, *next;

	for (; op; op = next) {
		next = op->next;
		op->next = fifo;
		fifo = op;
	}
	for (; fifo; fifo = next) {
		next = fifo->next;
		ring_ready(r, fifo, fifo->res);
	}
}

static void tell(struct ring *r, struct op *op)
{
	int res = op->res;

	if (op->more) {
		op->more = false;
		if (op->ended)
			ring_ready(r, op, 0);
		op->done(op, res, true);
		return;
	}
	if (op->kind != RING_OP_POSTED)
		r->inflight--;
	op->kind = RING_OP_NONE;
	op->done(op, res, false);
}

/*
 * Only what is ready now: what the callbacks add waits for
 * the next turn, so that none starves the rest.
 */
static bool deliver(struct ring *r)
{
	struct op *op = r->ready, *next;
	bool any = op != NULL;

	r->ready = NULL;
	r->ready_tail = &r->ready;
	for (; op; op = next) {
		next = op->next;
		tell(r, op);
	}
	return any;
}

static _Thread_local uint64_t batch, batches;

uint64_t ring_batch(void)
{
	return batch;
}

static bool take_a_turn(struct ring *r)
{
	r->engine->collect(r, !r->ready && !atomic_load(&r->posted));
	take_posted(r);
	batch = ++batches;
	return deliver(r);
}

void ring_turn(struct ring *r)
{
	take_a_turn(r);
	batch = 0;
}

void ring_run(struct ring *r, void (*turn)(void *arg), void *arg)
{
	while (!atomic_load(&r->stop))
		if (take_a_turn(r) && turn)
			turn(arg);
	batch = 0;
	atomic_store(&r->stop, false);
}
