/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads engine: epoll for sockets, ring_timers for timeouts, and
 * ring_iothreads for preadv2, pwritev2 and fsync.  Same face as io_uring.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "nfsd-io/core/ring_int.h"
#include "nfsd-io/core/ring_iothreads.h"
#include "nfsd-io/core/ring_timers.h"

#define EVENTS 64

/*
 * Operations waiting for one descriptor, oldest first.  The epoll entry is
 * one-shot, so a descriptor closed and reused meanwhile does no harm.
 */
struct watch {
	struct op *head;
};

struct threads {
	struct ring ring;
	int epfd;
	struct watch *watch; /* by descriptor */
	unsigned nwatch;
	struct ring_timers timers;
	struct ring_iothreads *io;
};

static struct threads *threads_of(struct ring *r)
{
	return (struct threads *)r;
}

static uint32_t events_of(const struct op *op)
{
	switch (op->kind) {
	case RING_OP_SENDMSG:
	case RING_OP_SPLICE_OUT:
		return EPOLLOUT;
	case RING_OP_POLL:
		return op->flags;
	default:
		return EPOLLIN;
	}
}

/* One attempt that does not block: count or -errno; -EAGAIN: wait for the descriptor. */
static int attempt(const struct op *op, uint32_t events)
{
	struct pollfd pfd = { .fd = op->fd, .events = POLLIN };
	uint32_t hit = events & (op->flags | EPOLLERR | EPOLLHUP);
	ssize_t n;

	if (op->kind == RING_OP_POLL)
		return hit ? (int)hit : -EAGAIN;
	if (op->kind == RING_OP_SPLICE_OUT || op->kind == RING_OP_SPLICE_RECV)
		return ring_splice_attempt(op);
	do {
		if (op->kind == RING_OP_RECV)
			n = recv(op->fd, op->iov.iov_base, op->iov.iov_len,
				 (int)op->flags | MSG_DONTWAIT);
		else if (op->kind == RING_OP_SENDMSG)
			n = sendmsg(op->fd, op->msg, (int)op->flags | MSG_DONTWAIT);
		else if (poll(&pfd, 1, 0) == 0) /* a listening socket may be a blocking one */
			return -EAGAIN;
		else
			n = accept4(op->fd, NULL, NULL, SOCK_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

static bool watch_grow(struct threads *t, unsigned fd)
{
	unsigned n = t->nwatch ? t->nwatch : 64;
	struct watch *w;

	while (n <= fd)
		n *= 2;
	if (n == t->nwatch)
		return true;
	w = realloc(t->watch, n * sizeof(*w));
	if (!w)
		return false;
	memset(w + t->nwatch, 0, (n - t->nwatch) * sizeof(*w));
	t->watch = w;
	t->nwatch = n;
	return true;
}

static void watch_remove(struct threads *t, struct op *op)
{
	struct op **p = &t->watch[op->fd].head;

	while (*p != op)
		p = &(*p)->next;
	*p = op->next;
	op->engine = NULL;
}

static void watch_add(struct threads *t, struct op *op)
{
	struct op **p = &t->watch[op->fd].head;

	while (*p)
		p = &(*p)->next;
	*p = op;
	op->next = NULL;
	op->engine = t; /* parked */
}

/* Ask for what the parked operations wait for; a descriptor that cannot be watched ends them. */
static void watch_arm(struct threads *t, int fd)
{
	struct epoll_event ev = { .events = EPOLLONESHOT, .data.fd = fd };
	struct op *op;
	int ret;

	for (op = t->watch[fd].head; op; op = op->next)
		ev.events |= events_of(op);
	if (ev.events == EPOLLONESHOT)
		return;
	ret = epoll_ctl(t->epfd, EPOLL_CTL_MOD, fd, &ev);
	if (ret < 0 && errno == ENOENT)
		ret = epoll_ctl(t->epfd, EPOLL_CTL_ADD, fd, &ev);
	if (ret == 0)
		return;
	ret = -errno;
	while ((op = t->watch[fd].head)) {
		watch_remove(t, op);
		/* A regular file is always ready, says poll(2), and refuses epoll. */
		if (ret == -EPERM && op->kind == RING_OP_POLL)
			ring_ready(&t->ring, op, (int)(op->flags & (POLLIN | POLLOUT)));
		else
			ring_ready(&t->ring, op, ret);
	}
}

static void watch_fire(struct threads *t, int fd, uint32_t events)
{
	const uint32_t in = EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP;
	const uint32_t out = EPOLLOUT | EPOLLERR | EPOLLHUP;
	struct op *op, *next;

	for (op = t->watch[fd].head; op; op = next) {
		uint32_t want = op->kind == RING_OP_POLL		 ? ~0u
				: events_of(op) == EPOLLOUT ? out
							    : in;
		int res;

		next = op->next;
		if (!(events & want))
			continue;
		res = attempt(op, events);
		if (res == -EAGAIN)
			continue;
		watch_remove(t, op);
		ring_ready(&t->ring, op, res);
	}
	watch_arm(t, fd);
}

static void socket_start(struct threads *t, struct op *op)
{
	bool nowait = (op->kind == RING_OP_RECV || op->kind == RING_OP_SENDMSG) &&
		      (op->flags & MSG_DONTWAIT);
	int res = attempt(op, 0);

	if (res == -EAGAIN && !nowait) {
		if (op->fd < 0)
			res = -EBADF;
		else if (!watch_grow(t, (unsigned)op->fd))
			res = -ENOMEM;
		else {
			watch_add(t, op);
			watch_arm(t, op->fd);
			return;
		}
	}
	ring_ready(&t->ring, op, res);
}

static void threads_start(struct ring *r, struct op *op)
{
	struct threads *t = threads_of(r);
	int ret = 0;

	switch (op->kind) {
	case RING_OP_READ:
	case RING_OP_WRITE:
	case RING_OP_FSYNC:
	case RING_OP_SPLICE_IN:
	case RING_OP_SPLICE_WRITE:
		ret = ring_iothreads_submit(t->io, op);
		break;
	case RING_OP_TIMEOUT:
		ret = ring_timers_add(&t->timers, op);
		break;
	case RING_OP_ACCEPT:
	case RING_OP_RECV:
	case RING_OP_SENDMSG:
	case RING_OP_SPLICE_OUT:
	case RING_OP_SPLICE_RECV:
	case RING_OP_POLL:
		socket_start(t, op);
		break;
	case RING_OP_SEND_ZC: /* not claimed */
	case RING_OP_NONE:
	case RING_OP_POSTED:
		assert(0);
	}
	if (ret < 0)
		ring_ready(r, op, ret);
}

static void threads_cancel(struct ring *r, struct op *op)
{
	struct threads *t = threads_of(r);
	bool found = false;

	switch (op->kind) {
	case RING_OP_READ:
	case RING_OP_WRITE:
	case RING_OP_FSYNC:
	case RING_OP_SPLICE_IN:
	case RING_OP_SPLICE_WRITE:
		found = ring_iothreads_remove(t->io, op);
		break;
	case RING_OP_TIMEOUT:
		found = ring_timers_remove(&t->timers, op);
		break;
	default:
		found = op->engine == t;
		if (found)
			watch_remove(t, op);
	}
	if (found)
		ring_ready(r, op, -ECANCELED);
}

static void threads_collect(struct ring *r, bool wait)
{
	struct threads *t = threads_of(r);
	struct epoll_event ev[EVENTS];
	uint64_t count;
	struct op *op;
	int n;

	n = epoll_wait(t->epfd, ev, EVENTS, wait ? ring_timers_wait_ms(&t->timers) : 0);
	for (int i = 0; i < n; i++) {
		if (ev[i].data.fd != r->event_fd)
			watch_fire(t, ev[i].data.fd, ev[i].events);
		else if (read(r->event_fd, &count, sizeof(count)) < 0)
			assert(errno == EINTR);
	}
	while ((op = ring_timers_expired(&t->timers)))
		ring_ready(r, op, -ETIME);
}

static int threads_buffer_register(struct ring *r, unsigned index, void *base, size_t len)
{
	(void)r;
	(void)index;
	(void)base;
	(void)len;
	return -ENOTSUP;
}

static void threads_free(struct ring *r)
{
	struct threads *t = threads_of(r);

	ring_iothreads_free(t->io);
	ring_timers_fini(&t->timers);
	close(t->epfd);
	free(t->watch);
	ring_fini(r);
	free(t);
}

static const struct ring_engine_ops threads_engine = {
	"threads",	 threads_start,		  threads_cancel,
	threads_collect, threads_buffer_register, threads_free,
};

int ring_threads_new(struct ring **out, const struct ring_params *p)
{
	struct threads *t = calloc(1, sizeof(*t));
	struct epoll_event ev = { .events = EPOLLIN };
	int ret;

	if (!t)
		return -ENOMEM;
	ret = ring_init(&t->ring, &threads_engine);
	if (ret < 0)
		goto fail;
	t->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epfd < 0)
		goto fail_errno;
	ev.data.fd = t->ring.event_fd;
	if (epoll_ctl(t->epfd, EPOLL_CTL_ADD, t->ring.event_fd, &ev) < 0)
		goto fail_errno;
	ret = ring_iothreads_new(&t->io, &t->ring, p->threads ? p->threads : 8, p->name,
				 p->cpus);
	if (ret < 0)
		goto fail_ring;
	t->ring.nonblock = true;
	*out = &t->ring;
	return 0;
fail_errno:
	ret = -errno;
fail_ring:
	if (t->epfd >= 0)
		close(t->epfd);
	ring_fini(&t->ring);
fail:
	free(t);
	return ret;
}
