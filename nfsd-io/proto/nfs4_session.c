/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "nfsd-io/proto/state4_int.h"
#include "nfsd-io/proto/v4.h"

/* RPC header without credentials 40; tag, minor version, count 12; SEQUENCE 36. */
#define MIN_REQUEST 88
#define HEADERS_MAX 8192 /* of a request or reply besides its data */
#define CB_REQUEST_MIN 256
#define CB_RESPONSE_MIN 128

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

/* We can call with AUTH_NONE and AUTH_SYS; no flavor at all is taken to mean the first. */
static uint32_t callback_security_ok(const callback_sec_parms4 *p, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (p[i].cb_secflavor == AUTH_NONE_FLAVOR || p[i].cb_secflavor == AUTH_SYS_FLAVOR)
			return NFS4_OK;
	}
	return n ? NFS4ERR_ENCR_ALG_UNSUPP : NFS4_OK;
}

static uint32_t take_create(const struct req *r, const CREATE_SESSION4args *a, struct state4_create *out)
{
	const uint32_t known = CREATE_SESSION4_FLAG_PERSIST | CREATE_SESSION4_FLAG_CONN_BACK_CHAN |
			       CREATE_SESSION4_FLAG_CONN_RDMA;
	uint32_t status;

	memset(out, 0, sizeof(*out));
	if (a->csa_flags & ~known)
		return NFS4ERR_INVAL;
	status = callback_security_ok(a->csa_sec_parms.csa_sec_parms_val, a->csa_sec_parms.csa_sec_parms_len);
	if (status)
		return status;
	out->id = a->csa_clientid;
	out->seqid = a->csa_sequence;
	out->flags = 0; /* not persistent, no RDMA; and without delegations there is nothing to call back for */
	state4_principal_of(&r->hdr.cred, &out->who);
	take_channel(&a->csa_fore_chan_attrs, &out->fore);
	take_channel(&a->csa_back_chan_attrs, &out->back);
	status = cut_fore(r, &out->fore);
	return status ? status : cut_back(&out->back);
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
	if (status)
		return status;
	cursor_put_fixed(&r->reply, made.id, sizeof(made.id));
	cursor_put_u32(&r->reply, made.seqid);
	cursor_put_u32(&r->reply, made.flags);
	put_channel(&r->reply, &made.fore);
	put_channel(&r->reply, &made.back);
	return NFS4_OK;
}

/* In its own session it must be the last, for afterwards there is none (RFC 8881 s.18.37.3). */
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
 * header is another one each time.  A WRITE's payload is not in call[]; its
 * length is.  `at`: where SEQUENCE's arguments begin.
 */
static uint64_t sum_call(const struct req *r, size_t at)
{
	struct state4_principal who;
	size_t from = at - 12; /* minor version, count, operation */
	uint64_t h;

	state4_principal_of(&r->hdr.cred, &who);
	h = mix(who.gids, (uint64_t)who.uid << 32 | who.gid);
	h = mix(h, (uint64_t)who.flavor << 32 | r->payload_len);
	return sum_bytes(h, r->args.base + from, (size_t)(r->args.end - r->args.base) - from);
}

static void put_result(struct cursor *c, const struct state4_call *call, const struct state4_turn *t)
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
static uint32_t put_uncached(struct req *r, const struct state4_call *call, const struct state4_turn *t)
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
	call.nops = v->nops;
	call.len = r->record_len;
	call.sum = sum_call(r, at);
	status = state4_session_turn(r->env->state, &call, &t);
	if (status)
		return status;
	if (!t.session)
		return put_replay(r, &call, &t);
	v->session = t.session;
	v->slot = t.slot;
	v->client = t.client;
	v->keep = call.cache_this;
	v->to_cache = call.cache_this && t.fore.max_cached < t.fore.max_response;
	v->room = v->to_cache ? t.fore.max_cached : t.fore.max_response;
	put_result(&r->reply, &call, &t);
	return NFS4_OK;
}

/* --- connections ----------------------------------------------------------------- */

/*
 * Any connection carries any session's calls, for state protection is never
 * granted; none carries calls to the client, so that "or both" is fore.
 */
uint32_t v4_bind_conn_to_session(struct req *r)
{
	const uint8_t *id = cursor_get_fixed(&r->args, 16);
	uint32_t dir = cursor_get_u32(&r->args), status;

	cursor_get_bool(&r->args); /* RDMA mode: there is none */
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	if (v4(r)->nops != 1)
		return NFS4ERR_NOT_ONLY_OP;
	if (dir != CDFC4_FORE && dir != CDFC4_BACK && dir != CDFC4_FORE_OR_BOTH && dir != CDFC4_BACK_OR_BOTH)
		return NFS4ERR_INVAL;
	status = state4_session_check(r->env->state, id);
	if (status)
		return status;
	cursor_put_fixed(&r->reply, id, 16);
	cursor_put_u32(&r->reply, dir & CDFC4_FORE ? CDFS4_FORE : CDFS4_BACK);
	cursor_put_bool(&r->reply, false);
	return NFS4_OK;
}

uint32_t v4_backchannel_ctl(struct req *r)
{
	BACKCHANNEL_CTL4args a;
	uint32_t status;

	memset(&a, 0, sizeof(a));
	status = v4_decode(r, (xdrproc_t)xdr_BACKCHANNEL_CTL4args, &a);
	if (status)
		return status;
	status = callback_security_ok(a.bca_sec_parms.bca_sec_parms_val, a.bca_sec_parms.bca_sec_parms_len);
	codec_free((xdrproc_t)xdr_BACKCHANNEL_CTL4args, &a);
	return status;
}
