/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `numa = ...` carried out: from the wish, the machine and the interfaces
 * listened on to a CPU, a memory node and a set of near CPUs for each worker.
 * Never fails: what cannot be had gives a poorer placement and a sentence.
 */
#ifndef SERVER_PLACEMENT_H
#define SERVER_PLACEMENT_H

#include <net/if.h>

#include "nfsd-io/server/topology.h"

struct placement {
	unsigned n; /* workers */
	bool bound; /* else nobody is bound to anything */
	char asked[64], nodes[128]; /* "auto"; "0, 1", empty when not bound */
	char why[160];		    /* why it is not as wished; else empty */
	cpu_set_t cpus;		    /* for what helps all workers */
};

struct placement_wish {
	const char *numa;    /* as configured, valid */
	unsigned workers;    /* 0 = one for each CPU used */
	char (*netdevs)[IF_NAMESIZE]; /* listened on */
	unsigned nnetdevs;
};

/* Places workers into out[max], and near[i]: the CPUs on out[i]'s node. */
void placement_make(struct placement *p, const struct topology_source *src,
		    const struct placement_wish *wish, struct place_worker *out, cpu_set_t *near,
		    unsigned max);

#endif
