/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CREATE in its three modes (RFC 1813 s.3.3.8). */
#include "nfsd-io/proto/nfs3_make.h"

static int create_file(struct req *r, const char *name, const struct sattr *attrs)
{
	const createhow3 *how = &v3_call(r)->args.create.how;
	struct act_create c = {.attrs = attrs};

	switch (how->mode) {
	case EXCLUSIVE:
		c.how = ACT_EXCLUSIVE;
		c.attrs = NULL;
		c.verf = (const uint8_t *)how->createhow3_u.verf;
		break;
	case GUARDED:
		c.how = ACT_GUARDED;
		break;
	default:
		c.how = ACT_UNCHECKED;
	}
	return act_create(r, name, &c);
}

static int create_work(struct req *r)
{
	const createhow3 *how = &v3_call(r)->args.create.how;

	return v3_make(r, how->mode == EXCLUSIVE ? NULL : &how->createhow3_u.obj_attributes,
		       create_file);
}

enum req_step_result v3_create(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_CREATE3args,
		(xdrproc_t)xdr_CREATE3res,
		create_work,
		true,
	};

	return v3_meta_step(r, &meta);
}
