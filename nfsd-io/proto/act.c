/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/act.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "nfsd-io/core/object.h"

int act_as_caller(struct req *r)
{
	return cred_assume(r->cred);
}

int act_stable(struct req *r, int fd)
{
	int err;

	if (!r->opts->sync)
		return 0;
	err = cred_assume(NULL);
	if (err)
		return err;
	err = object_sync(fd);
	/* It may have been data of somebody's UNSTABLE WRITE that failed. */
	if (err)
		verifier_error(req_verifier(r), err);
	return err;
}

void act_proc_path(char out[32], int fd)
{
	snprintf(out, 32, "/proc/self/fd/%d", fd);
}

int act_finish(struct req *r, const char *name, int fd, struct fh *fh)
{
	struct stat st;
	int err = 0;

	fh->len = 0;
	if (fstat(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		err = act_stable(r, fd);
	if (!err)
		err = act_stable(r, r->file->path_fd);
	if (!err && handle_of_child(r->env->key, r->export->root, r->file->path_fd, name, fd, fh))
		fh->len = 0;
	return err;
}
