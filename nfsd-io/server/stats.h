/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Counters: a snapshot as JSON for the control socket, and as text for people.
 * Totals are sums of what the snapshot itself shows, so that its numbers add
 * up whatever is counted meanwhile.
 */
#ifndef SERVER_STATS_H
#define SERVER_STATS_H

#include <jansson.h>
#include <stdio.h>

#include "nfsd-io/server/server.h"

/* The answer to `stats`.  Any thread. */
json_t *stats_json(struct server *s);
/* One export's counters, from its summed banks. */
json_t *stats_export_json(const char *path, const struct root *r, const struct root_stats *sum);
/* stats_json()'s answer for people. */
void stats_print(FILE *out, const json_t *answer);

#endif
