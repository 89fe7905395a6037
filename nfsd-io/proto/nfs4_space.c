/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SEEK, ALLOCATE, DEALLOCATE (RFC 7862 s.15): where data are in a file, and where room is. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v4.h"

void v4_get_stateid(struct cursor *c, stateid4 *id)
{
	const uint8_t *other;

	id->seqid = cursor_get_u32(c);
	other = cursor_get_fixed(c, NFS4_OTHER_SIZE);
	if (other)
		memcpy(id->other, other, NFS4_OTHER_SIZE);
}

int v4_permit(struct req *r, const struct file *f, enum state4_use use, uint32_t opener)
{
	struct stat st;
	int err = access_cred(r);

	if (!err && fstat(f->path_fd, &st))
		err = -errno;
	if (err || r->cred->uid == 0 || r->cred->uid == st.st_uid || r->cred->uid == opener)
		return err;
	err = act_as_caller(r);
	if (!err)
		err = access_kernel(f->path_fd, use == STATE4_WRITE ? W_OK : R_OK);
	cred_assume(NULL);
	return err;
}

static uint32_t open_anew(struct req *r, enum state4_use use, struct file **out)
{
	uint32_t status = v4_file(r, FILE_PATH);

	if (status)
		return status;
	if (!S_ISREG(r->file->type))
		return S_ISDIR(r->file->type) ? NFS4ERR_ISDIR : NFS4ERR_WRONG_TYPE;
	status = v4_file(r, use == STATE4_WRITE ? FILE_WRITE : FILE_READ);
	if (!status)
		status = status_nfs4(v4_permit(r, r->file, use, STATE4_UIDS));
	if (!status)
		*out = file_get(r->file);
	return status;
}

uint32_t v4_file_by_id(struct req *r, const stateid4 *id, enum state4_use use, struct file **out)
{
	struct v4 *v = v4(r);
	uint32_t status = state4_io(r, id, use, out),
		 opener = v->open ? state4_open_uid(v->open) : STATE4_UIDS;

	/* The file is counted: it stays open without the open. */
	if (v->open)
		state4_open_put(v->open);
	v->open = NULL;
	if (status)
		return status;
	return *out ? status_nfs4(v4_permit(r, *out, use, opener)) : open_anew(r, use, out);
}

int v4_changed(struct req *r, struct file *f)
{
	return act_stable(r, f->fd);
}

/* --- SEEK --- */

static uint32_t seek(struct req *r, const struct file *f, uint64_t offset, uint32_t what)
{
	struct stat st;
	off_t at;

	if (fstat(f->fd, &st))
		return status_nfs4(-errno);
	if (offset > INT64_MAX || offset >= (uint64_t)st.st_size)
		return NFS4ERR_NXIO;
	at = lseek(f->fd, (off_t)offset, what == NFS4_CONTENT_DATA ? SEEK_DATA : SEEK_HOLE);
	/* No data up to the end of the file: that is an answer. */
	if (at < 0 && errno == ENXIO)
		at = st.st_size;
	if (at < 0)
		return status_nfs4(-errno);
	cursor_put_bool(&r->reply, at >= st.st_size);
	cursor_put_u64(&r->reply, (uint64_t)at);
	return NFS4_OK;
}

uint32_t v4_seek(struct req *r)
{
	struct file *f = NULL;
	uint32_t what, status;
	uint64_t offset;
	stateid4 id;

	v4_get_stateid(&r->args, &id);
	offset = cursor_get_u64(&r->args);
	what = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	if (what != NFS4_CONTENT_DATA && what != NFS4_CONTENT_HOLE)
		return NFS4ERR_UNION_NOTSUPP;
	status = v4_file_by_id(r, &id, STATE4_READ, &f);
	if (!status)
		status = seek(r, f, offset, what);
	file_put(f);
	return status;
}

/* --- ALLOCATE, DEALLOCATE --- */

uint32_t v4_range_check(uint64_t offset, uint64_t len)
{
	if (len > UINT64_MAX - offset)
		return NFS4ERR_INVAL;
	return offset + len > INT64_MAX ? NFS4ERR_FBIG : NFS4_OK;
}

/* As the caller: set-id bits go, quotas count. */
static int allocate(struct req *r, struct file *f, int mode, uint64_t offset, uint64_t len)
{
	int err = act_as_caller(r);

	if (!err && fallocate(f->fd, mode, (off_t)offset, (off_t)len))
		err = -errno;
	if (!err)
		err = v4_changed(r, f);
	cred_assume(NULL);
	return err;
}

static uint32_t change_space(struct req *r, int mode)
{
	struct file *f = NULL;
	uint64_t offset, len;
	uint32_t status;
	stateid4 id;

	v4_get_stateid(&r->args, &id);
	offset = cursor_get_u64(&r->args);
	len = cursor_get_u64(&r->args);
	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	status = len ? v4_range_check(offset, len) : (uint32_t)NFS4ERR_INVAL;
	if (!status)
		status = v4_file_by_id(r, &id, STATE4_WRITE, &f);
	if (!status)
		status = status_nfs4(allocate(r, f, mode, offset, len));
	file_put(f);
	return status;
}

uint32_t v4_allocate(struct req *r)
{
	return change_space(r, 0);
}

uint32_t v4_deallocate(struct req *r)
{
	return change_space(r, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
}
