/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This machine's CPUs and NUMA nodes, read from sysfs, for policy/place.  Start-up only. */
#ifndef SERVER_TOPOLOGY_H
#define SERVER_TOPOLOGY_H

#include "policy/place.h"

/*
 * Place up to `max` workers (`wanted`, 0 = one for each CPU we may use).
 * Returns how many; a machine with one memory node binds no memory.
 */
unsigned topology_place(unsigned wanted, struct place_worker *out, unsigned max);

#endif
