/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v3.h"

const struct req_proc v3_procs[V3_NPROCS] = {
	[NFSPROC3_NULL] = {"NULL", v3_null, true},
	[NFSPROC3_GETATTR] = {"GETATTR", v3_getattr, true},
	[NFSPROC3_SETATTR] = {"SETATTR", v3_setattr, false},
	[NFSPROC3_LOOKUP] = {"LOOKUP", v3_lookup, true},
	[NFSPROC3_ACCESS] = {"ACCESS", v3_access, true},
	[NFSPROC3_READLINK] = {"READLINK", v3_readlink, true},
	[NFSPROC3_READ] = {"READ", v3_read, true},
	[NFSPROC3_WRITE] = {"WRITE", v3_write, true},
	[NFSPROC3_CREATE] = {"CREATE", v3_create, false},
	[NFSPROC3_MKDIR] = {"MKDIR", v3_mkdir, false},
	[NFSPROC3_SYMLINK] = {"SYMLINK", v3_symlink, false},
	[NFSPROC3_MKNOD] = {"MKNOD", v3_mknod, false},
	[NFSPROC3_REMOVE] = {"REMOVE", v3_remove, false},
	[NFSPROC3_RMDIR] = {"RMDIR", v3_rmdir, false},
	[NFSPROC3_RENAME] = {"RENAME", v3_rename, false},
	[NFSPROC3_LINK] = {"LINK", v3_link, false},
	[NFSPROC3_READDIR] = {"READDIR", v3_readdir, true},
	[NFSPROC3_READDIRPLUS] = {"READDIRPLUS", v3_readdirplus, true},
	[NFSPROC3_FSSTAT] = {"FSSTAT", v3_fsstat, true},
	[NFSPROC3_FSINFO] = {"FSINFO", v3_fsinfo, true},
	[NFSPROC3_PATHCONF] = {"PATHCONF", v3_pathconf, true},
	[NFSPROC3_COMMIT] = {"COMMIT", v3_commit, true},
};

enum req_step_result v3_null(struct req *r)
{
	req_reply_begin(r, 0);
	return STEP_REPLY;
}

/* --- replies --- */

static void count_status(struct req *r, uint32_t status)
{
	_Atomic uint64_t *n = NULL;

	if (!status)
		return;
	atomic_fetch_add_explicit(&r->stats->errors[r->hdr.proc % REQ_PROCS_MAX], 1,
				  memory_order_relaxed);
	if (status == NFS3ERR_BADHANDLE)
		n = &r->stats->bad_handles;
	else if (status == NFS3ERR_STALE)
		n = &r->stats->stale_handles;
	else if (status == NFS3ERR_JUKEBOX)
		n = &r->stats->jukebox;
	if (n)
		atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

void v3_reply_status(struct req *r, uint32_t status, size_t room)
{
	/* A reply that cannot be built for want of memory is SYSTEM_ERR: the cursor overruns. */
	if (!req_reply_begin(r, room))
		r->reply.bad = true;
	cursor_put_u32(&r->reply, status);
	count_status(r, status);
}

static nfstime3 time3(const struct timespec *ts)
{
	return (nfstime3){.seconds = (uint32_t)ts->tv_sec, .nseconds = (uint32_t)ts->tv_nsec};
}

static ftype3 type3(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return NF3DIR;
	case S_IFBLK:
		return NF3BLK;
	case S_IFCHR:
		return NF3CHR;
	case S_IFLNK:
		return NF3LNK;
	case S_IFSOCK:
		return NF3SOCK;
	case S_IFIFO:
		return NF3FIFO;
	default:
		return NF3REG;
	}
}

void v3_fattr(fattr3 *out, const struct root *root, const struct stat *st)
{
	*out = (fattr3){
		.type = type3(st->st_mode),
		.mode = st->st_mode & 07777,
		.nlink = (uint32_t)st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = (uint64_t)st->st_size,
		.used = (uint64_t)st->st_blocks * 512,
		.fileid = st->st_ino,
		.atime = time3(&st->st_atim),
		.mtime = time3(&st->st_mtim),
		.ctime = time3(&st->st_ctim),
	};
	if (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode))
		out->rdev = (specdata3){major(st->st_rdev), minor(st->st_rdev)};
	memcpy(&out->fsid, root->fskey, sizeof(out->fsid));
}

void v3_put_fattr(struct cursor *c, const struct root *root, const struct stat *st)
{
	fattr3 a;

	v3_fattr(&a, root, st);
	cursor_put_u32(c, a.type);
	cursor_put_u32(c, a.mode);
	cursor_put_u32(c, a.nlink);
	cursor_put_u32(c, a.uid);
	cursor_put_u32(c, a.gid);
	cursor_put_u64(c, a.size);
	cursor_put_u64(c, a.used);
	cursor_put_u32(c, a.rdev.specdata1);
	cursor_put_u32(c, a.rdev.specdata2);
	cursor_put_u64(c, a.fsid);
	cursor_put_u64(c, a.fileid);
	cursor_put_u32(c, a.atime.seconds);
	cursor_put_u32(c, a.atime.nseconds);
	cursor_put_u32(c, a.mtime.seconds);
	cursor_put_u32(c, a.mtime.nseconds);
	cursor_put_u32(c, a.ctime.seconds);
	cursor_put_u32(c, a.ctime.nseconds);
}

void v3_put_post(struct cursor *c, const struct root *root, const struct stat *st)
{
	cursor_put_bool(c, st != NULL);
	if (st)
		v3_put_fattr(c, root, st);
}

void v3_put_wcc(struct cursor *c, const struct root *root, const struct stat *st)
{
	cursor_put_bool(c, false);
	v3_put_post(c, root, st);
}

void v3_post(post_op_attr *out, const struct root *root, int fd)
{
	struct stat st;

	out->attributes_follow = fd >= 0 && !fstat(fd, &st);
	if (out->attributes_follow)
		v3_fattr(&out->post_op_attr_u.attributes, root, &st);
}

void v3_wcc(wcc_data *out, const struct root *root, int fd)
{
	out->before.attributes_follow = FALSE;
	v3_post(&out->after, root, fd);
}

/* --- the gate --- */

uint32_t v3_gate_status(const struct req *r, int err)
{
	/*
	 * The gate's own refusals are told as they are, whatever the procedure's list says: as
	 * knfsd.
	 */
	switch (err) {
	case -EACCES:
		return NFS3ERR_ACCES;
	case -EPERM:
		return NFS3ERR_PERM;
	case -EROFS:
		return NFS3ERR_ROFS;
	default:
		return status_nfs3(err, r->hdr.proc);
	}
}

static enum req_step_result reject_weak(struct req *r)
{
	struct msg_error err = {.kind = MSG_ERR_AUTH, .auth_stat = 5 /* AUTH_TOOWEAK */};

	return req_reject(r, &err);
}

const uint8_t *v3_get_fh(struct cursor *c, uint32_t *len)
{
	return cursor_get_opaque(c, NFS3_FHSIZE, len);
}

enum req_step_result v3_enter(struct req *r, const uint8_t *fh, uint32_t len, bool modifies,
			      unsigned empties)
{
	int err = access_enter(r, fh, len, modifies);

	if (!err)
		return STEP_MORE;
	if (err == -EKEYREJECTED)
		return reject_weak(r);
	v3_reply_status(r, v3_gate_status(r, err), 0);
	while (empties--)
		cursor_put_bool(&r->reply, false);
	return STEP_REPLY;
}

/* --- metadata procedures --- */

static void meta_fini(struct req *r)
{
	struct v3_call *c = v3_call(r);

	codec_free(c->meta->args, &c->args);
	free(c->text);
	c->text = NULL;
}

static enum req_step_result meta_reply(struct req *r)
{
	struct v3_call *c = v3_call(r);

	/* READLINK's text and two sets of attributes are the most there is. */
	if (!req_reply_begin(r, c->text ? strlen(c->text) + 512 : 0))
		r->reply.bad = true;
	count_status(r, c->res.status);
	codec_encode(&r->reply, c->meta->res, &c->res);
	return STEP_REPLY;
}

static void meta_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	int err = access_cred(r);

	if (!err && !r->file)
		err = fdcache_open(r->env->files, r->export->root, &r->fh, &r->parts, FILE_PATH,
				   &r->file);
	if (!err)
		err = c->meta->work(r);
	cred_assume(NULL);
	if (err)
		c->res.status = status_nfs3(err, r->hdr.proc);
}

enum req_step_result v3_meta_step(struct req *r, const struct v3_meta *m)
{
	struct v3_call *c = v3_call(r);
	int err;

	if (!codec_decode(&r->args, m->args, &c->args))
		return req_garbage(r);
	c->meta = m;
	r->fini = meta_fini;
	err = access_enter(r, (const uint8_t *)c->args.fh.data.data_val, c->args.fh.data.data_len,
			   m->modifies);
	if (err == -EKEYREJECTED)
		return reject_weak(r);
	if (err) {
		c->res.status = v3_gate_status(r, err);
		return meta_reply(r);
	}
	return req_offload(r, meta_work, meta_reply);
}

int v3_second(struct req *r, const nfs_fh3 *fh, struct file **out)
{
	struct handle_parts p;
	struct fh wire;
	int err = handle_decode(r->env->key, (const uint8_t *)fh->data.data_val, fh->data.data_len,
				&p);

	if (err)
		return err;
	if (p.root_id != r->parts.root_id || memcmp(p.fskey, r->parts.fskey, sizeof(p.fskey)))
		return -EXDEV;
	wire.len = (uint8_t)fh->data.data_len;
	memcpy(wire.data, fh->data.data_val, fh->data.data_len);
	return fdcache_open(r->env->files, r->export->root, &wire, &p, FILE_PATH, out);
}

int v3_need_dir(const struct file *f)
{
	return S_ISDIR(f->type) ? 0 : -ENOTDIR;
}

int v3_name_check(const char *name, int dot)
{
	if (object_is_dots(name))
		return dot;
	return object_name_check(name, (unsigned)strlen(name));
}
