/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* splice(2) for the engines: io_uring has it in worker threads only, which a slow peer would hold. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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

int ring_splice_attempt(const struct op *op)
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

int ring_splice_carry(const struct op *op)
{
	off_t offset = (off_t)op->offset;
	ssize_t n;

	do
		n = splice(op->fd, &offset, op->pipe, NULL, op->iov.iov_len, SPLICE_F_NONBLOCK);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}
