/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "nfsd-io/server/topology.h"

#define NODES_MAX 64

/* The node of a CPU is the nodeN beside its topology; 0 when the kernel knows no nodes. */
static int node_of(int cpu)
{
	struct dirent *e;
	char path[64];
	int node = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	d = opendir(path);
	if (!d)
		return 0;
	while ((e = readdir(d)) && sscanf(e->d_name, "node%d", &node) != 1)
		;
	closedir(d);
	return node;
}

static bool has_memory(int node)
{
	unsigned long kib = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	f = fopen(path, "re");
	if (!f)
		return node == 0;
	if (fscanf(f, "Node %*d MemTotal: %lu", &kib) != 1)
		kib = 0;
	fclose(f);
	return kib > 0;
}

static void add_node(struct place_node *nodes, unsigned *n, int node)
{
	unsigned i;

	for (i = 0; i < *n; i++)
		if (nodes[i].node == node)
			return;
	if (*n < NODES_MAX)
		nodes[(*n)++] = (struct place_node){.node = node, .memory = has_memory(node)};
}

unsigned topology_place(unsigned wanted, struct place_worker *out, unsigned max)
{
	struct place_cpu *cpus = calloc(CPU_SETSIZE, sizeof(*cpus));
	struct place_node nodes[NODES_MAX];
	struct place_facts f = {.cpus = cpus, .nodes = nodes, .workers = wanted, .bind = cpus != NULL};
	enum place_why why;
	unsigned n, i;
	cpu_set_t set;
	int cpu;

	CPU_ZERO(&set);
	if (!cpus || sched_getaffinity(0, sizeof(set), &set))
		f.bind = false;
	for (cpu = 0; f.bind && cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		cpus[f.ncpus++] = (struct place_cpu){.cpu = cpu, .node = node_of(cpu), .allowed = true};
		add_node(nodes, &f.nnodes, cpus[f.ncpus - 1].node);
	}
	n = place_workers(&f, out, max, &why);
	for (i = 0; f.nnodes < 2 && i < n; i++)
		out[i].mem_node = -1;
	free(cpus);
	return n;
}
