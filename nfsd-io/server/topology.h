/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A machine's CPUs, NUMA nodes and network cards, read from sysfs, as facts
 * for policy/place.  Knows no threads and binds nothing.  Start-up only.
 */
#ifndef SERVER_TOPOLOGY_H
#define SERVER_TOPOLOGY_H

#include <sched.h>

#include "policy/place.h"

#define TOPOLOGY_NODES 128 /* nodes looked at; more are left alone */

/* Where the facts come from. */
struct topology_source {
	const char *sysfs; /* "/sys" */
	cpu_set_t cpus;	   /* this process may run on; none: not known */
	cpu_set_t mems;	   /* nodes it may take memory from */
};

struct topology {
	const char *sysfs;
	struct place_cpu cpus[PLACE_CPUS];
	struct place_node nodes[TOPOLOGY_NODES];
	uint8_t distance[TOPOLOGY_NODES * TOPOLOGY_NODES];
	struct place_facts facts; /* over the three above */
};

/* This machine, as this process may use it. */
void topology_self(struct topology_source *src);
/* Fill `t`; what sysfs does not tell is one node with all CPUs and memory. */
void topology_read(struct topology *t, const struct topology_source *src);
/*
 * Mark the nodes of a network card as wanted, those of the cards under it when it is a bond,
 * bridge or VLAN.  How many nodes were found; 0 where the kernel knows none; -ENODEV: no such
 * interface.
 */
int topology_want_netdev(struct topology *t, const char *name);
void topology_want_node(struct topology *t, unsigned node); /* need not exist */
/* Allowed CPUs of `node` are added to `out`. */
void topology_add_cpus(const struct topology *t, int node, cpu_set_t *out);

#endif
