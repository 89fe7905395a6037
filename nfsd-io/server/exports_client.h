/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The client part of a client(opts) word: what kind it is, its addresses, and finding those of host
 * names. */
#ifndef SERVER_EXPORTS_CLIENT_H
#define SERVER_EXPORTS_CLIENT_H

#include "nfsd-io/proto/export.h"

/*
 * Fill match, pattern, addrs and prefix from the name as written; "" and "*"
 * are everybody.  A host name gets no addresses yet.  0, -ENOMEM, -EINVAL with
 * *why, or -ENOTSUP: a gss/ client, which is never matched here.
 */
int exports_client_init(struct export_client *c, const char *name, const char **why);
void exports_client_fini(struct export_client *c);
/* Where it was written: "file:line", or "--export". */
void exports_client_where(const struct export_client *c, char *out, size_t len);

/*
 * Look up all hosts of the table that have no address yet, at the same time,
 * in at most about 5 seconds.  What is not found keeps none and never matches.
 * Blocks.  Calls `lost` for each.
 */
void exports_client_resolve(struct export_table *t,
			    void (*lost)(void *arg, const struct export_client *c, const char *why),
			    void *arg);

#endif
