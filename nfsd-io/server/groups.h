/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Supplementary groups by user id from this host's databases (manage-gids),
 * kept for ten minutes, and for one minute when the user is unknown.  Bounded.
 * Any thread; may block in NSS, so never on a worker.
 */
#ifndef SERVER_GROUPS_H
#define SERVER_GROUPS_H

#include <stdint.h>
#include <sys/types.h>

struct groups;

int groups_new(struct groups **out);
void groups_free(struct groups *g);
/*
 * Groups of `uid` besides `gid`, as struct proto_env.groups: 0 with *gids
 * (malloc'd, may be NULL) and *n; an unknown user has none.  -errno when the
 * database cannot be asked now.
 */
int groups_lookup(struct groups *g, uid_t uid, gid_t gid, gid_t **gids, unsigned *n);
/* Forget everything (reload). */
void groups_flush(struct groups *g);

#endif
