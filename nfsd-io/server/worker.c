/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/server/conn.h"
#include "nfsd-io/server/worker.h"

#define TICK_NS 1000000000ull
#define SPARE_MAX 64
#define POOL_BYTES (40ull << 20)
#define SMALL_BYTES 73728u /* 64 KiB and two blocks, as pool's default */
#define LARGE_SLACK 65536u /* a phase, and two blocks for an expanded READ */

uint64_t worker_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

struct worker_req *worker_req_get(struct worker *w)
{
	struct worker_req *r = w->spare;

	if (!r)
		return calloc(1, sizeof(*r));
	w->spare = (struct worker_req *)r->req.next;
	w->nspare--;
	r->req.next = NULL;
	return r;
}

void worker_req_put(struct worker *w, struct worker_req *r)
{
	if (w->nspare == SPARE_MAX) {
		free(r);
		return;
	}
	r->req.next = (struct req *)w->spare;
	w->spare = r;
	w->nspare++;
}

static void drop_spares(struct worker *w)
{
	struct worker_req *r;

	while ((r = w->spare)) {
		w->spare = (struct worker_req *)r->req.next;
		free(r);
	}
	w->nspare = 0;
}

void worker_mark(struct conn *c)
{
	struct worker *w = c->w;

	if (c->dirty)
		return;
	c->dirty = true;
	c->dirty_next = NULL;
	*w->dirty_tail = c;
	w->dirty_tail = &c->dirty_next;
}

void worker_block(struct conn *c)
{
	if (c->blocked)
		return;
	c->blocked = true;
	c->blocked_next = NULL;
	*c->w->blocked_tail = c;
	c->w->blocked_tail = &c->blocked_next;
}

void worker_link(struct worker *w, struct conn *c)
{
	c->prev = NULL;
	c->next = w->conns;
	if (c->next)
		c->next->prev = c;
	w->conns = c;
}

static void unblock(struct worker *w, struct conn *c)
{
	struct conn **p;

	for (p = &w->blocked; *p != c; p = &(*p)->blocked_next)
		;
	*p = c->blocked_next;
	if (!*p)
		w->blocked_tail = p;
	c->blocked = false;
}

void worker_unlink(struct worker *w, struct conn *c)
{
	if (c->blocked)
		unblock(w, c);
	if (c->next)
		c->next->prev = c->prev;
	if (c->prev)
		c->prev->next = c->next;
	else
		w->conns = c->next;
}

void worker_watch(struct worker *w)
{
	if (w->ticking)
		return;
	w->ticking = true;
	ring_timeout(w->ring, &w->tick, TICK_NS);
}

/* Is somebody held up by what slow peers occupy?  One that does not take its own replies is not. */
static bool pressed(struct worker *w)
{
	size_t sizes[2] = {w->large_min, pool_max(w->pool)};
	struct conn *c;
	unsigned i;

	for (c = w->blocked; c; c = c->blocked_next)
		if (send_idle(c))
			return true;
	for (i = 0; i < 2; i++) {
		struct buf *b = pool_borrow(w->pool, sizes[i]);

		if (!b)
			return true;
		buf_return(b);
	}
	return false;
}

/* Nothing happens here any more: what a burst took goes back to the system. */
static void trim(struct worker *w)
{
	drop_spares(w);
	pool_trim(w->pool);
	if (w->pipes)
		pipe_pool_trim(w->pipes);
	malloc_trim(0);
}

static void ticked(struct op *op, int res, bool more)
{
	struct worker *w = container_of(op, struct worker, tick);
	bool busy = w->served != w->served_at_tick, strict;
	struct conn *c;

	(void)res;
	(void)more;
	w->ticking = false;
	w->now_ns = worker_clock_ns();
	strict = pressed(w);
	for (c = w->conns; c; c = c->next)
		busy |= conn_late(c, strict);
	w->served_at_tick = w->served;
	if (busy && !w->draining)
		worker_watch(w);
	else if (!busy)
		trim(w);
}

static void run_dirty(struct worker *w)
{
	struct conn *c;

	while ((c = w->dirty)) {
		w->dirty = c->dirty_next;
		if (!w->dirty)
			w->dirty_tail = &w->dirty;
		c->dirty = false;
		conn_turn(c);
	}
}

/* Budget came back: whoever was stopped by it may try again. */
static void wake_blocked(struct worker *w)
{
	struct conn *c;

	w->credited = false;
	while ((c = w->blocked)) {
		w->blocked = c->blocked_next;
		c->blocked = false;
		worker_mark(c);
	}
	w->blocked_tail = &w->blocked;
}

/* The last connection is gone: stop once nothing is outstanding, an order under way included. */
static void end(struct worker *w)
{
	if (w->ticking)
		ring_cancel(w->ring, &w->tick);
	pthread_mutex_lock(&w->lock);
	if (!ring_inflight(w->ring)) {
		w->ended = true;
		pthread_cond_broadcast(&w->cond);
		ring_stop(w->ring);
	}
	pthread_mutex_unlock(&w->lock);
}

static void turn(void *arg)
{
	struct worker *w = arg;

	w->now_ns = worker_clock_ns();
	run_dirty(w);
	while (w->credited && w->blocked) {
		wake_blocked(w);
		run_dirty(w);
	}
	atomic_store_explicit(&w->inflight, ring_inflight(w->ring), memory_order_relaxed);
	atomic_store_explicit(&w->buffers_in_use, pool_in_use(w->pool), memory_order_relaxed);
	if (w->p.turned)
		w->p.turned(w->p.arg);
	if (w->draining && !atomic_load(&w->nconns))
		end(w);
}

static void handed(struct op *op, int res, bool more)
{
	struct conn *c = container_of(op, struct conn, hand);

	(void)res;
	(void)more;
	conn_start(c);
	if (c->w->draining)
		conn_close(c);
}

void worker_hand(struct worker *w, struct conn *c)
{
	atomic_fetch_add(&w->nconns, 1);
	atomic_fetch_add_explicit(&w->accepted, 1, memory_order_relaxed);
	c->hand.done = handed;
	ring_post(w->ring, &c->hand, 0);
}

static void drain(struct op *op, int res, bool more)
{
	struct worker *w = container_of(op, struct worker, drain_op);
	struct conn *c;

	(void)res;
	(void)more;
	w->draining = true;
	for (c = w->conns; c; c = c->next)
		conn_close(c);
}

static void abort_all(struct op *op, int res, bool more)
{
	struct worker *w = container_of(op, struct worker, abort_op);
	struct conn *c;

	(void)res;
	(void)more;
	w->draining = true;
	for (c = w->conns; c; c = c->next)
		conn_abort(c);
}

/* Give an order once, unless the ring runs no more. */
static void order(struct worker *w, struct op *op, bool *given)
{
	pthread_mutex_lock(&w->lock);
	if (!*given && !w->ended)
		ring_post(w->ring, op, 0);
	*given = true;
	pthread_mutex_unlock(&w->lock);
}

void worker_drain(struct worker *w)
{
	order(w, &w->drain_op, &w->drain_given);
}

void worker_abort(struct worker *w)
{
	order(w, &w->abort_op, &w->abort_given);
}

/* Three quarters of the memory for large transfers, at least a handful of each. */
static void size_pool(const struct worker *w, struct pool_params *p)
{
	const struct proto_env *env = w->p.env;
	uint64_t bytes = w->p.pool_bytes ? w->p.pool_bytes : POOL_BYTES;
	uint32_t max = env->max_read > env->max_write ? env->max_read : env->max_write;

	p->large = (size_t)max + LARGE_SLACK;
	p->small = SMALL_BYTES < p->large ? SMALL_BYTES : p->large;
	p->nlarge = (unsigned)(bytes / 4 * 3 / p->large);
	p->nsmall = (unsigned)(bytes / 4 / p->small);
	if (p->nlarge < 4)
		p->nlarge = 4;
	if (p->nsmall < 16)
		p->nsmall = 16;
}

/*
 * Connections that have yet to take a reply share half of what
 * there is, so that the others always have the rest.
 */
static void init_budgets(struct worker *w, const struct pool_params *p)
{
	/* Who waits for a buffer holds none, so all that run can have one. */
	const struct budget_use calls = {.reqs = p->nlarge + p->nsmall};
	const struct budget_use all = {.bufs = p->nlarge,
				       .bytes = p->nlarge * p->large + p->nsmall * p->small};
	const struct budget_use half = {.bufs = all.bufs / 2, .bytes = all.bytes / 2};

	budget_init(&w->calls, NULL, &calls);
	budget_init(&w->budget, NULL, &all);
	budget_init(&w->fresh, &w->budget, &half);
}

static int set_up(struct worker *w)
{
	struct pool_params pp = {.node = w->p.node};
	struct ring_params rp = {.engine = w->p.engine,
				 .depth = w->p.queue_depth,
				 .iowq = w->p.iowq,
				 .cpus = w->p.near};
	char name[24];
	int err;

	size_pool(w, &pp);
	snprintf(name, sizeof(name), "nfsd-io/w%u", w->p.number);
	rp.name = name;
	rp.buffers = pp.nlarge + pp.nsmall;
	err = ring_new(&w->ring, &rp);
	if (err)
		return err;
	pp.ring = w->ring;
	err = pool_new(&w->pool, &pp);
	if (err) {
		ring_free(w->ring);
		return err;
	}
	w->unbound.helpers = ring_unbound(w->ring);
	w->unbound.memory = pool_unbound(w->pool);
	/* Without pipes everything is sent from buffers. */
	if (ring_nonblock(w->ring) && pipe_pool_new(&w->pipes, pp.nlarge, w->p.env->max_read) < 0)
		w->pipes = NULL;
	init_budgets(w, &pp);
	w->large_min = (uint32_t)(pp.small - 2 * 4096);
	return 0;
}

static void place(struct worker *w)
{
	char name[16];
	cpu_set_t set;

	snprintf(name, sizeof(name), "nfsd-io/w%u", w->p.number);
	pthread_setname_np(pthread_self(), name);
	w->tid = gettid();
	root_stats_bank_set(w->p.number);
	if (w->p.cpu < 0 || w->p.cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET(w->p.cpu, &set);
	/* A CPU gone offline is no reason to fail. */
	w->unbound.cpu = -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void announce(struct worker *w, int started)
{
	pthread_mutex_lock(&w->lock);
	w->started = started;
	pthread_cond_broadcast(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

static void *run(void *arg)
{
	struct worker *w = arg;
	int err;

	place(w);
	err = set_up(w);
	announce(w, err);
	if (err)
		return NULL;
	ring_run(w->ring, turn, w);
	assert(!w->conns);
	drop_spares(w);
	pool_free(w->pool);
	return NULL;
}

static void init_locks(struct worker *w)
{
	pthread_condattr_t a;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&w->cond, &a);
	pthread_condattr_destroy(&a);
}

static void fini(struct worker *w)
{
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int worker_new(struct worker **out, const struct worker_params *p)
{
	struct worker *w = aligned_alloc(64, (sizeof(*w) + 63) / 64 * 64);
	int err;

	if (!w)
		return -ENOMEM;
	memset(w, 0, sizeof(*w));
	w->p = *p;
	w->dirty_tail = &w->dirty;
	w->blocked_tail = &w->blocked;
	w->tick.done = ticked;
	w->drain_op.done = drain;
	w->abort_op.done = abort_all;
	w->started = 1;
	init_locks(w);
	err = -pthread_create(&w->thread, NULL, run, w);
	if (err) {
		fini(w);
		return err;
	}
	pthread_mutex_lock(&w->lock);
	while (w->started > 0)
		pthread_cond_wait(&w->cond, &w->lock);
	err = w->started;
	pthread_mutex_unlock(&w->lock);
	if (err) {
		pthread_join(w->thread, NULL);
		fini(w);
		return err;
	}
	*out = w;
	return 0;
}

int worker_wait(struct worker *w, uint64_t deadline_ns)
{
	struct timespec ts = {.tv_sec = (time_t)(deadline_ns / 1000000000),
			      .tv_nsec = (long)(deadline_ns % 1000000000)};
	int err = 0;

	pthread_mutex_lock(&w->lock);
	while (!w->ended && !err)
		err = pthread_cond_timedwait(&w->cond, &w->lock, &ts);
	err = w->ended ? 0 : -ETIMEDOUT;
	pthread_mutex_unlock(&w->lock);
	return err;
}

void worker_free(struct worker *w)
{
	pthread_join(w->thread, NULL);
	/* Not at the thread's end: until now `stats` may have asked it what it counted. */
	pipe_pool_free(w->pipes);
	ring_free(w->ring);
	fini(w);
}
