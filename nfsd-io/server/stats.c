/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/stats.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/v4.h"
#include "nfsd-io/server/health.h"

#define NFS_PROGRAM 100003

static void put(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

static uint64_t sum_of(const _Atomic uint64_t *n, unsigned count)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += n[i];
	return sum;
}

static json_t *dispositions_json(const struct root_stats *s, enum dio_op op)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < DIO_DISPOSITION_COUNT; i++)
		put(o, dio_disposition_name((enum dio_disposition)i), s->ops[op][i]);
	return o;
}

static json_t *bytes_json(const struct root_stats *s, enum dio_op op)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < DIO_KIND_COUNT; i++)
		put(o, dio_kind_name((enum dio_kind)i), s->bytes[op][i]);
	return o;
}

static json_t *split_json(const struct root_stats *s)
{
	json_t *o = json_object();

	put(o, "ops", s->ops[DIO_WRITE][DIO_SPLIT]);
	put(o, "head", s->part[0]);
	put(o, "middle", s->part[1]);
	put(o, "tail", s->part[2]);
	put(o, "payload", sum_of(s->part, 3));
	return o;
}

static json_t *op_json(const struct root *r, const struct root_stats *s, enum dio_op op)
{
	enum dio_mode asked = op == DIO_READ ? r->io.read_mode : r->io.write_mode;
	const char *why = "";
	json_t *o = json_object();

	json_object_set_new(o, "asked", json_string(dio_mode_name(asked)));
	json_object_set_new(
		o, "effective",
		json_string(dio_mode_name(probe_effective(&r->probe, op, asked, &why))));
	json_object_set_new(o, "why", json_string(why));
	put(o, "ops", sum_of(s->ops[op], DIO_DISPOSITION_COUNT));
	json_object_set_new(o, "dispositions", dispositions_json(s, op));
	put(o, "payload", s->payload[op]);
	put(o, "moved", sum_of(s->bytes[op], DIO_KIND_COUNT));
	json_object_set_new(o, "bytes", bytes_json(s, op));
	put(o, "errors", s->errors[op]);
	return o;
}

json_t *stats_export_json(const char *path, const struct root *r, const struct root_stats *sum)
{
	json_t *o = json_object(), *rd = op_json(r, sum, DIO_READ),
	       *wr = op_json(r, sum, DIO_WRITE);
	json_t *name = health_text(path), *fallbacks = json_object();

	put(rd, "expand", sum->expand);
	json_object_set_new(wr, "split", split_json(sum));
	put(fallbacks, "direct", sum->fallback_einval);
	put(fallbacks, "direct-eio", sum->fallback_eio);
	put(fallbacks, "dontcache", sum->fallback_dontcache);
	json_object_set_new(o, "path", name);
	json_object_set_new(o, "rule", json_string(dio_rule_name(r->io.rule)));
	json_object_set_new(o, "read", rd);
	json_object_set_new(o, "write", wr);
	json_object_set_new(o, "fallbacks", fallbacks);
	put(o, "continued", sum->continued);
	put(o, "syncs", sum->syncs);
	return o;
}

static json_t *exports_json(struct server *s)
{
	struct export_table *t = server_exports(s);
	json_t *list = json_array();

	for (unsigned i = 0; i < t->n; i++) {
		struct root_stats sum;

		if (!t->exports[i].root)
			continue;
		memset(&sum, 0, sizeof(sum));
		root_stats_sum(t->exports[i].root, &sum);
		json_array_append_new(
			list, stats_export_json(t->exports[i].path, t->exports[i].root, &sum));
	}
	export_table_put(t);
	return list;
}

static const struct dispatch_program *nfs3(void)
{
	for (size_t i = 0; i < req_nprograms; i++)
		if (req_programs[i].prog == NFS_PROGRAM && req_programs[i].vers == 3)
			return &req_programs[i];
	return NULL;
}

static json_t *procedures_json(const struct req_stats *sum)
{
	const struct dispatch_program *p = nfs3();
	json_t *list = json_array();

	for (uint32_t i = 0; p && i < p->nprocs && i < REQ_PROCS_MAX; i++) {
		const struct req_proc *proc =
			(const void *)((const char *)p->procs + i * p->stride);
		json_t *o = json_object();

		json_object_set_new(o, "name", json_string(proc->name ? proc->name : "?"));
		put(o, "calls", sum->calls[i]);
		put(o, "errors", sum->errors[i]);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *operations_json(const struct req_stats *sum)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < REQ_OPS_MAX; i++) {
		json_t *o;

		if (i && !v4_ops[i].name)
			continue;
		o = json_object();
		json_object_set_new(o, "name", json_string(i ? v4_ops[i].name : "ILLEGAL"));
		put(o, "calls", sum->v4_calls[i]);
		put(o, "errors", sum->v4_errors[i]);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *rpc_json(const struct req_stats *sum)
{
	json_t *o = json_object();

	put(o, "calls", sum_of(sum->calls, REQ_PROCS_MAX));
	put(o, "compounds", sum->compounds);
	put(o, "mount_calls", sum->mount_calls);
	put(o, "rejected", sum->rejected);
	put(o, "garbage", sum->garbage);
	put(o, "bad_handles", sum->bad_handles);
	put(o, "stale_handles", sum->stale_handles);
	put(o, "jukebox", sum->jukebox);
	put(o, "bytes_in", sum->bytes_in);
	put(o, "bytes_out", sum->bytes_out);
	put(o, "payload_in_place", sum->payload_in_place);
	put(o, "payload_copied", sum->payload_copied);
	put(o, "payload_spliced", sum->payload_spliced);
	put(o, "payload_unpiped", sum->payload_unpiped);
	return o;
}

static json_t *files_json(struct fdcache *c)
{
	struct fdcache_stats f = {0};
	json_t *o = json_object();

	fdcache_stats(c, &f);
	put(o, "open", f.files);
	put(o, "hits", f.hits);
	put(o, "misses", f.misses);
	put(o, "evictions", f.evictions);
	put(o, "sync_failures", f.sync_failures);
	return o;
}

static json_t *drc_json(struct drc *d)
{
	struct drc_stats s = {0};
	json_t *o = json_object();

	drc_stats(d, &s);
	put(o, "entries", s.entries);
	put(o, "bytes", s.bytes);
	put(o, "hits", s.hits);
	put(o, "misses", s.misses);
	put(o, "in_progress", s.in_progress);
	put(o, "evicted", s.evicted);
	return o;
}

static json_t *workers_json(struct server *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < server_workers(s); i++) {
		struct worker_info w = {0};
		json_t *o = json_object();

		server_worker_info(s, i, &w);
		put(o, "number", w.number);
		json_object_set_new(o, "engine", json_string(w.engine));
		put(o, "connections", w.connections);
		put(o, "accepted", w.accepted);
		put(o, "inflight", w.inflight);
		put(o, "buffers_in_use", w.buffers_in_use);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *connections_json(struct server *s)
{
	struct connection_info c = {0};
	json_t *o = json_object();

	server_connections(s, &c);
	put(o, "open", c.open);
	put(o, "max", c.max);
	put(o, "refused", c.refused);
	put(o, "shortages", c.shortages);
	put(o, "bad_record", c.bad_record);
	put(o, "slow_call", c.slow_call);
	put(o, "slow_reply", c.slow_reply);
	put(o, "clients_called", c.called);
	put(o, "unanswered", c.unanswered);
	put(o, "unasked_replies", c.unasked);
	return o;
}

static json_t *replies_json(struct server *s)
{
	struct reply_info info = {0};
	json_t *o = json_object();

	server_replies(s, &info);
	for (unsigned i = REPLY_AUTO + 1; i < REPLY_WAYS; i++) {
		json_t *way = json_object();

		put(way, "replies", info.replies[i]);
		put(way, "bytes", info.bytes[i]);
		json_object_set_new(o, reply_name((enum reply_way)i), way);
	}
	put(o, "no_pipe", info.no_pipe);
	put(o, "refused", info.refused);
	put(o, "given_up", info.given_up);
	put(o, "copied", info.copied);
	put(o, "zerocopy_refused", info.zc_refused);
	return o;
}

/* NFSv4: what clients hold. */
static json_t *state_json(struct state4 *state)
{
	struct state4_stats st;
	json_t *o = json_object();

	state4_stats(state, &st);
	put(o, "clients", st.clients);
	put(o, "unconfirmed", st.unconfirmed);
	put(o, "courtesy", st.courtesy);
	put(o, "sessions", st.sessions);
	put(o, "owners", st.owners);
	put(o, "opens", st.opens);
	put(o, "locks", st.locks);
	put(o, "expired", st.expired);
	put(o, "evicted", st.evicted);
	put(o, "replays", st.replays);
	put(o, "reclaims", st.reclaims);
	json_object_set_new(o, "grace", json_boolean(st.grace));
	return o;
}

json_t *stats_json(struct server *s)
{
	const struct proto_env *env = server_env(s);
	uint64_t now = (uint64_t)time(NULL), since = server_start_time(s);
	json_t *o = json_object(), *verifier = json_object();
	struct req_stats sum;
	char verf[20];

	memset(&sum, 0, sizeof(sum));
	server_req_stats(s, &sum);
	snprintf(verf, sizeof(verf), "%016" PRIx64, verifier_get(&env->verifier));
	json_object_set_new(o, "version", json_string(PACKAGE_VERSION));
	put(o, "time", now);
	put(o, "uptime", now > since ? now - since : 0);
	json_object_set_new(verifier, "value", json_string(verf));
	put(verifier, "bumps", env->verifier.bumps);
	json_object_set_new(o, "verifier", verifier);
	json_object_set_new(o, "exports", exports_json(s));
	json_object_set_new(o, "procedures", procedures_json(&sum));
	json_object_set_new(o, "operations", operations_json(&sum));
	json_object_set_new(o, "rpc", rpc_json(&sum));
	json_object_set_new(o, "files", files_json(env->files));
	json_object_set_new(o, "drc", drc_json(env->drc));
	if (env->state)
		json_object_set_new(o, "state", state_json(env->state));
	json_object_set_new(o, "workers", workers_json(s));
	json_object_set_new(o, "connections", connections_json(s));
	json_object_set_new(o, "read_data", replies_json(s));
	return o;
}
