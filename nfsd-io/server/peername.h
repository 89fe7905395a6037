/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Host names of new connections, found by reverse lookup and confirmed by
 * forward lookup as knfsd does, on threads of their own so that a slow name
 * server holds up nobody else.  Only when an export names wildcards or
 * netgroups.
 */
#ifndef SERVER_PEERNAME_H
#define SERVER_PEERNAME_H

#include <stdbool.h>

#include "nfsd-io/proto/req.h"

struct peername;

/* `deliver` takes the descriptor, with peer->host filled or "". */
int peername_new(struct peername **out, void (*deliver)(void *arg, int fd, const struct peer *peer),
		 void *arg);
/* Nothing is delivered from now on; connections still waiting are closed. */
void peername_stop(struct peername *n);
void peername_free(struct peername *n); /* stops; waits for lookups under way; NULL is fine */

/* Does the current export table need names? */
bool peername_wanted(const struct proto_env *env);
/* Takes `fd`; delivers it later.  Closes it when too many wait already. */
void peername_find(struct peername *n, int fd, const struct peer *peer);
unsigned peername_pending(const struct peername *n);

#endif
