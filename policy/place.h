/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which CPU each worker runs on and which node's memory it uses, from the
 * machine's topology, the allowed CPUs and the wanted nodes.  Placement is a
 * wish: what cannot be had gives a poorer placement, never none.  Knows no
 * sysfs, libnuma or network cards; the caller turns `auto`, `netdev:IFACE`
 * and `node:N,N` into wanted nodes.  Used at start only.
 */
#ifndef POLICY_PLACE_H
#define POLICY_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#define PLACE_CPUS 1024 /* CPUs looked at; more are left alone */

struct place_cpu {
	int cpu;
	int node;
	bool allowed; /* in the cpuset, online */
};

struct place_node {
	int node;
	bool wanted; /* none wanted is the same as all */
	bool memory; /* has memory we may allocate from */
};

struct place_facts {
	const struct place_cpu *cpus;
	unsigned ncpus;
	const struct place_node *nodes;
	unsigned nnodes;
	const uint8_t *
		distance; /* nnodes x nnodes, row `from`, in the order of `nodes`; NULL = unknown */
	unsigned workers; /* 0 = one a CPU */
	bool bind;        /* false (numa = off): workers are bound to nothing */
};

struct place_worker {
	int cpu;      /* -1: not bound */
	int node;     /* of that CPU; -1 with it */
	int mem_node; /* bind memory here: the node, or the nearest with memory; -1: do not bind */
};

/* What the operator wishes: `auto`, `off`, `netdev:IFACE` or `node:N[,N]`. */
enum place_kind {
	PLACE_AUTO, /* the nodes of the network cards that are listened on */
	PLACE_OFF,  /* bind nothing */
	PLACE_NETDEV,
	PLACE_NODE
};

#define PLACE_NODES 1024 /* node numbers are below this */

struct place_wish {
	enum place_kind kind;
	char netdev[16];
	uint64_t nodes[PLACE_NODES / 64]; /* bit N % 64 of word N / 64 */
};

/* False when `text` is none of the four. */
bool place_wish_parse(const char *text, struct place_wish *out);

static inline bool place_wish_node(const struct place_wish *w, unsigned node)
{
	return node < PLACE_NODES && w->nodes[node / 64] >> node % 64 & 1;
}

enum place_why {
	PLACE_AS_WISHED,
	PLACE_NODES_CLOSED, /* no allowed CPU on a wanted node: all allowed CPUs are used */
	PLACE_UNBOUND       /* not to be bound, or no CPU is allowed */
};

/*
 * Place workers 0..n-1 into `out`, nodes taking turns; more workers than CPUs
 * share them in turn.  Returns n: what was asked, or the number of usable
 * CPUs; at least 1 and at most `max` (> 0).
 */
unsigned place_workers(const struct place_facts *f, struct place_worker *out, unsigned max,
		       enum place_why *why);

#endif
