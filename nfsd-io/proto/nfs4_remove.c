/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* REMOVE, RENAME, LINK. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v4.h"

static uint32_t remove_name(struct req *r, const char *name)
{
	uint32_t status = v4_as_caller(r);
	int err;

	if (status)
		return status;
	err = act_remove(r, r->file, name, 0);
	if (err == -EISDIR)
		err = act_remove(r, r->file, name, AT_REMOVEDIR);
	cred_assume(NULL);
	return status_nfs4(err);
}

uint32_t v4_remove(struct req *r)
{
	char name[NAME_MAX + 1];
	uint64_t before;
	uint32_t status = v4_get_old_name(&r->args, name);

	if (!status)
		status = v4_dir(r);
	if (status)
		return status;
	before = v4_change_now(r->file);
	status = v4_name_status(name, remove_name(r, name));
	if (!status)
		v4_put_change_info(&r->reply, before, v4_change_now(r->file));
	return status;
}

/* The saved filehandle's object, opened; it must be of the current one's export. */
static uint32_t saved_file(struct req *r)
{
	struct v4 *v = v4(r);
	uint32_t status;

	if (v->saved.parts.kind == HANDLE_PSEUDO || v->saved.export != r->export)
		return NFS4ERR_XDEV;
	v4_swap_fh(r);
	status = v4_file(r, FILE_PATH);
	v4_swap_fh(r);
	return status;
}

static uint32_t rename_name(struct req *r, const char *from, const char *to)
{
	uint32_t status = v4_as_caller(r);

	if (!status)
		status = status_nfs4(act_rename(r, v4(r)->saved.file, from, r->file, to));
	cred_assume(NULL);
	return status;
}

uint32_t v4_rename(struct req *r)
{
	char from[NAME_MAX + 1], to[NAME_MAX + 1];
	uint32_t status = v4_get_old_name(&r->args, from);
	uint64_t old_before, new_before;
	struct file *old;

	if (!status)
		status = v4_get_name(&r->args, to);
	if (!status)
		status = saved_file(r);
	if (!status)
		status = S_ISDIR(v4(r)->saved.file->type) ? v4_dir(r) : (uint32_t)NFS4ERR_NOTDIR;
	if (status)
		return status;
	old = v4(r)->saved.file;
	old_before = v4_change_now(old);
	new_before = v4_change_now(r->file);
	status = v4_name_status(from, rename_name(r, from, to));
	if (status)
		return status;
	v4_put_change_info(&r->reply, old_before, v4_change_now(old));
	v4_put_change_info(&r->reply, new_before, v4_change_now(r->file));
	return NFS4_OK;
}

static uint32_t link_name(struct req *r, const char *name)
{
	uint32_t status = v4_as_caller(r);

	if (!status)
		status = status_nfs4(act_link(r, v4(r)->saved.file, r->file, name));
	cred_assume(NULL);
	return status;
}

uint32_t v4_link(struct req *r)
{
	char name[NAME_MAX + 1];
	uint64_t before;
	uint32_t status = v4_get_name(&r->args, name);

	if (!status)
		status = saved_file(r);
	if (!status)
		status = S_ISDIR(v4(r)->saved.file->type) ? (uint32_t)NFS4ERR_ISDIR : v4_dir(r);
	if (status)
		return status;
	before = v4_change_now(r->file);
	status = link_name(r, name);
	if (!status)
		v4_put_change_info(&r->reply, before, v4_change_now(r->file));
	return status;
}
