/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/server/placement.h"

static void want_netdev(struct placement *p, struct topology *t, const char *name)
{
	int found = topology_want_netdev(t, name);

	if (found == -ENODEV)
		snprintf(p->why, sizeof(p->why), "there is no interface %s; all nodes are used",
			 name);
	else if (!found)
		snprintf(p->why, sizeof(p->why),
			 "the kernel tells no node of %s; all nodes are used", name);
}

static void want(struct placement *p, struct topology *t, const struct place_wish *w,
		 const struct placement_wish *wish)
{
	switch (w->kind) {
	case PLACE_AUTO:
		for (unsigned i = 0; i < wish->nnetdevs; i++)
			topology_want_netdev(t, wish->netdevs[i]);
		break;
	case PLACE_NETDEV:
		want_netdev(p, t, w->netdev);
		break;
	case PLACE_NODE:
		for (unsigned i = 0; i < PLACE_NODES; i++)
			if (place_wish_node(w, i))
				topology_want_node(t, i);
		break;
	case PLACE_OFF:
		break;
	}
}

/* "0, 1": the nodes that workers are on. */
static void name_nodes(struct placement *p, const struct place_worker *out)
{
	cpu_set_t used;
	size_t at = 0;

	CPU_ZERO(&used);
	for (unsigned i = 0; i < p->n; i++)
		if (out[i].node >= 0)
			CPU_SET(out[i].node, &used);
	for (int node = 0; node < CPU_SETSIZE && at < sizeof(p->nodes); node++)
		if (CPU_ISSET(node, &used))
			at += (size_t)snprintf(p->nodes + at, sizeof(p->nodes) - at, "%s%d",
					       at ? ", " : "", node);
}

/* A wished node that nobody can be on, although others can; -1: none. */
static int closed_node(const struct topology *t, const struct place_wish *w)
{
	for (int i = 0; i < PLACE_NODES; i++) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		topology_add_cpus(t, i, &cpus);
		if (place_wish_node(w, (unsigned)i) && !CPU_COUNT(&cpus))
			return i;
	}
	return -1;
}

static void explain(struct placement *p, const struct topology *t, const struct place_wish *w,
		    enum place_why why)
{
	int closed = t ? closed_node(t, w) : -1;

	if (why == PLACE_AS_WISHED && closed >= 0)
		snprintf(p->why, sizeof(p->why), "node %d has no CPU that this process may run on",
			 closed);
	else if (why == PLACE_NODES_CLOSED)
		snprintf(p->why, sizeof(p->why),
			 "no CPU there that this process may run on; all it may run on are used");
	else if (why == PLACE_UNBOUND && w->kind != PLACE_OFF)
		snprintf(p->why, sizeof(p->why),
			 "the CPUs this process may run on are not known; nothing is bound");
}

void placement_make(struct placement *p, const struct topology_source *src,
		    const struct placement_wish *wish, struct place_worker *out, cpu_set_t *near,
		    unsigned max)
{
	struct topology *t = malloc(sizeof(*t));
	enum place_why why = PLACE_UNBOUND;
	struct place_wish w;

	memset(p, 0, sizeof(*p));
	snprintf(p->asked, sizeof(p->asked), "%s", wish->numa);
	place_wish_parse(wish->numa, &w);
	p->n = 1;
	out[0] = (struct place_worker){-1, -1, -1};
	if (t) {
		topology_read(t, src);
		want(p, t, &w, wish);
		t->facts.workers = wish->workers;
		if (!wish->workers && !t->facts.ncpus)
			t->facts.workers = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
		t->facts.bind = w.kind != PLACE_OFF;
		p->n = place_workers(&t->facts, out, max, &why);
	}
	explain(p, t, &w, why);
	p->bound = why != PLACE_UNBOUND;
	for (unsigned i = 0; p->bound && i < p->n; i++) {
		CPU_ZERO(&near[i]);
		topology_add_cpus(t, out[i].node, &near[i]);
		CPU_OR(&p->cpus, &p->cpus, &near[i]);
		/* Of one node's memory there is no choice, and an empty policy is the fastest. */
		if (t->facts.nnodes < 2 && w.kind != PLACE_NODE)
			out[i].mem_node = -1;
	}
	name_nodes(p, out);
	free(t);
}
