/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* LOOKUP, READLINK. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/v3.h"

static int lookup_child(struct req *r, const char *name, LOOKUP3resok *ok)
{
	struct v3_call *c = v3_call(r);
	struct root *root = r->export->root;
	int dir = r->file->path_fd, fd, err;
	bool dots = !strcmp(name, ".") || !strcmp(name, "..");

	err = v3_name_check(name, 0);
	if (!err)
		err = act_as_caller(r);
	if (err)
		return err;
	fd = object_lookup(root, dir, name);
	if (fd < 0)
		return fd;
	err = cred_assume(NULL);
	if (!err)
		err = dots ? handle_of(r->env->key, root, fd, &c->fh)
			   : handle_of_child(r->env->key, root, dir, name, fd, &c->fh);
	if (!err) {
		ok->object.data.data_val = (char *)c->fh.data;
		ok->object.data.data_len = c->fh.len;
		v3_post(&ok->obj_attributes, root, fd);
	}
	close(fd);
	return err;
}

static int lookup_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	LOOKUP3res *res = &c->res.lookup;
	int err = v3_need_dir(r->file);

	if (!err)
		err = lookup_child(r, c->args.lookup.what.name, &res->LOOKUP3res_u.resok);
	v3_post(err ? &res->LOOKUP3res_u.resfail.dir_attributes
		    : &res->LOOKUP3res_u.resok.dir_attributes,
		r->export->root, r->file->path_fd);
	return err;
}

enum req_step_result v3_lookup(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_LOOKUP3args,
		(xdrproc_t)xdr_LOOKUP3res,
		lookup_work,
		false,
	};

	return v3_meta_step(r, &meta);
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
