/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/req.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/access.h"
#include "nfsd-io/proto/mount3.h"
#include "nfsd-io/proto/peek4.h"
#include "nfsd-io/proto/v3.h"
#include "nfsd-io/proto/v4.h"

const struct dispatch_program req_programs[] = {
	{V3_PROGRAM, V3_VERSION, V3_NPROCS, v3_procs, sizeof(v3_procs[0])},
	{MOUNT3_PROGRAM, MOUNT3_VERSION, MOUNT3_NPROCS, mount3_procs, sizeof(mount3_procs[0])},
	{V3_PROGRAM, V4_VERSION, V4_NPROCS, v4_procs, sizeof(v4_procs[0])},
};
const size_t req_nprograms = sizeof(req_programs) / sizeof(req_programs[0]);

static void count(_Atomic uint64_t *n, uint64_t by)
{
	atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

void req_set_state(struct req *r, enum req_state s)
{
	static const bool edge[5][5] = {
		[REQ_FREE] = {[REQ_PARSE] = true},
		[REQ_PARSE] = {[REQ_RUN] = true, [REQ_FREE] = true},
		[REQ_RUN] = {[REQ_WAIT] = true, [REQ_SEND] = true, [REQ_FREE] = true},
		[REQ_WAIT] = {[REQ_RUN] = true},
		[REQ_SEND] = {[REQ_FREE] = true},
	};

	assert(edge[r->state][s]);
	/* Only WAIT has something outstanding. */
	assert((s == REQ_WAIT) == (r->inflight > 0));
	r->state = s;
}

void req_begin(struct req *r, const struct proto_env *env, struct ring *ring, struct pool *pool,
	       struct req_stats *stats, struct req_owner *owner)
{
	req_set_state(r, REQ_PARSE);
	r->next = NULL;
	r->step = NULL;
	r->work = NULL;
	r->fini = NULL;
	r->drop = false;
	r->env = env;
	r->ring = ring;
	r->pool = pool;
	r->stats = stats;
	r->owner = owner;
	r->call = r->call_buf;
	r->call_max = REQ_CALL_MAX;
	r->call_large = NULL;
	r->call_len = 0;
	r->record_len = 0;
	r->payload = NULL;
	r->payload_pipe = NULL;
	r->payload_data = NULL;
	r->payload_len = 0;
	r->payload_at = 0;
	r->cut = false;
	r->proc = NULL;
	r->err = 0;
	r->table = NULL;
	r->export = NULL;
	r->opts = NULL;
	r->cred = NULL;
	r->file = NULL;
	r->fh.len = 0;
	r->big = NULL;
	r->data_buf = NULL;
	r->data_pipe = NULL;
	r->data = NULL;
	r->data_len = 0;
	r->data_io = NULL;
	r->drc_entry = NULL;
	r->duplicate.displaced = false;
	memset(&r->hdr, 0, sizeof(r->hdr));
	memset(&r->job, 0, sizeof(r->job));
	memset(&r->waiter, 0, sizeof(r->waiter));
	memset(&r->io, 0, sizeof(r->io));
	memset(&r->proc_data, 0, sizeof(r->proc_data));
	cursor_init(&r->reply, r->reply_buf, REQ_REPLY_MAX);
}

struct verifier *req_verifier(const struct req *r)
{
	return (struct verifier *)&r->env->verifier;
}

bool req_reply_begin(struct req *r, size_t room)
{
	free(r->big);
	r->big = NULL;
	if (room && room + MSG_REPLY_OK_LEN > REQ_REPLY_MAX) {
		r->big = malloc(room + MSG_REPLY_OK_LEN);
		if (!r->big)
			return false;
		cursor_init(&r->reply, r->big, room + MSG_REPLY_OK_LEN);
	} else {
		cursor_init(&r->reply, r->reply_buf, REQ_REPLY_MAX);
	}
	r->data = NULL;
	r->data_len = 0;
	msg_reply_ok(&r->reply, r->hdr.xid);
	return true;
}

enum req_step_result req_reject(struct req *r, const struct msg_error *err)
{
	cursor_init(&r->reply, r->reply_buf, REQ_REPLY_MAX);
	r->data = NULL;
	r->data_len = 0;
	msg_reject(&r->reply, r->hdr.xid, err);
	count(&r->stats->rejected, 1);
	return STEP_REPLY;
}

enum req_step_result req_garbage(struct req *r)
{
	struct msg_error err = {.kind = MSG_ERR_ACCEPTED, .accept = MSG_GARBAGE_ARGS};

	count(&r->stats->garbage, 1);
	return req_reject(r, &err);
}

uint32_t req_reply_len(const struct req *r)
{
	return (uint32_t)cursor_pos(&r->reply) + ((r->data_len + 3) & ~3u);
}

/* On its worker: the request it repeats is over, or another repeats it too. */
static void woken(struct op *op, int res, bool more)
{
	struct req *r = container_of(op, struct req, job.op);

	(void)res;
	(void)more;
	r->inflight--;
	req_resume(r, r->then);
}

void req_wait_ready(struct req *r, req_step *step)
{
	memset(&r->job, 0, sizeof(r->job));
	r->job.op.done = woken;
	r->then = step;
}

void req_wake(struct req *r)
{
	ring_post(r->ring, &r->job.op, 0);
}

static enum req_step_result waiting(struct req *r)
{
	(void)r;
	return STEP_WAIT;
}

/* The one it waits for may need a buffer to go on, so it must not hold one. */
void req_wait(struct req *r)
{
	req_payload_drop(r);
	if (r->call_large) {
		size_t at = cursor_pos(&r->args);
		uint32_t len = r->call_len < REQ_CALL_MAX ? r->call_len : REQ_CALL_MAX;

		memcpy(r->call_buf, r->call, len);
		r->call = r->call_buf;
		buf_return(r->call_large);
		r->call_large = NULL;
		cursor_init_const(&r->args, r->call, len);
		cursor_skip(&r->args, at);
	}
	r->inflight++;
	r->step = waiting;
}

static enum req_step_result replay(struct req *r, uint8_t *reply, size_t len)
{
	free(r->big);
	r->big = reply;
	cursor_init(&r->reply, reply, len);
	cursor_skip(&r->reply, len);
	return STEP_REPLY;
}

static enum drc_verdict ask_drc(struct req *r, struct drc_waiter *w, uint8_t **reply, size_t *len)
{
	struct drc_key key = {
		.addr = r->owner->peer.addr,
		.conn = r->owner->conn,
		.xid = r->hdr.xid,
		.prog = r->hdr.prog,
		.vers = r->hdr.vers,
		.proc = r->hdr.proc,
		.call = r->call,
		.len = r->call_len,
	};

	return drc_begin(r->env->drc, &key, w, &r->drc_entry, reply, len);
}

/* It is not carried out now, whatever became of the first: what it brought is gone. */
static enum req_step_result ask_again(struct req *r)
{
	uint8_t *old = NULL;
	size_t len = 0;

	if (!r->duplicate.displaced && ask_drc(r, NULL, &old, &len) == DRC_REPLAY)
		return replay(r, old, len);
	return STEP_DROP;
}

static void wake_duplicate(struct drc_waiter *w)
{
	req_wake(container_of(w, struct req, duplicate));
}

enum req_step_result req_check_duplicate(struct req *r, bool worker)
{
	uint8_t *old = NULL;
	size_t len = 0;

	if (worker) {
		req_wait_ready(r, ask_again);
		r->duplicate.wake = wake_duplicate;
	}
	switch (ask_drc(r, worker ? &r->duplicate : NULL, &old, &len)) {
	case DRC_NEW:
		atomic_store_explicit(&r->owner->remembered, true, memory_order_relaxed);
		return STEP_MORE;
	case DRC_IN_PROGRESS:
		return STEP_DROP;
	case DRC_WAITS:
		req_wait(r);
		return STEP_WAIT;
	case DRC_REPLAY:
		break;
	}
	return replay(r, old, len);
}

static void count_call(struct req *r)
{
	if (r->hdr.prog != V3_PROGRAM)
		count(&r->stats->mount_calls, 1);
	else if (r->hdr.vers == V3_VERSION)
		count(&r->stats->calls[r->hdr.proc % REQ_PROCS_MAX], 1);
	else if (r->hdr.proc)
		count(&r->stats->compounds, 1);
}

/* Of the versions that are served; the table has NFSv3 and its MOUNT first, NFSv4 last. */
const struct dispatch_program *req_served(const struct proto_env *env, size_t *n)
{
	const struct dispatch_program *p = req_programs, *end = p + req_nprograms;

	if (env->versions_off & REQ_VERS3)
		p += 2;
	if (!env->state || (env->versions_off & REQ_VERS4_ALL) == REQ_VERS4_ALL)
		end--;
	*n = (size_t)(end - p);
	return p;
}

static const struct req_proc *find_proc(struct req *r, struct msg_error *err)
{
	size_t n;
	const struct dispatch_program *p = req_served(r->env, &n);

	return dispatch_find(p, n, &r->hdr, err);
}

/* The first step of every request: header, table, replay cache. */
static enum req_step_result dispatch_step(struct req *r)
{
	struct msg_error err;
	enum req_step_result res;

	memset(&err, 0, sizeof(err));
	switch (msg_call_decode(&r->args, &r->hdr, &err)) {
	case MSG_CALL_OK:
		break;
	case MSG_CALL_REJECT:
		return req_reject(r, &err);
	default:
		return STEP_DROP;
	}
	r->proc = find_proc(r, &err);
	if (!r->proc)
		return req_reject(r, &err);
	count_call(r);
	/* A record that did not fit call[] cannot be one of ours. */
	if (!req_payload_apart(r) && r->record_len > r->call_len)
		return req_garbage(r);
	if (!r->proc->idempotent && r->env->drc) {
		res = req_check_duplicate(r, true);
		if (res != STEP_MORE)
			return res;
	}
	r->step = r->proc->step;
	return STEP_MORE;
}

/* The coarse clock costs no system call; a slow call is far above its few milliseconds. */
static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void req_dispatch(struct req *r)
{
	req_set_state(r, REQ_RUN);
	if (r->env->slow_ns)
		r->start_ns = clock_ns();
	count(&r->stats->bytes_in, r->record_len);
	cursor_init_const(&r->args, r->call, r->call_len);
	r->step = dispatch_step;
	req_run(r);
}

static void log_slow(const struct req *r)
{
	uint64_t ns = clock_ns() - r->start_ns;

	if (ns > r->env->slow_ns)
		r->env->log(r->env->arg, LOG_WARNING, "slow: %s from %s on %s took %llu ms",
			    r->proc ? r->proc->name : "call", r->owner->peer.text,
			    r->export ? r->export->path : "-", (unsigned long long)(ns / 1000000));
}

/* The reply is whole: remember it for a retransmission, hand it over. */
static void finish(struct req *r)
{
	struct msg_error err = {.kind = MSG_ERR_ACCEPTED, .accept = MSG_SYSTEM_ERR};

	if (!cursor_ok(&r->reply))
		req_reject(r, &err);
	if (r->drc_entry) {
		drc_done(r->env->drc, r->drc_entry, r->data_len ? NULL : r->reply.base,
			 cursor_pos(&r->reply));
		r->drc_entry = NULL;
	}
	count(&r->stats->bytes_out, req_reply_len(r));
	if (r->env->slow_ns)
		log_slow(r);
	req_set_state(r, REQ_SEND);
	r->owner->reply(r->owner, r);
}

void req_run(struct req *r)
{
	for (;;) {
		assert(r->state == REQ_RUN);
		switch (r->step(r)) {
		case STEP_MORE:
			break;
		case STEP_WAIT:
			req_set_state(r, REQ_WAIT);
			return;
		case STEP_REPLY:
			finish(r);
			return;
		case STEP_DROP:
			r->drop = true;
			r->owner->reply(r->owner, r);
			return;
		}
	}
}

void req_resume(struct req *r, req_step *step)
{
	req_set_state(r, REQ_RUN);
	r->step = step;
	req_run(r);
}

static void job_run(struct offload_job *job)
{
	struct req *r = container_of(job, struct req, job);

	r->work(r);
}

static void job_done(struct op *op, int res, bool more)
{
	struct req *r = container_of(op, struct req, job.op);

	(void)res;
	(void)more;
	r->inflight--;
	access_remember(r);
	req_resume(r, r->step);
}

enum req_step_result req_offload(struct req *r, void (*fn)(struct req *), req_step *step)
{
	r->work = fn;
	r->step = step;
	r->inflight++;
	memset(&r->job, 0, sizeof(r->job));
	r->job.run = job_run;
	r->job.op.done = job_done;
	r->job.ring = r->ring;
	offload_submit(r->env->offload, &r->job);
	return STEP_WAIT;
}

void req_owner_fini(struct req_owner *o)
{
	access_forget(o);
}

void req_retire(struct req *r)
{
	assert(r->inflight == 0);
	if (r->drc_entry)
		drc_done(r->env->drc, r->drc_entry, NULL, 0);
	if (r->fini)
		r->fini(r);
	buf_return(r->payload);
	buf_return(r->call_large);
	buf_return(r->data_buf);
	pipe_return(r->payload_pipe);
	pipe_return(r->data_pipe);
	file_put(r->file);
	cred_put(r->cred);
	export_table_put(r->table);
	free(r->big);
	r->drc_entry = NULL;
	r->fini = NULL;
	r->payload = r->call_large = r->data_buf = NULL;
	r->data_pipe = r->payload_pipe = NULL;
	r->file = NULL;
	r->cred = NULL;
	r->table = NULL;
	r->big = NULL;
	r->data = r->payload_data = NULL;
	req_set_state(r, REQ_FREE);
}

void req_payload_drop(struct req *r)
{
	buf_return(r->payload);
	pipe_return(r->payload_pipe);
	r->payload = NULL;
	r->payload_pipe = NULL;
	r->payload_data = NULL;
}

int req_payload_unpipe(struct req *r, struct buf *b, uint64_t offset)
{
	uint8_t *to = b->base + offset % 4096;
	int err = pipe_read(r->payload_pipe, to, r->payload_len);

	pipe_return(r->payload_pipe);
	r->payload_pipe = NULL;
	r->payload = b;
	r->payload_data = to;
	count(&r->stats->payload_unpiped, 1);
	return err;
}

bool req_call_may_grow(const uint8_t *buf, size_t len)
{
	struct msg_call call;
	size_t args;

	return msg_peek(buf, len, &call, &args) == MSG_CALL_OK && call.prog == PEEK4_PROGRAM &&
	       call.vers == PEEK4_VERSION && call.proc == PEEK4_COMPOUND;
}

void req_call_move(struct req *r, struct buf *b)
{
	assert(!r->call_large && b->size >= r->call_len);
	memcpy(b->base, r->call, r->call_len);
	r->call_large = b;
	r->call = b->base;
	r->call_max = (uint32_t)b->size;
}

static enum req_peek peek_write4(const uint8_t *buf, size_t len, size_t args,
				 struct req_payload *out)
{
	switch (peek4_payload(buf + args, len - args, &out->at, &out->len, &out->offset)) {
	case PEEK4_MORE:
		return REQ_PEEK_MORE;
	case PEEK4_PLAIN:
		return REQ_PEEK_PLAIN;
	case PEEK4_PAYLOAD:
		break;
	}
	out->at += args;
	out->more = true;
	return REQ_PEEK_PAYLOAD;
}

enum req_peek req_peek_payload(const uint8_t *buf, size_t len, struct req_payload *out)
{
	struct msg_call call;
	struct cursor c;
	size_t args;
	uint32_t fhlen, n;

	memset(&call, 0, sizeof(call));
	switch (msg_peek(buf, len, &call, &args)) {
	case MSG_CALL_OK:
		break;
	case MSG_CALL_MORE:
		return REQ_PEEK_MORE;
	default:
		return REQ_PEEK_PLAIN;
	}
	if (call.prog == PEEK4_PROGRAM && call.vers == PEEK4_VERSION && call.proc == PEEK4_COMPOUND)
		return len < args + 4 ? REQ_PEEK_MORE : peek_write4(buf, len, args, out);
	if (call.prog != V3_PROGRAM || call.vers != V3_VERSION || call.proc != V3_WRITE)
		return REQ_PEEK_PLAIN;
	out->more = false;
	if (len < args + 4)
		return REQ_PEEK_MORE;
	cursor_init_const(&c, buf + args, len - args);
	fhlen = cursor_get_u32(&c);
	if (fhlen > HANDLE_MAX)
		return REQ_PEEK_PLAIN;
	/* handle, offset, count, stable, length word of the data */
	if (cursor_left(&c) < ((fhlen + 3) & ~3u) + 20)
		return REQ_PEEK_MORE;
	cursor_skip(&c, (fhlen + 3) & ~3u);
	out->offset = cursor_get_u64(&c);
	n = cursor_get_u32(&c);
	cursor_skip(&c, 4);
	out->len = cursor_get_u32(&c);
	out->at = args + cursor_pos(&c);
	/* A count that lies about the data is answered GARBAGE_ARGS by the procedure. */
	return out->len && out->len == n ? REQ_PEEK_PAYLOAD : REQ_PEEK_PLAIN;
}
