/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/server/topology.h"

#define STACKED_MAX 4 /* a VLAN on a bridge on a bond on a card */
#define DIR_MAX 512

/* "0-3,8" as the kernel writes CPUs and nodes; numbers a set has no room for are left out. */
static void parse_list(const char *s, cpu_set_t *out)
{
	CPU_ZERO(out);
	while (*s) {
		char *end;
		unsigned long from = strtoul(s, &end, 10), to = from;

		if (end == s)
			return;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (; from <= to && from < CPU_SETSIZE; from++)
			CPU_SET(from, out);
		s = *end == ',' ? end + 1 : "";
	}
}

/* The first line of a file below `dir`; false when there is none. */
static bool read_line(const char *dir, const char *name, char *out, size_t len)
{
	char path[DIR_MAX + 64];
	FILE *f;
	bool got;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	got = fgets(out, (int)len, f);
	fclose(f);
	return got;
}

static bool read_list(const char *dir, const char *name, cpu_set_t *out)
{
	char text[4096];

	if (!read_line(dir, name, text, sizeof(text)))
		return false;
	parse_list(text, out);
	return true;
}

void topology_self(struct topology_source *src)
{
	char line[4096];
	FILE *f = fopen("/proc/self/status", "re");

	src->sysfs = "/sys";
	CPU_ZERO(&src->cpus);
	memset(&src->mems, 0xff, sizeof(src->mems));
	if (sched_getaffinity(0, sizeof(src->cpus), &src->cpus))
		CPU_ZERO(&src->cpus); /* more CPUs than a set holds */
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Mems_allowed_list:\t", 19))
			parse_list(line + 19, &src->mems);
	if (f)
		fclose(f);
}

static bool has_memory(const char *dir)
{
	unsigned long kib = 0;
	char line[128];

	return read_line(dir, "meminfo", line, sizeof(line)) &&
	       sscanf(line, "Node %*d MemTotal: %lu", &kib) == 1 && kib;
}

/* Distances to all nodes that are online, in the order of their numbers. */
static void read_distances(const char *dir, uint8_t *row, unsigned n)
{
	char text[4096], *s = text, *end;

	if (!read_line(dir, "distance", text, sizeof(text)))
		*text = '\0';
	for (unsigned i = 0; i < n; i++, s = end) {
		unsigned long d = strtoul(s, &end, 10);

		row[i] = d && d <= UINT8_MAX ? (uint8_t)d : UINT8_MAX;
	}
}

static unsigned read_nodes(struct topology *t, const cpu_set_t *online, const cpu_set_t *mems,
			   int *node_of)
{
	unsigned n = 0;

	for (int node = 0; node < CPU_SETSIZE && n < TOPOLOGY_NODES; node++) {
		char dir[DIR_MAX];
		cpu_set_t cpus;

		if (!CPU_ISSET(node, online))
			continue;
		snprintf(dir, sizeof(dir), "%s/devices/system/node/node%d", t->sysfs, node);
		t->nodes[n++] = (struct place_node){
			.node = node, .memory = has_memory(dir) && CPU_ISSET(node, mems)};
		if (!read_list(dir, "cpulist", &cpus))
			continue;
		for (unsigned i = 0; i < PLACE_CPUS; i++)
			if (CPU_ISSET(i, &cpus))
				node_of[i] = node;
	}
	for (unsigned i = 0; i < n; i++) {
		char dir[DIR_MAX];

		snprintf(dir, sizeof(dir), "%s/devices/system/node/node%d", t->sysfs,
			 t->nodes[i].node);
		read_distances(dir, t->distance + (size_t)i * n, n);
	}
	return n;
}

void topology_read(struct topology *t, const struct topology_source *src)
{
	struct place_facts *f = &t->facts;
	cpu_set_t nodes, cpus;
	char dir[DIR_MAX];
	int node_of[PLACE_CPUS] = {0};

	memset(t, 0, sizeof(*t));
	t->sysfs = src->sysfs;
	snprintf(dir, sizeof(dir), "%s/devices/system/node", src->sysfs);
	if (read_list(dir, "online", &nodes))
		f->nnodes = read_nodes(t, &nodes, &src->mems, node_of);
	if (!f->nnodes)
		t->nodes[f->nnodes++] = (struct place_node){.node = 0, .memory = true};
	snprintf(dir, sizeof(dir), "%s/devices/system/cpu", src->sysfs);
	if (!read_list(dir, "online", &cpus))
		cpus = src->cpus;
	for (int i = 0; i < PLACE_CPUS; i++)
		if (CPU_ISSET(i, &src->cpus) && CPU_ISSET(i, &cpus))
			t->cpus[f->ncpus++] = (struct place_cpu){i, node_of[i], true};
	f->cpus = t->cpus;
	f->nodes = t->nodes;
	f->distance = t->distance;
}

void topology_want_node(struct topology *t, unsigned node)
{
	struct place_facts *f = &t->facts;
	unsigned i;

	for (i = 0; i < f->nnodes && t->nodes[i].node != (int)node; i++)
		;
	/*
	 * One that does not exist is a wish all the same: it cannot be fulfilled, and that is told.
	 */
	if (i == f->nnodes) {
		if (i == TOPOLOGY_NODES)
			return;
		f->distance = NULL; /* whose rows have another length now */
		t->nodes[f->nnodes++] = (struct place_node){.node = (int)node};
	}
	t->nodes[i].wanted = true;
}

static int want_netdev(struct topology *t, const char *name, unsigned depth)
{
	char dir[DIR_MAX], line[32];
	struct dirent *e;
	int found = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/class/net/%s", t->sysfs, name);
	d = opendir(dir);
	if (!d)
		return -ENODEV;
	if (read_line(dir, "device/numa_node", line, sizeof(line)) && atoi(line) >= 0) {
		topology_want_node(t, (unsigned)atoi(line));
		found++;
	}
	while (depth < STACKED_MAX && (e = readdir(d)))
		if (!strncmp(e->d_name, "lower_", 6)) {
			int n = want_netdev(t, e->d_name + 6, depth + 1);

			found += n > 0 ? n : 0;
		}
	closedir(d);
	return found;
}

int topology_want_netdev(struct topology *t, const char *name)
{
	return want_netdev(t, name, 1);
}

void topology_add_cpus(const struct topology *t, int node, cpu_set_t *out)
{
	for (unsigned i = 0; i < t->facts.ncpus; i++)
		if (t->cpus[i].allowed && t->cpus[i].node == node)
			CPU_SET(t->cpus[i].cpu, out);
}
