/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv4.2 (RFC 8881, RFC 7862) with sessions, AUTH_SYS.  Connections share up to
 * SESSIONS sessions; each lane has a slot of its own.  Only the first connection
 * names its session, the others are bound by using it, as Linux's nconnect does.
 * READ and WRITE carry the stateid of one OPEN.
 */
#include "config.h"

#include "tools/nfsload_proto.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tools/nfsload_loop.h"

#define PROGRAM 100003u
#define MINOR 2u
#define NOENT 2
#define ISDIR 21
#define GRACE 10013
#define NAME_MAX_LEN 255
#define SESSIONS 16u
#define IO_MAX (16u << 20)
#define HEADROOM 4096u /* bytes of a COMPOUND besides its data */
#define READ_RESULTS (4 + 24 + 12 + 44 + 8 + 16) /* record mark to READ's data, with an empty tag */

/* Operations (RFC 8881 s.18). */
enum { NFS4ERR_NAMETOOLONG = 63 };

enum {
	V4_CLOSE = 4,
	V4_COMMIT = 5,
	V4_CREATE = 6,
	V4_GETATTR = 9,
	V4_GETFH = 10,
	V4_LOOKUP = 15,
	V4_OPEN = 18,
	V4_PUTFH = 22,
	V4_PUTROOTFH = 24,
	V4_READ = 25,
	V4_READDIR = 26,
	V4_REMOVE = 28,
	V4_WRITE = 38,
	V4_EXCHANGE_ID = 42,
	V4_CREATE_SESSION = 43,
	V4_DESTROY_SESSION = 44,
	V4_SEQUENCE = 53,
	V4_DESTROY_CLIENTID = 57,
	V4_RECLAIM_COMPLETE = 58,
};

static struct {
	uint64_t clientid;
	uint32_t seqid; /* CREATE_SESSION's */
	uint32_t sessions, slots;
	uint8_t session[SESSIONS][16];
	uint8_t open[16]; /* the stateid of the file in use */
	struct proto_fh file; /* that file; length 0: none */
} v4;

/* --- calls ------------------------------------------------------------------------------ */

/* Up to the number of operations. */
static uint8_t *put_header(uint8_t *p, const struct client *c, uint32_t xid, bool null)
{
	p = wire_put32(p + 4, xid); /* the record mark comes last */
	p = wire_put32(p, 0);
	p = wire_put32(p, 2);
	p = wire_put32(p, PROGRAM);
	p = wire_put32(p, 4);
	p = wire_put32(p, !null);
	p = wire_put32(p, 1); /* AUTH_SYS: stamp, machine, uid, gid, no groups */
	p = wire_put32(p, 4 + 12 + 12);
	p = wire_put32(p, 0);
	p = wire_put_opaque(p, "nfsload", 7);
	p = wire_put32(p, c->uid);
	p = wire_put32(p, c->gid);
	p = wire_put32(p, 0);
	p = wire_put64(p, 0);
	return null ? p : wire_put32(wire_put32(p, 0), MINOR); /* no tag */
}

static uint8_t *put_sequence(uint8_t *p, struct lane *l)
{
	const struct client *c = l->link->client;
	unsigned link = l->link - c->link;

	p = wire_put32(p, V4_SEQUENCE);
	p = wire_put_fixed(p, v4.session[link % v4.sessions], 16);
	p = wire_put32(p, ++l->seq);
	p = wire_put32(p, link / v4.sessions * c->depth + l->index);
	p = wire_put32(p, v4.slots - 1);
	return wire_put32(p, 0);
}

static uint8_t *put_fh(uint8_t *p, const struct proto_fh *fh)
{
	if (!fh->len)
		return wire_put32(p, V4_PUTROOTFH);
	return wire_put_opaque(wire_put32(p, V4_PUTFH), fh->data, fh->len);
}

static uint8_t *put_name(uint8_t *p, const char *name)
{
	return wire_put_opaque(p, name, strnlen(name, NAME_MAX_LEN));
}

/* fattr4 that sets nothing but the mode. */
static uint8_t *put_mode(uint8_t *p, uint32_t mode)
{
	p = wire_put32(p, 2);
	p = wire_put64(p, 1u << (33 - 32));
	p = wire_put32(p, 4);
	return wire_put32(p, mode);
}

static uint8_t *put_open(uint8_t *p, const struct op *op)
{
	p = wire_put32(p, V4_OPEN);
	p = wire_put32(p, 0);
	p = wire_put32(p, 3); /* read and write; nothing denied */
	p = wire_put32(p, 0);
	p = wire_put64(p, v4.clientid);
	p = wire_put_opaque(p, "nfsload", 7);
	p = wire_put32(p, op->kind == OP_CREATE);
	if (op->kind == OP_CREATE)
		p = put_mode(wire_put32(p, 0), 0644); /* UNCHECKED */
	return put_name(wire_put32(p, 0), op->name);
}

static uint8_t *put_io(uint8_t *p, const struct op *op)
{
	if (op->kind == OP_READ)
		p = wire_put32(p, V4_READ);
	else
		p = wire_put32(p, op->kind == OP_WRITE ? V4_WRITE : V4_COMMIT);
	if (op->kind != OP_COMMIT)
		p = wire_put_fixed(p, v4.open, 16);
	p = wire_put64(p, op->offset);
	if (op->kind == OP_WRITE)
		p = wire_put32(p, op->stable);
	return wire_put32(p, op->len);
}

static uint8_t *put_readdir(uint8_t *p, const struct op *op)
{
	p = wire_put32(p, V4_READDIR);
	p = wire_put64(p, op->offset);
	p = wire_put_fixed(p, op->verf, 8);
	p = wire_put32(p, op->len / 4);
	p = wire_put32(p, op->len);
	if (op->kind == OP_READDIR) /* fileid */
		return wire_put32(wire_put32(p, 1), 1u << 20);
	p = wire_put32(p, 2); /* what stat needs, and the filehandle */
	p = wire_put32(p, 1u << 1 | 1u << 3 | 1u << 4 | 1u << 8 | 1u << 19 | 1u << 20);
	return wire_put32(p, 1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 13 | 1u << 15 |
				     1u << 20 | 1u << 21);
}

static uint8_t *put_exchange_id(uint8_t *p)
{
	char owner[64];
	uint64_t verf = (uint64_t)time(NULL);
	int len = snprintf(owner, sizeof(owner), "nfsload %ld", (long)getpid());

	p = wire_put_fixed(wire_put32(p, V4_EXCHANGE_ID), &verf, 8);
	p = wire_put_opaque(p, owner, (uint32_t)len);
	return wire_put32(wire_put64(p, 0), 0); /* no flags, SP4_NONE, no implementation id */
}

static uint8_t *put_channel(uint8_t *p, uint32_t max, uint32_t slots)
{
	p = wire_put32(p, 0);
	p = wire_put32(p, max);
	p = wire_put32(p, max);
	p = wire_put32(p, HEADROOM);
	p = wire_put32(p, 16);
	p = wire_put32(p, slots);
	return wire_put32(p, 0); /* no RDMA */
}

static uint8_t *put_create_session(uint8_t *p, uint32_t slots)
{
	p = wire_put64(wire_put32(p, V4_CREATE_SESSION), v4.clientid);
	p = wire_put32(p, v4.seqid);
	p = wire_put32(p, 0);
	p = put_channel(p, IO_MAX + HEADROOM, slots);
	p = put_channel(p, HEADROOM, 1);
	p = wire_put32(p, 0);
	return wire_put32(wire_put32(p, 1), 0); /* callbacks by AUTH_NONE */
}

static uint8_t *put_ops(uint8_t *p, struct lane *l)
{
	const struct op *op = &l->op;

	switch (op->kind) {
	case OP_HELLO:
		return put_exchange_id(wire_put32(p, 1));
	case OP_SESSION:
		return put_create_session(wire_put32(p, 1), op->len);
	case OP_READY:
		return wire_put32(
			wire_put32(put_sequence(wire_put32(p, 2), l), V4_RECLAIM_COMPLETE), 0);
	case OP_SESSION_OVER:
		return wire_put_fixed(wire_put32(wire_put32(p, 1), V4_DESTROY_SESSION),
				      v4.session[op->count], 16);
	case OP_BYE:
		return wire_put64(wire_put32(wire_put32(p, 1), V4_DESTROY_CLIENTID), v4.clientid);
	case OP_CLOSE:
		p = put_fh(put_sequence(wire_put32(p, 3), l), op->fh);
		return wire_put_fixed(wire_put32(wire_put32(p, V4_CLOSE), 0), v4.open, 16);
	case OP_READ:
	case OP_WRITE:
	case OP_COMMIT:
		return put_io(put_fh(put_sequence(wire_put32(p, 3), l), op->fh), op);
	case OP_GETATTR:
		p = put_fh(put_sequence(wire_put32(p, 3), l), op->fh);
		p = wire_put32(wire_put32(p, V4_GETATTR), 1);
		return wire_put32(p, 1u << 4); /* size */
	case OP_LOOKUP:
		p = put_fh(put_sequence(wire_put32(p, 4), l), op->fh);
		return wire_put32(put_name(wire_put32(p, V4_LOOKUP), op->name), V4_GETFH);
	case OP_OPEN:
		return wire_put32(put_open(put_fh(put_sequence(wire_put32(p, 4), l), op->fh), op),
				  V4_GETFH);
	case OP_CREATE:
		p = put_open(put_fh(put_sequence(wire_put32(p, 5), l), op->fh), op);
		p = wire_put32(wire_put32(wire_put32(p, V4_GETFH), V4_CLOSE), 0);
		/* the current stateid */
		return wire_put_fixed(wire_put32(p, 1), "\0\0\0\0\0\0\0\0\0\0\0", 12);
	case OP_MKDIR:
		p = put_fh(put_sequence(wire_put32(p, 4), l), op->fh);
		p = put_name(wire_put32(wire_put32(p, V4_CREATE), 2), op->name);
		return wire_put32(put_mode(p, 0755), V4_GETFH);
	case OP_REMOVE:
		p = put_fh(put_sequence(wire_put32(p, 3), l), op->fh);
		return put_name(wire_put32(p, V4_REMOVE), op->name);
	case OP_READDIR:
	case OP_READDIRPLUS:
		return put_readdir(put_fh(put_sequence(wire_put32(p, 3), l), op->fh), op);
	case OP_NULL:
	case OP_MOUNT:
		break;
	}
	return p;
}

static size_t v4_call(struct lane *l, uint32_t xid, uint8_t *buf)
{
	const struct op *op = &l->op;
	uint8_t *end = put_header(buf, l->link->client, xid, op->kind == OP_NULL);
	uint32_t payload = op->kind == OP_WRITE ? op->len + (-op->len & 3) : 0;

	end = put_ops(end, l);
	wire_put32(buf, 0x80000000u | (uint32_t)(end - buf - 4 + payload));
	return end - buf;
}

/* --- replies ---------------------------------------------------------------------------- */

/* The next operation's result, which is operation `want`'s and good. */
static bool result(struct wire_in *in, uint32_t want)
{
	in->bad |= wire_get32(in) != want;
	in->bad |= wire_get32(in) != 0;
	return !in->bad;
}

static void get_fh(struct wire_in *in, struct proto_fh *fh)
{
	uint32_t len = result(in, V4_GETFH) ? wire_get32(in) : 0;
	const uint8_t *p = wire_get(in, len);

	fh->len = p && len <= PROTO_FH_MAX ? len : 0;
	if (fh->len)
		memcpy(fh->data, p, len);
	else
		in->bad = true;
}

static void get_bytes(struct wire_in *in, void *out, uint32_t len)
{
	const uint8_t *p = wire_get(in, len);

	if (p)
		memcpy(out, p, len);
}

static void skip_words(struct wire_in *in)
{
	wire_get(in, 4 * (wire_get32(in) & 0xff));
}

static void get_open(struct wire_in *in, struct op *op)
{
	uint8_t id[16] = {0};

	result(in, V4_OPEN);
	get_bytes(in, id, sizeof(id));
	if (op->kind == OP_OPEN && !in->bad)
		memcpy(v4.open, id, sizeof(id));
	wire_get(in, 20); /* change_info4 */
	wire_get32(in);
	skip_words(in);
	if (wire_get32(in) == 3 && wire_get32(in) < 3) /* no delegation, and why */
		wire_get(in, 0);
	get_fh(in, &op->got);
}

static void get_session(struct wire_in *in, struct op *op)
{
	result(in, V4_CREATE_SESSION);
	get_bytes(in, v4.session[op->count], 16);
	wire_get(in, 8);  /* sequence, flags */
	wire_get(in, 20); /* of the fore channel, up to its operations */
	v4.slots = wire_get32(in);
}

static void get_entry(struct wire_in *in, struct op *op)
{
	op->cookie = wire_get64(in);
	wire_get(in, wire_get32(in));
	skip_words(in);
	wire_get(in, wire_get32(in));
	op->count++;
}

static void get_page(struct wire_in *in, struct op *op)
{
	result(in, V4_READDIR);
	get_bytes(in, op->verf, 8);
	op->count = 0;
	while (wire_get32(in))
		get_entry(in, op);
	op->eof = wire_get32(in);
}

static void get_io(struct wire_in *in, struct op *op)
{
	switch (op->kind) {
	case OP_READ:
		result(in, V4_READ);
		op->eof = wire_get32(in);
		op->count = wire_get32(in);
		return;
	case OP_WRITE:
		result(in, V4_WRITE);
		op->count = wire_get32(in);
		wire_get32(in);
		break;
	default:
		result(in, V4_COMMIT);
		break;
	}
	get_bytes(in, op->verf, 8);
}

/* Behind SEQUENCE and PUTFH. */
static void get_results(struct wire_in *in, struct op *op)
{
	switch (op->kind) {
	case OP_READ:
	case OP_WRITE:
	case OP_COMMIT:
		get_io(in, op);
		break;
	case OP_GETATTR:
		result(in, V4_GETATTR);
		skip_words(in);
		wire_get32(in);
		op->size = wire_get64(in);
		break;
	case OP_LOOKUP:
		result(in, V4_LOOKUP);
		get_fh(in, &op->got);
		break;
	case OP_OPEN:
	case OP_CREATE:
		get_open(in, op);
		break;
	case OP_MKDIR:
		result(in, V4_CREATE);
		wire_get(in, 20);
		skip_words(in);
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

static void get_compound(struct wire_in *in, struct op *op)
{
	wire_get(in, wire_get32(in)); /* the tag */
	wire_get32(in);
	switch (op->kind) {
	case OP_HELLO:
		result(in, V4_EXCHANGE_ID);
		v4.clientid = wire_get64(in);
		v4.seqid = wire_get32(in);
		return;
	case OP_SESSION:
		get_session(in, op);
		return;
	case OP_SESSION_OVER:
	case OP_BYE:
		return;
	default:
		result(in, V4_SEQUENCE);
		wire_get(in, 36);
	}
	if (op->kind != OP_READY) {
		result(in, op->fh->len ? V4_PUTFH : V4_PUTROOTFH);
		get_results(in, op);
	}
}

static void v4_reply(struct lane *l, struct wire_in *in)
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
	if (!op->status && op->kind != OP_NULL)
		get_compound(in, op);
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

static int open_sessions(struct client *c)
{
	struct op op = { .kind = OP_HELLO };
	unsigned each;
	int status = loop_call(c, &op);

	v4.sessions = c->links < SESSIONS ? c->links : SESSIONS;
	each = (c->links + v4.sessions - 1) / v4.sessions * c->depth;
	for (uint32_t i = 0; i < v4.sessions && !status; i++, v4.seqid++) {
		op = (struct op){ .kind = OP_SESSION, .len = each, .count = i };
		status = loop_call(c, &op);
		if (!status && v4.slots < each) {
			snprintf(c->error, sizeof c->error,
				 "the server gives %u slots a session: use less of -d", v4.slots);
			return -1;
		}
	}
	if (!status) {
		op = (struct op){ .kind = OP_READY };
		status = loop_call(c, &op);
	}
	return status ? failed(c, "session", "", status) : 0;
}

static int v4_attach(struct client *c, const char *path)
{
	char name[NAME_MAX_LEN + 1];

	if (open_sessions(c))
		return -1;
	c->root.len = 0; /* PUTROOTFH */
	for (const char *p = path; *p; p += strcspn(p, "/")) {
		struct proto_fh above = c->root;
		struct op op = { .kind = OP_LOOKUP, .fh = &above, .name = name };
		size_t len;
		int status;

		p += strspn(p, "/");
		if (!*p)
			break;
		len = strcspn(p, "/");
		if (len >= sizeof(name))
			return failed(c, "LOOKUP", p, NFS4ERR_NAMETOOLONG);
		memcpy(name, p, len);
		name[len] = '\0';
		status = loop_call(c, &op);
		if (status)
			return failed(c, "LOOKUP", name, status);
		c->root = op.got;
	}
	return 0;
}

static int v4_open(struct client *c, const char *name, bool create, struct proto_fh *fh)
{
	struct op op = { .kind = OP_LOOKUP, .fh = &c->root, .name = name };
	int status = loop_call(c, &op);

	if (status == NOENT && create) {
		op.kind = OP_CREATE;
		while ((status = loop_call(c, &op)) == GRACE)
			nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	*fh = op.got;
	if (status)
		return failed(c, "open", name, status);
	op.kind = OP_OPEN;
	while ((status = loop_call(c, &op)) == GRACE)
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	if (!status)
		v4.file = *fh;
	/* A directory has no stateid, and needs none. */
	return status && status != ISDIR ? failed(c, "open", name, status) : 0;
}

/* Else the server would wait for this client when it starts the next time. */
static void v4_detach(struct client *c)
{
	struct op op = { .kind = OP_CLOSE, .fh = &v4.file };

	if (v4.file.len)
		loop_call(c, &op);
	for (uint32_t i = 0; i < v4.sessions; i++) {
		op = (struct op){ .kind = OP_SESSION_OVER, .count = i };
		loop_call(c, &op);
	}
	op = (struct op){ .kind = OP_BYE };
	loop_call(c, &op);
}

const struct proto v4_proto = {
	.name = "v4",
	.read_prefix = READ_RESULTS,
	.attach = v4_attach,
	.open = v4_open,
	.detach = v4_detach,
	.call = v4_call,
	.reply = v4_reply,
};
