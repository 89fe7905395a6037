/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands in for server.c, where only what is said about a server is under test. */
#ifndef TESTS_LIB_FAKESERVER_H
#define TESTS_LIB_FAKESERVER_H

#include "nfsd-io/server/server.h"

struct server {
	struct conf conf;
	struct export_table *table;
	struct req_stats stats;
	struct proto_env env;
	struct worker_info worker;
	struct connection_info connections;
	struct reply_info replies;
	/* The control socket calls from a thread of its own. */
	_Atomic int reload_result; /* what server_reload() returns */
	_Atomic unsigned reloads, stops;
};

/* One worker, no exports, and what stats needs of the protocol. */
void fakeserver_init(struct server *s);
void fakeserver_fini(struct server *s);
/* An export with a root of its own that no file system stands behind; the caller fills its
 * counters. */
struct root *fakeserver_export(struct server *s, const char *path);

#endif
