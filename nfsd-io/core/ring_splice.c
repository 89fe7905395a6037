/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * splice(2) for the engines: io_uring has it in worker threads only, which a slow peer would hold.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "nfsd-io/core/ring_int.h"

static size_t msg_len(const struct msghdr *m)
{
	size_t len = 0;

	for (size_t i = 0; i < m->msg_iovlen; i++)
		len += m->msg_iov[i].iov_len;
	return len;
}

static ssize_t header(const struct op *op)
{
	ssize_t n;

	do
		n = sendmsg(op->fd, op->msg, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int receive(const struct op *op)
{
	struct pollfd room = { .fd = op->pipe, .events = POLLOUT };
	ssize_t n;

	do
		n = splice(op->fd, NULL, op->pipe, NULL, op->iov.iov_len,
			   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return (int)n;
	/* Nothing to read, or nowhere to put it: the same answer. */
	if (errno == EAGAIN)
		return poll(&room, 1, 0) == 0 ? -ENOSPC : -EAGAIN;
	return -errno;
}

static int send_out(const struct op *op)
{
	unsigned flags = SPLICE_F_NONBLOCK | SPLICE_F_MOVE | (op->flags ? SPLICE_F_MORE : 0);
	ssize_t sent = 0, n;

	if (op->msg) {
		sent = header(op);
		if (sent < 0 || (size_t)sent < msg_len(op->msg))
			return (int)sent;
	}
	do
		n = splice(op->pipe, NULL, op->fd, NULL, op->iov.iov_len, flags);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return (int)(sent + n);
	return sent ? (int)sent : -errno;
}

int ring_splice_attempt(const struct op *op)
{
	return op->kind == RING_OP_SPLICE_RECV ? receive(op) : send_out(op);
}

int ring_splice_carry(const struct op *op)
{
	bool write = op->kind == RING_OP_SPLICE_WRITE;
	off_t offset = (off_t)op->offset;
	ssize_t n;

	do
		n = write ? splice(op->pipe, NULL, op->fd, &offset, op->iov.iov_len,
				   SPLICE_F_NONBLOCK)
			  : splice(op->fd, &offset, op->pipe, NULL, op->iov.iov_len,
				   SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}
