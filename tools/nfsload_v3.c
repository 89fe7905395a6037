/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* NFSv3 (RFC 1813) over ONC RPC (RFC 5531), AUTH_SYS. */
#include "config.h"

#include "tools/nfsload_proto.h"

#include <errno.h>
#include <stdio.h>

#include "tools/nfsload_loop.h"

#define PROGRAM 100003u
#define MOUNT_PROGRAM 100005u
#define FATTR_LEN 84
#define MOUNT_PATH_MAX 1024
#define NAME_MAX_LEN 255
#define NOENT 2

static const uint8_t procedure[] = {
	[OP_NULL] = 0,  [OP_MOUNT] = 1,   [OP_GETATTR] = 1,  [OP_LOOKUP] = 3,
	[OP_READ] = 6,  [OP_WRITE] = 7,   [OP_COMMIT] = 21,  [OP_CREATE] = 8,
	[OP_MKDIR] = 9, [OP_REMOVE] = 12, [OP_READDIR] = 16, [OP_READDIRPLUS] = 17,
};

/* --- calls ------------------------------------------------------------------------------ */

static uint8_t *put_header(uint8_t *p, const struct client *c, uint32_t xid, enum op_kind kind)
{
	p = wire_put32(p + 4, xid); /* the record mark comes last */
	p = wire_put32(p, 0);
	p = wire_put32(p, 2);
	p = wire_put32(p, kind == OP_MOUNT ? MOUNT_PROGRAM : PROGRAM);
	p = wire_put32(p, 3);
	p = wire_put32(p, procedure[kind]);
	p = wire_put32(p, 1); /* AUTH_SYS: stamp, machine, uid, gid, no groups */
	p = wire_put32(p, 4 + 12 + 12);
	p = wire_put32(p, 0);
	p = wire_put_opaque(p, "nfsload", 7);
	p = wire_put32(p, c->uid);
	p = wire_put32(p, c->gid);
	p = wire_put32(p, 0);
	return wire_put64(p, 0);
}

/* sattr3 that sets nothing but the mode. */
static uint8_t *put_mode(uint8_t *p, uint32_t mode)
{
	p = wire_put32(p, 1);
	p = wire_put32(p, mode);
	memset(p, 0, 5 * 4);
	return p + 5 * 4;
}

static uint8_t *put_io(uint8_t *p, const struct op *op)
{
	p = wire_put64(p, op->offset);
	p = wire_put32(p, op->len);
	if (op->kind != OP_WRITE)
		return p;
	p = wire_put32(p, op->stable);
	return wire_put32(p, op->len);
}

static uint8_t *put_page(uint8_t *p, const struct op *op)
{
	p = wire_put64(p, op->offset);
	p = wire_put_fixed(p, op->verf, 8);
	if (op->kind == OP_READDIRPLUS)
		p = wire_put32(p, op->len / 4); /* dircount: names and cookies alone */
	return wire_put32(p, op->len);
}

static uint8_t *put_args(uint8_t *p, const struct op *op)
{
	size_t len =
		op->name ? strnlen(op->name, op->kind == OP_MOUNT ? MOUNT_PATH_MAX : NAME_MAX_LEN)
			 : 0;

	if (op->kind == OP_NULL)
		return p;
	if (op->kind == OP_MOUNT)
		return wire_put_opaque(p, op->name, len);
	p = wire_put_opaque(p, op->fh->data, op->fh->len);
	switch (op->kind) {
	case OP_READ:
	case OP_WRITE:
	case OP_COMMIT:
		return put_io(p, op);
	case OP_READDIR:
	case OP_READDIRPLUS:
		return put_page(p, op);
	case OP_LOOKUP:
	case OP_REMOVE:
		return wire_put_opaque(p, op->name, len);
	case OP_CREATE:
		p = wire_put32(wire_put_opaque(p, op->name, len), 0); /* UNCHECKED */
		return put_mode(p, 0644);
	case OP_MKDIR:
		return put_mode(wire_put_opaque(p, op->name, len), 0755);
	default:
		return p;
	}
}

static size_t v3_call(struct lane *l, uint32_t xid, uint8_t *buf)
{
	const struct op *op = &l->op;
	uint8_t *end = put_args(put_header(buf, l->link->client, xid, op->kind), op);
	uint32_t payload = op->kind == OP_WRITE ? op->len + (-op->len & 3) : 0;

	wire_put32(buf, 0x80000000u | (end - buf - 4 + payload));
	return end - buf;
}

/* --- replies ---------------------------------------------------------------------------- */

static void get_fh(struct wire_in *in, struct proto_fh *fh)
{
	uint32_t len = wire_get32(in);
	const uint8_t *p = wire_get(in, len);

	fh->len = p && len <= PROTO_FH_MAX ? len : 0;
	if (fh->len)
		memcpy(fh->data, p, len);
	else
		in->bad = true;
}

static void skip_attr(struct wire_in *in)
{
	if (wire_get32(in))
		wire_get(in, FATTR_LEN);
}

static void skip_wcc(struct wire_in *in)
{
	if (wire_get32(in))
		wire_get(in, 24);
	skip_attr(in);
}

static void get_verf(struct wire_in *in, uint8_t verf[8])
{
	const uint8_t *p = wire_get(in, 8);

	if (p)
		memcpy(verf, p, 8);
}

static void get_entry(struct wire_in *in, struct op *op)
{
	wire_get64(in);
	wire_get(in, wire_get32(in));
	op->cookie = wire_get64(in);
	if (op->kind == OP_READDIRPLUS) {
		skip_attr(in);
		if (wire_get32(in))
			wire_get(in, wire_get32(in));
	}
	op->count++;
}

static void get_page(struct wire_in *in, struct op *op)
{
	skip_attr(in);
	get_verf(in, op->verf);
	op->count = 0;
	while (wire_get32(in))
		get_entry(in, op);
	op->eof = wire_get32(in);
}

static void get_results(struct wire_in *in, struct op *op)
{
	switch (op->kind) {
	case OP_MOUNT:
	case OP_LOOKUP:
		get_fh(in, &op->got);
		break;
	case OP_GETATTR:
		wire_get(in, 20);
		op->size = wire_get64(in);
		break;
	case OP_READ:
		skip_attr(in);
		op->count = wire_get32(in);
		op->eof = wire_get32(in);
		in->bad |= wire_get32(in) != op->count;
		break;
	case OP_WRITE:
		skip_wcc(in);
		op->count = wire_get32(in);
		wire_get32(in);
		get_verf(in, op->verf);
		break;
	case OP_COMMIT:
		skip_wcc(in);
		get_verf(in, op->verf);
		break;
	case OP_CREATE:
	case OP_MKDIR:
		in->bad |= !wire_get32(in);
		get_fh(in, &op->got);
		break;
	case OP_READDIR:
	case OP_READDIRPLUS:
		get_page(in, op);
		break;
	default:
		break;
	}
}

static void v3_reply(struct lane *l, struct wire_in *in)
{
	struct op *op = &l->op;

	op->status = PROTO_BROKEN;
	if (wire_get32(in) != 1 || wire_get32(in)) /* a reply, accepted */
		return;
	wire_get32(in); /* the verifier */
	wire_get(in, wire_get32(in));
	if (wire_get32(in) || in->bad)
		return;
	op->status = op->kind == OP_NULL ? 0 : (int)wire_get32(in);
	if (!op->status)
		get_results(in, op);
	if (in->bad)
		op->status = PROTO_BROKEN;
}

/* --- getting there ---------------------------------------------------------------------- */

static int failed(struct client *c, const char *what, const char *name, int status)
{
	if (status != PROTO_BROKEN || !c->error[0])
		snprintf(c->error, sizeof c->error, "%s %.80s: status %d", what, name, status);
	return -1;
}

static int v3_attach(struct client *c, const char *path)
{
	static struct client mount;
	struct op op = { .kind = OP_MOUNT, .name = path };
	int status;

	mount = (struct client){.proto = c->proto,
				.host = c->host,
				.port = c->mount_port,
				.uid = c->uid,
				.gid = c->gid,
				.links = 1,
				.depth = 1};
	if (loop_open(&mount, 0)) {
		memcpy(c->error, mount.error, sizeof c->error);
		return -1;
	}
	status = loop_call(&mount, &op);
	c->root = op.got;
	memcpy(c->error, mount.error, sizeof c->error);
	loop_close(&mount);
	return status ? failed(c, "MOUNT", path, status) : 0;
}

static int v3_open(struct client *c, const char *name, bool create, struct proto_fh *fh)
{
	struct op op = { .kind = OP_LOOKUP, .fh = &c->root, .name = name };
	int status = loop_call(c, &op);

	if (status == NOENT && create) {
		op.kind = OP_CREATE;
		status = loop_call(c, &op);
	}
	*fh = op.got;
	return status ? failed(c, "open", name, status) : 0;
}

const struct proto v3_proto = {
	.name = "v3",
	.read_prefix = 4 + 24 + 4 + 4 + FATTR_LEN + 12,
	.attach = v3_attach,
	.open = v3_open,
	.call = v3_call,
	.reply = v3_reply,
};
