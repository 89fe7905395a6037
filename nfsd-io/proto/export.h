/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The export table: which client may use which root and how (exports(5)).
 * A table is built, then immutable and counted; reload swaps it whole.
 */
#ifndef PROTO_EXPORT_H
#define PROTO_EXPORT_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "nfsd-io/core/cred.h"
#include "nfsd-io/core/root.h"
#include "rpc/cred.h"

/* in this order */
enum export_match { EXPORT_HOST, EXPORT_NETWORK, EXPORT_WILDCARD, EXPORT_NETGROUP, EXPORT_ANY };

struct pseudo;

/* Options of one client(opts) word. */
struct export_opts {
	bool rw, sync, secure;	      /* secure: only from ports below 1024 */
	bool root_squash, all_squash;
	uid_t anonuid;
	gid_t anongid;
	bool crossmnt, subtree_check, mountpoint_required;
	bool sec_sys, sec_none;	      /* flavors served */
	/* sec= lists only flavors that are not served: nobody gets in */
	bool sec_other;
	uint32_t fsid;		      /* fsid=num, else 0 */
	bool fsid_root;		      /* fsid=0: NFSv4's root */
	char mountpoint[256];	      /* mp=PATH, or "" */
};

struct export_client {
	enum export_match match;
	char *pattern;		       /* as written: "10.0.0.0/8", "*.dom", "@group", "host" */
	uint32_t pattern_hash;	       /* of that in small letters: equal ones are found by it */
	struct sockaddr_storage *addrs; /* EXPORT_HOST: resolved; EXPORT_NETWORK: one */
	unsigned naddrs;
	unsigned prefix;	       /* EXPORT_NETWORK: bits */
	struct export_opts opts;
	const char *file;	       /* where it was written, for explain; interned */
	unsigned line;
};

struct export {
	char *path;		       /* as written */
	struct root *root;	       /* counted; NULL when down */
	char *down;		       /* why it is down, or NULL */
	struct export_client *clients; /* in match order */
	unsigned nclients;
};

struct export_table {
	_Atomic unsigned refs;
	uint64_t generation;	       /* a new one each reload */
	struct export *exports;
	unsigned n;
	_Atomic(struct pseudo *) pseudo; /* pseudo.c's */
};

/* Who is calling, as far as exports care.  Owned and counted by the connection. */
struct peer {
	struct sockaddr_storage addr;
	char text[INET6_ADDRSTRLEN + 8]; /* "192.0.2.2:891" */
	/* reverse name when a wildcard or netgroup needs it, else "" */
	char host[256];
	bool secure_port;
};

struct export_table *export_table_get(struct export_table *t);
void export_table_put(struct export_table *t); /* frees exports, clients, puts roots */

/* The first client entry that matches, or NULL; pure but for the netgroup lookup. */
const struct export_client *export_client_match(const struct export *e, const struct peer *p);
struct export *export_by_root_id(const struct export_table *t, uint32_t root_id);
/*
 * The export a MOUNT of `path` falls in: the longest export path that is a
 * prefix by components ("//" and trailing "/" folded).  *rest points behind it.
 */
struct export *export_by_path(const struct export_table *t, const char *path, const char **rest);

/*
 * The identity a call acts as: root_squash, all_squash, anonuid/anongid, gid 0
 * in the list, -1 ids, AUTH_NONE; `gids` replaces the wire's list (manage-gids)
 * when not NULL.  NULL when memory is out.  A server that may act as nobody
 * else (cred_switchable) is itself for all: see export_all_are_server().
 */
struct cred *export_squash(const struct export_opts *o, const struct rpccred *rc, const gid_t *gids,
			   unsigned ngids);

/*
 * Do callers act as the server for want of privileges, and
 * not because all are squashed to its user?
 */
bool export_all_are_server(const struct export *x);

#endif
