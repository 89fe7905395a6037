/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* LOOKUP, READLINK. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/attr.h"
#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v3.h"

struct lookup_call {
	char name[NAME_MAX + 2]; /* one byte more shows that it is too long */
	struct fh fh;
	bool have_obj, have_dir;
	struct stat obj, dir;
};
static_assert(sizeof(struct lookup_call) <= sizeof(((struct req *)0)->proc_data),
	      "a LOOKUP call fits its request");

static struct lookup_call *lookup_call(struct req *r)
{
	return (struct lookup_call *)&r->proc_data;
}

/* What was found as `fd`: its handle and attributes.  Takes `fd`. */
static int found(struct req *r, int fd)
{
	struct lookup_call *c = lookup_call(r);
	int err = object_tell(r->env->key, r->export->root, r->file->path_fd, c->name, fd, &c->obj,
			      &c->have_obj, &c->fh);

	close(fd);
	return err;
}

static int lookup_child(struct req *r)
{
	int err = act_as_caller(r), fd;

	if (err)
		return err;
	fd = object_lookup(r->export->root, r->file->path_fd, lookup_call(r)->name);
	if (fd < 0)
		return fd;
	err = cred_assume(NULL);
	if (!err)
		return found(r, fd);
	close(fd);
	return err;
}

static void lookup_work(struct req *r)
{
	struct lookup_call *c = lookup_call(r);

	r->err = access_cred(r);
	if (!r->err && !r->file)
		r->err = fdcache_open(r->env->files, r->export->root, &r->fh, &r->parts, FILE_PATH,
				      &r->file);
	if (r->err)
		return;
	r->err = v3_need_dir(r->file);
	if (!r->err)
		r->err = v3_name_check(c->name, 0);
	if (!r->err)
		r->err = lookup_child(r);
	cred_assume(NULL);
	c->have_dir = !attr_stat(r->file, &c->dir);
}

static enum req_step_result lookup_reply(struct req *r)
{
	struct lookup_call *c = lookup_call(r);

	v3_reply_status(r, status_nfs3(r->err, NFSPROC3_LOOKUP), 0);
	if (!r->err) {
		cursor_put_opaque(&r->reply, c->fh.data, c->fh.len);
		v3_put_post(&r->reply, r->export->root, c->have_obj ? &c->obj : NULL);
	}
	v3_put_post(&r->reply, r->export->root, c->have_dir ? &c->dir : NULL);
	return STEP_REPLY;
}

/*
 * A directory that its mode lets the caller search, a name that the kernel has
 * in memory: answered without leaving the worker.
 */
static bool lookup_at_once(struct req *r)
{
	struct lookup_call *c = lookup_call(r);
	struct root *root = r->export->root;
	int known, fd;

	r->file = fdcache_peek(r->env->files, &r->fh, FILE_PATH);
	if (!r->file || !r->cred || root->path_mode || !S_ISDIR(r->file->type) ||
	    object_is_dots(c->name) || v3_name_check(c->name, 0))
		return false;
	c->have_dir = !attr_stat(r->file, &c->dir);
	known = c->have_dir ? access_known(root, r->file, &c->dir, r->cred) : -1;
	if (known < 0 || !(known & X_OK))
		return false;
	fd = object_lookup_cached(r->file->path_fd, c->name);
	if (fd == -EAGAIN)
		return false;
	r->err = fd < 0 ? fd : found(r, fd);
	return true;
}

enum req_step_result v3_lookup(struct req *r)
{
	struct lookup_call *c = lookup_call(r);
	enum req_step_result res;
	uint32_t len, nlen;
	const uint8_t *fh = v3_get_fh(&r->args, &len);
	const uint8_t *name = cursor_get_opaque(&r->args, NFS3_NAME_WIRE_MAX, &nlen);

	if (!cursor_ok(&r->args) || memchr(name, 0, nlen))
		return req_garbage(r);
	res = v3_enter(r, fh, len, false, 1);
	if (res != STEP_MORE)
		return res;
	if (nlen > NAME_MAX + 1)
		nlen = NAME_MAX + 1;
	memcpy(c->name, name, nlen);
	c->name[nlen] = '\0';
	return lookup_at_once(r) ? lookup_reply(r) : req_offload(r, lookup_work, lookup_reply);
}

static int read_link(struct req *r)
{
	struct v3_call *c = v3_call(r);
	ssize_t n;

	if (!S_ISLNK(r->file->type))
		return -EINVAL;
	c->text = malloc(PATH_MAX + 1);
	if (!c->text)
		return -ENOMEM;
	n = readlinkat(r->file->path_fd, "", c->text, PATH_MAX);
	if (n < 0)
		return -errno;
	c->text[n] = '\0';
	return 0;
}

static int readlink_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	READLINK3resok *ok = &c->res.readlink.READLINK3res_u.resok;
	int err = read_link(r);

	v3_post(&ok->symlink_attributes, r->export->root, r->file->path_fd);
	if (!err)
		ok->data = c->text;
	return err;
}

enum req_step_result v3_readlink(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_READLINK3args,
		(xdrproc_t)xdr_READLINK3res,
		readlink_work,
		false,
	};

	return v3_meta_step(r, &meta);
}
