/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/v4c.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

const stateid4 v4c_anonymous;
const stateid4 v4c_bypass = {.seqid = 0xffffffff,
			     .other = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
				      "\xff"};
const stateid4 v4c_current = {.seqid = 1};

int v4c_open(struct v4c *c, const char *host, int port, uint32_t minor)
{
	memset(c, 0, sizeof(*c));
	c->minor = minor;
	return rawnfs_open(&c->raw, host, port, 0);
}

void v4c_close(struct v4c *c)
{
	codec_free((xdrproc_t)xdr_COMPOUND4res, &c->res);
	memset(&c->res, 0, sizeof(c->res));
	rawnfs_close(&c->raw);
}

int v4c_join(struct v4c *c, const struct v4c *first, const char *host, int port, uint32_t slot)
{
	int err = v4c_open(c, host, port, first->minor);

	c->clientid = first->clientid;
	c->session = first->session;
	memcpy(c->sessionid, first->sessionid, sizeof(c->sessionid));
	c->fore = first->fore;
	c->slot = slot;
	c->raw.uid = first->raw.uid;
	c->raw.gid = first->raw.gid;
	return err;
}

/* --- a COMPOUND -------------------------------------------------------------------- */

void v4c_begin_bare(struct v4c *c)
{
	codec_free((xdrproc_t)xdr_COMPOUND4res, &c->res);
	memset(&c->res, 0, sizeof(c->res));
	c->nops = 0;
}

void v4c_begin(struct v4c *c)
{
	v4c_begin_bare(c);
	if (c->session)
		v4c_sequence(c, c->slot, ++c->seqid[c->slot], c->cachethis);
}

nfs_argop4 *v4c_op(struct v4c *c, nfs_opnum4 op)
{
	nfs_argop4 *a = &c->op[c->nops++];

	assert(c->nops <= V4C_OPS);
	memset(a, 0, sizeof(*a));
	a->argop = op;
	return a;
}

void v4c_encode(struct v4c *c, struct rawnfs_call *call)
{
	uint32_t tag_len = c->tag && !c->tag_len ? (uint32_t)strlen(c->tag) : c->tag_len;
	COMPOUND4args a = {
		.tag = {tag_len, (char *)(uintptr_t)c->tag},
		.minorversion = c->minor,
		.argarray = {c->nops, c->op},
	};

	rawnfs_call_begin(&c->raw, call, NFS4_PROGRAM, NFS_V4, NFSPROC4_COMPOUND);
	assert(codec_encode(&call->c, (xdrproc_t)xdr_COMPOUND4args, &a));
}

uint32_t v4c_take(struct v4c *c, struct rawnfs_reply *reply)
{
	codec_free((xdrproc_t)xdr_COMPOUND4res, &c->res);
	memset(&c->res, 0, sizeof(c->res));
	c->rpc = *reply;
	c->reply_len = (uint32_t)reply->len;
	if (!c->err && (reply->denied || reply->stat ||
			!codec_decode(&reply->c, (xdrproc_t)xdr_COMPOUND4res, &c->res) ||
			cursor_left(&reply->c)))
		c->err = -EPROTO;
	return c->err ? V4C_BROKEN : c->res.status;
}

uint32_t v4c_send(struct v4c *c, struct rawnfs_call *call)
{
	struct rawnfs_reply reply;

	c->err = rawnfs_call(&c->raw, call, &reply);
	return v4c_take(c, &reply);
}

uint32_t v4c_run(struct v4c *c)
{
	struct rawnfs_call call;
	uint32_t status;

	v4c_encode(c, &call);
	status = v4c_send(c, &call);
	rawnfs_call_end(&call);
	return status;
}

nfs_resop4 *v4c_res(struct v4c *c, nfs_opnum4 op)
{
	for (uint32_t i = c->res.resarray.resarray_len; i--;)
		if (c->res.resarray.resarray_val[i].resop == op)
			return &c->res.resarray.resarray_val[i];
	return NULL;
}

uint32_t v4c_status(struct v4c *c, nfs_opnum4 op)
{
	const nfs_resop4 *r = v4c_res(c, op);

	/* Every result begins with its status. */
	return r ? r->nfs_resop4_u.opillegal.status : V4C_BROKEN;
}

uint32_t v4c_last(const struct v4c *c)
{
	uint32_t n = c->res.resarray.resarray_len;

	return n ? c->res.resarray.resarray_val[n - 1].resop : 0;
}

/* --- operations --------------------------------------------------------------------- */

void v4c_sequence(struct v4c *c, uint32_t slot, uint32_t seqid, bool cachethis)
{
	SEQUENCE4args *a = &v4c_op(c, OP_SEQUENCE)->nfs_argop4_u.opsequence;

	memcpy(a->sa_sessionid, c->sessionid, sizeof(a->sa_sessionid));
	a->sa_sequenceid = seqid;
	a->sa_slotid = slot;
	a->sa_highest_slotid = slot;
	a->sa_cachethis = cachethis;
}

void v4c_putfh(struct v4c *c, const struct v4c_fh *fh)
{
	nfs_fh4 *o = &v4c_op(c, OP_PUTFH)->nfs_argop4_u.opputfh.object;

	o->nfs_fh4_len = fh->len;
	o->nfs_fh4_val = (char *)(uintptr_t)fh->data;
}

void v4c_putrootfh(struct v4c *c)
{
	v4c_op(c, OP_PUTROOTFH);
}

component4 v4c_name(const char *name)
{
	return (component4){(uint32_t)strlen(name), (char *)(uintptr_t)name};
}

void v4c_lookup(struct v4c *c, const char *name)
{
	v4c_op(c, OP_LOOKUP)->nfs_argop4_u.oplookup.objname = v4c_name(name);
}

void v4c_getfh(struct v4c *c)
{
	v4c_op(c, OP_GETFH);
}

void v4c_getattr(struct v4c *c, uint32_t w0, uint32_t w1, uint32_t w2)
{
	bitmap4 *b = &v4c_op(c, OP_GETATTR)->nfs_argop4_u.opgetattr.attr_request;

	b->bitmap4_val[0] = w0;
	b->bitmap4_val[1] = w1;
	b->bitmap4_val[2] = w2;
	b->bitmap4_len = w2 ? 3 : w1 ? 2 : w0 ? 1 : 0;
}

void v4c_access(struct v4c *c, uint32_t want)
{
	v4c_op(c, OP_ACCESS)->nfs_argop4_u.opaccess.access = want;
}

void v4c_read(struct v4c *c, const stateid4 *id, uint64_t offset, uint32_t count)
{
	v4c_op(c, OP_READ)->nfs_argop4_u.opread = (READ4args){*id, offset, count};
}

void v4c_write(struct v4c *c, const stateid4 *id, uint64_t offset, stable_how4 how,
	       const void *data, uint32_t len)
{
	v4c_op(c, OP_WRITE)->nfs_argop4_u.opwrite =
		(WRITE4args){*id, offset, how, {len, (char *)(uintptr_t)data}};
}

void v4c_commit(struct v4c *c, uint64_t offset, uint32_t count)
{
	v4c_op(c, OP_COMMIT)->nfs_argop4_u.opcommit = (COMMIT4args){offset, count};
}

void v4c_opens(struct v4c *c, const void *owner, uint32_t owner_len, uint32_t seqid,
	       const char *name, uint32_t access, uint32_t deny, bool create)
{
	static uint8_t mode[4] = {0, 0, 1, 0xa4};
	OPEN4args *a = &v4c_op(c, OP_OPEN)->nfs_argop4_u.opopen;
	fattr4 *f = &a->openhow.openflag4_u.how.createhow4_u.createattrs;

	a->seqid = seqid;
	a->share_access = access;
	a->share_deny = deny;
	a->owner.clientid = c->clientid;
	a->owner.owner.owner_len = owner_len;
	a->owner.owner.owner_val = (char *)(uintptr_t)owner;
	a->claim.claim = CLAIM_NULL;
	a->claim.open_claim4_u.file = v4c_name(name);
	if (!create)
		return;
	a->openhow.opentype = OPEN4_CREATE;
	a->openhow.openflag4_u.how.mode = UNCHECKED4;
	f->attrmask.bitmap4_len = 2;
	f->attrmask.bitmap4_val[1] = 1u << (FATTR4_MODE - 32);
	f->attr_vals.attrlist4_len = sizeof(mode);
	f->attr_vals.attrlist4_val = (char *)mode;
}

/* --- more than one call ---------------------------------------------------------------- */

bool v4c_keep_fh(struct v4c *c, struct v4c_fh *fh)
{
	const nfs_resop4 *r = v4c_res(c, OP_GETFH);
	const nfs_fh4 *o;

	if (!r || r->nfs_resop4_u.opgetfh.status)
		return false;
	o = &r->nfs_resop4_u.opgetfh.GETFH4res_u.resok4.object;
	fh->len = o->nfs_fh4_len;
	memcpy(fh->data, o->nfs_fh4_val, fh->len);
	return true;
}

int v4c_mount(struct v4c *c, const char *path, struct v4c_fh *root)
{
	struct rawnfs_fh fh = {0};
	int status = rawnfs_mnt(&c->raw, path, &fh);

	root->len = fh.len;
	memcpy(root->data, fh.data, sizeof(root->data));
	return status;
}

uint32_t v4c_exchange_id(struct v4c *c, const char *owner, const char verf[8], uint32_t flags,
			 uint32_t *seqid)
{
	EXCHANGE_ID4args *a;
	const EXCHANGE_ID4resok *ok;
	uint32_t status;

	v4c_begin_bare(c);
	a = &v4c_op(c, OP_EXCHANGE_ID)->nfs_argop4_u.opexchange_id;
	memcpy(a->eia_clientowner.co_verifier, verf, NFS4_VERIFIER_SIZE);
	a->eia_clientowner.co_ownerid.co_ownerid_len = (uint32_t)strlen(owner);
	a->eia_clientowner.co_ownerid.co_ownerid_val = (char *)(uintptr_t)owner;
	a->eia_flags = flags;
	status = v4c_run(c);
	if (status)
		return status;
	ok = &v4c_res(c, OP_EXCHANGE_ID)->nfs_resop4_u.opexchange_id.EXCHANGE_ID4res_u.eir_resok4;
	c->clientid = ok->eir_clientid;
	*seqid = ok->eir_sequenceid;
	return NFS4_OK;
}

uint32_t v4c_create_session(struct v4c *c, uint32_t seqid, uint32_t slots)
{
	const channel_attrs4 fore = {
		.ca_maxrequestsize = 1049620,
		.ca_maxresponsesize = 1049480,
		.ca_maxresponsesize_cached = 8192,
		.ca_maxoperations = 64,
		.ca_maxrequests = slots,
	};
	const channel_attrs4 back = {
		.ca_maxrequestsize = 4096,
		.ca_maxresponsesize = 4096,
		.ca_maxoperations = 2,
		.ca_maxrequests = 1,
	};
	const CREATE_SESSION4resok *ok;
	uint32_t status;

	v4c_begin_bare(c);
	v4c_op(c, OP_CREATE_SESSION)->nfs_argop4_u.opcreate_session = (CREATE_SESSION4args){
		.csa_clientid = c->clientid,
		.csa_sequence = seqid,
		.csa_fore_chan_attrs = fore,
		.csa_back_chan_attrs = back,
		.csa_cb_program = 0x40000000,
	};
	status = v4c_run(c);
	if (status)
		return status;
	ok = &v4c_res(c, OP_CREATE_SESSION)
		      ->nfs_resop4_u.opcreate_session.CREATE_SESSION4res_u.csr_resok4;
	memcpy(c->sessionid, ok->csr_sessionid, sizeof(c->sessionid));
	c->fore = ok->csr_fore_chan_attrs;
	c->fore.ca_rdma_ird.ca_rdma_ird_val = NULL;
	memset(c->seqid, 0, sizeof(c->seqid));
	c->session = true;
	return NFS4_OK;
}

uint32_t v4c_hello(struct v4c *c, const char *owner)
{
	uint32_t seqid = 0,
		 status = v4c_exchange_id(c, owner, "verifier", EXCHGID4_FLAG_USE_NON_PNFS, &seqid);

	if (!status)
		status = v4c_create_session(c, seqid, V4C_SLOTS);
	if (status)
		return status;
	v4c_begin(c);
	v4c_op(c, OP_RECLAIM_COMPLETE);
	return v4c_run(c);
}

uint32_t v4c_setclientid(struct v4c *c, const char *owner, const char verf[8])
{
	SETCLIENTID4args *a;
	SETCLIENTID_CONFIRM4args *k;
	SETCLIENTID4resok ok;
	uint32_t status;

	v4c_begin_bare(c);
	a = &v4c_op(c, OP_SETCLIENTID)->nfs_argop4_u.opsetclientid;
	memcpy(a->client.verifier, verf, NFS4_VERIFIER_SIZE);
	a->client.id.id_len = (uint32_t)strlen(owner);
	a->client.id.id_val = (char *)(uintptr_t)owner;
	a->callback.cb_program = 0x40000000;
	a->callback.cb_location.na_r_netid = (utf8string){3, (char *)(uintptr_t)"tcp"};
	a->callback.cb_location.na_r_addr = (utf8string){13, (char *)(uintptr_t)"127.0.0.1.0.0"};
	status = v4c_run(c);
	if (status)
		return status;
	ok = v4c_res(c, OP_SETCLIENTID)->nfs_resop4_u.opsetclientid.SETCLIENTID4res_u.resok4;
	c->clientid = ok.clientid;
	v4c_begin_bare(c);
	k = &v4c_op(c, OP_SETCLIENTID_CONFIRM)->nfs_argop4_u.opsetclientid_confirm;
	k->clientid = ok.clientid;
	memcpy(k->setclientid_confirm, ok.setclientid_confirm, sizeof(ok.setclientid_confirm));
	return v4c_run(c);
}
