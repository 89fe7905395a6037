/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon: start, run, reload, drain.  Ties config, exports, workers,
 * ports and the control socket together; only main exits.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "nfsd-io/core/pool.h"
#include "nfsd-io/proto/req.h"
#include "nfsd-io/server/conf.h"
#include "nfsd-io/server/exports.h"
#include "policy/reply.h"

struct server;

struct server_options {
	const char *conf_file;	/* NULL = default */
	char **overrides; unsigned noverrides; /* -o */
	const char *run;	/* --run CMD: serve just for one command; its status is ours */
	char **export_args; unsigned nexport_args;
};

/* Exit code of ecosystem: 0, 1, 5 (kernel lacks something required), 6 (configuration). */
int server_run(const struct server_options *o);

/* For the control socket: any thread. */
struct export_table *server_exports(struct server *s); /* counted */
const struct conf *server_conf(struct server *s);
/* 0, or -1 with the errors: re-read everything, swap or keep. */
int server_reload(struct server *s, struct conf_errors *e);
void server_stop(struct server *s);

struct worker_info {
	unsigned number;
	int cpu, node, memory; /* -1 = not bound */
	char unbound[160];     /* what could not be bound, and why; else empty */
	unsigned connections; uint64_t accepted;
	char engine[16], engine_why[128];
	unsigned inflight, buffers_in_use;
};
unsigned server_workers(struct server *s);

/* Where workers were to be, where they are, and why there. */
struct placement_info {
	const char *asked, *nodes, *why; /* as in struct placement */
};
void server_placement(struct server *s, struct placement_info *out);

/* Since the start, but for `open` and `max`. */
struct connection_info {
	unsigned open, max;
	uint64_t refused;    /* over max-connections */
	uint64_t shortages;  /* out of descriptors or memory at accept */
	uint64_t bad_record; /* closed: oversize record or endless empty fragments */
	uint64_t slow_call;  /* closed: a call that did not arrive in time */
	uint64_t slow_reply; /* closed: a reply that was not taken in time */
	/* calls to clients (NFSv4.1); of them those not answered in time, or at all */
	uint64_t called, unanswered;
	uint64_t unasked;    /* replies that answered none of them: dropped */
};
void server_connections(struct server *s, struct connection_info *out);

/* READ replies with data, since the start, by the way it left. */
struct reply_info {
	uint64_t replies[REPLY_WAYS], bytes[REPLY_WAYS];
	uint64_t no_pipe;    /* to be spliced, but no pipe was free or large enough */
	uint64_t refused;    /* pipes the system did not give */
	uint64_t given_up;   /* begun into a pipe, done again into a buffer */
	/* connections on which the kernel copied what was sent without a copy */
	uint64_t copied;
	uint64_t zc_refused; /* zero-copy sends the kernel refused */
};
void server_replies(struct server *s, struct reply_info *out);
void server_worker_info(struct server *s, unsigned n, struct worker_info *out);
void server_req_stats(struct server *s, struct req_stats *sum);
const struct proto_env *server_env(struct server *s);
/* Listening addresses as text ("127.0.0.1:20490"); malloc'd array. */
unsigned server_listeners(struct server *s, char ***out);
uint64_t server_start_time(struct server *s); /* seconds since the epoch */

#endif
