/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The io_uring engine; the only file that includes liburing.h. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/compat.h"
#include "nfsd-io/core/cred.h"
#include "nfsd-io/core/ring_int.h"

#define PERSONALITIES 64
#define IOWQ_MAX 16 /* file I/O and fsync that would block */

/* user_data of what is no struct op. */
#define TAG_IGNORE 0
#define TAG_WAKE 1

static_assert(sizeof(struct timespec) == sizeof(struct __kernel_timespec),
	      "op->ts is handed to the kernel as it is");

struct personality {
	struct cred *cred; /* counted */
	int id;
	uint64_t used;
};

struct uring {
	struct ring ring;
	struct io_uring u;
	unsigned buffers; /* registered-buffer slots */
	uint64_t wake_count; /* where the eventfd is read to */
	bool wake_armed;
	struct personality who[PERSONALITIES];
	unsigned nwho;
	uint64_t clock; /* of personality use */
};

static struct uring *uring_of(struct ring *r)
{
	return (struct uring *)r;
}

static void uring_start(struct ring *r, struct op *op);

/* Attempted at once, then whenever the socket is ready. */
static bool by_poll(const struct op *op)
{
	return op->kind == RING_OP_SPLICE_OUT || op->kind == RING_OP_SPLICE_RECV;
}

/*
 * A kernel that gave up without a reason of ours is asked again, once from a thread that may block.
 */
static bool retry(struct uring *u, struct op *op)
{
	bool file = op->kind == RING_OP_READ || op->kind == RING_OP_WRITE ||
		    op->kind == RING_OP_FSYNC || op->kind == RING_OP_SPLICE_WRITE;

	if (op->cancelled)
		return false;
	/* It waited by poll: now the socket may take some. */
	if (by_poll(op))
		return op->res >= 0 || op->res == -EINTR;
	if (op->res == -EAGAIN && file && !op->engine)
		op->engine = u;
	else if (op->res != -EINTR)
		return false;
	return true;
}

/*
 * Two completions, of which both may be here before the
 * first is told: an op is on one list at a time.
 */
static void zc_completion(struct uring *u, struct op *op, const struct io_uring_cqe *cqe)
{
	if (cqe->flags & IORING_CQE_F_MORE) {
		op->more = true;
	} else if (cqe->flags & IORING_CQE_F_NOTIF) {
		op->copied = (unsigned)cqe->res & COMPAT_NOTIF_USAGE_ZC_COPIED;
		op->ended = op->more;
		if (op->more)
			return;
	}
	ring_ready(&u->ring, op, cqe->flags & IORING_CQE_F_NOTIF ? 0 : cqe->res);
}

static unsigned reap(struct uring *u)
{
	struct op *again = NULL, *op;
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;

	io_uring_for_each_cqe(&u->u, head, cqe) {
		n++;
		if (cqe->user_data == TAG_IGNORE)
			continue;
		if (cqe->user_data == TAG_WAKE) {
			u->wake_armed = false;
			continue;
		}
		op = (struct op *)(uintptr_t)cqe->user_data;
		if (op->kind == RING_OP_SEND_ZC) {
			zc_completion(u, op, cqe);
			continue;
		}
		op->res = cqe->res;
		if (retry(u, op)) {
			op->next = again;
			again = op;
		} else {
			ring_ready(&u->ring, op, cqe->res);
		}
	}
	io_uring_cq_advance(&u->u, n);
	/* Only now: starting may flush, and a flush may reap. */
	while ((op = again)) {
		again = op->next;
		uring_start(&u->ring, op);
	}
	return n;
}

/* Hand every queued SQE to the kernel. */
static void flush(struct uring *u)
{
	const struct timespec pause = { 0, 1000000 };
	unsigned before;

	while ((before = io_uring_sq_ready(&u->u))) {
		int n = io_uring_submit(&u->u);

		if (n > 0 || n == -EINTR)
			continue;
		/* Completions overflow (EBUSY) or memory is short (EAGAIN): make room first. */
		io_uring_get_events(&u->u);
		if (!reap(u))
			nanosleep(&pause, NULL);
	}
}

static struct io_uring_sqe *get_sqe(struct uring *u)
{
	struct io_uring_sqe *sqe;

	while (!(sqe = io_uring_get_sqe(&u->u)))
		flush(u);
	return sqe;
}

static void arm_wake(struct uring *u)
{
	struct io_uring_sqe *sqe = get_sqe(u);

	u->wake_armed = true;
	io_uring_prep_read(sqe, u->ring.event_fd, &u->wake_count, sizeof(u->wake_count), 0);
	io_uring_sqe_set_data64(sqe, TAG_WAKE);
}

static void personality_drop(struct uring *u, struct personality *p)
{
	io_uring_unregister_personality(&u->u, p->id);
	cred_put(p->cred);
}

/* A slot for a new identity: a free one, or the one longest unused. */
static struct personality *personality_slot(struct uring *u)
{
	struct personality *old = &u->who[0];

	if (u->nwho < PERSONALITIES)
		return &u->who[u->nwho++];
	for (unsigned i = 1; i < PERSONALITIES; i++)
		if (u->who[i].used < old->used)
			old = &u->who[i];
	/* Queued SQEs name it by number; once submitted they hold the identity itself. */
	flush(u);
	personality_drop(u, old);
	return old;
}

/* The ring's number for `c`, or -errno. */
static int personality_of(struct uring *u, const struct cred *c)
{
	struct personality *p;
	int id;

	for (unsigned i = 0; i < u->nwho; i++) {
		if (cred_equal(u->who[i].cred, c)) {
			u->who[i].used = ++u->clock;
			return u->who[i].id;
		}
	}
	id = cred_assume(c);
	if (id == 0)
		id = io_uring_register_personality(&u->u);
	cred_assume(NULL);
	if (id < 0)
		return id;
	p = personality_slot(u);
	*p = (struct personality){ cred_get((struct cred *)c), id, ++u->clock };
	return id;
}

static void prep_rw(struct io_uring_sqe *sqe, const struct op *op)
{
	void *buf = op->iov.iov_base;
	unsigned len = (unsigned)op->iov.iov_len;

	if (op->kind == RING_OP_READ && op->buf_index >= 0)
		io_uring_prep_read_fixed(sqe, op->fd, buf, len, op->offset, op->buf_index);
	else if (op->kind == RING_OP_READ)
		io_uring_prep_read(sqe, op->fd, buf, len, op->offset);
	else if (op->buf_index >= 0)
		io_uring_prep_write_fixed(sqe, op->fd, buf, len, op->offset, op->buf_index);
	else
		io_uring_prep_write(sqe, op->fd, buf, len, op->offset);
	sqe->rw_flags = (int)op->flags;
}

static void prep_zc(struct io_uring_sqe *sqe, const struct op *op)
{
	const void *buf = op->iov.iov_base;
	size_t len = op->iov.iov_len;
	int flags = (int)op->flags;

	if (op->buf_index >= 0)
		io_uring_prep_send_zc_fixed(sqe, op->fd, buf, len, flags,
					    COMPAT_SEND_ZC_REPORT_USAGE, (unsigned)op->buf_index);
	else
		io_uring_prep_send_zc(sqe, op->fd, buf, len, flags, COMPAT_SEND_ZC_REPORT_USAGE);
}

static void prep(struct io_uring_sqe *sqe, struct op *op)
{
	switch (op->kind) {
	case RING_OP_READ:
	case RING_OP_WRITE:
		prep_rw(sqe, op);
		break;
	case RING_OP_FSYNC:
		io_uring_prep_fsync(sqe, op->fd, op->flags ? IORING_FSYNC_DATASYNC : 0);
		break;
	case RING_OP_ACCEPT:
		io_uring_prep_accept(sqe, op->fd, NULL, NULL, SOCK_CLOEXEC);
		break;
	case RING_OP_RECV:
		io_uring_prep_recv(sqe, op->fd, op->iov.iov_base, op->iov.iov_len, (int)op->flags);
		break;
	case RING_OP_SENDMSG:
		io_uring_prep_sendmsg(sqe, op->fd, op->msg, op->flags);
		break;
	case RING_OP_POLL:
		io_uring_prep_poll_add(sqe, op->fd, op->flags);
		break;
	case RING_OP_SEND_ZC:
		prep_zc(sqe, op);
		break;
	case RING_OP_SPLICE_IN:
		io_uring_prep_splice(sqe, op->fd, (int64_t)op->offset, op->pipe, -1,
				     (unsigned)op->iov.iov_len, SPLICE_F_NONBLOCK);
		break;
	case RING_OP_SPLICE_OUT:
		io_uring_prep_poll_add(sqe, op->fd, POLLOUT);
		break;
	case RING_OP_SPLICE_RECV:
		io_uring_prep_poll_add(sqe, op->fd, POLLIN);
		break;
	case RING_OP_SPLICE_WRITE:
		io_uring_prep_splice(sqe, op->pipe, -1, op->fd, (int64_t)op->offset,
				     (unsigned)op->iov.iov_len, SPLICE_F_NONBLOCK);
		break;
	case RING_OP_TIMEOUT:
		io_uring_prep_timeout(sqe, (struct __kernel_timespec *)&op->ts, 0, 0);
		break;
	case RING_OP_NONE:
	case RING_OP_POSTED:
		assert(0);
	}
}

static void uring_start(struct ring *r, struct op *op)
{
	bool rw = op->kind == RING_OP_READ || op->kind == RING_OP_WRITE ||
		  op->kind == RING_OP_SPLICE_WRITE;
	struct uring *u = uring_of(r);
	struct io_uring_sqe *sqe;
	int who = 0;

	if (rw && op->cred && cred_switchable()) {
		who = personality_of(u, op->cred);
		if (who < 0) {
			ring_ready(r, op, who);
			return;
		}
	}
	if (by_poll(op)) {
		int res = ring_splice_attempt(op);

		if (res != -EAGAIN) {
			ring_ready(r, op, res);
			return;
		}
	}
	sqe = get_sqe(u);
	prep(sqe, op);
	sqe->personality = (uint16_t)who;
	if (op->engine)
		sqe->flags |= IOSQE_ASYNC;
	io_uring_sqe_set_data(sqe, op);
}

static void uring_cancel(struct ring *r, struct op *op)
{
	struct io_uring_sqe *sqe = get_sqe(uring_of(r));

	io_uring_prep_cancel(sqe, op, 0);
	io_uring_sqe_set_data64(sqe, TAG_IGNORE);
}

static void uring_collect(struct ring *r, bool wait)
{
	const struct timespec pause = { 0, 1000000 };
	struct uring *u = uring_of(r);
	int ret;

	if (!u->wake_armed)
		arm_wake(u);
	/*
	 * Arming may have flushed, and a flush may have reaped: then there is something to deliver.
	 */
	if (wait && !r->ready)
		ret = io_uring_submit_and_wait(&u->u, 1);
	else
		ret = io_uring_submit_and_get_events(&u->u);
	if (!reap(u) && ret < 0 && ret != -EINTR)
		nanosleep(&pause, NULL);
}

static int uring_buffer_register(struct ring *r, unsigned index, void *base, size_t len)
{
	struct iovec iov = { base, len };
	struct uring *u = uring_of(r);
	int ret;

	if (index >= u->buffers)
		return -ENOTSUP;
	ret = io_uring_register_buffers_update_tag(&u->u, index, &iov, NULL, 1);
	return ret < 0 ? ret : 0;
}

static void uring_free(struct ring *r)
{
	struct uring *u = uring_of(r);

	for (unsigned i = 0; i < u->nwho; i++)
		personality_drop(u, &u->who[i]);
	io_uring_queue_exit(&u->u);
	ring_fini(r);
	free(u);
}

static const struct ring_engine_ops uring_engine = {
	"io_uring", uring_start, uring_cancel, uring_collect, uring_buffer_register, uring_free,
};

/* Why io_uring was refused, by errno and what the system says about it. */
static void explain(int err, char *why, size_t size)
{
	char mode = '0';
	int fd;

	switch (-err) {
	case EPERM:
		fd = open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			if (read(fd, &mode, 1) != 1)
				mode = '0';
			close(fd);
		}
		if (mode != '0')
			snprintf(why, size, "io_uring refused: sysctl kernel.io_uring_disabled=%c",
				 mode);
		else
			snprintf(why, size, "io_uring refused: a seccomp filter or security module "
					    "forbids it");
		break;
	case ENOSYS:
		snprintf(why, size, "io_uring missing: old kernel, or hidden by a seccomp filter");
		break;
	case EOPNOTSUPP:
		snprintf(why, size, "io_uring too old: Linux 5.7 or later is needed");
		break;
	case ENOMEM:
		snprintf(why, size,
			 "io_uring refused: out of memory or locked-memory limit (RLIMIT_MEMLOCK)");
		break;
	default:
		snprintf(why, size, "io_uring refused: %s", strerror(-err));
	}
}

/* The best set of flags this kernel takes; older ones answer EINVAL to what they do not know. */
static int queue_init(struct uring *u, unsigned depth, const char **flags)
{
	static const struct {
		unsigned flags;
		const char *name;
	} tries[] = {
		{ IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		  "SINGLE_ISSUER, DEFER_TASKRUN" },
		{ IORING_SETUP_COOP_TASKRUN, "COOP_TASKRUN" },
		{ 0, "plain" },
	};
	int ret = -EINVAL;

	for (unsigned i = 0; ret == -EINVAL && i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct io_uring_params p = {
			.flags = tries[i].flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
			.cq_entries = depth * 4,
		};

		*flags = tries[i].name;
		ret = io_uring_queue_init_params(depth, &u->u, &p);
	}
	if (ret == 0 && !(u->u.features & IORING_FEAT_FAST_POLL)) {
		io_uring_queue_exit(&u->u);
		ret = -EOPNOTSUPP;
	}
	return ret;
}

/*
 * io-wq's threads ignore the affinity of the thread that owns the ring: without a mask they run
 * on every CPU of the cpuset, on whatever node.
 */
static void limit_iowq(struct uring *u, const struct ring_params *p)
{
	/*
	 * A splice from a file waits for the disk too, but
	 * counts as unbounded: its target is a pipe.
	 */
	unsigned n = p->iowq ? p->iowq : IOWQ_MAX, max[2] = { n, n };

	io_uring_register_iowq_max_workers(&u->u, max);
	if (p->cpus)
		u->ring.unbound = io_uring_register_iowq_aff(&u->u, sizeof(*p->cpus), p->cpus);
}

/* Kernels before 5.19 or so answer EAGAIN where a blocking socket would be waited for. */
static bool nonblock_works(struct uring *u)
{
	struct io_uring_cqe *cqe;
	bool works = false;
	char byte = 0;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return false;
	io_uring_prep_recv(get_sqe(u), fds[0], &byte, 1, 0);
	if (io_uring_submit(&u->u) == 1 && write(fds[1], &byte, 1) == 1 &&
	    io_uring_wait_cqe(&u->u, &cqe) == 0) {
		works = cqe->res == 1;
		io_uring_cqe_seen(&u->u, cqe);
	}
	close(fds[0]);
	close(fds[1]);
	return works;
}

static bool knows_send_zc(struct uring *u)
{
	struct io_uring_probe *p = io_uring_get_probe_ring(&u->u);
	bool known = p && io_uring_opcode_supported(p, IORING_OP_SEND_ZC);

	io_uring_free_probe(p);
	return known;
}

int ring_uring_new(struct ring **out, const struct ring_params *p, char *why, size_t whysize)
{
	struct uring *u = calloc(1, sizeof(*u));
	const char *flags;
	int ret;

	if (!u)
		return -ENOMEM;
	ret = ring_init(&u->ring, &uring_engine);
	if (ret < 0)
		goto fail;
	ret = queue_init(u, p->depth ? p->depth : 256, &flags);
	if (ret < 0)
		goto fail_ring;
	/*
	 * Both are refinements: without them the kernel's default
	 * limit holds and buffers stay unregistered.
	 */
	limit_iowq(u, p);
	if (p->buffers && io_uring_register_buffers_sparse(&u->u, p->buffers) == 0)
		u->buffers = p->buffers;
	u->ring.nonblock = nonblock_works(u);
	u->ring.zerocopy = knows_send_zc(u);
	snprintf(why, whysize, "%s, %u entries%s", flags, u->u.sq.ring_entries,
		 p->buffers && !u->buffers ? ", buffers unregistered" : "");
	*out = &u->ring;
	return 0;
fail_ring:
	ring_fini(&u->ring);
fail:
	explain(ret, why, whysize);
	free(u);
	return ret;
}
