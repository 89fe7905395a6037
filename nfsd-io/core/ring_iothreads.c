/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/ring_iothreads.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "nfsd-io/core/ring_int.h"

struct ring_iothreads {
	struct ring *ring;
	pthread_mutex_t lock; /* the queue and the three below it */
	pthread_cond_t work;
	struct op *head, **tail;
	unsigned queued, idle;
	bool quit;
	unsigned n, max;
	char name[16];
	bool confined;
	cpu_set_t cpus;
	pthread_t tid[];
};

static struct op *take(struct ring_iothreads *io)
{
	struct op *op = io->head;

	io->head = op->next;
	if (!io->head)
		io->tail = &io->head;
	io->queued--;
	return op;
}

static void *io_thread(void *arg)
{
	struct ring_iothreads *io = arg;

	pthread_mutex_lock(&io->lock);
	for (;;) {
		struct op *op;

		while (!io->head && !io->quit) {
			io->idle++;
			pthread_cond_wait(&io->work, &io->lock);
			io->idle--;
		}
		if (!io->head)
			break;
		op = take(io);
		pthread_mutex_unlock(&io->lock);
		ring_ready_remote(io->ring, op, ring_inline_carry(op));
		pthread_mutex_lock(&io->lock);
	}
	pthread_mutex_unlock(&io->lock);
	return NULL;
}

int ring_iothreads_new(struct ring_iothreads **out, struct ring *r, unsigned max, const char *name,
		       const cpu_set_t *cpus)
{
	struct ring_iothreads *io = calloc(1, sizeof(*io) + max * sizeof(io->tid[0]));

	if (!io)
		return -ENOMEM;
	io->ring = r;
	io->max = max;
	io->confined = cpus != NULL;
	if (cpus)
		io->cpus = *cpus;
	io->tail = &io->head;
	snprintf(io->name, sizeof(io->name), "%.9s", name ? name : "nfsd-io");
	pthread_mutex_init(&io->lock, NULL);
	pthread_cond_init(&io->work, NULL);
	*out = io;
	return 0;
}

void ring_iothreads_free(struct ring_iothreads *io)
{
	assert(!io->head);
	pthread_mutex_lock(&io->lock);
	io->quit = true;
	pthread_cond_broadcast(&io->work);
	pthread_mutex_unlock(&io->lock);
	for (unsigned i = 0; i < io->n; i++)
		pthread_join(io->tid[i], NULL);
	pthread_cond_destroy(&io->work);
	pthread_mutex_destroy(&io->lock);
	free(io);
}

/* One thread more, with all signals left to others; 0 or -errno. */
static int add_thread(struct ring_iothreads *io)
{
	sigset_t all, old;
	char name[16];
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&io->tid[io->n], NULL, io_thread, io);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		return -ret;
	snprintf(name, sizeof(name), "%.9s-i%u", io->name, io->n % 1000);
	/* Else it would stay on the one CPU of the thread that starts it. */
	if (io->confined)
		pthread_setaffinity_np(io->tid[io->n], sizeof(io->cpus), &io->cpus);
	pthread_setname_np(io->tid[io->n++], name);
	return 0;
}

int ring_iothreads_submit(struct ring_iothreads *io, struct op *op)
{
	bool more;
	int ret = 0;

	pthread_mutex_lock(&io->lock);
	more = io->queued >= io->idle && io->n < io->max;
	pthread_mutex_unlock(&io->lock);
	if (more)
		ret = add_thread(io);
	if (!io->n)
		return ret;
	op->next = NULL;
	pthread_mutex_lock(&io->lock);
	*io->tail = op;
	io->tail = &op->next;
	io->queued++;
	pthread_cond_signal(&io->work);
	pthread_mutex_unlock(&io->lock);
	return 0;
}

bool ring_iothreads_remove(struct ring_iothreads *io, struct op *op)
{
	struct op **p;
	bool found;

	pthread_mutex_lock(&io->lock);
	for (p = &io->head; *p && *p != op; p = &(*p)->next)
		;
	found = *p == op;
	if (found) {
		*p = op->next;
		if (!*p)
			io->tail = p;
		io->queued--;
	}
	pthread_mutex_unlock(&io->lock);
	return found;
}
