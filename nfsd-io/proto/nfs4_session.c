/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_int.h"
#include "nfsd-io/proto/v4.h"

/* RPC header without credentials 40; tag, minor version, count 12; SEQUENCE 36. */
#define MIN_REQUEST 88
#define HEADERS_MAX 8192 /* of a request or reply besides its data */
#define CB_REQUEST_MIN 256
#define CB_RESPONSE_MIN 128
#define MACHINE_MAX 255 /* RFC 5531 appendix A */
#define CRED_MAX 400	/* flavor, length, and a body of AUTH_SYS with all it may have: 356 */

enum { AUTH_NONE_FLAVOR = 0, AUTH_SYS_FLAVOR = 1 };

/* --- CREATE_SESSION ------------------------------------------------------------ */

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void take_channel(const channel_attrs4 *in, struct state4_channel *out)
{
	out->max_request = in->ca_maxrequestsize;
	out->max_response = in->ca_maxresponsesize;
	out->max_cached = in->ca_maxresponsesize_cached;
	out->max_ops = in->ca_maxoperations;
	out->max_slots = in->ca_maxrequests;
}

static uint32_t cut_fore(const struct req *r, struct state4_channel *c)
{
	if (c->max_request < MIN_REQUEST || c->max_response < STATE4_SEQUENCE_REPLY || !c->max_ops)
		return NFS4ERR_TOOSMALL;
	c->max_request = min(c->max_request, r->env->max_write + HEADERS_MAX);
	c->max_response = min(c->max_response, r->env->max_read + HEADERS_MAX);
	c->max_cached = min(c->max_cached, STATE4_CACHED_MAX);
	c->max_ops = min(c->max_ops, V4_OPS_MAX);
	c->max_slots = min(c->max_slots, STATE4_SLOTS);
	return NFS4_OK;
}

/* Calls to the client are few and one at a time: CB_SEQUENCE and one operation. */
static uint32_t cut_back(struct state4_channel *c)
{
	if (c->max_request < CB_REQUEST_MIN || c->max_response < CB_RESPONSE_MIN || c->max_ops < 2)
		return NFS4ERR_TOOSMALL;
	c->max_cached = 0;
	c->max_slots = 1;
	return NFS4_OK;
}

static void put_cred(struct cursor *c, const callback_sec_parms4 *p)
{
	const cb_sys_cred4 *sys = &p->callback_sec_parms4_u.cbsp_sys_cred;
	uint32_t len = sys->machinename.utf8string_len, i;
	uint8_t *at;

	cursor_put_u32(c, p->cb_secflavor);
	at = cursor_reserve(c, 4);
	if (p->cb_secflavor == AUTH_SYS_FLAVOR) {
		cursor_put_u32(c, sys->stamp);
		cursor_put_opaque(c, sys->machinename.utf8string_val, len > MACHINE_MAX ? 0 : len);
		cursor_put_u32(c, sys->uid);
		cursor_put_u32(c, sys->gid);
		cursor_put_u32(c, sys->gids.gids_len);
		for (i = 0; i < sys->gids.gids_len; i++)
			cursor_put_u32(c, sys->gids.gids_val[i]);
	}
	if (cursor_ok(c))
		cursor_set_u32(at, (uint32_t)cursor_pos(c) - 8);
}

/*
 * We can call with AUTH_NONE and AUTH_SYS, by whichever the client names first; none at all is
 * taken to mean AUTH_NONE.
 */
static uint32_t take_caller(const callback_sec_parms4 *p, unsigned n, uint32_t program,
			    struct state4_caller *out)
{
	static const callback_sec_parms4 none = {.cb_secflavor = AUTH_NONE_FLAVOR};
	const callback_sec_parms4 *end = p + n;
	uint8_t buf[CRED_MAX];
	struct cursor c;

	if (!n) {
		p = &none;
		end = p + 1;
	}
	while (p != end && p->cb_secflavor != AUTH_NONE_FLAVOR &&
	       p->cb_secflavor != AUTH_SYS_FLAVOR)
		p++;
	if (p == end)
		return NFS4ERR_ENCR_ALG_UNSUPP;
	cursor_init(&c, buf, sizeof(buf));
	put_cred(&c, p);
	out->program = program;
	out->cred_len = (uint32_t)cursor_pos(&c);
	out->cred = cursor_ok(&c) ? malloc(out->cred_len) : NULL;
	if (!out->cred)
		return NFS4ERR_DELAY;
	memcpy(out->cred, buf, out->cred_len);
	return NFS4_OK;
}

static bool calls_clients(const struct req *r)
{
	return r->env->state->p.call;
}

/* This connection, which from now on is to tell when it ends. */
static uint64_t carrier(const struct req *r)
{
	atomic_store(&r->owner->carries, true);
	return r->owner->conn;
}

/* Once the reply is sent, the client is called. */
static void call_later(struct req *r, const uint8_t id[16])
{
	if (!v4(r)->probe)
		v4(r)->probe = state4_session_pin(r->env->state, id);
}

static uint32_t take_create(const struct req *r, const CREATE_SESSION4args *a,
			    struct state4_create *out)
{
	const uint32_t known = CREATE_SESSION4_FLAG_PERSIST | CREATE_SESSION4_FLAG_CONN_BACK_CHAN |
			       CREATE_SESSION4_FLAG_CONN_RDMA;
	uint32_t status;

	memset(out, 0, sizeof(*out));
	if (a->csa_flags & ~known)
		return NFS4ERR_INVAL;
	out->id = a->csa_clientid;
	out->seqid = a->csa_sequence;
	out->flags = 0; /* not persistent, no RDMA */
	state4_principal_of(&r->hdr.cred, &out->who);
	take_channel(&a->csa_fore_chan_attrs, &out->fore);
	take_channel(&a->csa_back_chan_attrs, &out->back);
	status = cut_fore(r, &out->fore);
	if (!status)
		status = cut_back(&out->back);
	if (status)
		return status;
	if ((a->csa_flags & CREATE_SESSION4_FLAG_CONN_BACK_CHAN) && calls_clients(r)) {
		out->flags = CREATE_SESSION4_FLAG_CONN_BACK_CHAN;
		out->caller.conn = carrier(r);
	}
	return take_caller(a->csa_sec_parms.csa_sec_parms_val, a->csa_sec_parms.csa_sec_parms_len,
			   a->csa_cb_program, &out->caller);
}

static void put_channel(struct cursor *c, const struct state4_channel *ch)
{
	cursor_put_u32(c, 0); /* ca_headerpadsize */
	cursor_put_u32(c, ch->max_request);
	cursor_put_u32(c, ch->max_response);
	cursor_put_u32(c, ch->max_cached);
	cursor_put_u32(c, ch->max_ops);
	cursor_put_u32(c, ch->max_slots);
	cursor_put_u32(c, 0); /* ca_rdma_ird */
}

uint32_t v4_create_session(struct req *r)
{
	struct state4_create create;
	struct state4_created made;
	CREATE_SESSION4args a;
	uint32_t status;

	memset(&a, 0, sizeof(a));
	status = v4_decode(r, (xdrproc_t)xdr_CREATE_SESSION4args, &a);
	if (status)
		return status;
	status = take_create(r, &a, &create);
	codec_free((xdrproc_t)xdr_CREATE_SESSION4args, &a);
	if (!status)
		status = state4_session_create(r->env->state, &create, &made);
	free(create.caller.cred);
	if (status)
		return status;
	if (create.caller.conn)
		call_later(r, made.id);
	cursor_put_fixed(&r->reply, made.id, sizeof(made.id));
	cursor_put_u32(&r->reply, made.seqid);
	cursor_put_u32(&r->reply, made.flags);
	put_channel(&r->reply, &made.fore);
	put_channel(&r->reply, &made.back);
	return NFS4_OK;
}

/*
 * In its own session it must be the last, for afterwards there is none (RFC 8881 s.18.37.3).
 * Clients must send it on a connection of the session; it is taken on any, as by knfsd: without
 * state protection the next SEQUENCE would make it one, and Linux, whose connection may be new,
 * takes a refusal for a session that is gone.
 */
uint32_t v4_destroy_session(struct req *r)
{
	const uint8_t *id = cursor_get_fixed(&r->args, 16);
	struct v4 *v = v4(r);

	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	if (v->session && !memcmp(v->session->id, id, 16) && v->at + 1 != v->nops)
		return NFS4ERR_NOT_ONLY_OP;
	return state4_session_destroy(r->env->state, id, v->session);
}

/* --- SEQUENCE -------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 29);
}

static uint64_t sum_bytes(uint64_t h, const uint8_t *p, size_t len)
{
	uint64_t v;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&v, p, 8);
		h = mix(h, v);
	}
	v = 0;
	memcpy(&v, p, len);
	return mix(h, v);
}

/*
 * Over the call from the minor version on: the tag means nothing, and the RPC
 * header is another one each time, as sa_highest_slotid is: Linux encodes what
 * it sends again anew, with the slots in use then.  A WRITE's payload is not in
 * call[]; its length is.  `at`: where SEQUENCE's arguments begin.
 */
static uint64_t sum_call(const struct req *r, size_t at)
{
	struct state4_principal who;
	const uint8_t *from = r->args.base + at - 12; /* minor version, count, operation */
	const uint8_t *highest = r->args.base + at + 24, *rest = highest + 4;
	uint64_t h;

	state4_principal_of(&r->hdr.cred, &who);
	h = mix(who.gids, (uint64_t)who.uid << 32 | who.gid);
	h = mix(h, (uint64_t)who.flavor << 32 | r->payload_len);
	h = sum_bytes(h, from, (size_t)(highest - from));
	return sum_bytes(h, rest, (size_t)(r->args.end - rest));
}

static void put_result(struct cursor *c, const struct state4_call *call,
		       const struct state4_turn *t)
{
	uint32_t highest = t->fore.max_slots - 1;

	cursor_put_fixed(c, call->id, 16);
	cursor_put_u32(c, call->seqid);
	cursor_put_u32(c, call->slot);
	cursor_put_u32(c, highest);
	cursor_put_u32(c, highest);
	cursor_put_u32(c, t->flags);
}

/* The reply was not kept: SEQUENCE is repeated, what follows is refused (RFC 8881 s.18.46.3). */
static uint32_t put_uncached(struct req *r, const struct state4_call *call,
			     const struct state4_turn *t)
{
	bool more = call->nops > 1;

	cursor_put_u32(&r->reply, more ? 2 : 1);
	cursor_put_u32(&r->reply, OP_SEQUENCE);
	cursor_put_u32(&r->reply, NFS4_OK);
	put_result(&r->reply, call, t);
	if (!more)
		return NFS4_OK;
	cursor_put_u32(&r->reply, cursor_get_u32(&r->args));
	cursor_put_u32(&r->reply, NFS4ERR_RETRY_UNCACHED_REP);
	return NFS4ERR_RETRY_UNCACHED_REP;
}

static uint32_t put_replay(struct req *r, const struct state4_call *call, struct state4_turn *t)
{
	uint32_t status, need = t->cached ? t->reply_len : 64;

	cursor_seek(&r->reply, v4(r)->count_at);
	status = v4_room(r, need);
	if (status) {
		free(t->reply);
		return status;
	}
	if (t->cached) {
		cursor_put_fixed(&r->reply, t->reply, t->reply_len);
		status = t->status;
	} else {
		status = put_uncached(r, call, t);
	}
	cursor_set_u32(r->reply.base + MSG_REPLY_OK_LEN, status);
	free(t->reply);
	return V4_REPLAY;
}

static void wake(struct state4_parked *p)
{
	req_wake(container_of(container_of(p, struct v4, parked), struct req, proc_data));
}

static void offer_to_wait(struct req *r, struct state4_call *call)
{
	struct state4_parked *p = &v4(r)->parked;

	call->again = p->wake;
	if (call->again)
		return;
	req_wait_ready(r, v4_again);
	p->wake = wake;
	call->park = p;
}

uint32_t v4_sequence(struct req *r)
{
	size_t at = cursor_pos(&r->args);
	struct v4 *v = v4(r);
	struct state4_call call;
	struct state4_turn t;
	uint32_t status;

	memset(&call, 0, sizeof(call));
	call.id = cursor_get_fixed(&r->args, 16);
	call.seqid = cursor_get_u32(&r->args);
	call.slot = cursor_get_u32(&r->args);
	cursor_get_u32(&r->args); /* sa_highest_slotid: our tables do not shrink */
	call.cache_this = cursor_get_bool(&r->args);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	if (v->at)
		return NFS4ERR_SEQUENCE_POS;
	if (r->cut)
		return NFS4ERR_REQ_TOO_BIG;
	call.nops = v->nops;
	call.len = r->record_len;
	if (!v->parked.wake) /* else it has waited, and no longer has all of its call */
		v->sum = sum_call(r, at);
	call.sum = v->sum;
	if (v->parked.displaced)
		return NFS4ERR_DELAY;
	offer_to_wait(r, &call);
	status = state4_session_turn(r->env->state, &call, &t);
	if (status)
		return status;
	if (t.parked) {
		req_wait(r);
		return V4_STEP;
	}
	if (!t.session)
		return put_replay(r, &call, &t);
	v->session = t.session;
	v->slot = t.slot;
	v->client = t.client;
	v->keep = call.cache_this;
	if (t.probe)
		call_later(r, call.id);
	v->to_cache = call.cache_this && t.fore.max_cached < t.fore.max_response;
	v->room = v->to_cache ? t.fore.max_cached : t.fore.max_response;
	put_result(&r->reply, &call, &t);
	return NFS4_OK;
}

/* --- connections ----------------------------------------------------------------- */

/*
 * Any connection carries any session's calls, for state protection is never
 * granted; calls to the client only those that are bound to.
 */
uint32_t v4_bind_conn_to_session(struct req *r)
{
	const uint8_t *id = cursor_get_fixed(&r->args, 16);
	uint32_t dir = cursor_get_u32(&r->args), status;
	bool back;

	cursor_get_bool(&r->args); /* RDMA mode: there is none */
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	if (v4(r)->nops != 1)
		return NFS4ERR_NOT_ONLY_OP;
	if (dir != CDFC4_FORE && dir != CDFC4_BACK && dir != CDFC4_FORE_OR_BOTH &&
	    dir != CDFC4_BACK_OR_BOTH)
		return NFS4ERR_INVAL;
	back = dir != CDFC4_FORE && calls_clients(r);
	status = back ? state4_back_bind(r->env->state, id, carrier(r))
		      : state4_session_check(r->env->state, id);
	if (status)
		return status;
	if (back)
		call_later(r, id);
	cursor_put_fixed(&r->reply, id, 16);
	cursor_put_u32(&r->reply, !back ? CDFS4_FORE : dir == CDFC4_BACK ? CDFS4_BACK : CDFS4_BOTH);
	cursor_put_bool(&r->reply, false);
	return NFS4_OK;
}

uint32_t v4_backchannel_ctl(struct req *r)
{
	struct v4 *v = v4(r);
	BACKCHANNEL_CTL4args a;
	struct state4_caller caller;
	uint32_t status;

	memset(&a, 0, sizeof(a));
	memset(&caller, 0, sizeof(caller));
	status = v4_decode(r, (xdrproc_t)xdr_BACKCHANNEL_CTL4args, &a);
	if (status)
		return status;
	status = take_caller(a.bca_sec_parms.bca_sec_parms_val, a.bca_sec_parms.bca_sec_parms_len,
			     a.bca_cb_program, &caller);
	codec_free((xdrproc_t)xdr_BACKCHANNEL_CTL4args, &a);
	if (status)
		return status;
	state4_back_set(r->env->state, v->session, &caller);
	call_later(r, v->session->id);
	return NFS4_OK;
}
