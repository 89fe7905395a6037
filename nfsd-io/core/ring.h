/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A worker's event engine: io_uring, or epoll with a pool of preadv2/pwritev2
 * threads where io_uring is refused.  ring_uring.c alone includes liburing.h.
 * For threads that would only wait for the outcome there is a third, inline:
 * file I/O is over when the function that starts it returns.
 *
 * A ring belongs to the thread that calls ring_run(); only ring_post() and
 * ring_stop() may be called from others.  Every operation is a struct op
 * embedded in its owner; its completion is op->done(op, res, more) on the
 * ring's thread, never from inside the call that started it.
 */
#ifndef CORE_RING_H
#define CORE_RING_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

struct cred;
struct ring;

enum ring_engine { RING_AUTO, RING_IO_URING, RING_THREADS, RING_INLINE };

enum op_kind {
	RING_OP_NONE, RING_OP_READ, RING_OP_WRITE, RING_OP_FSYNC, RING_OP_ACCEPT, RING_OP_RECV,
	RING_OP_SENDMSG, RING_OP_POLL, RING_OP_TIMEOUT, RING_OP_SPLICE_IN, RING_OP_SPLICE_OUT,
	RING_OP_SPLICE_RECV, RING_OP_SPLICE_WRITE, RING_OP_SEND_ZC, RING_OP_POSTED,
};

struct op {
	/*
	 * Set by the owner before starting.  res: count or -errno
	 * as a CQE; more: further completions follow.
	 */
	void (*done)(struct op *op, int res, bool more);

	/* The engine's from start to completion; owners only zero it at birth. */
	struct op *next;
	enum op_kind kind;
	int fd;
	int res;
	unsigned flags;		/* RWF_*, MSG_*, poll mask, datasync */
	int buf_index;		/* registered buffer, or -1 */
	bool cancelled;
	/* SEND_ZC: a completion before the last waits to be told; so does the last */
	bool more, ended;
	bool copied;		/* SEND_ZC, at the last completion: the kernel copied after all */
	uint64_t offset;
	struct iovec iov;
	const struct msghdr *msg;
	int pipe;		/* SPLICE_*: its end */
	const struct cred *cred;
	struct timespec ts;
	void *engine;
};

struct ring_params {
	/* AUTO: io_uring, else threads; INLINE: READ, WRITE and FSYNC only */
	enum ring_engine engine;
	unsigned depth;		 /* SQ entries; 0 = 256 */
	unsigned threads;	 /* threads engine: I/O threads; 0 = 8 */
	unsigned buffers;	 /* registered-buffer slots to reserve; 0 = none */
	/* io_uring: kernel threads for file I/O that would block; 0 = 16 */
	unsigned iowq;
	const cpu_set_t *cpus;	 /* where the engine's helping threads may run; NULL = anywhere */
	const char *name;	 /* thread-name prefix, e.g. "nfsd-io/w0" */
};

/* 0 or -errno.  Create it on the thread that will run it (SINGLE_ISSUER). */
int ring_new(struct ring **out, const struct ring_params *p);
/* All operations must be over. */
void ring_free(struct ring *r);

/*
 * "io_uring", "threads" or "inline"; and in one line why (flags in use, or what refused io_uring).
 */
const char *ring_engine_name(const struct ring *r);
const char *ring_engine_why(const struct ring *r);
/* 0, or -errno: the helping threads could not be kept to `cpus` (a kernel before 5.14). */
int ring_unbound(const struct ring *r);

/*
 * Start an operation.  Buffers, iovecs, msghdr and cred stay the caller's and
 * valid until completion.  Never fails: an error arrives as a completion.
 * A full submission queue is flushed, never overrun.
 * The descriptor stays open until completion (shut down or cancel first).
 * Short counts are normal; EINTR, and EAGAIN of a file that may block, are
 * dealt with here.  A listening socket shared by threads must be O_NONBLOCK.
 * cred: NULL = the server; else the I/O runs as that identity.
 * buf_index: registered buffer that [buf, buf+len) lies in, or -1.
 */
void ring_read(struct ring *r, struct op *op, int fd, void *buf, uint32_t len, uint64_t offset,
	       unsigned rwf, int buf_index, const struct cred *cred);
void ring_write(struct ring *r, struct op *op, int fd, const void *buf, uint32_t len,
		uint64_t offset, unsigned rwf, int buf_index, const struct cred *cred);
void ring_fsync(struct ring *r, struct op *op, int fd, bool datasync);
/* one connection; res = new fd (CLOEXEC) */
void ring_accept(struct ring *r, struct op *op, int fd);
void ring_recv(struct ring *r, struct op *op, int fd, void *buf, size_t len, int flags);
void ring_sendmsg(struct ring *r, struct op *op, int fd, const struct msghdr *msg, int flags);
void ring_poll(struct ring *r, struct op *op, int fd, unsigned mask);
void ring_timeout(struct ring *r, struct op *op, uint64_t ns);	/* res = -ETIME when it fires */

/*
 * A stretch of a file into a pipe, which has room for it (or -EAGAIN); `pipe` is the end to write
 * to.  Buffered, the pipe holds the page cache's own pages: what is written to the file later
 * shows.
 */
void ring_splice_in(struct ring *r, struct op *op, int fd, uint64_t offset, int pipe, uint32_t len);
/*
 * To a socket: msg (NULL: nothing), then `len` bytes of the pipe, together res bytes.  `more`: as
 * MSG_MORE for the end of it.  Only where ring_nonblock() is true, and on an O_NONBLOCK socket, so
 * that no thread is ever held by a peer that does not read.  SIGPIPE must be ignored.
 */
void ring_splice_out(struct ring *r, struct op *op, int fd, const struct msghdr *msg, int pipe,
		     uint32_t len, bool more);
/*
 * From a socket into a pipe, as ring_recv(); -ENOSPC: the pipe takes no more (each piece of the
 * stream occupies a slot of it however short).  Waits for SO_RCVLOWAT.  The same conditions as
 * SPLICE_OUT's.
 */
void ring_splice_recv(struct ring *r, struct op *op, int fd, int pipe, uint32_t len);
/* `len` bytes, which the pipe holds, to the file; else as ring_write(). */
void ring_splice_write(struct ring *r, struct op *op, int fd, int pipe, uint32_t len,
		       uint64_t offset, const struct cred *cred);
/*
 * Send without copying: done(res, true) tells how much, done(0, false) that the memory is no longer
 * read (op->copied is set then); or done(res, false) alone.  Only where ring_zerocopy() is true.
 */
void ring_send_zc(struct ring *r, struct op *op, int fd, const void *buf, size_t len, int flags,
		  int buf_index);
bool ring_zerocopy(const struct ring *r);
/* Operations on O_NONBLOCK sockets wait as those on blocking ones do. */
bool ring_nonblock(const struct ring *r);

/* A hint: the operation completes soon, with -ECANCELED or as if nothing was said. */
void ring_cancel(struct ring *r, struct op *op);

/* From any thread: have op->done(op, res, false) called on the ring's thread.  Wakes it. */
void ring_post(struct ring *r, struct op *op, int res);

/* Register memory as slot `index` (0..buffers-1); -errno means: use it unregistered. */
int ring_buffer_register(struct ring *r, unsigned index, void *base, size_t len);

/*
 * Run until ring_stop(): submit, wait, deliver; after each batch of
 * completions call turn(arg) (reap the dead, gather sends).  May be NULL.
 */
void ring_run(struct ring *r, void (*turn)(void *arg), void *arg);
void ring_stop(struct ring *r); /* from any thread */

/*
 * One turn of ring_run(), for who waits for operations of his own: waits until
 * something is over or posted, unless it is already, and delivers that.  The
 * ring is the calling thread's until nothing of it is under way.
 */
void ring_turn(struct ring *r);

/*
 * The number of the batch of completions this thread is delivering in
 * ring_run(), never used again on it: whatever it comes to know during a batch
 * is younger than all of the batch's completions.  0: not in one.
 */
uint64_t ring_batch(void);

/*
 * Operations started and not over, for drain and stats; an engine of threads has one more while
 * ends of them wait to be told.
 */
unsigned ring_inflight(const struct ring *r);

#endif
