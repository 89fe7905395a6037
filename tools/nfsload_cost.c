/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tools/nfsload_cost.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t id)
{
	struct timespec t = { 0 };

	clock_gettime(id, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

uint64_t cost_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/*
 * A process's clock counts its threads, those that ended too,
 * in nanoseconds; /proc/PID/stat only in ticks.
 */
static double process_seconds(pid_t pid)
{
	clockid_t id;

	return pid && !clock_getcpuclockid(pid, &id) ? seconds(id) : 0;
}

/*
 * Busy is what was not idle: the idle times are exact, while user and system
 * are sampled at each tick.
 */
static double machine_seconds(double wall)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	double tick = sysconf(_SC_CLK_TCK), busy = 0;
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return 0;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
		   &iowait, &irq, &softirq, &steal) == 8)
		busy = wall * sysconf(_SC_NPROCESSORS_ONLN) - (idle + iowait + steal) / tick;
	fclose(f);
	return busy;
}

struct cost cost_take(pid_t server)
{
	double wall = seconds(CLOCK_BOOTTIME);

	return (struct cost){wall, process_seconds(server), seconds(CLOCK_PROCESS_CPUTIME_ID),
			     machine_seconds(wall)};
}

struct cost cost_since(const struct cost *before, pid_t server)
{
	struct cost c = cost_take(server);

	c.wall -= before->wall;
	c.server -= before->server;
	c.client -= before->client;
	c.machine -= before->machine;
	if (c.machine < 0)
		c.machine = 0;
	return c;
}
