/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/nfsdio.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "nfsd-io/core/nfsdio_int.h"

static int lane_up(struct nfsdio_lane *l)
{
	const struct nfsdio_params *p = &l->n->p;
	struct pool_params pp = { .large = read_space(p->max_io), .node = -1 };
	struct ring_params rp = { .name = "nfsdio", .engine = (enum ring_engine)p->engine };
	int ret;

	if (p->engine == NFSDIO_ENGINE_MIXED)
		rp.engine = RING_AUTO;
	pp.nlarge = (unsigned)(p->max_bytes / p->max_io) + 1;
	pp.nsmall = 32;
	rp.buffers = pp.nlarge + pp.nsmall;
	ret = ring_new(&l->ring, &rp);
	if (ret < 0)
		return ret;
	pp.ring = l->ring;
	ret = pool_new(&l->pool, &pp);
	if (ret < 0)
		ring_free(l->ring);
	return ret;
}

_Thread_local struct nfsdio_lane *nfsdio_own_lane;

static void *lane_thread(void *arg)
{
	struct nfsdio_lane *l = arg;

	nfsdio_own_lane = l;
	l->err = lane_up(l);
	sem_post(&l->ready);
	if (l->err < 0)
		return NULL;
	ring_run(l->ring, NULL, NULL);
	pool_free(l->pool);
	ring_free(l->ring);
	return NULL;
}

/* With all signals left to the program's own threads. */
static int lane_start(struct nfsdio *n, struct nfsdio_lane *l)
{
	sigset_t all, old;
	int ret;

	l->n = n;
	l->tail = &l->queue;
	sem_init(&l->ready, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&l->tid, NULL, lane_thread, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret) {
		sem_destroy(&l->ready);
		return -ret;
	}
	while (sem_wait(&l->ready) < 0)
		assert(errno == EINTR);
	if (l->err < 0) {
		pthread_join(l->tid, NULL);
		sem_destroy(&l->ready);
		return l->err;
	}
	pthread_setname_np(l->tid, "nfsdio");
	return 0;
}

static void name_engine(struct nfsdio *n)
{
	const char *mixed = n->p.engine == NFSDIO_ENGINE_MIXED ? "mixed, " : "";

	if (n->nlanes)
		snprintf(n->engine, sizeof(n->engine), "%s%s: %s", mixed,
			 ring_engine_name(n->lane[0].ring), ring_engine_why(n->lane[0].ring));
	else
		snprintf(n->engine, sizeof(n->engine), "inline: on the callers' threads");
}

int nfsdio_new(struct nfsdio **out, const struct nfsdio_params *p)
{
	struct nfsdio_params with = p ? *p : (struct nfsdio_params){ 0 };
	unsigned lanes;
	struct nfsdio *n;
	int ret = 0;

	with.threads = with.threads ? with.threads : 1;
	with.max_io = with.max_io ? with.max_io : 1 << 20;
	with.max_bytes = with.max_bytes ? with.max_bytes : 16 << 20;
	if (with.threads > 1024 || with.max_io > 1 << 30 || with.max_bytes >> 20 > 1 << 20)
		return -EINVAL;
	lanes = with.engine == NFSDIO_ENGINE_INLINE ? 0 : with.threads;
	n = calloc(1, sizeof(*n) + lanes * sizeof(n->lane[0]));
	if (!n)
		return -ENOMEM;
	n->p = with;
	verifier_init(&n->verifier);
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->idle, NULL);
	pthread_cond_init(&n->room, NULL);
	while (ret == 0 && n->nlanes < lanes) {
		ret = lane_start(n, &n->lane[n->nlanes]);
		n->nlanes += ret == 0;
	}
	if (ret < 0) {
		nfsdio_free(n);
		return ret;
	}
	name_engine(n);
	*out = n;
	return 0;
}

void nfsdio_free(struct nfsdio *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	while (n->inflight)
		pthread_cond_wait(&n->idle, &n->lock);
	pthread_mutex_unlock(&n->lock);
	for (unsigned i = 0; i < n->nlanes; i++) {
		ring_stop(n->lane[i].ring);
		pthread_join(n->lane[i].tid, NULL);
		sem_destroy(&n->lane[i].ready);
	}
	nfsdio_req_drop(n);
	nfsdio_seat_drop(n);
	pthread_cond_destroy(&n->room);
	pthread_cond_destroy(&n->idle);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

const char *nfsdio_engine(const struct nfsdio *n)
{
	return n->engine;
}

uint64_t nfsdio_verifier(const struct nfsdio *n)
{
	return verifier_get(&n->verifier);
}
