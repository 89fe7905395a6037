/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration and export table in force.  Reload builds new ones beside
 * them, checks them whole, then swaps; or changes nothing.  Any thread.
 */
#ifndef SERVER_CURRENT_H
#define SERVER_CURRENT_H

#include "nfsd-io/core/file.h"
#include "nfsd-io/server/conf.h"
#include "nfsd-io/server/exports.h"
#include "nfsd-io/server/server.h"

struct current;
struct state4;

/*
 * Load both for the first time.  0, or -1 with errors in e; `o`
 * and its strings stay the caller's and outlive it.
 */
int current_new(struct current **out, const struct server_options *o, struct conf_errors *e);
void current_free(struct current *c); /* NULL is fine */

/* Counted. */
struct export_table *current_exports(struct current *c);
/* Valid for a minute after a reload has replaced it. */
const struct conf *current_conf(struct current *c);
/*
 * 0, or -1 with e filled.  Files open under roots that are gone are closed; NFSv4's state (`state`
 * may be NULL) of exports that are gone is revoked.
 */
int current_reload(struct current *c, struct fdcache *files, struct state4 *state,
		   struct conf_errors *e);

#endif
