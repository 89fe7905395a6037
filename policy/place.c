/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>

#include "policy/place.h"

#define NOT_USED UINT16_MAX

static unsigned cpus_of(const struct place_facts *f)
{
	return f->ncpus < PLACE_CPUS ? f->ncpus : PLACE_CPUS;
}

static bool is_wanted(const struct place_facts *f, int node)
{
	for (unsigned i = 0; i < f->nnodes; i++) {
		if (f->nodes[i].node == node)
			return f->nodes[i].wanted;
	}
	return false;
}

static bool any_wanted(const struct place_facts *f)
{
	for (unsigned i = 0; i < f->nnodes; i++) {
		if (f->nodes[i].wanted)
			return true;
	}
	return false;
}

/* rank[i]: how many used CPUs of the same node come before CPU i.  Returns how many are used. */
static unsigned rank_cpus(const struct place_facts *f, bool all_nodes, uint16_t *rank)
{
	unsigned n = 0;

	for (unsigned i = 0; i < cpus_of(f); i++) {
		rank[i] = NOT_USED;
		if (!f->cpus[i].allowed || (!all_nodes && !is_wanted(f, f->cpus[i].node)))
			continue;
		rank[i] = 0;
		for (unsigned k = 0; k < i; k++)
			rank[i] += rank[k] != NOT_USED && f->cpus[k].node == f->cpus[i].node;
		n++;
	}
	return n;
}

static int mem_node(const struct place_facts *f, int node)
{
	unsigned best = f->nnodes, at = f->nnodes;

	for (unsigned i = 0; i < f->nnodes; i++) {
		if (f->nodes[i].node == node)
			at = i;
	}
	if (at == f->nnodes)
		return -1;
	if (f->nodes[at].memory)
		return node;
	for (unsigned i = 0; i < f->nnodes; i++) {
		const uint8_t *row = f->distance ? f->distance + (size_t)at * f->nnodes : NULL;

		if (f->nodes[i].memory && (best == f->nnodes || (row && row[i] < row[best])))
			best = i;
	}
	return best == f->nnodes ? -1 : f->nodes[best].node;
}

/* CPUs by rank: the first of each node, then the second of each, and over again. */
static void fill(const struct place_facts *f, const uint16_t *rank, struct place_worker *out,
		 unsigned n)
{
	unsigned done = 0;

	while (done < n) {
		unsigned before = done;

		for (unsigned r = 0; r < cpus_of(f) && done < n; r++) {
			for (unsigned i = 0; i < cpus_of(f) && done < n; i++) {
				const struct place_cpu *c = &f->cpus[i];

				if (rank[i] == r)
					out[done++] = (struct place_worker){c->cpu, c->node,
									    mem_node(f, c->node)};
			}
		}
		if (done == before)
			return;
	}
}

unsigned place_workers(const struct place_facts *f, struct place_worker *out, unsigned max,
		       enum place_why *why)
{
	uint16_t rank[PLACE_CPUS];
	bool wish = f->bind && any_wanted(f);
	unsigned usable = rank_cpus(f, !wish, rank), n;

	*why = PLACE_AS_WISHED;
	if (wish && !usable) {
		*why = PLACE_NODES_CLOSED;
		usable = rank_cpus(f, true, rank);
	}
	if (!f->bind || !usable)
		*why = PLACE_UNBOUND;
	n = f->workers ? f->workers : usable;
	n = n < 1 ? 1 : n > max ? max : n;
	if (*why != PLACE_UNBOUND)
		fill(f, rank, out, n);
	else
		for (unsigned i = 0; i < n; i++)
			out[i] = (struct place_worker){-1, -1, -1};
	return n;
}
