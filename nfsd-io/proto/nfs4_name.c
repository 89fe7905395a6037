/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* LOOKUP, LOOKUPP, READLINK, SECINFO, SECINFO_NO_NAME, and what all names must be. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/proto/nfs4_target.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/utf8.h"

static uint32_t check(const char *name, uint32_t len)
{
	if (!len)
		return NFS4ERR_INVAL;
	if (len > NAME_MAX)
		return NFS4ERR_NAMETOOLONG;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return NFS4ERR_BADNAME;
	if (memchr(name, '/', len) || memchr(name, '\0', len))
		return NFS4ERR_BADNAME;
	return NFS4_OK;
}

uint32_t v4_name_check(const component4 *name)
{
	return check(name->component4_val, name->component4_len);
}

uint32_t v4_name_status(const char *name, uint32_t status)
{
	return status == NFS4ERR_NOENT && !utf8_valid(name, strlen(name)) ? NFS4ERR_INVAL : status;
}

uint32_t v4_get_old_name(struct cursor *c, char out[NAME_MAX + 1])
{
	uint32_t len, status;
	const char *name = (const char *)cursor_get_opaque(c, UINT32_MAX, &len);

	if (!cursor_ok(c))
		return NFS4ERR_BADXDR;
	status = check(name, len);
	if (status)
		return status;
	memcpy(out, name, len);
	out[len] = '\0';
	return NFS4_OK;
}

uint32_t v4_get_name(struct cursor *c, char out[NAME_MAX + 1])
{
	uint32_t status = v4_get_old_name(c, out);

	return status || utf8_valid(out, strlen(out)) ? status : (uint32_t)NFS4ERR_INVAL;
}

uint32_t v4_dir(struct req *r)
{
	uint32_t status = v4_file(r, FILE_PATH);

	return status || S_ISDIR(r->file->type) ? status : NFS4ERR_NOTDIR;
}

uint64_t v4_change_now(const struct file *f)
{
	struct stat st;

	return fstat(f->path_fd, &st) ? 0 : v4_change(f->root, &st);
}

/* --- LOOKUP, LOOKUPP --- */

static uint32_t go(struct req *r, struct v4_target *t)
{
	uint32_t status = v4_target_enter(r, t);

	v4_target_fini(t);
	return status;
}

/*
 * A link in the middle of a path is the client's to follow: it must know (RFC 8881 s.15.4: SYMLINK
 * is an error of LOOKUP and LOOKUPP).
 */
static uint32_t not_a_dir(const struct req *r, uint32_t status)
{
	return status == NFS4ERR_NOTDIR && S_ISLNK(r->file->type) ? NFS4ERR_SYMLINK : status;
}

uint32_t v4_lookup(struct req *r)
{
	char name[NAME_MAX + 1];
	struct v4_target t;
	uint32_t status = v4_get_old_name(&r->args, name);

	if (status)
		return status;
	status = v4_name_status(name, v4_target_name(r, name, &t));
	return status ? not_a_dir(r, status) : go(r, &t);
}

uint32_t v4_lookupp(struct req *r)
{
	struct v4_target t;
	uint32_t status = v4_target_parent(r, &t);

	return status ? not_a_dir(r, status) : go(r, &t);
}

/* --- READLINK --- */

uint32_t v4_readlink(struct req *r)
{
	char text[PATH_MAX];
	uint32_t status = v4_file(r, FILE_PATH);
	ssize_t n;

	if (status)
		return status;
	if (!S_ISLNK(r->file->type))
		return NFS4ERR_INVAL;
	n = readlinkat(r->file->path_fd, "", text, sizeof(text));
	if (n < 0)
		return status_nfs4(-errno);
	status = v4_room(r, (uint32_t)n + 7);
	if (!status)
		cursor_put_opaque(&r->reply, text, (uint32_t)n);
	return status;
}

/* --- SECINFO --- */

static void put_flavors(struct cursor *c, const struct export_opts *o)
{
	bool sys = !o || (o->sec_sys && !o->sec_other), none = o && o->sec_none && !o->sec_other;

	cursor_put_u32(c, (uint32_t)sys + (uint32_t)none);
	if (sys)
		cursor_put_u32(c, RPCCRED_AUTH_SYS);
	if (none)
		cursor_put_u32(c, RPCCRED_AUTH_NONE);
}

static uint32_t secinfo(struct req *r, struct v4_target *t)
{
	put_flavors(&r->reply, v4_target_opts(r, t));
	v4_target_fini(t);
	/*
	 * RFC 8881 s.2.6.3.1.1.8: it is consumed, so that nothing
	 * is done with it before the flavor is right.
	 */
	if (v4(r)->minor)
		v4_drop_fh(r);
	return NFS4_OK;
}

uint32_t v4_secinfo(struct req *r)
{
	char name[NAME_MAX + 1];
	struct v4_target t;
	uint32_t status = v4_get_old_name(&r->args, name);

	if (!status)
		status = v4_name_status(name, v4_target_name(r, name, &t));
	return status ? status : secinfo(r, &t);
}

uint32_t v4_secinfo_no_name(struct req *r)
{
	struct v4_target t = {.fd = -1, .export = r->export};
	uint32_t style = cursor_get_u32(&r->args), status = NFS4_OK;

	if (!cursor_ok(&r->args) || style > SECINFO_STYLE4_PARENT)
		return NFS4ERR_BADXDR;
	if (style == SECINFO_STYLE4_PARENT)
		status = v4_target_parent(r, &t);
	else if (v4_pseudo(r))
		t.node = pseudo_current(r);
	return status ? status : secinfo(r, &t);
}
