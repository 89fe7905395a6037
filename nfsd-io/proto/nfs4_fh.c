/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The current and the saved filehandle, and the operations that only move them. */
#include <errno.h>
#include <string.h>

#include "nfsd-io/proto/pseudo.h"
#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v4.h"

void v4_drop_fh(struct req *r)
{
	struct v4 *v = v4(r);

	file_put(r->file);
	cred_put(r->cred);
	r->file = NULL;
	r->cred = NULL;
	r->export = NULL;
	r->opts = NULL;
	v->have_fh = v->have_id = false;
}

void v4_set_fh(struct req *r, const struct fh *fh, const struct handle_parts *p, struct file *file)
{
	struct v4 *v = v4(r);

	r->fh = *fh;
	r->parts = *p;
	file_put(r->file);
	r->file = file;
	v->have_fh = true;
	v->have_id = false;
}

/* The gate's answers. */
static uint32_t gate_status(int err)
{
	switch (err) {
	case 0:
		return NFS4_OK;
	case -EKEYREJECTED:
		return NFS4ERR_WRONGSEC;
	case -ENOMEM:
		return NFS4ERR_DELAY;
	default:
		return status_nfs4(err);
	}
}

uint32_t v4_enter(struct req *r, const uint8_t *fh, uint32_t len)
{
	struct handle_parts p;
	int err;

	v4_drop_fh(r);
	err = handle_decode(r->env->key, fh, len, &p);
	if (err)
		return gate_status(err);
	if (p.kind == HANDLE_PSEUDO)
		return pseudo_enter_handle(r, &p);
	r->parts = p;
	err = access_enter_parts(r, fh, len, false);
	if (err) {
		v4_drop_fh(r);
		return gate_status(err);
	}
	v4(r)->have_fh = true;
	return NFS4_OK;
}

void v4_save_fh(struct req *r)
{
	struct v4 *v = v4(r);
	struct v4_saved *s = &v->saved;

	file_put(s->file);
	cred_put(s->cred);
	*s = (struct v4_saved){
		.have = true,
		.fh = r->fh,
		.parts = r->parts,
		.export = r->export,
		.opts = r->opts,
		.cred = r->cred ? cred_get(r->cred) : NULL,
		.file = r->file ? file_get(r->file) : NULL,
		.have_id = v->have_id,
		.id = v->id,
	};
}

uint32_t v4_restore_fh(struct req *r)
{
	struct v4 *v = v4(r);
	const struct v4_saved *s = &v->saved;

	if (!s->have)
		return NFS4ERR_RESTOREFH;
	v4_drop_fh(r);
	r->fh = s->fh;
	r->parts = s->parts;
	r->export = s->export;
	r->opts = s->opts;
	r->cred = s->cred ? cred_get(s->cred) : NULL;
	r->file = s->file ? file_get(s->file) : NULL;
	v->have_fh = true;
	v->have_id = s->have_id;
	v->id = s->id;
	return NFS4_OK;
}

void v4_swap_fh(struct req *r)
{
	struct v4 *v = v4(r);
	struct v4_saved s = v->saved;

	v->saved = (struct v4_saved){
		.have = v->have_fh,
		.fh = r->fh,
		.parts = r->parts,
		.export = r->export,
		.opts = r->opts,
		.cred = r->cred,
		.file = r->file,
		.have_id = v->have_id,
		.id = v->id,
	};
	v->have_fh = s.have;
	r->fh = s.fh;
	r->parts = s.parts;
	r->export = s.export;
	r->opts = s.opts;
	r->cred = s.cred;
	r->file = s.file;
	v->have_id = s.have_id;
	v->id = s.id;
}

uint32_t v4_file(struct req *r, enum file_access a)
{
	int err;

	if (r->file && r->file->access >= a)
		return NFS4_OK;
	file_put(r->file);
	r->file = fdcache_peek(r->env->files, &r->fh, a);
	/* What is open is there, be it without a name. */
	if (!r->file)
		r->file = state4_file_of(r->env->state, &r->fh, a);
	if (r->file)
		return NFS4_OK;
	if (v4(r)->worker)
		return V4_ELSEWHERE;
	err = fdcache_open(r->env->files, r->export->root, &r->fh, &r->parts, a, &r->file);
	return err ? status_nfs4(err) : NFS4_OK;
}

uint32_t v4_as_caller(struct req *r)
{
	int err;

	if (v4(r)->worker)
		return V4_ELSEWHERE;
	err = access_cred(r);
	if (!err)
		err = cred_assume(r->cred);
	return err ? status_nfs4(err) : NFS4_OK;
}

/* --- operations ------------------------------------------------------------------ */

uint32_t v4_putfh(struct req *r)
{
	uint32_t len;
	const uint8_t *fh = cursor_get_opaque(&r->args, NFS4_FHSIZE, &len);

	return cursor_ok(&r->args) ? v4_enter(r, fh, len) : NFS4ERR_BADXDR;
}

/* PUTPUBFH too: the public filehandle is the root (RFC 8881 s.18.20.3). */
uint32_t v4_putrootfh(struct req *r)
{
	v4_drop_fh(r);
	return pseudo_enter_root(r);
}

uint32_t v4_getfh(struct req *r)
{
	cursor_put_opaque(&r->reply, r->fh.data, r->fh.len);
	return NFS4_OK;
}

uint32_t v4_savefh(struct req *r)
{
	v4_save_fh(r);
	return NFS4_OK;
}

uint32_t v4_restorefh(struct req *r)
{
	return v4_restore_fh(r);
}
