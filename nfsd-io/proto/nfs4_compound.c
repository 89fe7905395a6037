/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * COMPOUND (RFC 7530 s.14.2, RFC 8881 s.16.2): walks the operations, one
 * argument decoded and one result encoded at a time, on the worker or an
 * offload thread as each needs.  What must stand before any act stands before
 * it: the order of SEQUENCE, a filehandle, room for the result.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/utf8.h"
#include "nfsd-io/proto/v4.h"


#define OP_HEAD 8      /* bytes of an operation's number and status */
#define BOUNCES_MAX 16 /* times one operation may change threads */

const struct req_proc v4_procs[V4_NPROCS] = {
	[NFSPROC4_NULL] = {"NULL", v4_null, true},
	/*
	 * The walker itself asks the replay cache, in 4.0, when
	 * it meets something that is not idempotent.
	 */
	[NFSPROC4_COMPOUND] = {"COMPOUND", v4_compound, true},
};

enum req_step_result v4_null(struct req *r)
{
	req_reply_begin(r, 0);
	return STEP_REPLY;
}

/* --- room ------------------------------------------------------------------------ */

static uint32_t no_room(const struct v4 *v)
{
	if (!v->minor)
		return NFS4ERR_RESOURCE;
	return v->to_cache ? NFS4ERR_REP_TOO_BIG_TO_CACHE : NFS4ERR_REP_TOO_BIG;
}

/*
 * What has to stay free behind the operation in hand: the next
 * one's refusal; a refusal's own 4 bytes (SETATTR).
 */
static uint32_t kept_free(const struct v4 *v)
{
	if (v->at + 1 < v->nops)
		return OP_HEAD + 4;
	return v->op == OP_SETATTR ? 4 : 0;
}

static bool grow(struct req *r, size_t need)
{
	struct cursor *c = &r->reply;
	size_t pos = cursor_pos(c),
	       size = need + need / 2 > v4(r)->room ? v4(r)->room : need + need / 2;
	uint8_t *big = r->big ? realloc(r->big, size) : malloc(size);

	if (!big)
		return false;
	if (!r->big)
		memcpy(big, c->base, pos);
	r->big = big;
	cursor_init(c, big, size);
	cursor_skip(c, pos);
	return true;
}

uint32_t v4_room(struct req *r, uint32_t n)
{
	const struct v4 *v = v4(r);
	size_t need = cursor_pos(&r->reply) + (size_t)n + kept_free(v);

	if (need > v->room)
		return no_room(v);
	if (need > cursor_pos(&r->reply) + cursor_left(&r->reply) && !grow(r, need))
		return v->minor ? NFS4ERR_DELAY : NFS4ERR_RESOURCE;
	return NFS4_OK;
}

uint32_t v4_room_left(const struct req *r)
{
	const struct v4 *v = (const struct v4 *)&r->proc_data;
	size_t used = cursor_pos(&r->reply) + kept_free(v);

	return used < v->room ? v->room - (uint32_t)used : 0;
}

uint32_t v4_decode(struct req *r, xdrproc_t proc, void *out)
{
	return codec_decode(&r->args, proc, out) ? NFS4_OK : NFS4ERR_BADXDR;
}

uint32_t v4_encode(struct req *r, xdrproc_t proc, const void *in)
{
	return codec_encode(&r->reply, proc, in) ? NFS4_OK : no_room(v4(r));
}

/* --- one operation --------------------------------------------------------------- */

/* The number is in the call and the reply; its row, or NULL with *status set. */
static const struct v4_op *op_begin(struct req *r, uint32_t *status)
{
	struct v4 *v = v4(r);
	const struct v4_op *o;

	v->op = cursor_get_u32(&r->args);
	v->arg_at = cursor_pos(&r->args);
	v->result_at = cursor_pos(&r->reply);
	v->bounces = 0;
	o = cursor_ok(&r->args) ? v4_op_find(v->op, v->minor) : NULL;
	*status = cursor_ok(&r->args) ? NFS4ERR_OP_ILLEGAL : NFS4ERR_BADXDR;
	if (!o)
		v->op = OP_ILLEGAL;
	cursor_put_u32(&r->reply, v->op);
	cursor_put_u32(&r->reply, NFS4_OK);
	v->begun = true;
	return o;
}

/* RFC 8881 s.2.10.6.1, as knfsd: what may come first, and alone. */
static uint32_t check_order(const struct v4 *v, const struct v4_op *o)
{
	if (!v->minor || v->at || v->op == OP_SEQUENCE)
		return NFS4_OK;
	if (!(o->flags & V4_SESSIONLESS))
		return NFS4ERR_OP_NOT_IN_SESSION;
	return v->nops == 1 ? NFS4_OK : NFS4ERR_NOT_ONLY_OP;
}

static uint32_t check_object(struct req *r, const struct v4_op *o)
{
	const struct v4 *v = v4(r);

	if ((o->flags & V4_NEEDS_FH) && !v->have_fh)
		return NFS4ERR_NOFILEHANDLE;
	if ((o->flags & V4_NEEDS_SAVED) && !v->saved.have)
		return NFS4ERR_NOFILEHANDLE;
	if (!v->have_fh)
		return NFS4_OK;
	if ((o->flags & V4_NO_PSEUDO) && v4_pseudo(r))
		return o->pseudo_status;
	if ((o->flags & V4_MODIFIES) && (v4_pseudo(r) || !r->opts->rw))
		return NFS4ERR_ROFS;
	return NFS4_OK;
}

/*
 * 4.0 has no slots: a retransmission of what must not be done
 * twice is found here, before the first such act.
 */
static uint32_t check_duplicate(struct req *r, const struct v4_op *o)
{
	struct v4 *v = v4(r);

	if (v->minor || v->asked_drc || !(o->flags & V4_CHANGES) || !r->env->drc)
		return NFS4_OK;
	switch (req_check_duplicate(r, v->worker)) {
	case STEP_MORE:
		v->asked_drc = true;
		return NFS4_OK;
	case STEP_REPLY:
		return V4_REPLAY;
	case STEP_WAIT:
		return V4_STEP;
	default:
		/* Only the worker can have it wait for the first: asked there once more. */
		return v->worker ? V4_DROP : V4_ELSEWHERE;
	}
}

static uint32_t op_check(struct req *r, const struct v4_op *o)
{
	struct v4 *v = v4(r);
	uint32_t status = check_order(v, o);

	if (!status)
		status = check_object(r, o);
	if (!status)
		status = v4_room(r, o->result_max);
	return status ? status : check_duplicate(r, o);
}

static uint32_t op_run(struct req *r)
{
	struct v4 *v = v4(r);
	const struct v4_op *o;
	uint32_t status;

	if (v->begun) {
		o = v4_op_find(v->op, v->minor);
	} else {
		o = op_begin(r, &status);
		if (!o)
			return status;
	}
	if (!v->checked) {
		status = op_check(r, o);
		if (status)
			return status;
		v->checked = true;
	}
	if (v->worker ? o->flags & V4_BLOCKS : o->flags & V4_WORKER)
		return V4_ELSEWHERE;
	status = o->run(r);
	if (status == V4_ELSEWHERE && ++v->bounces > BOUNCES_MAX)
		return NFS4ERR_SERVERFAULT;
	return status;
}

static void count_op(struct req *r, uint32_t op, uint32_t status)
{
	struct req_stats *s = r->stats;
	uint32_t row = op < REQ_OPS_MAX ? op : 0; /* 0: illegal */

	atomic_fetch_add_explicit(&s->v4_calls[row], 1, memory_order_relaxed);
	if (!status)
		return;
	atomic_fetch_add_explicit(&s->v4_errors[row], 1, memory_order_relaxed);
	if (status == NFS4ERR_BADHANDLE)
		atomic_fetch_add_explicit(&s->bad_handles, 1, memory_order_relaxed);
	else if (status == NFS4ERR_STALE)
		atomic_fetch_add_explicit(&s->stale_handles, 1, memory_order_relaxed);
	else if (status == NFS4ERR_DELAY)
		atomic_fetch_add_explicit(&s->jukebox, 1, memory_order_relaxed);
}

static void op_end(struct req *r, uint32_t status)
{
	struct v4 *v = v4(r);

	if (!status && !cursor_ok(&r->args))
		status = NFS4ERR_BADXDR;
	if (!status && !cursor_ok(&r->reply))
		status = no_room(v);
	if (status && !(v->error_body && cursor_ok(&r->reply))) {
		r->reply.bad = false;
		cursor_seek(&r->reply, v->result_at + OP_HEAD);
		/* Alone of all results, SETATTR's has its bitmap whatever the status. */
		if (v->op == OP_SETATTR)
			cursor_put_u32(&r->reply, 0);
	}
	cursor_set_u32(r->reply.base + v->result_at + 4, status);
	count_op(r, v->op, status);
	if (v->open) {
		state4_open_put(v->open);
		v->open = NULL;
	}
	v->error_body = false;
	v->begun = v->checked = false;
	v->status = status;
	v->at++;
}

/* Back to where its arguments and its result begin. */
static void rewind_op(struct req *r)
{
	cursor_seek(&r->args, v4(r)->arg_at);
	cursor_seek(&r->reply, v4(r)->result_at + OP_HEAD);
}

/* --- the walk -------------------------------------------------------------------- */

/*
 * Until the end (NFS4_OK), or V4_ELSEWHERE, V4_STEP; V4_REPLAY and V4_DROP stay in
 * v->over.
 */
static uint32_t walk(struct req *r)
{
	struct v4 *v = v4(r);
	uint32_t status;

	while (!v->over && !v->status && v->at < v->nops) {
		status = op_run(r);
		switch (status) {
		case V4_ELSEWHERE:
			rewind_op(r);
			return status;
		case V4_STEP:
			assert(v->worker);
			return status;
		case V4_REPLAY:
		case V4_DROP:
			v->over = status;
			break;
		default:
			op_end(r, status);
		}
	}
	return NFS4_OK;
}

/* What the COMPOUND holds that no reply needs. */
static void let_go(struct req *r, const uint8_t *reply, uint32_t len)
{
	struct v4 *v = v4(r);

	if (v->slot)
		state4_sequence_done(r, reply, len);
	v->slot = NULL;
	v->session = NULL;
	if (v->client && !v->minor)
		state4_served(r->env->state, v->client);
	if (v->client)
		state4_client_put(v->client);
	v->client = NULL;
}

static enum req_step_result finish(struct req *r)
{
	struct v4 *v = v4(r);
	uint8_t *res;

	if (v->over) {
		let_go(r, NULL, 0);
		return v->over == V4_DROP ? STEP_DROP : STEP_REPLY;
	}
	res = r->reply.base + MSG_REPLY_OK_LEN;
	cursor_set_u32(res, v->status);
	cursor_set_u32(r->reply.base + v->count_at, v->at);
	let_go(r, r->data_len ? NULL : res, (uint32_t)cursor_pos(&r->reply) - MSG_REPLY_OK_LEN);
	return STEP_REPLY;
}

static void on_thread(struct req *r)
{
	v4(r)->worker = false;
	walk(r);
}

static enum req_step_result on_worker(struct req *r)
{
	v4(r)->worker = true;
	switch (walk(r)) {
	case V4_ELSEWHERE:
		return req_offload(r, on_thread, on_worker);
	case V4_STEP:
		return STEP_MORE;
	default:
		return finish(r);
	}
}

enum req_step_result v4_over(struct req *r, uint32_t status)
{
	op_end(r, status);
	return on_worker(r);
}

enum req_step_result v4_again(struct req *r)
{
	rewind_op(r);
	return on_worker(r);
}

static void fini(struct req *r)
{
	struct v4 *v = v4(r);

	let_go(r, NULL, 0);
	if (v->probe) {
		state4_back_probe(r->env->state, v->probe);
		state4_session_put(r->env->state, v->probe);
	}
	if (v->open)
		state4_open_put(v->open);
	file_put(v->saved.file);
	cred_put(v->saved.cred);
}

/* --- COMPOUND -------------------------------------------------------------------- */

static uint32_t check_compound(const struct req *r, const struct v4 *v, const uint8_t *tag,
			       uint32_t len)
{
	if (v->minor > V4_MINOR_MAX || (r->env->versions_off & REQ_VERS4(v->minor)))
		return NFS4ERR_MINOR_VERS_MISMATCH;
	if (!utf8_valid((const char *)tag, len))
		return NFS4ERR_INVAL;
	/*
	 * With a session its own limits are SEQUENCE's to tell; without one there is one operation.
	 */
	return !v->minor && (v->nops > V4_OPS_MAX || r->cut) ? NFS4ERR_RESOURCE : NFS4_OK;
}

enum req_step_result v4_compound(struct req *r)
{
	struct v4 *v = v4(r);
	const uint8_t *tag;
	uint32_t len;

	tag = cursor_get_opaque(&r->args, V4_TAG_MAX, &len);
	v->minor = cursor_get_u32(&r->args);
	v->nops = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return req_garbage(r);
	r->fini = fini;
	req_reply_begin(r, 0);
	v->room = r->env->max_read + V4_REPLY_SLACK;
	v->status = v4_room(r, len + 64);
	if (v->status)
		r->reply.bad = true; /* no memory: SYSTEM_ERR */
	v->status = check_compound(r, v, tag, len);
	cursor_put_u32(&r->reply, NFS4_OK);
	cursor_put_opaque(&r->reply, tag, len);
	v->count_at = cursor_pos(&r->reply);
	cursor_put_u32(&r->reply, 0);
	if (!cursor_ok(&r->reply))
		return STEP_REPLY;
	return on_worker(r);
}
