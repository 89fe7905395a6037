/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/v3.h"

static enum sattr_time how(time_how h)
{
	return h == SET_TO_CLIENT_TIME   ? SATTR_CLIENT
	       : h == SET_TO_SERVER_TIME ? SATTR_SERVER
					 : SATTR_LEAVE;
}

static struct timespec when(const nfstime3 *t)
{
	return (struct timespec){.tv_sec = t->seconds, .tv_nsec = t->nseconds};
}

void v3_sattr_get(const sattr3 *in, struct sattr *out)
{
	*out = (struct sattr){
		.set_mode = in->mode.set_it,
		.set_uid = in->uid.set_it,
		.set_gid = in->gid.set_it,
		.set_size = in->size.set_it,
		.mode = in->mode.set_mode3_u.mode & 07777,
		.uid = in->uid.set_uid3_u.uid,
		.gid = in->gid.set_gid3_u.gid,
		.size = in->size.set_size3_u.size,
		.set_atime = how(in->atime.set_it),
		.set_mtime = how(in->mtime.set_it),
		.atime = when(&in->atime.set_atime_u.atime),
		.mtime = when(&in->mtime.set_mtime_u.mtime),
	};
}
