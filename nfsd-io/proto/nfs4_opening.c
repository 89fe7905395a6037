/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OPEN's file: by name or handle, created or not, as the caller may have it. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/act.h"
#include "nfsd-io/proto/nfs4_open.h"
#include "nfsd-io/proto/pseudo.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/utf8.h"

uint32_t v4_regular(const struct req *r, mode_t mode, bool open)
{
	bool v40 = v4((struct req *)r)->minor == 0;

	if (S_ISREG(mode))
		return NFS4_OK;
	if (S_ISDIR(mode))
		return NFS4ERR_ISDIR;
	if (S_ISLNK(mode))
		return NFS4ERR_SYMLINK;
	/* 4.0 has no word for it: OPEN says SYMLINK, "not to be opened by you". */
	return v40 ? open ? NFS4ERR_SYMLINK : NFS4ERR_INVAL : NFS4ERR_WRONG_TYPE;
}

static uint32_t regular_fd(const struct req *r, int fd)
{
	struct stat st;

	return fstat(fd, &st) ? status_nfs4(-errno) : v4_regular(r, st.st_mode, true);
}

static uint64_t dir_change(const struct req *r)
{
	struct stat st;

	return fstat(r->file->path_fd, &st) ? 0 : v4_change(r->export->root, &st);
}

/* A name that is there, whatever it is. */
static uint32_t lookup(struct req *r, struct v4_opening *o, const char *name)
{
	o->fd = object_lookup(r->export->root, r->file->path_fd, name);
	/* Where another file system is mounted there is a directory. */
	if (o->fd == -EXDEV)
		return NFS4ERR_ISDIR;
	return o->fd < 0 ? status_nfs4(o->fd) : regular_fd(r, o->fd);
}

static bool exclusive(createmode4 mode)
{
	return mode == EXCLUSIVE4 || mode == EXCLUSIVE4_1;
}

/* What OPEN's attrset tells (RFC 8881 s.18.16.3). */
static void tell_set(struct v4_opening *o, const struct act_create *c)
{
	createmode4 mode = o->args.openhow.openflag4_u.how.mode;

	if (mode != EXCLUSIVE4 && !(c->existed && !exclusive(mode)))
		o->set = o->attrs.asked;
	/*
	 * The verifier may have gone into the times: the client sets them, which also ends the
	 * verifier's life.
	 */
	if (exclusive(mode))
		o->set.word[1] |= 1u << (FATTR4_TIME_ACCESS - 32) | 1u << (FATTR4_TIME_MODIFY - 32);
}

static uint32_t create(struct req *r, struct v4_opening *o, const char *name)
{
	createhow4 *how = &o->args.openhow.openflag4_u.how;
	struct act_create c = {
		.how = how->mode == UNCHECKED4 ? ACT_UNCHECKED
		       : how->mode == GUARDED4 ? ACT_GUARDED
					       : ACT_EXCLUSIVE,
		.attrs = how->mode == EXCLUSIVE4 ? NULL : &o->attrs.s,
		.leave_size = true,
	};

	if (how->mode == EXCLUSIVE4)
		c.verf = (const uint8_t *)how->createhow4_u.createverf;
	else if (how->mode == EXCLUSIVE4_1)
		c.verf = (const uint8_t *)how->createhow4_u.ch_createboth.cva_verf;
	o->fd = act_create(r, name, &c);
	/* Something is there that is no file: say what it is. */
	if (o->fd == -EEXIST && how->mode == UNCHECKED4 && !act_as_caller(r)) {
		uint32_t st = lookup(r, o, name);

		return st ? st : NFS4ERR_EXIST;
	}
	if (o->fd < 0)
		return status_nfs4(o->fd);
	o->created = !c.existed || exclusive(how->mode);
	o->truncate = !o->created && o->attrs.s.set_size && o->attrs.s.size == 0;
	tell_set(o, &c);
	return regular_fd(r, o->fd);
}

static uint32_t finish_name(struct req *r, struct v4_opening *o, const char *name)
{
	int err = cred_assume(NULL);

	if (!err && o->created)
		err = act_finish(r, name, o->fd, &o->fh);
	else if (!err)
		err = handle_of_child(r->env->key, r->export->root, r->file->path_fd, name, o->fd,
				      &o->fh);
	if (!err)
		err = handle_decode(r->env->key, o->fh.data, o->fh.len, &o->parts);
	o->after = dir_change(r);
	return err ? status_nfs4(err) : NFS4_OK;
}

/* There are directories only. */
static uint32_t in_pseudo(struct req *r, const char *name)
{
	const struct pseudo_node *here = pseudo_current(r),
				 *n = here ? pseudo_child(here, name) : NULL;

	return n && pseudo_visible(r, n) ? NFS4ERR_ISDIR : NFS4ERR_NOENT;
}

static uint32_t by_name(struct req *r, struct v4_opening *o)
{
	const component4 *c = &o->args.claim.open_claim4_u.file;
	bool make = o->args.openhow.opentype == OPEN4_CREATE;
	uint32_t st = v4_name_check(c);
	struct stat there;

	if (!st && v4_pseudo(r))
		return make ? NFS4ERR_ROFS
			    : v4_name_status(c->component4_val, in_pseudo(r, c->component4_val));
	if (!st)
		st = v4_file(r, FILE_PATH);
	if (!st && !S_ISDIR(r->file->type))
		st = NFS4ERR_NOTDIR;
	if (!st && make && !r->opts->rw)
		st = NFS4ERR_ROFS;
	if (!st)
		st = v4_as_caller(r);
	if (st)
		return st;
	o->before = dir_change(r);
	/* What is there is opened by any name, but not made by any. */
	if (make && !utf8_valid(c->component4_val, c->component4_len) &&
	    fstatat(r->file->path_fd, c->component4_val, &there, AT_SYMLINK_NOFOLLOW))
		return NFS4ERR_INVAL;
	st = make ? create(r, o, c->component4_val) :
		    v4_name_status(c->component4_val, lookup(r, o, c->component4_val));
	return st ? st : finish_name(r, o, c->component4_val);
}

static uint32_t by_handle(struct req *r, struct v4_opening *o)
{
	uint32_t st;

	if (v4_pseudo(r))
		return NFS4ERR_ISDIR;
	st = v4_file(r, FILE_PATH);
	if (st)
		return st;
	o->fh = r->fh;
	o->parts = r->parts;
	o->fd = fcntl(r->file->path_fd, F_DUPFD_CLOEXEC, 0);
	return o->fd < 0 ? status_nfs4(-errno) : regular_fd(r, o->fd);
}

/* The caller's rights: the kernel's word.  Whoever just created the file has them all. */
static uint32_t permit(struct req *r, struct v4_opening *o)
{
	uint32_t st;
	int err = 0;

	if (o->truncate && !(o->access & OPEN4_SHARE_ACCESS_WRITE))
		return NFS4ERR_INVAL;
	if ((o->access & OPEN4_SHARE_ACCESS_WRITE) && !r->opts->rw)
		return NFS4ERR_ROFS;
	if (o->created)
		return NFS4_OK;
	st = v4_as_caller(r);
	if (st)
		return st;
	if (o->access & OPEN4_SHARE_ACCESS_READ)
		err = access_kernel(o->fd, R_OK);
	/* What may be executed may be read, or it could not be executed. */
	if (err == -EACCES)
		err = access_kernel(o->fd, X_OK);
	/* Who keeps others from reading is to be one who could change what they read. */
	if (!err && ((o->access & OPEN4_SHARE_ACCESS_WRITE) || (o->deny & OPEN4_SHARE_DENY_READ)))
		err = access_kernel(o->fd, W_OK);
	return err ? status_nfs4(err) : NFS4_OK;
}

static uint32_t open_file(struct req *r, struct v4_opening *o)
{
	enum file_access a = o->access & OPEN4_SHARE_ACCESS_WRITE ? FILE_WRITE : FILE_READ;
	int err = fdcache_open(r->env->files, r->export->root, &o->fh, &o->parts, a, &o->file);

	/* Another open may keep a file that has no name left. */
	if (err == -ESTALE)
		o->file = state4_file_of(r->env->state, &o->fh, a);
	return err && !o->file ? status_nfs4(err) : NFS4_OK;
}

uint32_t v4_opening_file(struct req *r, struct v4_opening *o)
{
	uint32_t st = o->args.claim.claim == CLAIM_NULL ? by_name(r, o) : by_handle(r, o);

	if (!st)
		st = permit(r, o);
	cred_assume(NULL);
	return st ? st : open_file(r, o);
}

uint32_t v4_opening_truncate(struct req *r, struct v4_opening *o)
{
	uint32_t st = v4_as_caller(r);
	int err = 0;

	/* As the caller, so that set-id bits go. */
	if (!st && ftruncate(o->file->fd, 0))
		err = -errno;
	if (!st && !err)
		err = act_stable(r, o->file->fd);
	cred_assume(NULL);
	if (!st && err)
		st = status_nfs4(err);
	if (!st)
		o->set.word[0] |= 1u << FATTR4_SIZE;
	return st;
}
