/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * COPY and CLONE (RFC 7862 s.15.2, s.15.13) from the saved to the current
 * filehandle, within this server.  COPY is synchronous: it copies for a bounded
 * time and answers how much that was, and the client goes on from there, so that
 * no copy keeps an offload thread from the others for long.
 */
#include "config.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v4.h"

#define PIECE (UINT64_C(8) << 20)  /* bytes a system call */
#define COPY_NS UINT64_C(500000000) /* then the reply says how far it came */

struct copy {
	stateid4 src_id, dst_id;
	uint64_t src_at, dst_at, count; /* count 0: to the end of the source */
	struct file *src, *dst;
	uint64_t size; /* of the source */
};

static void get_ranges(struct cursor *c, struct copy *y)
{
	v4_get_stateid(c, &y->src_id);
	v4_get_stateid(c, &y->dst_id);
	y->src_at = cursor_get_u64(c);
	y->dst_at = cursor_get_u64(c);
	y->count = cursor_get_u64(c);
}

/*
 * The saved filehandle may be another export's, even another
 * file system's: that is the kernel's to refuse.
 */
static uint32_t open_source(struct req *r, struct copy *y)
{
	uint32_t status;

	if (v4(r)->saved.parts.kind == HANDLE_PSEUDO)
		return NFS4ERR_ISDIR;
	v4_swap_fh(r);
	status = v4_file_by_id(r, &y->src_id, STATE4_READ, &y->src);
	v4_swap_fh(r);
	return status;
}

static uint32_t open_both(struct req *r, struct copy *y)
{
	uint32_t status = open_source(r, y);
	struct stat st;

	if (!status)
		status = v4_file_by_id(r, &y->dst_id, STATE4_WRITE, &y->dst);
	if (!status && fstat(y->src->fd, &st))
		status = status_nfs4(-errno);
	if (!status)
		y->size = (uint64_t)st.st_size;
	return status;
}

static bool same_file(const struct req *r)
{
	const struct v4 *v = (const struct v4 *)&r->proc_data;

	return r->fh.len == v->saved.fh.len && !memcmp(r->fh.data, v->saved.fh.data, r->fh.len);
}

/*
 * The source's range is there, the target's can be, and they
 * have no byte in common (RFC 7862 s.15.2.3).
 */
static uint32_t check_ranges(const struct req *r, struct copy *y)
{
	uint32_t status;

	if (y->src_at > y->size || y->count > y->size - y->src_at)
		return NFS4ERR_INVAL;
	if (!y->count)
		y->count = y->size - y->src_at;
	status = v4_range_check(y->dst_at, y->count);
	if (status)
		return status;
	if (same_file(r) && y->src_at < y->dst_at + y->count && y->dst_at < y->src_at + y->count)
		return NFS4ERR_INVAL;
	return NFS4_OK;
}

static void close_both(struct copy *y)
{
	file_put(y->src);
	file_put(y->dst);
}

/* --- COPY --- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* As the caller.  Bytes copied, or -errno when there are none. */
static int64_t copy_pieces(const struct copy *y)
{
	off_t from = (off_t)y->src_at, to = (off_t)y->dst_at;
	uint64_t end = now_ns() + COPY_NS, done = 0, want;
	ssize_t n;

	while (done < y->count) {
		want = y->count - done < PIECE ? y->count - done : PIECE;
		n = copy_file_range(y->src->fd, &from, y->dst->fd, &to, want, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && !done)
			return -errno;
		if (n <= 0)
			break;
		done += (uint64_t)n;
		if (now_ns() > end)
			break;
	}
	return (int64_t)done;
}

static uint32_t copy(struct req *r, const struct copy *y)
{
	uint64_t verf = verifier_get(req_verifier(r));
	int64_t n = act_as_caller(r);

	if (!n)
		n = copy_pieces(y);
	cred_assume(NULL);
	if (n < 0)
		return status_nfs4((int)n);
	/* As an UNSTABLE WRITE: COMMIT, or closing the file, sees to it. */
	if (n)
		atomic_fetch_add(&y->dst->unsynced, 1);
	cursor_put_u32(&r->reply, 0); /* no callback id: it is over */
	cursor_put_u64(&r->reply, (uint64_t)n);
	cursor_put_u32(&r->reply, UNSTABLE4);
	cursor_put_fixed(&r->reply, &verf, sizeof(verf));
	cursor_put_bool(&r->reply, true);
	cursor_put_bool(&r->reply, true);
	return NFS4_OK;
}

uint32_t v4_copy(struct req *r)
{
	struct copy y = {.size = 0};
	uint32_t servers, status;

	get_ranges(&r->args, &y);
	cursor_get_bool(&r->args); /* consecutive: it always is */
	cursor_get_bool(&r->args); /* synchronous: it always is */
	servers = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	if (servers)
		return NFS4ERR_NOTSUPP;
	status = open_both(r, &y);
	if (!status)
		status = check_ranges(r, &y);
	if (!status)
		status = copy(r, &y);
	close_both(&y);
	return status;
}

/* --- OFFLOAD_STATUS, OFFLOAD_CANCEL --- */

/* A COPY is over when it is answered: no stateid is that of one still running. */
uint32_t v4_offload(struct req *r)
{
	stateid4 id;

	v4_get_stateid(&r->args, &id);
	return cursor_ok(&r->args) ? NFS4ERR_BAD_STATEID : NFS4ERR_BADXDR;
}

/* --- CLONE --- */

static int clone_range(struct req *r, const struct copy *y)
{
	struct file_clone_range arg = {
		.src_fd = y->src->fd,
		.src_offset = y->src_at,
		.src_length = y->count,
		.dest_offset = y->dst_at,
	};
	int err = act_as_caller(r);

	if (!err && ioctl(y->dst->fd, FICLONERANGE, &arg))
		err = -errno;
	if (!err)
		err = v4_changed(r, y->dst);
	cred_assume(NULL);
	return err;
}

uint32_t v4_clone(struct req *r)
{
	struct copy y = {.size = 0};
	uint32_t status;

	get_ranges(&r->args, &y);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	status = open_both(r, &y);
	if (!status)
		status = check_ranges(r, &y);
	/* A count of 0 was to the end: with nothing there it is done. */
	if (!status && y.count)
		status = status_nfs4(clone_range(r, &y));
	close_both(&y);
	return status;
}
