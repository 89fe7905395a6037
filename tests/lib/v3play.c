/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/v3play.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/mountlist.h"

static struct export_table *exports(void *arg)
{
	struct v3play *p = arg;

	return export_table_get(&p->table);
}

static void log_line(void *arg, int priority, const char *fmt, ...)
{
	struct v3play *p = arg;
	va_list ap;

	(void)priority;
	va_start(ap, fmt);
	vsnprintf(p->log, sizeof(p->log), fmt, ap);
	va_end(ap);
}

static void on_reply(struct req_owner *o, struct req *r)
{
	struct v3play *p = container_of(o, struct v3play, owner);

	(void)r;
	p->replied = true;
	ring_stop(p->ring);
}

static void start_files(struct v3play *p)
{
	struct fdcache_params fp = {.offload = p->env.offload, .verifier = &p->env.verifier};
	struct root_params rp = {.path = p->dir, .io = ROOT_IO_DEFAULT};
	struct drc_params dp = {0};
	const char *why = "";

	verifier_init(&p->env.verifier);
	ck_assert_msg(!root_open(&p->export.root, &rp, &why), "%s: %s", p->dir, why);
	ck_assert_int_eq(fdcache_new(&p->env.files, &fp), 0);
	ck_assert_int_eq(drc_new(&p->env.drc, &dp), 0);
}

static void stop_files(struct v3play *p)
{
	fdcache_free(p->env.files);
	drc_free(p->env.drc);
	root_put(p->export.root);
}

void v3play_start(struct v3play *p, const char *dir)
{
	struct ring_params rp = {.name = "v3play"};
	struct pool_params pp = {.node = -1};
	struct sockaddr_in *in = (struct sockaddr_in *)&p->owner.peer.addr;

	memset(p, 0, sizeof(*p));
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	ck_assert_int_eq(handle_key_load(&p->env.key, NULL), 0);
	ck_assert_int_eq(offload_new(&p->env.offload, 4), 0);
	ck_assert_int_eq(ring_new(&p->ring, &rp), 0);
	pp.ring = p->ring;
	ck_assert_int_eq(pool_new(&p->pool, &pp), 0);
	ck_assert_int_eq(mountlist_new(&p->env.mounts), 0);
	start_files(p);
	p->client = (struct export_client){.match = EXPORT_ANY,
					   .pattern = (char *)"*",
					   .opts = {.rw = true,
						    .sync = true,
						    .sec_sys = true,
						    .anonuid = 65534,
						    .anongid = 65534}};
	p->export.path = p->dir;
	p->export.clients = &p->client;
	p->export.nclients = 1;
	p->table = (struct export_table){.refs = 1, .generation = 1, .exports = &p->export, .n = 1};
	p->env.exports = exports;
	p->env.log = log_line;
	p->env.arg = p;
	p->env.max_read = p->env.max_write = 1 << 20;
	p->owner.reply = on_reply;
	p->owner.conn = 1;
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	strcpy(p->owner.peer.text, "127.0.0.1:700");
	p->owner.peer.secure_port = true;
	p->flavor = 1;
	p->xid = 1000;
}

void v3play_restart(struct v3play *p)
{
	stop_files(p);
	start_files(p);
	req_owner_fini(&p->owner);
	p->owner.conn++;
}

void v3play_stop(struct v3play *p)
{
	req_owner_fini(&p->owner);
	stop_files(p);
	pool_free(p->pool);
	ring_free(p->ring);
	offload_free(p->env.offload);
	mountlist_free(p->env.mounts);
	handle_key_free(p->env.key);
	free(p->reply);
}

static void put_header(struct v3play *p, struct cursor *c, uint32_t prog, uint32_t proc)
{
	uint8_t *len;

	cursor_put_u32(c, ++p->xid);
	cursor_put_u32(c, 0);
	cursor_put_u32(c, 2);
	cursor_put_u32(c, prog);
	cursor_put_u32(c, 3);
	cursor_put_u32(c, proc);
	cursor_put_u32(c, p->flavor);
	len = cursor_reserve(c, 4);
	cursor_set_u32(len, 0);
	if (p->flavor == 1) {
		size_t at = cursor_pos(c);

		cursor_put_u32(c, 0);
		cursor_put_opaque(c, "play", 4);
		cursor_put_u32(c, p->uid);
		cursor_put_u32(c, p->gid);
		cursor_put_u32(c, p->ngids);
		for (uint32_t i = 0; i < p->ngids; i++)
			cursor_put_u32(c, p->gids[i]);
		cursor_set_u32(len, (uint32_t)(cursor_pos(c) - at));
	}
	cursor_put_u32(c, 0);
	cursor_put_u32(c, 0);
}

/* Dispatch what is in the request, wait, keep a copy of the reply. */
static unsigned run(struct v3play *p)
{
	struct req *r = &p->req;
	struct cursor *c = &p->results;
	uint32_t stat;

	p->replied = false;
	req_dispatch(r);
	/* Also when it was answered at once: it eats the stop. */
	ring_run(p->ring, NULL, NULL);
	ck_assert(p->replied);
	free(p->reply);
	p->reply = NULL;
	p->reply_len = 0;
	if (r->drop) {
		req_retire(r);
		return 1000;
	}
	p->reply_len = req_reply_len(r);
	p->reply = calloc(1, p->reply_len + 1);
	memcpy(p->reply, r->reply.base, cursor_pos(&r->reply));
	if (r->data_len)
		memcpy(p->reply + cursor_pos(&r->reply), r->data, r->data_len);
	req_retire(r);
	cursor_init_const(c, p->reply, p->reply_len);
	ck_assert_uint_eq(cursor_get_u32(c), p->xid);
	ck_assert_uint_eq(cursor_get_u32(c), 1);
	if (cursor_get_u32(c)) {
		cursor_get_u32(c);
		return 100 + cursor_get_u32(c);
	}
	cursor_skip(c, 8);
	stat = cursor_get_u32(c);
	return stat;
}

static void begin(struct v3play *p, struct cursor *c, uint32_t prog, uint32_t proc)
{
	req_begin(&p->req, &p->env, p->ring, p->pool, &p->stats, &p->owner);
	cursor_init(c, p->req.call, REQ_CALL_MAX);
	put_header(p, c, prog, proc);
}

static unsigned call(struct v3play *p, uint32_t prog, uint32_t proc, xdrproc_t xargs,
		     const void *args, xdrproc_t xres, void *res, size_t size)
{
	struct cursor c;
	unsigned stat;

	begin(p, &c, prog, proc);
	if (xargs)
		ck_assert(codec_encode(&c, xargs, args));
	p->req.call_len = p->req.record_len = (uint32_t)cursor_pos(&c);
	stat = run(p);
	memset(res, 0, size);
	if (stat == 0 && xres) {
		ck_assert_msg(codec_decode(&p->results, xres, res), "reply of procedure %u", proc);
		ck_assert_uint_eq(cursor_left(&p->results), 0);
	}
	return stat;
}

unsigned v3play_call(struct v3play *p, uint32_t proc, xdrproc_t xargs, const void *args,
		     xdrproc_t xres, void *res, size_t size)
{
	return call(p, 100003, proc, xargs, args, xres, res, size);
}

unsigned v3play_mount(struct v3play *p, uint32_t proc, xdrproc_t xargs, const void *args,
		      xdrproc_t xres, void *res, size_t size)
{
	return call(p, 100005, proc, xargs, args, xres, res, size);
}

unsigned v3play_raw(struct v3play *p, uint32_t proc, const void *args, size_t len)
{
	struct cursor c;

	begin(p, &c, 100003, proc);
	cursor_put_fixed(&c, args, (uint32_t)len);
	ck_assert(cursor_ok(&c));
	p->req.call_len = p->req.record_len = (uint32_t)cursor_pos(&c);
	return run(p);
}

nfsstat3 v3play_write(struct v3play *p, const nfs_fh3 *fh, uint64_t offset, const void *data,
		      uint32_t len, stable_how stable, WRITE3res *res)
{
	struct req *r = &p->req;
	struct req_payload peek;
	struct cursor c;

	begin(p, &c, 100003, 7);
	cursor_put_opaque(&c, fh->data.data_val, fh->data.data_len);
	cursor_put_u64(&c, offset);
	cursor_put_u32(&c, len);
	cursor_put_u32(&c, stable);
	cursor_put_u32(&c, len);
	r->call_len = (uint32_t)cursor_pos(&c);
	r->record_len = r->call_len + ((len + 3) & ~3u);
	if (len) {
		ck_assert_int_eq(req_peek_payload(r->call, r->call_len, &peek), REQ_PEEK_PAYLOAD);
		r->payload = pool_borrow(p->pool, len + 4096);
		ck_assert_ptr_nonnull(r->payload);
		r->payload_data = r->payload->base + peek.offset % 4096;
		memcpy((uint8_t *)r->payload_data, data, len);
		r->payload_len = len;
		r->payload_at = r->call_len;
	}
	ck_assert_uint_eq(run(p), 0);
	memset(res, 0, sizeof(*res));
	ck_assert(codec_decode(&p->results, (xdrproc_t)xdr_WRITE3res, res));
	return res->status;
}

nfs_fh3 v3play_fh(struct fh *fh)
{
	nfs_fh3 f;

	f.data.data_val = (char *)fh->data;
	f.data.data_len = fh->len;
	return f;
}

static void keep(struct fh *out, const nfs_fh3 *fh)
{
	out->len = (uint8_t)fh->data.data_len;
	memcpy(out->data, fh->data.data_val, fh->data.data_len);
}

nfs_fh3 v3play_root(struct v3play *p, struct fh *out)
{
	mountres3 res;
	dirpath path = p->dir;

	ck_assert_uint_eq(v3play_mount(p, MOUNTPROC3_MNT, (xdrproc_t)xdr_dirpath, &path,
				       (xdrproc_t)xdr_mountres3, &res, sizeof(res)),
			  0);
	ck_assert_int_eq(res.fhs_status, MNT3_OK);
	out->len = (uint8_t)res.mountres3_u.mountinfo.fhandle.fhandle3_len;
	memcpy(out->data, res.mountres3_u.mountinfo.fhandle.fhandle3_val, out->len);
	codec_free((xdrproc_t)xdr_mountres3, &res);
	return v3play_fh(out);
}

nfsstat3 v3play_lookup(struct v3play *p, const nfs_fh3 *dir, const char *name, struct fh *out)
{
	LOOKUP3args a = {.what = {.dir = *dir, .name = (char *)name}};
	LOOKUP3res res;
	nfsstat3 st;

	ck_assert_uint_eq(v3play_do(p, LOOKUP, &a, &res), 0);
	st = res.status;
	if (st == NFS3_OK)
		keep(out, &res.LOOKUP3res_u.resok.object);
	codec_free(V3PLAY_RES(LOOKUP), &res);
	return st;
}

nfsstat3 v3play_create(struct v3play *p, const nfs_fh3 *dir, const char *name, mode_t mode,
		       struct fh *out)
{
	CREATE3args a = {.where = {.dir = *dir, .name = (char *)name}, .how = {.mode = GUARDED}};
	CREATE3res res;
	nfsstat3 st;

	a.how.createhow3_u.obj_attributes.mode.set_it = TRUE;
	a.how.createhow3_u.obj_attributes.mode.set_mode3_u.mode = mode;
	ck_assert_uint_eq(v3play_do(p, CREATE, &a, &res), 0);
	st = res.status;
	if (st == NFS3_OK) {
		ck_assert(res.CREATE3res_u.resok.obj.handle_follows);
		keep(out, &res.CREATE3res_u.resok.obj.post_op_fh3_u.handle);
	}
	codec_free(V3PLAY_RES(CREATE), &res);
	return st;
}

nfsstat3 v3play_mkdir(struct v3play *p, const nfs_fh3 *dir, const char *name, mode_t mode,
		      struct fh *out)
{
	MKDIR3args a = {.where = {.dir = *dir, .name = (char *)name}};
	MKDIR3res res;
	nfsstat3 st;

	a.attributes.mode.set_it = TRUE;
	a.attributes.mode.set_mode3_u.mode = mode;
	ck_assert_uint_eq(v3play_do(p, MKDIR, &a, &res), 0);
	st = res.status;
	if (st == NFS3_OK) {
		ck_assert(res.MKDIR3res_u.resok.obj.handle_follows);
		keep(out, &res.MKDIR3res_u.resok.obj.post_op_fh3_u.handle);
	}
	codec_free(V3PLAY_RES(MKDIR), &res);
	return st;
}

nfsstat3 v3play_getattr(struct v3play *p, const nfs_fh3 *fh, fattr3 *out)
{
	GETATTR3args a = {.object = *fh};
	GETATTR3res res;

	ck_assert_uint_eq(v3play_do(p, GETATTR, &a, &res), 0);
	if (res.status == NFS3_OK)
		*out = res.GETATTR3res_u.resok.obj_attributes;
	return res.status;
}
