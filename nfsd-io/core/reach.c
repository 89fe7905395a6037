/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/reach.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>

void reach_init(struct reach_gate *g, uint64_t size)
{
	*g = (struct reach_gate){.size = size};
	pthread_mutex_init(&g->lock, NULL);
}

void reach_fini(struct reach_gate *g)
{
	assert(!g->waiting);
	pthread_mutex_destroy(&g->lock);
}

uint64_t reach_known(const struct reach_gate *g)
{
	return atomic_load_explicit(&g->size, memory_order_relaxed);
}

void reach_saw(struct reach_gate *g, uint64_t size)
{
	/* Most leave it as it was: then the line stays with whoever reads it. */
	if (reach_known(g) != size)
		atomic_store_explicit(&g->size, size, memory_order_relaxed);
}

bool reach_enter(struct reach_gate *g, struct reach *r)
{
	bool wait;

	pthread_mutex_lock(&g->lock);
	r->longer = r->end > reach_known(g);
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

/* All that wait, off the list, the one that reaches furthest at the head. */
static struct reach *pick(struct reach_gate *g)
{
	struct reach **p, **far = &g->waiting, *first;

	for (p = &g->waiting; *p; p = &(*p)->next)
		if ((*p)->end > (*far)->end)
			far = p;
	first = *far;
	if (!first)
		return NULL;
	*far = first->next;
	first->next = g->waiting;
	g->waiting = NULL;
	for (struct reach *r = first->next; r; r = r->next)
		r->longer = false;
	first->longer = first->end > reach_known(g);
	return first;
}

void reach_leave(struct reach_gate *g, struct reach *r, uint64_t end)
{
	struct reach *next, *picked;

	if (!r->longer)
		return;
	pthread_mutex_lock(&g->lock);
	if (end > reach_known(g))
		atomic_store_explicit(&g->size, end, memory_order_relaxed);
	picked = pick(g);
	g->busy = picked && picked->longer;
	pthread_mutex_unlock(&g->lock);
	/* Once told to go it may be over, and its memory gone, before go() returns. */
	for (; picked; picked = next) {
		next = picked->next;
		picked->go(picked);
	}
}
