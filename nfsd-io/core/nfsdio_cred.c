/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "nfsd-io/core/cred.h"
#include "nfsd-io/core/nfsdio.h"

/* The public name of a struct cred. */
static struct cred *inside(struct nfsdio_cred *c)
{
	return (struct cred *)c;
}

int nfsdio_cred_new(struct nfsdio_cred **out, uid_t uid, gid_t gid, const gid_t *gids,
		    unsigned ngids)
{
	struct cred *c = cred_new(uid, gid, gids, ngids);

	if (!c)
		return -ENOMEM;
	*out = (struct nfsdio_cred *)c;
	return 0;
}

void nfsdio_cred_free(struct nfsdio_cred *c)
{
	cred_put(inside(c));
}
