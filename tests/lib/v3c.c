/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/lib/v3c.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void call_done(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct v3c *c = private_data;

	(void)rpc;
	c->rpc_status = status;
	if (status == RPC_STATUS_SUCCESS && c->take)
		c->take(c, data);
	c->done = true;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static void call_begin(struct v3c *c, void (*take)(struct v3c *, void *))
{
	memset(&c->r, 0, sizeof c->r);
	c->r.status = V3C_BROKEN;
	c->done = false;
	c->take = take;
}

static int call_end(struct v3c *c, int queued)
{
	int64_t end = now_ms() + c->timeout_ms;

	if (queued)
		return V3C_BROKEN;
	while (!c->done) {
		struct pollfd p = { .fd = rpc_get_fd(c->rpc), .events = rpc_which_events(c->rpc) };
		int64_t left = end - now_ms();

		if (left <= 0 || poll(&p, 1, left) < 0 || rpc_service(c->rpc, p.revents) < 0)
			return V3C_BROKEN;
	}
	return c->r.status;
}

#define CALL(c, fn, args, takes)                                                                   \
	(call_begin(c, takes), call_end(c, fn((c)->rpc, call_done, args, c)))

static void take_null(struct v3c *c, void *res)
{
	(void)res;
	c->r.status = 0;
}

int v3c_open(struct v3c *c, const char *host, int port, uint32_t uid, uint32_t gid,
	     uint32_t ngroups, uint32_t *groups)
{
	memset(c, 0, sizeof *c);
	c->timeout_ms = 30000;
	c->host = host;
	c->rpc = rpc_init_context();
	if (!c->rpc)
		return V3C_BROKEN;
	v3c_user(c, uid, gid, ngroups, groups);
	call_begin(c, take_null);
	return call_end(
		c, rpc_connect_port_async(c->rpc, host, port, NFS_PROGRAM, NFS_V3, call_done, c));
}

void v3c_close(struct v3c *c)
{
	if (c->rpc)
		rpc_destroy_context(c->rpc);
	c->rpc = NULL;
}

void v3c_user(struct v3c *c, uint32_t uid, uint32_t gid, uint32_t ngroups, uint32_t *groups)
{
	/* takes it */
	rpc_set_auth(c->rpc, libnfs_authunix_create("test", uid, gid, ngroups, groups));
}

nfs_fh3 v3c_wire_fh(const struct v3c_fh *fh)
{
	return (nfs_fh3){ .data = { fh->len, (char *)fh->data } };
}

static void keep_fh(struct v3c *c, const nfs_fh3 *fh)
{
	c->r.has_fh = true;
	c->r.fh.len = fh->data.data_len < NFS3_FHSIZE ? fh->data.data_len : NFS3_FHSIZE;
	memcpy(c->r.fh.data, fh->data.data_val, c->r.fh.len);
}

static void keep_attr(struct v3c *c, const post_op_attr *a)
{
	c->r.has_attr = a->attributes_follow;
	if (c->r.has_attr)
		c->r.attr = a->post_op_attr_u.attributes;
}

static void keep_dir(struct v3c *c, const wcc_data *w)
{
	c->r.has_dir_attr = w->after.attributes_follow;
	c->r.has_before = w->before.attributes_follow;
}

static void keep_wcc(struct v3c *c, const wcc_data *w)
{
	c->r.has_before = w->before.attributes_follow;
	keep_attr(c, &w->after);
}

static void take_mnt(struct v3c *c, void *res)
{
	mountres3 *r = res;

	c->r.status = r->fhs_status;
	if (!r->fhs_status) {
		fhandle3 *f = &r->mountres3_u.mountinfo.fhandle;

		keep_fh(c, &(nfs_fh3){ .data = { f->fhandle3_len, f->fhandle3_val } });
	}
}

/* MOUNT over a connection of its own, to another port than NFS. */
static int mnt_apart(struct v3c *c, int port, const char *path)
{
	struct v3c m = { .timeout_ms = c->timeout_ms, .rpc = rpc_init_context() };
	int status;

	call_begin(&m, take_null);
	status = call_end(&m, rpc_connect_port_async(m.rpc, c->host, port, MOUNT_PROGRAM, MOUNT_V3,
						     call_done, &m));
	if (!status)
		status = CALL(&m, rpc_mount3_mnt_async, (char *)path, take_mnt);
	c->r = m.r;
	v3c_close(&m);
	return status;
}

int v3c_mnt(struct v3c *c, const char *path)
{
	const char *port = getenv("V3C_MOUNT_PORT");
	int status = port ? mnt_apart(c, atoi(port), path)
			  : CALL(c, rpc_mount3_mnt_async, (char *)path, take_mnt);

	if (!status)
		c->root = c->r.fh;
	return status;
}

int v3c_umnt(struct v3c *c, const char *path)
{
	return CALL(c, rpc_mount3_umnt_async, (char *)path, take_null);
}

static void take_exports(struct v3c *c, void *res)
{
	c->r.status = 0;
	for (exports e = *(exports *)res; e; e = e->ex_next)
		c->r.status++;
}

int v3c_exports(struct v3c *c)
{
	call_begin(c, take_exports);
	return call_end(c, rpc_mount3_export_async(c->rpc, call_done, c));
}

static void take_dump(struct v3c *c, void *res)
{
	c->r.status = 0;
	for (mountlist e = *(mountlist *)res; e; e = e->ml_next)
		c->r.status++;
}

int v3c_dump(struct v3c *c)
{
	call_begin(c, take_dump);
	return call_end(c, rpc_mount3_dump_async(c->rpc, call_done, c));
}

int v3c_null(struct v3c *c)
{
	call_begin(c, take_null);
	return call_end(c, rpc_nfs3_null_async(c->rpc, call_done, c));
}

static void take_getattr(struct v3c *c, void *res)
{
	GETATTR3res *r = res;

	c->r.status = r->status;
	c->r.has_attr = !r->status;
	if (!r->status)
		c->r.attr = r->GETATTR3res_u.resok.obj_attributes;
}

int v3c_getattr(struct v3c *c, const struct v3c_fh *fh)
{
	GETATTR3args a = { v3c_wire_fh(fh) };

	return CALL(c, rpc_nfs3_getattr_async, &a, take_getattr);
}

static void take_setattr(struct v3c *c, void *res)
{
	SETATTR3res *r = res;

	c->r.status = r->status;
	keep_wcc(c, &r->SETATTR3res_u.resok.obj_wcc); /* resfail is the same shape */
}

int v3c_setattr(struct v3c *c, const struct v3c_fh *fh, const sattr3 *set, const nfstime3 *guard)
{
	SETATTR3args a = { .object = v3c_wire_fh(fh), .new_attributes = *set };

	if (guard) {
		a.guard.check = 1;
		a.guard.sattrguard3_u.obj_ctime = *guard;
	}
	return CALL(c, rpc_nfs3_setattr_async, &a, take_setattr);
}

static void take_lookup(struct v3c *c, void *res)
{
	LOOKUP3res *r = res;

	c->r.status = r->status;
	if (r->status) {
		c->r.has_dir_attr = r->LOOKUP3res_u.resfail.dir_attributes.attributes_follow;
		return;
	}
	keep_fh(c, &r->LOOKUP3res_u.resok.object);
	keep_attr(c, &r->LOOKUP3res_u.resok.obj_attributes);
	c->r.has_dir_attr = r->LOOKUP3res_u.resok.dir_attributes.attributes_follow;
}

int v3c_lookup(struct v3c *c, const struct v3c_fh *dir, const char *name)
{
	LOOKUP3args a = { { v3c_wire_fh(dir), (char *)name } };

	return CALL(c, rpc_nfs3_lookup_async, &a, take_lookup);
}

static void take_access(struct v3c *c, void *res)
{
	ACCESS3res *r = res;

	c->r.status = r->status;
	if (r->status)
		return;
	keep_attr(c, &r->ACCESS3res_u.resok.obj_attributes);
	c->r.access = r->ACCESS3res_u.resok.access;
}

int v3c_access(struct v3c *c, const struct v3c_fh *fh, uint32_t want)
{
	ACCESS3args a = { v3c_wire_fh(fh), want };

	return CALL(c, rpc_nfs3_access_async, &a, take_access);
}

static void take_readlink(struct v3c *c, void *res)
{
	READLINK3res *r = res;

	c->r.status = r->status;
	if (r->status)
		return;
	keep_attr(c, &r->READLINK3res_u.resok.symlink_attributes);
	strncpy(c->r.text, r->READLINK3res_u.resok.data, sizeof c->r.text - 1);
}

int v3c_readlink(struct v3c *c, const struct v3c_fh *fh)
{
	READLINK3args a = { v3c_wire_fh(fh) };

	return CALL(c, rpc_nfs3_readlink_async, &a, take_readlink);
}

static void take_read(struct v3c *c, void *res)
{
	READ3res *r = res;
	READ3resok *ok = &r->READ3res_u.resok;

	c->r.status = r->status;
	keep_attr(c, r->status ? &r->READ3res_u.resfail.file_attributes : &ok->file_attributes);
	if (r->status)
		return;
	c->r.count = ok->count;
	c->r.eof = ok->eof;
	if (ok->data.data_len != ok->count || ok->count > c->room)
		c->r.status = V3C_BROKEN;
	else
		memcpy(c->out, ok->data.data_val, ok->count);
}

int v3c_read(struct v3c *c, const struct v3c_fh *fh, uint64_t offset, uint32_t count, void *buf)
{
	READ3args a = { v3c_wire_fh(fh), offset, count };

	c->out = buf;
	c->room = count;
	return CALL(c, rpc_nfs3_read_async, &a, take_read);
}

static void take_write(struct v3c *c, void *res)
{
	WRITE3res *r = res;
	WRITE3resok *ok = &r->WRITE3res_u.resok;

	c->r.status = r->status;
	keep_wcc(c, r->status ? &r->WRITE3res_u.resfail.file_wcc : &ok->file_wcc);
	if (r->status)
		return;
	c->r.count = ok->count;
	c->r.committed = ok->committed;
	memcpy(c->r.verf, ok->verf, 8);
}

int v3c_write(struct v3c *c, const struct v3c_fh *fh, uint64_t offset, uint32_t count,
	      stable_how how, const void *buf)
{
	WRITE3args a = { v3c_wire_fh(fh), offset, count, how, { count, (char *)buf } };

	return CALL(c, rpc_nfs3_write_async, &a, take_write);
}

static void take_commit(struct v3c *c, void *res)
{
	COMMIT3res *r = res;

	c->r.status = r->status;
	keep_wcc(c,
		 r->status ? &r->COMMIT3res_u.resfail.file_wcc : &r->COMMIT3res_u.resok.file_wcc);
	if (!r->status)
		memcpy(c->r.verf, r->COMMIT3res_u.resok.verf, 8);
}

int v3c_commit(struct v3c *c, const struct v3c_fh *fh, uint64_t offset, uint32_t count)
{
	COMMIT3args a = { v3c_wire_fh(fh), offset, count };

	return CALL(c, rpc_nfs3_commit_async, &a, take_commit);
}

/* CREATE, MKDIR, SYMLINK and MKNOD answer alike. */
static void take_create(struct v3c *c, void *res)
{
	CREATE3res *r = res;
	CREATE3resok *ok = &r->CREATE3res_u.resok;

	c->r.status = r->status;
	keep_dir(c, r->status ? &r->CREATE3res_u.resfail.dir_wcc : &ok->dir_wcc);
	if (r->status)
		return;
	if (ok->obj.handle_follows)
		keep_fh(c, &ok->obj.post_op_fh3_u.handle);
	keep_attr(c, &ok->obj_attributes);
}

int v3c_create(struct v3c *c, const struct v3c_fh *dir, const char *name, createmode3 mode,
	       const sattr3 *set, const char verf[8])
{
	CREATE3args a = { .where = { v3c_wire_fh(dir), (char *)name }, .how = { .mode = mode } };

	if (mode == EXCLUSIVE)
		memcpy(a.how.createhow3_u.verf, verf, 8);
	else if (mode == GUARDED)
		a.how.createhow3_u.g_obj_attributes = *set;
	else
		a.how.createhow3_u.obj_attributes = *set;
	return CALL(c, rpc_nfs3_create_async, &a, take_create);
}

int v3c_mkdir(struct v3c *c, const struct v3c_fh *dir, const char *name, uint32_t mode)
{
	MKDIR3args a = { { v3c_wire_fh(dir), (char *)name }, v3c_mode(mode) };

	return CALL(c, rpc_nfs3_mkdir_async, &a, take_create);
}

int v3c_symlink(struct v3c *c, const struct v3c_fh *dir, const char *name, const char *target)
{
	SYMLINK3args a = { .where = { v3c_wire_fh(dir), (char *)name } };

	a.symlink.symlink_attributes = v3c_mode(0777);
	a.symlink.symlink_data = (char *)target;
	return CALL(c, rpc_nfs3_symlink_async, &a, take_create);
}

int v3c_mknod(struct v3c *c, const struct v3c_fh *dir, const char *name, ftype3 type, uint32_t mode)
{
	MKNOD3args a = { .where = { v3c_wire_fh(dir), (char *)name }, .what = { .type = type } };

	if (type == NF3CHR || type == NF3BLK) {
		a.what.mknoddata3_u.chr_device.dev_attributes = v3c_mode(mode);
		a.what.mknoddata3_u.chr_device.spec = (specdata3){ 1, 3 };
	} else {
		a.what.mknoddata3_u.pipe_attributes = v3c_mode(mode);
	}
	return CALL(c, rpc_nfs3_mknod_async, &a, take_create);
}

/* REMOVE and RMDIR. */
static void take_remove(struct v3c *c, void *res)
{
	REMOVE3res *r = res;

	c->r.status = r->status;
	keep_dir(c, &r->REMOVE3res_u.resok.dir_wcc);
}

int v3c_remove(struct v3c *c, const struct v3c_fh *dir, const char *name)
{
	REMOVE3args a = { { v3c_wire_fh(dir), (char *)name } };

	return CALL(c, rpc_nfs3_remove_async, &a, take_remove);
}

int v3c_rmdir(struct v3c *c, const struct v3c_fh *dir, const char *name)
{
	RMDIR3args a = { { v3c_wire_fh(dir), (char *)name } };

	return CALL(c, rpc_nfs3_rmdir_async, &a, take_remove);
}

static void take_rename(struct v3c *c, void *res)
{
	RENAME3res *r = res;

	c->r.status = r->status;
	keep_dir(c, &r->RENAME3res_u.resok.todir_wcc);
}

int v3c_rename(struct v3c *c, const struct v3c_fh *from, const char *name, const struct v3c_fh *to,
	       const char *newname)
{
	RENAME3args a = {{v3c_wire_fh(from), (char *)name}, {v3c_wire_fh(to), (char *)newname}};

	return CALL(c, rpc_nfs3_rename_async, &a, take_rename);
}

static void take_link(struct v3c *c, void *res)
{
	LINK3res *r = res;

	c->r.status = r->status;
	keep_attr(c, &r->LINK3res_u.resok.file_attributes);
	c->r.has_dir_attr = r->LINK3res_u.resok.linkdir_wcc.after.attributes_follow;
}

int v3c_link(struct v3c *c, const struct v3c_fh *fh, const struct v3c_fh *dir, const char *name)
{
	LINK3args a = { v3c_wire_fh(fh), { v3c_wire_fh(dir), (char *)name } };

	return CALL(c, rpc_nfs3_link_async, &a, take_link);
}

static void dir_add(struct v3c *c, const char *name, uint64_t cookie, uint64_t fileid, bool attr,
		    bool fh)
{
	struct v3c_dir *d = c->out;

	if (d->n == d->room) {
		d->room = d->room ? 2 * d->room : 1024;
		d->entry = realloc(d->entry, d->room * sizeof *d->entry);
		if (!d->entry)
			abort();
	}
	struct v3c_entry *e = &d->entry[d->n++];

	*e = (struct v3c_entry){.cookie = cookie, .fileid = fileid, .has_attr = attr, .has_fh = fh};
	strncpy(e->name, name, sizeof e->name - 1);
	c->r.count++;
}

static void take_readdir(struct v3c *c, void *res)
{
	READDIR3res *r = res;
	struct v3c_dir *d = c->out;

	c->r.status = r->status;
	if (r->status)
		return;
	for (entry3 *e = r->READDIR3res_u.resok.reply.entries; e; e = e->nextentry)
		dir_add(c, e->name, e->cookie, e->fileid, false, false);
	d->eof = c->r.eof = r->READDIR3res_u.resok.reply.eof;
	memcpy(d->verf, r->READDIR3res_u.resok.cookieverf, 8);
	keep_attr(c, &r->READDIR3res_u.resok.dir_attributes);
}

int v3c_readdir(struct v3c *c, const struct v3c_fh *dir, uint64_t cookie, uint32_t count,
		struct v3c_dir *d)
{
	READDIR3args a = { .dir = v3c_wire_fh(dir), .cookie = cookie, .count = count };

	memcpy(a.cookieverf, d->verf, 8);
	c->out = d;
	return CALL(c, rpc_nfs3_readdir_async, &a, take_readdir);
}

static void take_readdirplus(struct v3c *c, void *res)
{
	READDIRPLUS3res *r = res;
	struct v3c_dir *d = c->out;

	c->r.status = r->status;
	if (r->status)
		return;
	for (entryplus3 *e = r->READDIRPLUS3res_u.resok.reply.entries; e; e = e->nextentry)
		dir_add(c, e->name, e->cookie, e->fileid, e->name_attributes.attributes_follow,
			e->name_handle.handle_follows);
	d->eof = c->r.eof = r->READDIRPLUS3res_u.resok.reply.eof;
	memcpy(d->verf, r->READDIRPLUS3res_u.resok.cookieverf, 8);
	keep_attr(c, &r->READDIRPLUS3res_u.resok.dir_attributes);
}

int v3c_readdirplus(struct v3c *c, const struct v3c_fh *dir, uint64_t cookie, uint32_t dircount,
		    uint32_t maxcount, struct v3c_dir *d)
{
	READDIRPLUS3args a = {.dir = v3c_wire_fh(dir),
			      .cookie = cookie,
			      .dircount = dircount,
			      .maxcount = maxcount};

	memcpy(a.cookieverf, d->verf, 8);
	c->out = d;
	return CALL(c, rpc_nfs3_readdirplus_async, &a, take_readdirplus);
}

static void take_fsstat(struct v3c *c, void *res)
{
	FSSTAT3res *r = res;

	c->r.status = r->status;
	c->r.fsstat = r->FSSTAT3res_u.resok;
}

int v3c_fsstat(struct v3c *c, const struct v3c_fh *fh)
{
	FSSTAT3args a = { v3c_wire_fh(fh) };

	return CALL(c, rpc_nfs3_fsstat_async, &a, take_fsstat);
}

static void take_fsinfo(struct v3c *c, void *res)
{
	FSINFO3res *r = res;

	c->r.status = r->status;
	c->r.fsinfo = r->FSINFO3res_u.resok;
}

int v3c_fsinfo(struct v3c *c, const struct v3c_fh *fh)
{
	FSINFO3args a = { v3c_wire_fh(fh) };

	return CALL(c, rpc_nfs3_fsinfo_async, &a, take_fsinfo);
}

static void take_pathconf(struct v3c *c, void *res)
{
	PATHCONF3res *r = res;

	c->r.status = r->status;
	c->r.pathconf = r->PATHCONF3res_u.resok;
}

int v3c_pathconf(struct v3c *c, const struct v3c_fh *fh)
{
	PATHCONF3args a = { v3c_wire_fh(fh) };

	return CALL(c, rpc_nfs3_pathconf_async, &a, take_pathconf);
}

sattr3 v3c_mode(uint32_t mode)
{
	return (sattr3){ .mode = { 1, { mode } } };
}

sattr3 v3c_size(uint64_t size)
{
	return (sattr3){ .size = { 1, { size } } };
}

bool v3c_same_fh(const struct v3c_fh *a, const struct v3c_fh *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}
