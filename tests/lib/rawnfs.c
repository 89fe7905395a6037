/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tests/lib/rawnfs.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rpc/record.h"

enum {
	NFS_GETATTR = 1,
	NFS_LOOKUP = 3,
	NFS_READ = 6,
	NFS_WRITE = 7,
	NFS_CREATE = 8,
	NFS_REMOVE = 12,
	NFS_COMMIT = 21
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int fail(struct rawnfs *r)
{
	int err = errno;

	rawnfs_close(r);
	return -err;
}

int rawnfs_open(struct rawnfs *r, const char *host, int port, int local_port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons((uint16_t)local_port)};
	struct timeval wait = {.tv_sec = RAWNFS_WAIT_MS / 1000};
	int one = 1;

	*r = (struct rawnfs){.host = host, .port = port, .xid = 1000};
	r->in = malloc(RAWNFS_MAX);
	r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!r->in || r->fd < 0 || inet_pton(AF_INET, host, &to.sin_addr) != 1)
		return fail(r);
	setsockopt(r->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(r->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(r->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(r->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (local_port && bind(r->fd, (struct sockaddr *)&from, sizeof(from)))
		return fail(r);
	if (connect(r->fd, (struct sockaddr *)&to, sizeof(to)))
		return fail(r);
	return 0;
}

void rawnfs_close(struct rawnfs *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	free(r->in);
	r->in = NULL;
}

void rawnfs_reset(struct rawnfs *r)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	rawnfs_close(r);
}

void rawnfs_call_begin(struct rawnfs *r, struct rawnfs_call *call, uint32_t prog, uint32_t vers,
		       uint32_t proc)
{
	struct cursor *c = &call->c;

	call->byte = malloc(RAWNFS_MAX);
	assert(call->byte);
	call->xid = ++r->xid;
	cursor_init(c, call->byte, RAWNFS_MAX);
	cursor_put_u32(c, call->xid);
	cursor_put_u32(c, 0); /* CALL */
	cursor_put_u32(c, 2);
	cursor_put_u32(c, prog);
	cursor_put_u32(c, vers);
	cursor_put_u32(c, proc);
	cursor_put_u32(c, 1); /* AUTH_SYS: no stamp, no name, no groups */
	cursor_put_u32(c, 20);
	cursor_put_u32(c, 0);
	cursor_put_u32(c, 0);
	cursor_put_u32(c, r->uid);
	cursor_put_u32(c, r->gid);
	cursor_put_u32(c, 0);
	cursor_put_u64(c, 0); /* verifier */
}

void rawnfs_call_end(struct rawnfs_call *call)
{
	free(call->byte);
	call->byte = NULL;
}

int rawnfs_send_bytes(struct rawnfs *r, const void *p, size_t len)
{
	const char *at = p;
	ssize_t n;

	while (len) {
		n = send(r->fd, at, len, MSG_NOSIGNAL);
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

uint8_t *rawnfs_record(const struct rawnfs_call *call, size_t fragment, size_t *len)
{
	size_t total = rawnfs_call_len(call), at = 0, n;
	uint8_t *out, *p;

	if (!fragment || fragment > total)
		fragment = total;
	p = out = malloc(total + 4 * (total / fragment + 1));
	assert(out);
	while (at < total) {
		n = total - at < fragment ? total - at : fragment;
		cursor_set_u32(p, (uint32_t)n | (at + n == total ? RECORD_LAST : 0));
		memcpy(p + 4, call->byte + at, n);
		p += 4 + n;
		at += n;
	}
	*len = (size_t)(p - out);
	return out;
}

int rawnfs_send(struct rawnfs *r, const struct rawnfs_call *call, size_t fragment)
{
	size_t len;
	uint8_t *p = rawnfs_record(call, fragment, &len);
	int err = rawnfs_send_bytes(r, p, len);

	free(p);
	return err;
}

/* What names the other end of our connection to the kernel's socket diagnosis. */
static int other_end(const struct rawnfs *r, struct inet_diag_sockid *id)
{
	struct sockaddr_in us, peer;
	socklen_t n = sizeof(us), m = sizeof(peer);

	if (getsockname(r->fd, (struct sockaddr *)&us, &n) ||
	    getpeername(r->fd, (struct sockaddr *)&peer, &m))
		return -errno;
	*id = (struct inet_diag_sockid){
		.idiag_sport = peer.sin_port,
		.idiag_dport = us.sin_port,
		.idiag_src = {peer.sin_addr.s_addr},
		.idiag_dst = {us.sin_addr.s_addr},
		.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
	};
	return 0;
}

/* Bytes at the other end that the program there has not received yet, or -errno. */
static int unread(const struct rawnfs *r)
{
	struct {
		struct nlmsghdr h;
		struct inet_diag_req_v2 q;
	} ask = {
		.h = {.nlmsg_len = sizeof(ask),
		      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		      .nlmsg_flags = NLM_F_REQUEST},
		.q = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
	};
	union {
		struct nlmsghdr h;
		uint8_t byte[4096];
	} reply;
	struct inet_diag_msg *m = NLMSG_DATA(&reply.h);
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), n;

	n = fd < 0 ? -errno : other_end(r, &ask.q.id);
	if (!n && (send(fd, &ask, sizeof(ask), 0) < 0 || recv(fd, &reply, sizeof(reply), 0) < 0))
		n = -errno;
	else if (!n)
		n = reply.h.nlmsg_type == SOCK_DIAG_BY_FAMILY ? (int)m->idiag_rqueue : -ENOENT;
	if (fd >= 0)
		close(fd);
	return n;
}

int rawnfs_flush(struct rawnfs *r)
{
	int64_t end = now_ms() + RAWNFS_WAIT_MS;
	int left;

	/* Not until it is acknowledged: that takes a side with nothing to say 40 ms. */
	while ((left = unread(r)) > 0 && now_ms() < end)
		poll(NULL, 0, 1);
	return left > 0 ? -ETIMEDOUT : left;
}

static int recv_all(struct rawnfs *r, uint8_t *p, size_t len)
{
	ssize_t n;

	while (len) {
		n = recv(r->fd, p, len, 0);
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (n == 0)
			return -ECONNRESET;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int recv_record(struct rawnfs *r, size_t *len)
{
	uint32_t mark, n;
	uint8_t word[4];
	int err;

	*len = 0;
	do {
		err = recv_all(r, word, sizeof(word));
		if (err)
			return err;
		memcpy(&mark, word, sizeof(mark));
		mark = ntohl(mark);
		n = mark & ~RECORD_LAST;
		if (n > RAWNFS_MAX - *len)
			return -EPROTO;
		err = recv_all(r, r->in + *len, n);
		if (err)
			return err;
		*len += n;
	} while (!(mark & RECORD_LAST));
	return 0;
}

static int decode_reply(struct rawnfs_reply *o)
{
	struct cursor *c = &o->c;
	uint32_t n;

	o->xid = cursor_get_u32(c);
	if (cursor_get_u32(c) != 1)
		return -EPROTO;
	o->denied = cursor_get_u32(c) == 1;
	if (!o->denied) {
		cursor_get_u32(c);
		cursor_get_opaque(c, 400, &n);
	}
	o->stat = cursor_get_u32(c);
	if (o->denied && o->stat == 1)
		o->auth_stat = cursor_get_u32(c);
	if (o->stat == (o->denied ? 0u : 2u)) {
		o->low = cursor_get_u32(c);
		o->high = cursor_get_u32(c);
	}
	return cursor_ok(c) ? 0 : -EPROTO;
}

int rawnfs_recv(struct rawnfs *r, struct rawnfs_reply *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	err = recv_record(r, &out->len);
	if (err)
		return err;
	cursor_init(&out->c, r->in, out->len);
	return decode_reply(out);
}

bool rawnfs_readable(const struct rawnfs *r, int ms)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

int rawnfs_call(struct rawnfs *r, struct rawnfs_call *call, struct rawnfs_reply *out)
{
	int err = rawnfs_send(r, call, 0);

	do {
		if (!err)
			err = rawnfs_recv(r, out);
	} while (!err && out->xid != call->xid);
	return err;
}

bool rawnfs_closed(struct rawnfs *r)
{
	uint8_t sink[512];
	ssize_t n;

	do {
		n = recv(r->fd, sink, sizeof(sink), 0);
	} while (n > 0);
	return n == 0 || errno == ECONNRESET;
}

bool rawnfs_alive(struct rawnfs *r)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	bool good;

	rawnfs_call_begin(r, &call, RAWNFS_NFS, 3, 0);
	good = rawnfs_call(r, &call, &reply) == 0 && !reply.denied && reply.stat == 0;
	rawnfs_call_end(&call);
	return good;
}

/* --- arguments ---------------------------------------------------------------- */

void rawnfs_put_fh(struct rawnfs_call *call, const struct rawnfs_fh *fh)
{
	cursor_put_opaque(&call->c, fh->data, fh->len);
}

void rawnfs_put_string(struct rawnfs_call *call, const char *s)
{
	cursor_put_opaque(&call->c, s, (uint32_t)strlen(s));
}

void rawnfs_put_write(struct rawnfs_call *call, const struct rawnfs_fh *fh, uint64_t offset,
		      uint32_t count, uint32_t stable, const void *data, uint32_t len)
{
	rawnfs_put_fh(call, fh);
	cursor_put_u64(&call->c, offset);
	cursor_put_u32(&call->c, count);
	cursor_put_u32(&call->c, stable);
	cursor_put_opaque(&call->c, data, len);
}

/* --- results ------------------------------------------------------------------- */

static void get_fh(struct cursor *c, struct rawnfs_fh *fh)
{
	const uint8_t *p = cursor_get_opaque(c, 64, &fh->len);

	if (p)
		memcpy(fh->data, p, fh->len);
}

static uint64_t get_time(struct cursor *c)
{
	uint64_t s = cursor_get_u32(c);

	return s * 1000000000u + cursor_get_u32(c);
}

static void get_attr(struct cursor *c, struct rawnfs_attr *a)
{
	a->type = cursor_get_u32(c);
	a->mode = cursor_get_u32(c);
	a->nlink = cursor_get_u32(c);
	a->uid = cursor_get_u32(c);
	a->gid = cursor_get_u32(c);
	a->size = cursor_get_u64(c);
	cursor_skip(c, 8 + 8 + 8); /* used, rdev, fsid */
	a->fileid = cursor_get_u64(c);
	cursor_skip(c, 8);
	a->mtime_ns = get_time(c);
	a->ctime_ns = get_time(c);
}

static void skip_post_op(struct cursor *c)
{
	if (cursor_get_bool(c))
		cursor_skip(c, 84);
}

static void skip_wcc(struct cursor *c)
{
	if (cursor_get_bool(c))
		cursor_skip(c, 24);
	skip_post_op(c);
}

/* Ends the call; its status word, or -errno. */
static int finish(struct rawnfs *r, struct rawnfs_call *call, struct rawnfs_reply *reply)
{
	int err = rawnfs_call(r, call, reply);

	rawnfs_call_end(call);
	if (err)
		return err;
	if (reply->denied || reply->stat)
		return -EPROTO;
	err = (int)cursor_get_u32(&reply->c);
	return cursor_ok(&reply->c) ? err : -EPROTO;
}

static int check(const struct rawnfs_reply *reply, int status)
{
	return status || cursor_ok(&reply->c) ? status : -EPROTO;
}

int rawnfs_mnt(struct rawnfs *r, const char *path, struct rawnfs_fh *root)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	int status;

	rawnfs_call_begin(r, &call, RAWNFS_MOUNT, 3, 1);
	rawnfs_put_string(&call, path);
	status = finish(r, &call, &reply);
	if (status == 0)
		get_fh(&reply.c, root);
	return check(&reply, status);
}

int rawnfs_lookup(struct rawnfs *r, const struct rawnfs_fh *dir, const char *name,
		  struct rawnfs_fh *fh)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	int status;

	rawnfs_call_begin(r, &call, RAWNFS_NFS, 3, NFS_LOOKUP);
	rawnfs_put_fh(&call, dir);
	rawnfs_put_string(&call, name);
	status = finish(r, &call, &reply);
	if (status == 0)
		get_fh(&reply.c, fh);
	return check(&reply, status);
}

int rawnfs_create(struct rawnfs *r, const struct rawnfs_fh *dir, const char *name,
		  struct rawnfs_fh *fh)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	int status;

	rawnfs_call_begin(r, &call, RAWNFS_NFS, 3, NFS_CREATE);
	rawnfs_put_fh(&call, dir);
	rawnfs_put_string(&call, name);
	cursor_put_u32(&call.c, 0); /* UNCHECKED */
	cursor_put_u32(&call.c, 1);
	cursor_put_u32(&call.c, 0644);
	for (int i = 0; i < 5; i++)
		cursor_put_u32(&call.c, 0); /* uid, gid, size, atime, mtime */
	status = finish(r, &call, &reply);
	if (status == 0 && cursor_get_bool(&reply.c))
		get_fh(&reply.c, fh);
	return check(&reply, status);
}

int rawnfs_getattr(struct rawnfs *r, const struct rawnfs_fh *fh, struct rawnfs_attr *a)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	int status;

	rawnfs_call_begin(r, &call, RAWNFS_NFS, 3, NFS_GETATTR);
	rawnfs_put_fh(&call, fh);
	status = finish(r, &call, &reply);
	if (status == 0)
		get_attr(&reply.c, a);
	return check(&reply, status);
}

int rawnfs_read(struct rawnfs *r, const struct rawnfs_fh *fh, uint64_t offset, uint32_t count,
		struct rawnfs_data *d)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	int status;

	rawnfs_call_begin(r, &call, RAWNFS_NFS, 3, NFS_READ);
	rawnfs_put_fh(&call, fh);
	cursor_put_u64(&call.c, offset);
	cursor_put_u32(&call.c, count);
	status = finish(r, &call, &reply);
	if (status == 0) {
		skip_post_op(&reply.c);
		d->count = cursor_get_u32(&reply.c);
		d->eof = cursor_get_bool(&reply.c);
		d->data = cursor_get_opaque(&reply.c, RAWNFS_MAX, &d->len);
	}
	return check(&reply, status);
}

int rawnfs_write(struct rawnfs *r, const struct rawnfs_fh *fh, uint64_t offset, uint32_t stable,
		 const void *data, uint32_t len, struct rawnfs_data *d)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	int status;

	rawnfs_call_begin(r, &call, RAWNFS_NFS, 3, NFS_WRITE);
	rawnfs_put_write(&call, fh, offset, len, stable, data, len);
	status = finish(r, &call, &reply);
	if (status == 0) {
		const uint8_t *verf;

		skip_wcc(&reply.c);
		d->count = cursor_get_u32(&reply.c);
		d->committed = cursor_get_u32(&reply.c);
		verf = cursor_get_fixed(&reply.c, 8);
		if (verf)
			memcpy(d->verf, verf, 8);
	}
	return check(&reply, status);
}

int rawnfs_commit(struct rawnfs *r, const struct rawnfs_fh *fh, uint64_t offset, uint32_t count,
		  struct rawnfs_data *d)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	int status;

	rawnfs_call_begin(r, &call, RAWNFS_NFS, 3, NFS_COMMIT);
	rawnfs_put_fh(&call, fh);
	cursor_put_u64(&call.c, offset);
	cursor_put_u32(&call.c, count);
	status = finish(r, &call, &reply);
	if (status == 0) {
		const uint8_t *verf;

		skip_wcc(&reply.c);
		verf = cursor_get_fixed(&reply.c, 8);
		if (verf)
			memcpy(d->verf, verf, 8);
	}
	return check(&reply, status);
}

int rawnfs_remove(struct rawnfs *r, const struct rawnfs_fh *dir, const char *name)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;

	rawnfs_call_begin(r, &call, RAWNFS_NFS, 3, NFS_REMOVE);
	rawnfs_put_fh(&call, dir);
	rawnfs_put_string(&call, name);
	return finish(r, &call, &reply);
}
