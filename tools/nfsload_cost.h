/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a stretch of time cost: wall clock, CPU of the server, of this
 * process and of the whole machine.  Take one before and one after.
 */
#ifndef TOOLS_NFSLOAD_COST_H
#define TOOLS_NFSLOAD_COST_H

#include <stdint.h>
#include <sys/types.h>

struct cost { /* seconds */
	double wall;
	double server;	/* all threads of the server, io-wq's too; 0 without a pid */
	double client;	/* this process */
	double machine; /* all CPUs, what was neither idle nor stolen */
};

uint64_t cost_now_ns(void); /* CLOCK_MONOTONIC */
/* `server` may be 0. */
struct cost cost_take(pid_t server);
struct cost cost_since(const struct cost *before, pid_t server);

#endif
