/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/offload.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "nfsd-io/core/cred.h"

struct offload {
	pthread_mutex_t lock; /* everything below */
	pthread_cond_t work;
	struct offload_job *head, **tail;
	unsigned queued, idle;
	bool quit, confined;
	cpu_set_t cpus;
	unsigned n, max;
	pthread_t tid[];
};

static void carry_out(struct offload_job *job)
{
	/* Without a ring run() may free the job: nothing of it is looked at afterwards. */
	struct ring *ring = job->ring;

	cred_assume(NULL);
	job->run(job);
	if (ring)
		ring_post(ring, &job->op, 0);
}

static void *offload_thread(void *arg)
{
	struct offload *o = arg;

	pthread_mutex_lock(&o->lock);
	for (;;) {
		struct offload_job *job;

		while (!o->head && !o->quit) {
			o->idle++;
			pthread_cond_wait(&o->work, &o->lock);
			o->idle--;
		}
		job = o->head;
		if (!job)
			break;
		o->head = job->next;
		if (!o->head)
			o->tail = &o->head;
		o->queued--;
		pthread_mutex_unlock(&o->lock);
		carry_out(job);
		pthread_mutex_lock(&o->lock);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* Under the lock.  One thread more, with all signals left to others; 0 or -errno. */
static int add_thread(struct offload *o)
{
	sigset_t all, old;
	char name[16];
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&o->tid[o->n], NULL, offload_thread, o);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return -ret;
	snprintf(name, sizeof(name), "nfsd-io/o%u", o->n % 1000);
	/* Else it would stay on the CPU of the worker that happened to start it. */
	if (o->confined)
		pthread_setaffinity_np(o->tid[o->n], sizeof(o->cpus), &o->cpus);
	pthread_setname_np(o->tid[o->n++], name);
	return 0;
}

int offload_new(struct offload **out, unsigned max_threads)
{
	unsigned max = max_threads ? max_threads : 16;
	struct offload *o = calloc(1, sizeof(*o) + max * sizeof(o->tid[0]));
	int ret;

	if (!o)
		return -ENOMEM;
	o->max = max;
	o->tail = &o->head;
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->work, NULL);
	pthread_mutex_lock(&o->lock);
	/* The first one now: submitting can then never fail. */
	ret = add_thread(o);
	pthread_mutex_unlock(&o->lock);
	if (ret < 0)
		offload_free(o);
	else
		*out = o;
	return ret;
}

void offload_confine(struct offload *o, const cpu_set_t *cpus)
{
	pthread_mutex_lock(&o->lock);
	o->confined = true;
	o->cpus = *cpus;
	for (unsigned i = 0; i < o->n; i++)
		pthread_setaffinity_np(o->tid[i], sizeof(o->cpus), &o->cpus);
	pthread_mutex_unlock(&o->lock);
}

void offload_free(struct offload *o)
{
	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->quit = true;
	pthread_cond_broadcast(&o->work);
	pthread_mutex_unlock(&o->lock);
	/*
	 * A job that still runs may submit another, which may
	 * start a thread: hence no snapshot of n.
	 */
	for (unsigned i = 0;; i++) {
		bool over;

		pthread_mutex_lock(&o->lock);
		over = i >= o->n;
		pthread_mutex_unlock(&o->lock);
		if (over)
			break;
		pthread_join(o->tid[i], NULL);
	}
	pthread_cond_destroy(&o->work);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

void offload_submit(struct offload *o, struct offload_job *job)
{
	job->next = NULL;
	pthread_mutex_lock(&o->lock);
	*o->tail = job;
	o->tail = &job->next;
	o->queued++;
	if (o->queued > o->idle && o->n < o->max)
		add_thread(o); /* when none can be had, those there are do it in turn */
	/* Who is woken under the lock would only wait for it. */
	pthread_mutex_unlock(&o->lock);
	pthread_cond_signal(&o->work);
}
