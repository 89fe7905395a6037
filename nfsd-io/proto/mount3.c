/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/mount3.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/access.h"
#include "nfsd-io/proto/mountlist.h"
#include "nfsd-io/proto/status.h"
#include "rpc/codec.h"
#include "rpc/mount.h"

/* A list reply never exceeds this; what does not fit is left out. */
#define LIST_MAX (1u << 20)

struct mnt_call {
	dirpath path;
	const char *rest; /* of the path, below the export */
	struct fh fh;
};
static_assert(sizeof(struct mnt_call) <= sizeof(((struct req *)0)->proc_data),
	      "a mount call fits its request");

static struct mnt_call *mnt_call(struct req *r)
{
	return (struct mnt_call *)&r->proc_data;
}

static void host_text(const struct req *r, char out[NI_MAXHOST])
{
	if (getnameinfo((const struct sockaddr *)&r->owner->peer.addr, sizeof(r->owner->peer.addr),
			out, NI_MAXHOST, NULL, 0, NI_NUMERICHOST))
		strcpy(out, "unknown");
}

static enum req_step_result void_reply(struct req *r)
{
	req_reply_begin(r, 0);
	return STEP_REPLY;
}

static enum req_step_result null_step(struct req *r)
{
	return void_reply(r);
}

static void path_fini(struct req *r)
{
	codec_free((xdrproc_t)xdr_dirpath, &mnt_call(r)->path);
}

/* --- MNT --- */

static enum req_step_result mnt_reply(struct req *r)
{
	struct mnt_call *c = mnt_call(r);
	mountres3 res = {.fhs_status = (mountstat3)status_mount3(r->err)};
	int flavors[2];
	unsigned n = 0;

	if (!r->err) {
		if (r->opts->sec_sys || !r->opts->sec_none)
			flavors[n++] = RPCCRED_AUTH_SYS;
		if (r->opts->sec_none)
			flavors[n++] = RPCCRED_AUTH_NONE;
		res.mountres3_u.mountinfo.fhandle.fhandle3_val = (char *)c->fh.data;
		res.mountres3_u.mountinfo.fhandle.fhandle3_len = c->fh.len;
		res.mountres3_u.mountinfo.auth_flavors.auth_flavors_val = flavors;
		res.mountres3_u.mountinfo.auth_flavors.auth_flavors_len = n;
	}
	req_reply_begin(r, 0);
	codec_encode(&r->reply, (xdrproc_t)xdr_mountres3, &res);
	return STEP_REPLY;
}

static void log_refused(struct req *r, const char *why)
{
	r->env->log(r->env->arg, LOG_WARNING, "refused mount request from %s for %s (%s): %s",
		    r->owner->peer.text, mnt_call(r)->path, r->export ? r->export->path : "/", why);
}

static enum req_step_result mnt_refuse(struct req *r, int err, const char *why)
{
	log_refused(r, why);
	r->err = err;
	return mnt_reply(r);
}

/* Step from `dir` (taken) to the component at *rest; O_PATH descriptor or -errno. */
static int walk_one(struct root *root, int dir, const char **rest)
{
	size_t len = strcspn(*rest, "/");
	char name[256];
	int fd = -ENAMETOOLONG;

	if (len < sizeof(name)) {
		memcpy(name, *rest, len);
		name[len] = '\0';
		fd = object_lookup(root, dir, name);
	}
	close(dir);
	*rest += len;
	*rest += strspn(*rest, "/");
	return fd;
}

static int check_dir(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

/*
 * As the server: a directory below one the client may not search can be mounted all the same (as
 * knfsd).
 */
static int walk(struct root *root, const char *rest)
{
	int fd = object_lookup(root, root->fd, "."), err;

	while (fd >= 0 && *rest) {
		fd = walk_one(root, fd, &rest);
		if (fd < 0)
			break;
		err = check_dir(fd);
		if (err) {
			close(fd);
			fd = err;
		}
	}
	return fd;
}

static void mnt_work(struct req *r)
{
	struct mnt_call *c = mnt_call(r);
	struct root *root = r->export->root;
	int fd = walk(root, c->rest);

	r->err = fd < 0 ? fd : handle_of(r->env->key, root, fd, &c->fh);
	if (fd >= 0)
		close(fd);
}

static enum req_step_result mnt_walked(struct req *r)
{
	struct mnt_call *c = mnt_call(r);
	char host[NI_MAXHOST];

	if (r->err)
		return mnt_refuse(r, r->err, strerror(-r->err));
	host_text(r, host);
	if (r->env->mounts)
		mountlist_add(r->env->mounts, host, c->path);
	r->env->log(r->env->arg, LOG_INFO, "authenticated mount request from %s for %s (%s)",
		    r->owner->peer.text, c->path, r->export->path);
	return mnt_reply(r);
}

/* Not under any export: say whether it is there at all, as rpc.mountd does. */
static void outside_work(struct req *r)
{
	struct stat st;

	r->err = mnt_call(r)->path[0] == '/' && !lstat(mnt_call(r)->path, &st) ? -EACCES : -ENOENT;
}

static enum req_step_result outside_reply(struct req *r)
{
	return mnt_refuse(r, r->err, r->err == -ENOENT ? "no such path" : "not exported");
}

static enum req_step_result mnt_step(struct req *r)
{
	struct mnt_call *c = mnt_call(r);
	const struct export_client *client;

	if (!codec_decode(&r->args, (xdrproc_t)xdr_dirpath, &c->path))
		return req_garbage(r);
	r->fini = path_fini;
	r->table = r->env->exports(r->env->arg);
	r->export = r->table ? export_by_path(r->table, c->path, &c->rest) : NULL;
	if (!r->export)
		return req_offload(r, outside_work, outside_reply);
	if (!r->export->root)
		return mnt_refuse(r, -ENOENT, r->export->down ? r->export->down : "export is down");
	client = access_client(r, r->export);
	if (!client)
		return mnt_refuse(r, -EACCES, "unmatched host");
	r->opts = &client->opts;
	if (r->opts->secure && !r->owner->peer.secure_port)
		return mnt_refuse(r, -EACCES, "illegal port (export option insecure allows it)");
	return req_offload(r, mnt_work, mnt_walked);
}

/* --- UMNT, UMNTALL: the list is advisory, so anybody may unlist himself --- */

static enum req_step_result umnt_step(struct req *r)
{
	struct mnt_call *c = mnt_call(r);
	char host[NI_MAXHOST];

	if (!codec_decode(&r->args, (xdrproc_t)xdr_dirpath, &c->path))
		return req_garbage(r);
	r->fini = path_fini;
	host_text(r, host);
	if (r->env->mounts)
		mountlist_remove(r->env->mounts, host, c->path);
	return void_reply(r);
}

static enum req_step_result umntall_step(struct req *r)
{
	char host[NI_MAXHOST];

	host_text(r, host);
	if (r->env->mounts)
		mountlist_remove(r->env->mounts, host, NULL);
	return void_reply(r);
}

/* --- DUMP, EXPORT: lists by cursor, for the generated codecs recurse along them --- */

static size_t text_len(const char *s)
{
	return 4 + ((strlen(s) + 3) & ~(size_t)3);
}

static void put_text(struct cursor *c, const char *s)
{
	cursor_put_opaque(c, s, (uint32_t)strlen(s));
}

static void dump_one(void *arg, const char *host, const char *path)
{
	struct cursor *c = arg;

	if (cursor_left(c) < 4 + text_len(host) + text_len(path) + 4)
		return;
	cursor_put_bool(c, true);
	put_text(c, host);
	put_text(c, path);
}

static void dump_len(void *arg, const char *host, const char *path)
{
	*(size_t *)arg += 4 + text_len(host) + text_len(path);
}

static enum req_step_result dump_step(struct req *r)
{
	size_t len = 4;

	if (r->env->mounts)
		mountlist_each(r->env->mounts, dump_len, &len);
	if (!req_reply_begin(r, len < LIST_MAX ? len : LIST_MAX))
		r->reply.bad = true;
	if (r->env->mounts)
		mountlist_each(r->env->mounts, dump_one, &r->reply);
	cursor_put_bool(&r->reply, false);
	return STEP_REPLY;
}

static size_t export_len(const struct export *e)
{
	size_t len = 4 + text_len(e->path) + 4;

	for (unsigned i = 0; i < e->nclients; i++)
		len += 4 + text_len(e->clients[i].pattern);
	return len;
}

static void put_export(struct cursor *c, const struct export *e)
{
	cursor_put_bool(c, true);
	put_text(c, e->path);
	for (unsigned i = 0; i < e->nclients; i++) {
		cursor_put_bool(c, true);
		put_text(c, e->clients[i].pattern);
	}
	cursor_put_bool(c, false);
}

static enum req_step_result export_step(struct req *r)
{
	size_t len = 4;

	r->table = r->env->exports(r->env->arg);
	for (unsigned i = 0; r->table && i < r->table->n; i++)
		len += export_len(&r->table->exports[i]);
	if (!req_reply_begin(r, len < LIST_MAX ? len : LIST_MAX))
		r->reply.bad = true;
	for (unsigned i = 0; r->table && i < r->table->n; i++)
		if (cursor_left(&r->reply) >= export_len(&r->table->exports[i]) + 4)
			put_export(&r->reply, &r->table->exports[i]);
	cursor_put_bool(&r->reply, false);
	return STEP_REPLY;
}

const struct req_proc mount3_procs[MOUNT3_NPROCS] = {
	[MOUNTPROC3_NULL] = {"NULL", null_step, true},
	[MOUNTPROC3_MNT] = {"MNT", mnt_step, true},
	[MOUNTPROC3_DUMP] = {"DUMP", dump_step, true},
	[MOUNTPROC3_UMNT] = {"UMNT", umnt_step, true},
	[MOUNTPROC3_UMNTALL] = {"UMNTALL", umntall_step, true},
	[MOUNTPROC3_EXPORT] = {"EXPORT", export_step, true},
};
