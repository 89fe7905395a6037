/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tools/nfsload_link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/nfsload_cost.h"
#include "tools/nfsload_loop.h"

#define GATHER 64	 /* calls in one sendmsg */
#define BULK (16 * 1024) /* from this size on, a payload is not read along with what is around it */
#define STALL_S 60	 /* a server silent for so long is broken */

static int tcp_connect(const char *host, int port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *a;
	struct timeval stall = { .tv_sec = STALL_S };
	char service[16];
	int fd = -1, err = -EHOSTUNREACH, one = 1;

	snprintf(service, sizeof service, "%d", port);
	if (getaddrinfo(host, service, &hints, &list))
		return err;
	for (a = list; a; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && !connect(fd, a->ai_addr, a->ai_addrlen))
			break;
		err = -errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	if (fd < 0)
		return err;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof stall);
	return fd;
}

int link_open(struct link *l, struct client *c, const char *host, int port, unsigned depth,
	      uint32_t lane_buf)
{
	*l = (struct link){ .client = c, .depth = depth, .fd = tcp_connect(host, port) };
	if (l->fd < 0)
		return l->fd;
	l->xid_base = cost_now_ns() * 2654435761u;
	l->lane = calloc(depth, sizeof *l->lane);
	l->idle = calloc(depth, sizeof *l->idle);
	l->queue = calloc(depth, sizeof *l->queue);
	l->in = malloc(LINK_IN);
	if (!l->lane || !l->idle || !l->queue || !l->in)
		goto fail;
	for (unsigned i = 0; i < depth; i++) {
		struct lane *lane = &l->lane[i];

		lane->link = l;
		lane->index = i;
		l->idle[depth - ++l->idles] = i;
		if (!lane_buf)
			continue;
		lane->buf = calloc(1, lane_buf + 4);
		if (!lane->buf)
			goto fail;
	}
	return 0;
fail:
	link_close(l);
	return -ENOMEM;
}

void link_close(struct link *l)
{
	for (unsigned i = 0; l->lane && i < l->depth; i++)
		free(l->lane[i].buf);
	free(l->lane);
	free(l->idle);
	free(l->queue);
	free(l->in);
	if (l->fd >= 0)
		close(l->fd);
	*l = (struct link){ .fd = -1 };
}

struct lane *link_lane(struct link *l)
{
	return l->idles ? &l->lane[l->idle[--l->idles]] : NULL;
}

void link_lane_return(struct lane *lane)
{
	struct link *l = lane->link;

	l->idle[l->idles++] = lane->index;
}

/*
 * An xid names its lane; the rest counts, so that no server takes a call for an old one sent again.
 */
void link_call(struct lane *lane)
{
	struct link *l = lane->link;

	l->xid_base += LINK_DEPTH_MAX;
	lane->call_len = l->client->proto->call(
		lane, l->xid_base - l->xid_base % LINK_DEPTH_MAX + lane->index, lane->call);
	lane->busy = true;
	l->busy++;
	l->client->busy++;
	l->bulk |= lane->op.kind == OP_READ && lane->op.len >= BULK;
	l->queue[(l->queue_head + l->queued++) % l->depth] = lane->index;
}

/* --- sending ---------------------------------------------------------------------------- */

static size_t wire_len(const struct lane *lane)
{
	uint32_t payload = lane->op.kind == OP_WRITE ? lane->op.len : 0;

	return lane->call_len + payload + (-payload & 3);
}

/* The parts of a call from byte `skip` on; returns how many. */
static unsigned gather_one(struct lane *lane, size_t skip, struct iovec *iov)
{
	static const uint8_t zeros[4];
	uint32_t payload = lane->op.kind == OP_WRITE ? lane->op.len : 0;
	struct iovec part[3] = { { lane->call, lane->call_len },
				 { (void *)lane->op.payload, payload },
				 { (void *)zeros, -payload & 3 } };
	unsigned n = 0;

	for (unsigned i = 0; i < 3; i++) {
		size_t gone = skip < part[i].iov_len ? skip : part[i].iov_len;

		skip -= gone;
		if (gone == part[i].iov_len)
			continue;
		iov[n].iov_base = (uint8_t *)part[i].iov_base + gone;
		iov[n++].iov_len = part[i].iov_len - gone;
	}
	return n;
}

static void sent(struct link *l, size_t n)
{
	l->queue_sent += n;
	while (l->queued) {
		size_t len = wire_len(&l->lane[l->queue[l->queue_head]]);

		if (l->queue_sent < len)
			return;
		l->queue_sent -= len;
		l->queue_head = (l->queue_head + 1) % l->depth;
		l->queued--;
	}
}

int link_flush(struct link *l)
{
	while (l->queued) {
		struct iovec iov[3 * GATHER];
		struct msghdr m = { .msg_iov = iov };
		ssize_t n;

		for (unsigned i = 0; i < l->queued && i < GATHER; i++)
			m.msg_iovlen +=
				gather_one(&l->lane[l->queue[(l->queue_head + i) % l->depth]],
					   i ? 0 : l->queue_sent, &iov[m.msg_iovlen]);
		n = sendmsg(l->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		sent(l, n);
	}
	return 0;
}

/* --- receiving ---------------------------------------------------------------------------- */

static void lane_done(struct lane *lane)
{
	struct link *l = lane->link;

	lane->busy = false;
	l->bulk = --l->busy && l->bulk;
	if (loop_done(lane))
		link_call(lane);
	else
		l->idle[l->idles++] = lane->index;
}

static struct lane *lane_of(struct link *l, uint32_t xid)
{
	uint32_t i = xid % LINK_DEPTH_MAX;

	return i < l->depth && l->lane[i].busy ? &l->lane[i] : NULL;
}

/*
 * The part of a READ's payload that came along with its
 * header; what is missing is left to the socket.
 */
static uint32_t payload_begin(struct link *l, struct lane *lane, const uint8_t *from, uint32_t have,
			      uint32_t whole)
{
	uint32_t here = have < whole ? have : whole;

	if (whole > lane->op.count + 3u || lane->op.count > whole ||
	    lane->op.count > lane->op.len) {
		lane->op.status = PROTO_BROKEN;
		lane->op.count = 0;
	}
	l->payload_lane = lane;
	l->payload_at = 0;
	l->payload_left = whole - here;
	if (lane->buf && !lane->op.status) {
		memcpy(lane->buf, from, here);
		l->payload_at = here;
	}
	if (!l->payload_left)
		lane_done(lane);
	return here;
}

/*
 * One reply of the `have` bytes at `p`: how many of them it
 * took, 0 when more are needed first, or -EPROTO.
 */
static int reply_one(struct link *l, const uint8_t *p, uint32_t have)
{
	struct wire_in in = { p, p + have, false };
	uint32_t len = wire_get32(&in) & 0x7fffffff, xid = wire_get32(&in), need, used;
	struct lane *lane;
	bool read;

	if (in.bad)
		return 0;
	lane = lane_of(l, xid);
	if (!lane || !(p[0] & 0x80) || len < 4)
		return -EPROTO;
	read = lane->op.kind == OP_READ;
	need = len + 4;
	if (read && need > l->client->proto->read_prefix)
		need = l->client->proto->read_prefix;
	if (need > LINK_IN)
		return -EPROTO;
	if (have < need)
		return 0;
	in.end = p + need;
	l->client->proto->reply(lane, &in);
	if (!read || lane->op.status) {
		/* a READ that failed is short, and whole when its record fits the prefix */
		if (need < len + 4)
			return -EPROTO;
		lane_done(lane);
		return need;
	}
	used = in.at - p;
	return used + payload_begin(l, lane, in.at, have - used, len + 4 - used);
}

static int replies(struct link *l)
{
	uint32_t at = 0;

	while (!l->payload_left && at < l->in_have) {
		int n = reply_one(l, l->in + at, l->in_have - at);

		if (n < 0)
			return n;
		if (!n)
			break;
		at += n;
	}
	l->in_have -= at;
	memmove(l->in, l->in + at, l->in_have);
	return 0;
}

static ssize_t payload_recv(struct link *l, int flags)
{
	struct lane *lane = l->payload_lane;
	bool keep = lane->buf && !lane->op.status;
	ssize_t n;

	n = recv(l->fd, keep ? lane->buf + l->payload_at : l->in, l->payload_left,
		 flags | (keep ? 0 : MSG_TRUNC));
	if (n <= 0)
		return n;
	l->payload_at += n;
	l->payload_left -= n;
	l->client->now_ns = cost_now_ns();
	if (!l->payload_left)
		lane_done(lane);
	return n;
}

/*
 * How much to ask the socket for: the header alone when a
 * large payload may follow, to leave that where it is.
 */
static uint32_t in_room(const struct link *l)
{
	uint32_t prefix = l->client->proto->read_prefix;

	return (l->bulk && l->in_have < prefix ? prefix : LINK_IN) - l->in_have;
}

int link_input(struct link *l, bool block)
{
	int flags = block ? 0 : MSG_DONTWAIT, err;
	uint64_t want;
	ssize_t n;

	do {
		bool payload = l->payload_left;

		want = payload ? l->payload_left : in_room(l);
		n = payload ? payload_recv(l, flags | (block ? MSG_WAITALL : 0))
			    : recv(l->fd, l->in + l->in_have, want, flags);
		if (n < 0 && (errno == EINTR || (errno == EAGAIN && !block)))
			return 0;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		if (payload)
			continue;
		l->in_have += n;
		l->client->now_ns = cost_now_ns();
		err = replies(l);
		if (err)
			return err;
	} while (!block && (uint64_t)n == want);
	return 0;
}
