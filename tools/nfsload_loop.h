/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Some connections to one export, and the loop that keeps them busy with what
 * a source asks: closed (a new call for each answer) or open (calls are due at
 * a fixed rate whether or not answers come; latency counts from when a call
 * was due, so that a server that stalls is not asked less).  One thread.
 */
#ifndef TOOLS_NFSLOAD_LOOP_H
#define TOOLS_NFSLOAD_LOOP_H

#include "tools/nfsload_hist.h"
#include "tools/nfsload_link.h"
#include "tools/nfsload_proto.h"

#define LOOP_LINKS_MAX 256

struct source {
	/*
	 * Fill l->op with the next question; false: no more.
	 * l->buf, l->name and l->record are its own to use.
	 */
	bool (*next)(struct source *s, struct lane *l);
	/*
	 * l->op has its answer.  true: it now holds a question
	 * that follows from it, to be sent at once.
	 */
	bool (*done)(struct source *s, struct lane *l);
};

struct client {
	const struct proto *proto;
	const char *host;
	int port, mount_port;
	uint32_t uid, gid;
	struct proto_fh root;
	struct link link[LOOP_LINKS_MAX];
	unsigned links, depth;
	double rate; /* calls a second due; 0: closed loop */
	/* the run in progress */
	struct source *source;
	struct hist *hist;
	uint64_t start_ns, now_ns; /* now: when the last batch came or went */
	uint64_t issued;
	unsigned turn; /* open loop: the connection whose turn it is */
	unsigned busy; /* calls without an answer */
	bool dry;      /* the source has no more */
	int epoll;
	char error[160];
};

/* `links` connections; 0 or -1 with c->error. */
int loop_open(struct client *c, uint32_t lane_buf);
void loop_close(struct client *c);
/*
 * Until the source is dry and everything answered.  `hist` may be
 * NULL.  0, or -1 with c->error: the transport failed.
 */
int loop_run(struct client *c, struct source *s, struct hist *hist);
/* One call on the first connection; returns op->status. */
int loop_call(struct client *c, struct op *op);
/* For link: this lane's op is answered; true when the lane is to call again. */
bool loop_done(struct lane *l);

#endif
