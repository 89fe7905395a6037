/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* FSSTAT, FSINFO, PATHCONF: what the file system says of itself. */
#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "nfsd-io/proto/v3.h"

/* Directory pages of this size are answered in one go. */
#define DIR_PREFERRED (64u << 10)

static int fsstat_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	FSSTAT3resok *ok = &c->res.fsstat.FSSTAT3res_u.resok;
	int fd = r->file->path_fd, err;
	struct statvfs vfs;

	v3_post(&ok->obj_attributes, r->export->root, fd);
	/* As the caller: what is kept for root counts for root alone. */
	err = act_as_caller(r);
	if (err)
		return err;
	if (fstatvfs(fd, &vfs))
		return -errno;
	ok->tbytes = (uint64_t)vfs.f_blocks * vfs.f_frsize;
	ok->fbytes = (uint64_t)vfs.f_bfree * vfs.f_frsize;
	ok->abytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	ok->tfiles = vfs.f_files;
	ok->ffiles = vfs.f_ffree;
	ok->afiles = vfs.f_favail;
	ok->invarsec = 0;
	return 0;
}

enum req_step_result v3_fsstat(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_FSSTAT3args,
		(xdrproc_t)xdr_FSSTAT3res,
		fsstat_work,
		false,
	};

	return v3_meta_step(r, &meta);
}

static int fsinfo_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	FSINFO3resok *ok = &c->res.fsinfo.FSINFO3res_u.resok;

	v3_post(&ok->obj_attributes, r->export->root, r->file->path_fd);
	ok->rtmax = ok->rtpref = r->env->max_read;
	ok->wtmax = ok->wtpref = r->env->max_write;
	ok->rtmult = ok->wtmult = 4096;
	ok->dtpref = r->env->max_read < DIR_PREFERRED ? r->env->max_read : DIR_PREFERRED;
	ok->maxfilesize = INT64_MAX;
	ok->time_delta = (nfstime3){.seconds = 0, .nseconds = 1};
	ok->properties = FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME;
	return 0;
}

enum req_step_result v3_fsinfo(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_FSINFO3args,
		(xdrproc_t)xdr_FSINFO3res,
		fsinfo_work,
		false,
	};

	return v3_meta_step(r, &meta);
}

static int pathconf_work(struct req *r)
{
	struct v3_call *c = v3_call(r);
	PATHCONF3resok *ok = &c->res.pathconf.PATHCONF3res_u.resok;
	int fd = r->file->path_fd;
	struct statvfs vfs;
	char path[32];
	long links;

	v3_post(&ok->obj_attributes, r->export->root, fd);
	if (fstatvfs(fd, &vfs))
		return -errno;
	act_proc_path(path, fd);
	links = pathconf(path, _PC_LINK_MAX);
	ok->linkmax = links > 0 && links < UINT32_MAX ? (uint32_t)links : UINT32_MAX;
	ok->name_max = (uint32_t)vfs.f_namemax;
	ok->no_trunc = TRUE;
	ok->chown_restricted = TRUE;
	ok->case_insensitive = FALSE;
	ok->case_preserving = TRUE;
	return 0;
}

enum req_step_result v3_pathconf(struct req *r)
{
	static const struct v3_meta meta = {
		(xdrproc_t)xdr_PATHCONF3args,
		(xdrproc_t)xdr_PATHCONF3res,
		pathconf_work,
		false,
	};

	return v3_meta_step(r, &meta);
}
