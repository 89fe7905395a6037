/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/msg.h"

/* RFC 5531 s.9 */
#define RPC_VERSION 2
#define AUTH_BODY_MAX 400
enum { MSG_TYPE_CALL, MSG_TYPE_REPLY };
enum { REPLY_ACCEPTED, REPLY_DENIED };
enum { DENIED_RPC_MISMATCH, DENIED_AUTH_ERROR };
enum { AUTH_STAT_BADCRED = 1, AUTH_STAT_BADVERF = 3 };

static enum msg_verdict reject_auth(struct msg_error *err, uint32_t auth_stat)
{
	*err = (struct msg_error){.kind = MSG_ERR_AUTH, .auth_stat = auth_stat};
	return MSG_CALL_REJECT;
}

static enum msg_verdict decode_auth(struct cursor *c, struct rpccred *cred, struct msg_error *err)
{
	uint32_t flavor, len, verf_flavor, verf_len;
	const uint8_t *body;
	int stat;

	flavor = cursor_get_u32(c);
	body = cursor_get_opaque(c, AUTH_BODY_MAX, &len);
	if (!cursor_ok(c))
		return reject_auth(err, AUTH_STAT_BADCRED);
	verf_flavor = cursor_get_u32(c);
	cursor_get_opaque(c, AUTH_BODY_MAX, &verf_len);
	if (!cursor_ok(c))
		return reject_auth(err, AUTH_STAT_BADVERF);
	/* The credential first: a flavor we do not serve may well have a verifier of its own. */
	stat = rpccred_decode(cred, flavor, body, len);
	if (stat)
		return reject_auth(err, (uint32_t)stat);
	if (verf_flavor != RPCCRED_AUTH_NONE)
		return reject_auth(err, AUTH_STAT_BADVERF);
	return MSG_CALL_OK;
}

enum msg_verdict msg_call_decode(struct cursor *c, struct msg_call *out, struct msg_error *err)
{
	uint32_t type, vers;

	*out = (struct msg_call){0};
	*err = (struct msg_error){0};
	out->xid = cursor_get_u32(c);
	type = cursor_get_u32(c);
	if (!cursor_ok(c) || type != MSG_TYPE_CALL)
		return MSG_CALL_DROP;
	vers = cursor_get_u32(c);
	if (cursor_ok(c) && vers != RPC_VERSION) {
		*err = (struct msg_error){
			.kind = MSG_ERR_RPCVERS, .low = RPC_VERSION, .high = RPC_VERSION};
		return MSG_CALL_REJECT;
	}
	out->prog = cursor_get_u32(c);
	out->vers = cursor_get_u32(c);
	out->proc = cursor_get_u32(c);
	if (!cursor_ok(c)) {
		/* There is an xid, so somebody may be waiting: say what a short body deserves. */
		*err = (struct msg_error){.kind = MSG_ERR_ACCEPTED, .accept = MSG_GARBAGE_ARGS};
		return MSG_CALL_REJECT;
	}
	return decode_auth(c, &out->cred, err);
}

static void put_accepted(struct cursor *c, uint32_t xid, enum msg_accept accept)
{
	cursor_put_u32(c, xid);
	cursor_put_u32(c, MSG_TYPE_REPLY);
	cursor_put_u32(c, REPLY_ACCEPTED);
	cursor_put_u32(c, RPCCRED_AUTH_NONE); /* verifier */
	cursor_put_u32(c, 0);
	cursor_put_u32(c, accept);
}

void msg_reply_ok(struct cursor *c, uint32_t xid)
{
	put_accepted(c, xid, MSG_SUCCESS);
}

static void put_denied(struct cursor *c, uint32_t xid, const struct msg_error *err)
{
	cursor_put_u32(c, xid);
	cursor_put_u32(c, MSG_TYPE_REPLY);
	cursor_put_u32(c, REPLY_DENIED);
	if (err->kind == MSG_ERR_AUTH) {
		cursor_put_u32(c, DENIED_AUTH_ERROR);
		cursor_put_u32(c, err->auth_stat);
		return;
	}
	cursor_put_u32(c, DENIED_RPC_MISMATCH);
	cursor_put_u32(c, err->low);
	cursor_put_u32(c, err->high);
}

void msg_reject(struct cursor *c, uint32_t xid, const struct msg_error *err)
{
	if (err->kind != MSG_ERR_ACCEPTED) {
		put_denied(c, xid, err);
		return;
	}
	put_accepted(c, xid, err->accept);
	if (err->accept == MSG_PROG_MISMATCH) {
		cursor_put_u32(c, err->low);
		cursor_put_u32(c, err->high);
	}
}

void msg_call_put(struct cursor *c, uint32_t prog, uint32_t vers, uint32_t proc,
		  const uint8_t *cred, size_t len)
{
	cursor_put_u32(c, 0);
	cursor_put_u32(c, MSG_TYPE_CALL);
	cursor_put_u32(c, RPC_VERSION);
	cursor_put_u32(c, prog);
	cursor_put_u32(c, vers);
	cursor_put_u32(c, proc);
	cursor_put_fixed(c, cred, len);
	cursor_put_u32(c, RPCCRED_AUTH_NONE); /* verifier */
	cursor_put_u32(c, 0);
}

bool msg_reply_accepted(struct cursor *c)
{
	uint32_t len, type, stat, accept;

	cursor_skip(c, 4); /* xid */
	type = cursor_get_u32(c);
	stat = cursor_get_u32(c);
	cursor_skip(c, 4); /* verifier */
	cursor_get_opaque(c, AUTH_BODY_MAX, &len);
	accept = cursor_get_u32(c);
	return cursor_ok(c) && type == MSG_TYPE_REPLY && stat == REPLY_ACCEPTED &&
	       accept == MSG_SUCCESS;
}

bool msg_is_reply(const uint8_t *buf, size_t len, uint32_t *xid)
{
	struct cursor c;

	cursor_init_const(&c, buf, len);
	*xid = cursor_get_u32(&c);
	return cursor_get_u32(&c) == MSG_TYPE_REPLY && cursor_ok(&c);
}

/* Skips a flavor and its body.  OK, MORE (cut short) or DROP (longer than any may be). */
static enum msg_verdict peek_auth(struct cursor *c)
{
	uint32_t len;

	cursor_skip(c, 4);
	len = cursor_get_u32(c);
	if (len > AUTH_BODY_MAX)
		return MSG_CALL_DROP;
	cursor_get_fixed(c, len);
	return cursor_ok(c) ? MSG_CALL_OK : MSG_CALL_MORE;
}

enum msg_verdict msg_peek(const uint8_t *buf, size_t len, struct msg_call *out, size_t *args)
{
	struct cursor c;
	enum msg_verdict v;
	uint32_t type, vers;

	cursor_init_const(&c, buf, len);
	out->xid = cursor_get_u32(&c);
	type = cursor_get_u32(&c);
	if (type != MSG_TYPE_CALL)
		return MSG_CALL_DROP;
	vers = cursor_get_u32(&c);
	if (cursor_ok(&c) && vers != RPC_VERSION)
		return MSG_CALL_DROP;
	out->prog = cursor_get_u32(&c);
	out->vers = cursor_get_u32(&c);
	out->proc = cursor_get_u32(&c);
	v = peek_auth(&c);
	if (v == MSG_CALL_OK)
		v = peek_auth(&c);
	if (v == MSG_CALL_OK)
		*args = cursor_pos(&c);
	return v;
}
