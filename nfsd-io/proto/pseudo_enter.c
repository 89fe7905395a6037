/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pseudo file system as a client walks it: what it may see, and the way into the exports. */
#include <string.h>

#include "nfsd-io/proto/nfs4_attr.h"
#include "nfsd-io/proto/pseudo.h"
#include "nfsd-io/proto/status.h"

const struct export_client *pseudo_usable(struct req *r, const struct export *e)
{
	if (!e->root)
		return NULL;
	/* What the connection remembers is the worker's. */
	return v4(r)->worker ? access_client(r, e) : export_client_match(e, &r->owner->peer);
}

bool pseudo_visible(struct req *r, const struct pseudo_node *n)
{
	if (n->export && pseudo_usable(r, n->export))
		return true;
	for (unsigned i = 0; i < n->nchildren; i++)
		if (pseudo_visible(r, n->children[i]))
			return true;
	return false;
}

static const struct pseudo *tree(struct req *r)
{
	if (!r->table)
		r->table = r->env->exports(r->env->arg);
	return r->table ? pseudo_of(r->table) : NULL;
}

static int handle_of_node(struct req *r, const struct pseudo_node *n, struct handle_parts *p,
			  struct fh *fh)
{
	*p = (struct handle_parts){.kind = HANDLE_PSEUDO, .klen = sizeof(n->id)};
	memcpy(p->kdata, &n->id, sizeof(n->id));
	return handle_encode(r->env->key, p, fh);
}

static void leave_export(struct req *r)
{
	cred_put(r->cred);
	r->cred = NULL;
	r->export = NULL;
	r->opts = NULL;
}

uint32_t pseudo_enter_export(struct req *r, struct export *e, const struct export_client *c)
{
	struct handle_parts p = {.kind = HANDLE_ROOT, .root_id = e->root->id};
	struct fh fh;
	int err = access_check_opts(r, &c->opts);

	memcpy(p.fskey, e->root->fskey, sizeof(p.fskey));
	if (!err)
		err = handle_encode(r->env->key, &p, &fh);
	if (err)
		return status_nfs4(err);
	leave_export(r);
	r->export = e;
	r->opts = &c->opts;
	v4_set_fh(r, &fh, &p, NULL);
	if (v4(r)->worker && access_needs_groups(r))
		return NFS4_OK;
	return status_nfs4(access_cred(r));
}

static uint32_t enter_node(struct req *r, const struct pseudo_node *n)
{
	struct handle_parts p;
	struct fh fh;
	int err = handle_of_node(r, n, &p, &fh);

	if (err)
		return status_nfs4(err);
	leave_export(r);
	v4_set_fh(r, &fh, &p, NULL);
	return NFS4_OK;
}

uint32_t pseudo_enter(struct req *r, const struct pseudo_node *n)
{
	const struct export_client *c = n->export ? pseudo_usable(r, n->export) : NULL;

	return c ? pseudo_enter_export(r, n->export, c) : enter_node(r, n);
}

uint32_t pseudo_enter_root(struct req *r)
{
	const struct pseudo *p = tree(r);

	return p ? pseudo_enter(r, pseudo_root(p)) : NFS4ERR_DELAY;
}

uint32_t pseudo_enter_handle(struct req *r, const struct handle_parts *parts)
{
	const struct pseudo *p = tree(r);
	const struct pseudo_node *n;
	uint64_t id;

	if (!p)
		return NFS4ERR_DELAY;
	memcpy(&id, parts->kdata, sizeof(id));
	n = pseudo_find(p, id);
	/* The root is there for everybody, be it empty. */
	if (!n || (n != pseudo_root(p) && !pseudo_visible(r, n)))
		return NFS4ERR_STALE;
	return enter_node(r, n);
}

const struct pseudo_node *pseudo_current(struct req *r)
{
	const struct pseudo *p = tree(r);
	uint64_t id;

	memcpy(&id, r->parts.kdata, sizeof(id));
	return p ? pseudo_find(p, id) : NULL;
}

int pseudo_attributes(struct req *r, const struct pseudo_node *n, struct fh *fh,
		      struct v4_object *o)
{
	const struct pseudo *p = tree(r);
	struct timespec built = pseudo_built(p);
	struct handle_parts parts;

	*o = (struct v4_object){
		.fh = fh,
		.st = {
			.st_mode = S_IFDIR | 0555,
			.st_nlink = 2,
			.st_ino = n->id,
			.st_size = 4096,
			.st_atim = built,
			.st_mtim = built,
			.st_ctim = built,
		},
		.mounted_on = n->id,
		.maxlink = 255,
		.space = {.f_namemax = NAME_MAX, .f_bsize = 4096},
	};
	return handle_of_node(r, n, &parts, fh);
}

uint32_t pseudo_object(struct req *r, struct v4_object *o)
{
	const struct pseudo_node *n = pseudo_current(r);

	return n ? status_nfs4(pseudo_attributes(r, n, &r->fh, o)) : (uint32_t)NFS4ERR_STALE;
}
