/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Extended attributes (RFC 8276): those of the kernel's user. namespace, which
 * is not in the names on the wire.  The kernel asks for the caller's rights,
 * and refuses objects that cannot have any.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "nfsd-io/proto/excl.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/utf8.h"
#include "nfsd-io/proto/v4.h"

#define PREFIX "user."
#define PREFIX_LEN 5
#define NAME_LEN_MAX 255  /* with its prefix; the kernel's bound */
#define VALUE_MAX 65536	  /* the kernel's */
#define LIST_MAX 65536	  /* the kernel's, of all names */
#define LIST_OVERHEAD 16  /* cookie, number of names, eof */

struct xattr {
	char name[NAME_LEN_MAX + 1]; /* with its prefix */
	char path[32];		     /* by which the system calls find the object */
};

static uint32_t get_name(struct cursor *c, struct xattr *x)
{
	uint32_t len;
	const char *name = (const char *)cursor_get_opaque(c, UINT32_MAX, &len);

	if (!cursor_ok(c))
		return NFS4ERR_BADXDR;
	if (len > NAME_LEN_MAX - PREFIX_LEN)
		return NFS4ERR_NAMETOOLONG;
	if (!len || memchr(name, '\0', len) || !utf8_valid(name, len))
		return NFS4ERR_INVAL;
	memcpy(x->name, PREFIX, PREFIX_LEN);
	memcpy(x->name + PREFIX_LEN, name, len);
	x->name[PREFIX_LEN + len] = '\0';
	return NFS4_OK;
}

/* The object, and the thread as the caller until cred_assume(NULL). */
static uint32_t begin(struct req *r, struct xattr *x)
{
	uint32_t status = v4_file(r, FILE_PATH);

	if (status)
		return status;
	act_proc_path(x->path, r->file->path_fd);
	return v4_as_caller(r);
}

/* The server's own mark is not for clients. */
static bool ours(const char *name)
{
	return !strcmp(name, EXCL_XATTR);
}

/* --- GETXATTR --- */

static uint32_t put_value(struct req *r, const struct xattr *x, void *buf)
{
	ssize_t n =
		ours(x->name) ? (errno = ENODATA, -1) : getxattr(x->path, x->name, buf, VALUE_MAX);
	uint32_t status = n < 0 ? status_nfs4(-errno) : v4_room(r, 4 + (((uint32_t)n + 3) & ~3u));

	if (!status)
		cursor_put_opaque(&r->reply, buf, (uint32_t)n);
	return status;
}

uint32_t v4_getxattr(struct req *r)
{
	struct xattr x;
	uint32_t status = get_name(&r->args, &x);
	void *buf;

	if (status)
		return status;
	buf = malloc(VALUE_MAX);
	if (!buf)
		return NFS4ERR_DELAY;
	status = begin(r, &x);
	if (!status)
		status = put_value(r, &x, buf);
	cred_assume(NULL);
	free(buf);
	return status;
}

/* --- SETXATTR, REMOVEXATTR --- */

static int stable(struct req *r)
{
	return S_ISREG(r->file->type) || S_ISDIR(r->file->type) ? act_stable(r, r->file->path_fd)
								: 0;
}

/* What is left when the system call, made as the caller, has returned `rc`. */
static uint32_t changed(struct req *r, int rc, uint64_t before)
{
	int err = rc ? -errno : stable(r);

	cred_assume(NULL);
	if (err)
		return status_nfs4(err);
	v4_put_change_info(&r->reply, before, v4_change_now(r->file));
	return NFS4_OK;
}

uint32_t v4_setxattr(struct req *r)
{
	static const int flags[] = {[SETXATTR4_EITHER] = 0,
				    [SETXATTR4_CREATE] = XATTR_CREATE,
				    [SETXATTR4_REPLACE] = XATTR_REPLACE};
	uint32_t how = cursor_get_u32(&r->args), len, status;
	const uint8_t *value;
	struct xattr x;
	uint64_t before;

	status = get_name(&r->args, &x);
	if (status)
		return status;
	value = cursor_get_opaque(&r->args, UINT32_MAX, &len);
	if (!cursor_ok(&r->args) || how > SETXATTR4_REPLACE)
		return NFS4ERR_BADXDR;
	if (len > VALUE_MAX)
		return NFS4ERR_XATTR2BIG;
	status = ours(x.name) ? (uint32_t)NFS4ERR_ACCESS : begin(r, &x);
	if (status) {
		cred_assume(NULL);
		return status;
	}
	before = v4_change_now(r->file);
	return changed(r, setxattr(x.path, x.name, value, len, flags[how]), before);
}

uint32_t v4_removexattr(struct req *r)
{
	struct xattr x;
	uint32_t status = get_name(&r->args, &x);
	uint64_t before;

	if (!status)
		status = ours(x.name) ? (uint32_t)NFS4ERR_NOXATTR : begin(r, &x);
	if (status) {
		cred_assume(NULL);
		return status;
	}
	before = v4_change_now(r->file);
	return changed(r, removexattr(x.path, x.name), before);
}

/* --- LISTXATTRS --- */

static bool listed(const char *name)
{
	return !strncmp(name, PREFIX, PREFIX_LEN) && !ours(name);
}

/*
 * Names from number `cookie` on, as many as `room` bytes hold.  A cookie counts names: when some
 * are removed between two calls others may be passed over, as everywhere.
 */
static uint32_t put_names(struct req *r, const char *list, size_t len, uint64_t cookie,
			  uint32_t room)
{
	uint64_t at = 0;
	uint32_t n = 0, used = 0, need;
	uint8_t *next = cursor_reserve(&r->reply, 8), *count = cursor_reserve(&r->reply, 4);
	bool eof = true;

	for (const char *p = list; p < list + len; p += strlen(p) + 1) {
		if (!listed(p) || at++ < cookie)
			continue;
		need = 4 + (((uint32_t)strlen(p) - PREFIX_LEN + 3) & ~3u);
		if (used + need > room) {
			eof = false;
			at--;
			break;
		}
		cursor_put_opaque(&r->reply, p + PREFIX_LEN, (uint32_t)strlen(p) - PREFIX_LEN);
		used += need;
		n++;
	}
	cursor_put_bool(&r->reply, eof);
	if (cookie > at)
		return NFS4ERR_BAD_COOKIE;
	if (!n && !eof)
		return NFS4ERR_TOOSMALL;
	if (cursor_ok(&r->reply)) {
		cursor_set_u32(next, (uint32_t)(at >> 32));
		cursor_set_u32(next + 4, (uint32_t)at);
		cursor_set_u32(count, n);
	}
	return NFS4_OK;
}

static uint32_t list(struct req *r, const struct xattr *x, char *buf, uint64_t cookie, uint32_t max)
{
	ssize_t n = listxattr(x->path, buf, LIST_MAX);
	uint32_t most = v4_room_left(r), status;

	/* None can be there. */
	if (n < 0 && errno != EOPNOTSUPP)
		return status_nfs4(-errno);
	if (max > most)
		max = most;
	if (max > LIST_MAX * 2 + LIST_OVERHEAD)
		max = LIST_MAX * 2 + LIST_OVERHEAD;
	if (max < LIST_OVERHEAD)
		return NFS4ERR_TOOSMALL;
	status = v4_room(r, max);
	return status ? status
		      : put_names(r, buf, n < 0 ? 0 : (size_t)n, cookie, max - LIST_OVERHEAD);
}

uint32_t v4_listxattrs(struct req *r)
{
	uint64_t cookie = cursor_get_u64(&r->args);
	uint32_t max = cursor_get_u32(&r->args), status;
	struct xattr x;
	char *buf;

	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	buf = malloc(LIST_MAX);
	if (!buf)
		return NFS4ERR_DELAY;
	status = begin(r, &x);
	if (!status)
		status = list(r, &x, buf, cookie, max);
	cred_assume(NULL);
	free(buf);
	return status;
}
