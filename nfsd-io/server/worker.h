/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A worker: one thread, its ring, buffer pool, requests and connections.
 * Nothing of it is touched by other threads save through worker_hand(),
 * worker_drain(), worker_abort() and the atomic counters.  An idle worker
 * sleeps in its ring and is never woken.
 *
 * Completions only note what happened and mark their connection; all work is
 * done in the loop turn that follows, so that replies gather and nothing is
 * freed under a caller's feet.
 */
#ifndef SERVER_WORKER_H
#define SERVER_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "nfsd-io/core/pipe.h"
#include "nfsd-io/core/pool.h"
#include "nfsd-io/core/ring.h"
#include "nfsd-io/proto/req.h"
#include "nfsd-io/server/back.h"
#include "nfsd-io/server/connreg.h"
#include "nfsd-io/server/send.h"
#include "policy/budget.h"

struct conn;

struct worker_params {
	unsigned number;
	int cpu, node;		 /* node: of its memory; -1 = anywhere */
	/* where threads that help it may run; NULL = anywhere; used at start only */
	const cpu_set_t *near;
	unsigned iowq;		 /* io-wq threads; 0 = ring's default */
	enum ring_engine engine;
	unsigned queue_depth;	 /* 0 = ring's default */
	uint64_t pool_bytes;	 /* 0 = 40 MiB */
	const struct proto_env *env;
	struct connreg *conns;
	void (*turned)(void *arg); /* after each loop turn, on the worker's thread; may be NULL */
	void *arg;
};

/* A request as the server keeps it: with what it was charged for. */
struct worker_req {
	struct req req;
	struct budget_use charge;
	struct send_part send;
};

/* Why connections were closed by us; read by any thread. */
struct worker_cuts {
	_Atomic uint64_t bad_record; /* oversize record or endless empty fragments */
	_Atomic uint64_t slow_call;  /* a record that did not complete */
	_Atomic uint64_t slow_reply; /* a reply the peer did not take */
};

/* What placement could not be had: -errno, else 0.  Constant once the worker has started. */
struct worker_unbound {
	int cpu, memory, helpers;
};

struct worker {
	struct worker_params p;
	struct worker_unbound unbound;
	pid_t tid;		   /* likewise */
	struct ring *ring;
	struct pool *pool;
	struct pipe_pool *pipes;   /* NULL: nothing is spliced */
	struct req_stats stats;
	struct send_stats sent;
	struct worker_cuts cuts;
	struct back_stats back;
	_Atomic unsigned nconns;   /* handed over or on the way */
	_Atomic uint64_t accepted;
	_Atomic unsigned inflight; /* ring operations and pool buffers, as of the last turn */
	_Atomic unsigned buffers_in_use;

	/* the worker's thread alone */
	uint64_t now_ns;	   /* CLOCK_MONOTONIC at the start of this turn */
	struct budget calls;	   /* requests running */
	struct budget budget;	   /* buffers and reply bytes */
	/* ... of connections that have not shown that they take replies */
	struct budget fresh;
	uint32_t large_min;	   /* bytes: a demand above this takes a large buffer */
	struct conn *conns;	   /* all of them, doubly linked */
	struct conn *dirty, **dirty_tail;
	/* not read from until budget comes back; first come, first served */
	struct conn *blocked, **blocked_tail;
	bool credited;		   /* since blocked connections were last tried */
	struct worker_req *spare;  /* FREE requests, linked by req.next */
	unsigned nspare;
	struct op tick;		   /* armed only while something may be late */
	bool ticking;
	uint64_t served, served_at_tick;
	bool draining;

	struct op drain_op, abort_op;
	pthread_t thread;
	pthread_mutex_t lock;	   /* start and end */
	pthread_cond_t cond;
	int started;		   /* 1 when not known yet, else 0 or -errno */
	bool ended;	/* the ring runs no more */
	bool drain_given, abort_given;
};

/* Starts the thread and waits until its ring and pool stand.  0 or -errno. */
int worker_new(struct worker **out, const struct worker_params *p);
/* From any thread, once: `c` from conn_new() now belongs to the worker. */
void worker_hand(struct worker *w, struct conn *c);
/*
 * Any thread, idempotent: stop reading, answer what runs,
 * close; the thread ends when no connection is left.
 */
void worker_drain(struct worker *w);
/* As drain, but connections are cut; what runs still finishes. */
void worker_abort(struct worker *w);
/* Wait for the end until CLOCK_MONOTONIC `deadline_ns`; 0 or -ETIMEDOUT. */
int worker_wait(struct worker *w, uint64_t deadline_ns);
void worker_free(struct worker *w); /* after worker_wait() gave 0 */

/* For connections, on the worker's thread. */
struct worker_req *worker_req_get(struct worker *w); /* in FREE; NULL when memory is out */
void worker_req_put(struct worker *w, struct worker_req *r);
void worker_mark(struct conn *c);  /* have conn_turn() called this turn */
void worker_block(struct conn *c); /* ... each time budget is given back */
void worker_link(struct worker *w, struct conn *c);
void worker_unlink(struct worker *w, struct conn *c);
void worker_watch(struct worker *w); /* something may be late: keep the clock ticking */

uint64_t worker_clock_ns(void); /* CLOCK_MONOTONIC */

#endif
