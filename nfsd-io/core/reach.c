/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/reach.h"

#include <assert.h>
#include <stddef.h>

void reach_init(struct reach_gate *g, uint64_t size)
{
	*g = (struct reach_gate){ .size = size };
	pthread_mutex_init(&g->lock, NULL);
}

void reach_fini(struct reach_gate *g)
{
	assert(!g->waiting);
	pthread_mutex_destroy(&g->lock);
}

void reach_saw(struct reach_gate *g, uint64_t size)
{
	pthread_mutex_lock(&g->lock);
	g->size = size;
	pthread_mutex_unlock(&g->lock);
}

bool reach_enter(struct reach_gate *g, struct reach *r)
{
	bool wait;

	pthread_mutex_lock(&g->lock);
	r->longer = r->end > g->size;
	wait = r->longer && g->busy;
	if (wait) {
		r->next = g->waiting;
		g->waiting = r;
	} else if (r->longer) {
		g->busy = true;
	}
	pthread_mutex_unlock(&g->lock);
	return !wait;
}

/* The next to make the file longer; NULL: none waits. */
static struct reach *furthest(const struct reach_gate *g)
{
	struct reach *far = g->waiting;

	for (struct reach *r = far; r; r = r->next)
		if (r->end > far->end)
			far = r;
	return far && far->end > g->size ? far : NULL;
}

/* All whose turn it is, off the list. */
static struct reach *pick(struct reach_gate *g)
{
	struct reach *far = furthest(g), *picked = NULL, **p = &g->waiting, *r;

	while ((r = *p)) {
		if (r != far && r->end > g->size) {
			p = &r->next;
			continue;
		}
		*p = r->next;
		r->longer = r == far;
		r->next = picked;
		picked = r;
	}
	g->busy = far;
	return picked;
}

void reach_leave(struct reach_gate *g, struct reach *r, uint64_t end)
{
	struct reach *next, *picked;

	if (!r->longer)
		return;
	pthread_mutex_lock(&g->lock);
	if (end > g->size)
		g->size = end;
	picked = pick(g);
	pthread_mutex_unlock(&g->lock);
	/* Once told to go it may be over, and its memory gone, before go() returns. */
	for (; picked; picked = next) {
		next = picked->next;
		picked->go(picked);
	}
}
