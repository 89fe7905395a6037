/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/server_int.h"

#include <stdio.h>
#include <string.h>

#include "nfsd-io/server/iowq.h"

unsigned server_workers(struct server *s)
{
	return s->nworkers;
}

void server_name_iowq(const struct server *s)
{
	pid_t tids[ROOT_WORKERS];

	for (unsigned i = 0; i < s->nworkers; i++)
		tids[i] = s->workers[i]->tid;
	iowq_name(tids, s->nworkers);
}

bool server_worker_unbound(const struct server *s, unsigned n, char *text, size_t len)
{
	const struct worker_unbound *u = &s->workers[n]->unbound;
	const struct place_worker *at = &s->place[n];
	size_t pos = 0;

	*text = '\0';
	if (u->cpu)
		pos += (size_t)snprintf(text, len, "not bound to CPU %d: %s", at->cpu,
					strerror(-u->cpu));
	if (u->memory && pos < len)
		pos += (size_t)snprintf(text + pos, len - pos, "%smemory not bound to node %d: %s",
					pos ? "; " : "", at->mem_node, strerror(-u->memory));
	if (u->helpers && pos < len)
		snprintf(text + pos, len - pos, "%sio-wq not bound to node %d: %s", pos ? "; " : "",
			 at->node, strerror(-u->helpers));
	return *text;
}

void server_placement(struct server *s, struct placement_info *out)
{
	const struct placement *p = &s->placement;

	server_name_iowq(s);
	*out = (struct placement_info){p->asked, p->nodes, p->why};
}

void server_worker_info(struct server *s, unsigned n, struct worker_info *out)
{
	const struct worker *w = s->workers[n];

	memset(out, 0, sizeof(*out));
	out->number = n;
	out->cpu = w->unbound.cpu ? -1 : s->place[n].cpu;
	out->node = w->unbound.cpu ? -1 : s->place[n].node;
	out->memory = w->unbound.memory ? -1 : s->place[n].mem_node;
	server_worker_unbound(s, n, out->unbound, sizeof(out->unbound));
	out->connections = w->nconns;
	out->accepted = w->accepted;
	snprintf(out->engine, sizeof(out->engine), "%s", ring_engine_name(w->ring));
	snprintf(out->engine_why, sizeof(out->engine_why), "%s", ring_engine_why(w->ring));
	out->inflight = w->inflight;
	out->buffers_in_use = w->buffers_in_use;
}

void server_connections(struct server *s, struct connection_info *out)
{
	struct port_stats ps;
	unsigned i;

	port_stats(s->port, &ps);
	*out = (struct connection_info){
		.open = connreg_count(s->conns),
		.max = s->fds.connections,
		.refused = ps.refused,
		.shortages = ps.shortages,
	};
	for (i = 0; i < s->nworkers; i++) {
		const struct worker_cuts *cuts = &s->workers[i]->cuts;
		const struct back_stats *back = &s->workers[i]->back;

		out->bad_record += cuts->bad_record;
		out->slow_call += cuts->slow_call;
		out->slow_reply += cuts->slow_reply;
		out->called += back->calls;
		out->unanswered += back->late + back->lost;
		out->unasked += back->unasked;
	}
}

void server_replies(struct server *s, struct reply_info *out)
{
	*out = (struct reply_info){0};
	for (unsigned i = 0; i < s->nworkers; i++) {
		const struct worker *w = s->workers[i];

		for (unsigned k = 0; k < REPLY_WAYS; k++) {
			out->replies[k] += w->sent.replies[k];
			out->bytes[k] += w->sent.bytes[k];
		}
		out->no_pipe += w->sent.no_pipe;
		out->copied += w->sent.copied;
		out->zc_refused += w->sent.zc_refused;
		out->given_up += w->stats.pipe_given_up;
		out->refused += w->pipes ? pipe_pool_refused(w->pipes) : 0;
	}
}

/* req_stats is an array of counters in all but name. */
void server_req_stats(struct server *s, struct req_stats *sum)
{
	_Atomic uint64_t *to = (_Atomic uint64_t *)sum;
	unsigned i, k;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < s->nworkers; i++) {
		const _Atomic uint64_t *from = (const _Atomic uint64_t *)&s->workers[i]->stats;

		for (k = 0; k < sizeof(*sum) / sizeof(*to); k++) {
			uint64_t n = atomic_load_explicit(&from[k], memory_order_relaxed);

			n += atomic_load_explicit(&to[k], memory_order_relaxed);
			atomic_store_explicit(&to[k], n, memory_order_relaxed);
		}
	}
}

const struct proto_env *server_env(struct server *s)
{
	return &s->env;
}

unsigned server_listeners(struct server *s, char ***out)
{
	return port_addresses(s->port, out);
}

uint64_t server_start_time(struct server *s)
{
	return s->start_time;
}
