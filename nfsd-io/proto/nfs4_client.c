/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <string.h>

#include "nfsd-io/proto/state4_int.h"
#include "nfsd-io/proto/v4.h"

static void say_hello(const struct req *r, struct state4_hello *h)
{
	memset(h, 0, sizeof(*h));
	state4_principal_of(&r->hdr.cred, &h->who);
	h->addr = r->owner->peer.text;
	h->minor = (uint8_t)v4((struct req *)r)->minor;
}

/* --- NFSv4.0 ------------------------------------------------------------------- */

/* RFC 7530 s.16.33.4; who uses it is not told, as knfsd does not. */
static uint32_t in_use(struct req *r)
{
	cursor_put_opaque(&r->reply, NULL, 0);
	cursor_put_opaque(&r->reply, NULL, 0);
	v4(r)->error_body = true;
	return NFS4ERR_CLID_INUSE;
}

uint32_t v4_setclientid(struct req *r)
{
	struct state4_hello h;
	SETCLIENTID4args a;
	uint8_t confirm[STATE4_VERF];
	clientid4 id;
	uint32_t status;

	memset(&a, 0, sizeof(a));
	status = v4_decode(r, (xdrproc_t)xdr_SETCLIENTID4args, &a);
	if (status)
		return status;
	say_hello(r, &h);
	memcpy(h.verf, a.client.verifier, STATE4_VERF);
	h.owner = (const uint8_t *)a.client.id.id_val;
	h.owner_len = a.client.id.id_len;
	status = state4_client_set(r->env->state, &h, &id, confirm);
	codec_free((xdrproc_t)xdr_SETCLIENTID4args, &a);
	if (status == NFS4ERR_CLID_INUSE)
		return in_use(r);
	if (status)
		return status;
	cursor_put_u64(&r->reply, id);
	cursor_put_fixed(&r->reply, confirm, STATE4_VERF);
	return NFS4_OK;
}

uint32_t v4_setclientid_confirm(struct req *r)
{
	struct state4_principal who;
	clientid4 id = cursor_get_u64(&r->args);
	const uint8_t *confirm = cursor_get_fixed(&r->args, STATE4_VERF);

	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	state4_principal_of(&r->hdr.cred, &who);
	return state4_client_confirm(r->env->state, id, confirm, &who);
}

uint32_t v4_renew(struct req *r)
{
	clientid4 id = cursor_get_u64(&r->args);
	struct state4 *s = r->env->state;
	struct state4_client *c;
	uint32_t status;

	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	state4_lock(s);
	status = state4_client_find(s, id, true, &c);
	if (!status)
		state4_client_renew(s, c);
	state4_unlock(s);
	return status;
}

/* --- NFSv4.1 ------------------------------------------------------------------- */

static uint32_t exchange_flags_ok(uint32_t flags, uint32_t minor)
{
	uint32_t known = EXCHGID4_FLAG_SUPP_MOVED_REFER | EXCHGID4_FLAG_SUPP_MOVED_MIGR |
			 EXCHGID4_FLAG_BIND_PRINC_STATEID | EXCHGID4_FLAG_MASK_PNFS |
			 EXCHGID4_FLAG_UPD_CONFIRMED_REC_A;

	if (minor >= 2)
		known |= EXCHGID4_FLAG_SUPP_FENCE_OPS;
	return flags & ~known ? NFS4ERR_INVAL : NFS4_OK;
}

static uint32_t protection_ok(state_protect_how4 how)
{
	switch (how) {
	case SP4_NONE:
		return NFS4_OK;
	case SP4_MACH_CRED:
		return NFS4ERR_INVAL; /* it needs integrity, which AUTH_SYS has not */
	default:
		return NFS4ERR_ENCR_ALG_UNSUPP;
	}
}

static void put_exchanged(struct req *r, clientid4 id, uint32_t seqid, bool confirmed)
{
	const char *server = r->env->state->server_id;
	uint32_t len = (uint32_t)strlen(server);

	cursor_put_u64(&r->reply, id);
	cursor_put_u32(&r->reply, seqid);
	cursor_put_u32(&r->reply,
		       EXCHGID4_FLAG_USE_NON_PNFS | (confirmed ? EXCHGID4_FLAG_CONFIRMED_R : 0));
	cursor_put_u32(&r->reply, SP4_NONE);
	cursor_put_u64(&r->reply, 0); /* so_minor_id */
	cursor_put_opaque(&r->reply, server, len);
	cursor_put_opaque(&r->reply, server, len);
	cursor_put_u32(&r->reply, 0); /* eir_server_impl_id */
}

uint32_t v4_exchange_id(struct req *r)
{
	struct state4_hello h;
	EXCHANGE_ID4args a;
	clientid4 id;
	uint32_t status, seqid;
	bool confirmed;

	memset(&a, 0, sizeof(a));
	status = v4_decode(r, (xdrproc_t)xdr_EXCHANGE_ID4args, &a);
	if (status)
		return status;
	status = exchange_flags_ok(a.eia_flags, v4(r)->minor);
	if (!status)
		status = protection_ok(a.eia_state_protect.spa_how);
	if (!status) {
		say_hello(r, &h);
		memcpy(h.verf, a.eia_clientowner.co_verifier, STATE4_VERF);
		h.owner = (const uint8_t *)a.eia_clientowner.co_ownerid.co_ownerid_val;
		h.owner_len = a.eia_clientowner.co_ownerid.co_ownerid_len;
		h.update = a.eia_flags & EXCHGID4_FLAG_UPD_CONFIRMED_REC_A;
		status = state4_client_exchange(r->env->state, &h, &id, &seqid, &confirmed);
	}
	codec_free((xdrproc_t)xdr_EXCHANGE_ID4args, &a);
	if (!status)
		put_exchanged(r, id, seqid, confirmed);
	return status;
}

uint32_t v4_destroy_clientid(struct req *r)
{
	clientid4 id = cursor_get_u64(&r->args);

	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	return state4_client_destroy(r->env->state, id);
}

uint32_t v4_reclaim_complete(struct req *r)
{
	bool one_fs = cursor_get_bool(&r->args);

	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	/*
	 * No file system comes here from another server, so there is nothing to do for one alone.
	 */
	if (one_fs)
		return v4(r)->have_fh ? NFS4_OK : NFS4ERR_NOFILEHANDLE;
	return state4_client_reclaimed(r->env->state, v4(r)->client);
}
