/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv4's pseudo file system (RFC 8881 s.7.3): a read-only tree of the directories that lead to
 * the exports, as each client may see it.  Built once for each table of exports and immutable.
 * Numbers of nodes come from their paths, so that handles, fileids and cookies outlive a restart.
 * An export with fsid=0 is the root of the whole tree, and only what lies below it is in it.
 */
#ifndef PROTO_PSEUDO_H
#define PROTO_PSEUDO_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "nfsd-io/proto/req.h"

struct pseudo;
struct v4_object;

struct pseudo_node {
	uint64_t id; /* also its fileid and its cookie in READDIR; 3 to INT64_MAX */
	struct export *export; /* what is exported here, or NULL */
	const struct pseudo_node *parent;
	struct pseudo_node **children; /* by id */
	unsigned nchildren;
	uint32_t name_len;
	char name[]; /* terminated */
};

/* The tree of a table, built when first asked for.  Any thread.  NULL: out of memory. */
const struct pseudo *pseudo_of(struct export_table *t);
void pseudo_free(struct pseudo *p); /* NULL is fine */

const struct pseudo_node *pseudo_root(const struct pseudo *p);
/* NULL: no node of that number, or none of that name. */
const struct pseudo_node *pseudo_find(const struct pseudo *p, uint64_t id);
const struct pseudo_node *pseudo_child(const struct pseudo_node *n, const char *name);
const struct pseudo_node *pseudo_of_export(const struct pseudo *p, const struct export *e);
/* fileid of an export's root as seen from above. */
uint64_t pseudo_fileid(const struct export *e);
/* When the tree was built: all its times. */
struct timespec pseudo_built(const struct pseudo *p);

/*
 * For the caller of `r` (any thread, netgroups may block): does the node lead to anything it may
 * use; the export here, if it may use that.
 */
bool pseudo_visible(struct req *r, const struct pseudo_node *n);
const struct export_client *pseudo_usable(struct req *r, const struct export *e);

/*
 * --- the request's current object (NFSv4 statuses) ---
 * The table in force becomes the request's if it has none yet.
 */

/* PUTROOTFH: the root of the tree. */
uint32_t pseudo_enter_root(struct req *r);
/*
 * PUTFH of a handle of the pseudo file system whose parts are in `p`; STALE when it leads this
 * client nowhere.
 */
uint32_t pseudo_enter_handle(struct req *r, const struct handle_parts *p);
/* LOOKUP, LOOKUPP: a node, or the export there when the caller may use it. */
uint32_t pseudo_enter(struct req *r, const struct pseudo_node *n);
/*
 * The root directory of an export through its gate: V4_OK, ACCESS, PERM, WRONGSEC, DELAY.  r->cred
 * stays NULL when only access_cred() can find it and this is the worker.
 */
uint32_t pseudo_enter_export(struct req *r, struct export *e, const struct export_client *c);
/* The node the current object is; r->table is set. */
const struct pseudo_node *pseudo_current(struct req *r);
/* Attributes of the current node; those of any, and its handle in `fh`: 0 or -errno. */
uint32_t pseudo_object(struct req *r, struct v4_object *o);
int pseudo_attributes(struct req *r, const struct pseudo_node *n, struct fh *fh,
		      struct v4_object *o);

#endif
