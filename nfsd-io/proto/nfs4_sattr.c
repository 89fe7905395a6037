/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes to be set: SETATTR, and what CREATE and OPEN bring along (RFC 8881 s.18.30). */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/proto/excl.h"
#include "nfsd-io/proto/idmap.h"
#include "nfsd-io/proto/nfs4_attr.h"
#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/status.h"

/* --- decoding --- */

static void get_time(struct cursor *c, struct timespec *ts)
{
	ts->tv_sec = (time_t)cursor_get_u64(c);
	ts->tv_nsec = (long)cursor_get_u32(c);
}

static void get_settime(struct cursor *c, enum sattr_time *how, struct timespec *ts)
{
	switch (cursor_get_u32(c)) {
	case SET_TO_SERVER_TIME4:
		*how = SATTR_SERVER;
		return;
	case SET_TO_CLIENT_TIME4:
		*how = SATTR_CLIENT;
		get_time(c, ts);
		return;
	default:
		c->bad = true;
	}
}

/* As the server: whose name is looked up is nobody's business. */
static uint32_t get_owner(struct req *r, struct cursor *c, enum hostdb db, uint32_t *id)
{
	uint32_t len;
	const char *text = (const char *)cursor_get_opaque(c, UINT32_MAX, &len);
	int err = text ? idmap_understand(r->env->idmap, db, text, len, id) : 0;

	return err == -ENOENT ? NFS4ERR_BADOWNER : status_nfs4(err);
}

static uint32_t get_value(struct req *r, struct cursor *c, unsigned attr, struct sattr *s)
{
	struct timespec dropped;

	switch (attr) {
	case FATTR4_SIZE:
		s->set_size = true;
		s->size = cursor_get_u64(c);
		return s->size > INT64_MAX ? NFS4ERR_FBIG : NFS4_OK;
	case FATTR4_MODE:
		s->set_mode = true;
		s->mode = cursor_get_u32(c) & 07777;
		return NFS4_OK;
	case FATTR4_OWNER:
		s->set_uid = true;
		return get_owner(r, c, HOSTDB_USERS, &s->uid);
	case FATTR4_OWNER_GROUP:
		s->set_gid = true;
		return get_owner(r, c, HOSTDB_GROUPS, &s->gid);
	case FATTR4_TIME_ACCESS_SET:
		get_settime(c, &s->set_atime, &s->atime);
		return NFS4_OK;
	case FATTR4_TIME_CREATE:
		get_time(c, &dropped);
		return NFS4_OK;
	case FATTR4_TIME_MODIFY_SET:
		get_settime(c, &s->set_mtime, &s->mtime);
		return NFS4_OK;
	case FATTR4_MODE_UMASK:
		s->set_mode = s->have_umask = true;
		s->mode = cursor_get_u32(c) & 07777;
		s->umask = cursor_get_u32(c) & 0777;
		return NFS4_OK;
	default:
		return NFS4ERR_ATTRNOTSUPP;
	}
}

static uint32_t check_asked(uint32_t minor, const struct v4_attrs *a, bool beyond,
			    enum v4_sattr_use use)
{
	struct v4_attrs known;

	v4_attr_supported(minor, &known);
	if (beyond || !v4_attr_within(a, &known))
		return NFS4ERR_ATTRNOTSUPP;
	v4_attr_settable(minor, &known);
	if (!v4_attr_within(a, &known))
		return NFS4ERR_INVAL;
	/* RFC 8275 s.2: for new objects only, and not beside mode. */
	if (v4_attr_has(a, FATTR4_MODE_UMASK) &&
	    (use == V4_SATTR_SET || v4_attr_has(a, FATTR4_MODE)))
		return NFS4ERR_INVAL;
	return NFS4_OK;
}

static uint32_t decode(struct req *r, bool beyond, const uint8_t *vals, uint32_t len,
		       enum v4_sattr_use use, struct v4_sattr *out)
{
	uint32_t status = check_asked(v4(r)->minor, &out->asked, beyond, use), first = NFS4_OK;
	struct cursor c;

	if (status)
		return status;
	cursor_init_const(&c, vals, len);
	for (unsigned i = 0; i < V4_ATTR_WORDS; i++)
		for (uint32_t w = out->asked.word[i]; w; w &= w - 1) {
			status = get_value(r, &c, 32 * i + (unsigned)__builtin_ctz(w), &out->s);
			first = first ? first : status;
		}
	if (!cursor_ok(&c) || cursor_left(&c))
		return NFS4ERR_BADXDR;
	/* Nobody is told that it was set. */
	out->asked.word[FATTR4_TIME_CREATE / 32] &= ~(UINT32_C(1) << FATTR4_TIME_CREATE % 32);
	return first ? first : status_nfs4(sattr_check(&out->s));
}

uint32_t v4_sattr_decode(struct req *r, const fattr4 *in, enum v4_sattr_use use,
			 struct v4_sattr *out)
{
	bool beyond = false;

	memset(out, 0, sizeof(*out));
	for (u_int i = 0; i < in->attrmask.bitmap4_len; i++) {
		if (i < V4_ATTR_WORDS)
			out->asked.word[i] = in->attrmask.bitmap4_val[i];
		else if (in->attrmask.bitmap4_val[i])
			beyond = true;
	}
	return decode(r, beyond, (const uint8_t *)in->attr_vals.attrlist4_val,
		      in->attr_vals.attrlist4_len, use, out);
}

uint32_t v4_sattr_get(struct req *r, struct cursor *c, enum v4_sattr_use use, struct v4_sattr *out)
{
	const uint8_t *vals;
	uint32_t len, status;
	bool beyond;

	memset(out, 0, sizeof(*out));
	status = v4_attr_get(c, &out->asked, &beyond);
	if (status)
		return status;
	vals = cursor_get_opaque(c, UINT32_MAX, &len);
	if (!cursor_ok(c))
		return NFS4ERR_BADXDR;
	return decode(r, beyond, vals, len, use, out);
}

/* --- setting --- */

uint32_t v4_sattr_apply(struct req *r, const struct v4_sattr *a, int fd, struct v4_attrs *set)
{
	int err = act_as_caller(r);

	if (!err)
		err = sattr_apply(fd, &a->s);
	if (err)
		return status_nfs4(err);
	*set = a->asked;
	return NFS4_OK;
}

static uint32_t set_size(struct req *r, const stateid4 *id, uint64_t size)
{
	struct v4 *v = v4(r);
	struct file *f = NULL;
	uint32_t status;
	int err;

	if (!S_ISREG(r->file->type))
		return S_ISDIR(r->file->type) ? NFS4ERR_ISDIR : NFS4ERR_INVAL;
	status = state4_io(r, id, STATE4_WRITE, &f);
	if (status)
		return status;
	if (f) {
		/*
		 * Opened for writing: that was when permission was asked for, of whoever opened it.
		 */
		err = v4_permit(r, f, STATE4_WRITE,
				v->open ? state4_open_uid(v->open) : STATE4_UIDS);
		if (!err)
			err = act_as_caller(r);
		if (!err && ftruncate(f->fd, (off_t)size))
			err = -errno;
		file_put(f);
	} else {
		err = sattr_size(r, &r->fh, &r->parts, r->file->path_fd, size);
	}
	if (v->open)
		state4_open_put(v->open);
	v->open = NULL;
	return status_nfs4(err);
}

static uint32_t change(struct req *r, const stateid4 *id, const struct v4_sattr *a,
		       struct v4_attrs *set)
{
	int fd = r->file->path_fd, err;
	uint32_t status = NFS4_OK;

	if (a->s.set_size) {
		status = set_size(r, id, a->s.size);
		if (status)
			return status;
		v4_attr_add(set, FATTR4_SIZE);
	}
	status = v4_sattr_apply(r, a, fd, set);
	if (status || !(S_ISREG(r->file->type) || S_ISDIR(r->file->type)))
		return status;
	err = cred_assume(NULL);
	if (!err && S_ISREG(r->file->type))
		excl_drop(fd);
	/* A symlink or device has no descriptor to sync by; its file system's journal orders it. */
	return status_nfs4(err ? err : act_stable(r, fd));
}

static uint32_t setattr(struct req *r, struct v4_attrs *set)
{
	struct v4_sattr a;
	uint32_t status;
	stateid4 id;

	v4_get_stateid(&r->args, &id);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	status = v4_sattr_get(r, &r->args, V4_SATTR_SET, &a);
	if (!status)
		status = v4_file(r, FILE_PATH);
	if (!status)
		status = status_nfs4(access_cred(r));
	if (!status)
		status = change(r, &id, &a, set);
	cred_assume(NULL);
	return status;
}

uint32_t v4_setattr(struct req *r)
{
	struct v4_attrs set = {{0}};
	uint32_t status = setattr(r, &set);

	/* What was set before something failed is told as well. */
	v4(r)->error_body = true;
	v4_put_attrs(&r->reply, &set);
	return status;
}
