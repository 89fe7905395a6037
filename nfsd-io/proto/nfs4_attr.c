/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GETATTR, ACCESS, VERIFY, NVERIFY. */
#include <errno.h>
#include <string.h>

#include "nfsd-io/proto/nfs4_attr.h"
#include "nfsd-io/proto/status.h"

uint32_t v4_getattr(struct req *r)
{
	struct v4_attrs asked, known;
	struct v4_object o;
	uint32_t minor = v4(r)->minor, status = v4_get_attrs(&r->args, &asked), need;

	if (status)
		return status;
	if (v4_attr_writeonly(minor, &asked))
		return NFS4ERR_INVAL;
	v4_attr_supported(minor, &known);
	v4_attr_and(&asked, &known);
	status = v4_object_current(r, &asked, &o);
	if (status)
		return status;
	need = v4_attr_room(&asked, &o);
	if (need > v4_room_left(r))
		need = v4_attr_size(r, &asked, &o);
	status = v4_room(r, need);
	if (!status)
		v4_attr_put(&r->reply, r, &asked, &o, NFS4_OK);
	return status;
}

/* --- ACCESS --- */

#define PSEUDO_RIGHTS (ACCESS_READ | ACCESS_LOOKUP)
#define XATTR_RIGHTS (ACCESS_XAREAD | ACCESS_XAWRITE | ACCESS_XALIST)

static uint32_t rights(struct req *r, uint32_t asked, uint32_t *supported, uint32_t *granted)
{
	uint32_t status;

	if (v4_pseudo(r)) {
		*supported = asked & ~(uint32_t)(ACCESS_EXECUTE | XATTR_RIGHTS);
		*granted = asked & PSEUDO_RIGHTS;
		return NFS4_OK;
	}
	status = v4_file(r, FILE_PATH);
	if (!status)
		status = v4_as_caller(r);
	if (status)
		return status;
	*granted = access_rights(r, asked, supported);
	cred_assume(NULL);
	return NFS4_OK;
}

uint32_t v4_access(struct req *r)
{
	uint32_t asked = cursor_get_u32(&r->args), supported, granted, status;

	if (!cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	if (asked & ~(uint32_t)(ACCESS_V3 | (v4(r)->minor >= 2 ? XATTR_RIGHTS : 0)))
		return NFS4ERR_INVAL;
	status = v4_room(r, 8);
	if (!status)
		status = rights(r, asked, &supported, &granted);
	if (status)
		return status;
	cursor_put_u32(&r->reply, supported);
	cursor_put_u32(&r->reply, granted);
	return NFS4_OK;
}

/* --- VERIFY, NVERIFY: values are compared, not their encoding --- */

/* Sets of the same attributes may come with words of zero at their end. */
static bool same_set(struct cursor *theirs, struct cursor *ours)
{
	struct v4_attrs a, b;
	bool beyond;

	v4_attr_get(ours, &b, &beyond);
	v4_attr_get(theirs, &a, &beyond);
	return !beyond && !memcmp(&a, &b, sizeof(a));
}

static bool same_opaque(struct cursor *theirs, struct cursor *ours)
{
	uint32_t na, nb;
	const uint8_t *a = cursor_get_opaque(theirs, UINT32_MAX, &na);
	const uint8_t *b = cursor_get_opaque(ours, UINT32_MAX, &nb);

	return a && b && na == nb && !memcmp(a, b, na);
}

static bool same_bytes(struct cursor *theirs, struct cursor *ours)
{
	uint32_t n = (uint32_t)cursor_left(ours);
	const uint8_t *a = cursor_get_fixed(theirs, n), *b = cursor_get_fixed(ours, n);

	return a && !memcmp(a, b, n);
}

/*
 * Whoever is meant, however he is told: *same, or V4_ELSEWHERE on a worker that would have to look
 * up, or DELAY.  As the server, as v4_object_owners().
 */
static uint32_t compare_owner(struct req *r, enum hostdb db, uint32_t owner, struct cursor *theirs,
			      struct cursor *ours, bool *same)
{
	struct cursor at = *theirs;
	uint32_t len, id = 0;
	const char *text;
	int err;

	*same = same_opaque(theirs, ours);
	text = (const char *)cursor_get_opaque(&at, UINT32_MAX, &len);
	if (*same || !text)
		return NFS4_OK;
	if (v4(r)->worker)
		return V4_ELSEWHERE;
	err = cred_assume(NULL);
	if (!err)
		err = idmap_understand(r->env->idmap, db, text, len, &id);
	*same = !err && id == owner;
	return !err || err == -ENOENT || err == -EINVAL ? NFS4_OK : status_nfs4(err);
}

/* One value of theirs, consumed, against the object's. */
static uint32_t compare_value(struct req *r, unsigned attr, const struct v4_object *o,
			      struct cursor *theirs, bool *same)
{
	struct cursor ours;
	uint8_t buf[64 + IDMAP_MAX];
	size_t len;

	cursor_init(&ours, buf, sizeof(buf));
	v4_attr_put_value(&ours, r, attr, o, NFS4_OK);
	len = cursor_pos(&ours);
	cursor_init_const(&ours, buf, len);
	switch (attr) {
	case FATTR4_SUPPORTED_ATTRS:
	case FATTR4_SUPPATTR_EXCLCREAT:
		*same = same_set(theirs, &ours);
		break;
	case FATTR4_FILEHANDLE:
		*same = same_opaque(theirs, &ours);
		break;
	case FATTR4_OWNER:
		return compare_owner(r, HOSTDB_USERS, o->st.st_uid, theirs, &ours, same);
	case FATTR4_OWNER_GROUP:
		return compare_owner(r, HOSTDB_GROUPS, o->st.st_gid, theirs, &ours, same);
	default:
		*same = same_bytes(theirs, &ours);
	}
	return NFS4_OK;
}

/* *same: all of them are. */
static uint32_t compare_values(struct req *r, const struct v4_attrs *asked,
			       const struct v4_object *o, struct cursor *vals, bool *same)
{
	uint32_t status;
	bool one;

	*same = true;
	for (unsigned i = 0; i < V4_ATTR_WORDS; i++) {
		for (uint32_t w = asked->word[i]; w; w &= w - 1) {
			status = compare_value(r, 32 * i + (unsigned)__builtin_ctz(w), o, vals,
					       &one);
			if (status)
				return status;
			*same = *same && one;
		}
	}
	return NFS4_OK;
}

static uint32_t check_asked(struct req *r, const struct v4_attrs *asked, bool beyond)
{
	struct v4_attrs known;

	v4_attr_supported(v4(r)->minor, &known);
	if (beyond || !v4_attr_within(asked, &known))
		return NFS4ERR_ATTRNOTSUPP;
	if (v4_attr_has(asked, FATTR4_RDATTR_ERROR) || v4_attr_writeonly(v4(r)->minor, asked))
		return NFS4ERR_INVAL;
	return NFS4_OK;
}

/* NFS4ERR_SAME, NFS4ERR_NOT_SAME, V4_ELSEWHERE or what went wrong. */
static uint32_t compare(struct req *r)
{
	struct v4_attrs asked;
	struct v4_object o;
	struct cursor vals;
	const uint8_t *data;
	uint32_t len, status;
	bool beyond, same;

	status = v4_attr_get(&r->args, &asked, &beyond);
	data = cursor_get_opaque(&r->args, UINT32_MAX, &len);
	if (status || !cursor_ok(&r->args))
		return NFS4ERR_BADXDR;
	status = check_asked(r, &asked, beyond);
	if (!status)
		status = v4_object_current(r, &asked, &o);
	if (status)
		return status;
	cursor_init_const(&vals, data, len);
	status = compare_values(r, &asked, &o, &vals, &same);
	if (status)
		return status;
	if (!cursor_ok(&vals) || cursor_left(&vals))
		return NFS4ERR_BADXDR;
	return same ? NFS4ERR_SAME : NFS4ERR_NOT_SAME;
}

uint32_t v4_verify(struct req *r)
{
	uint32_t status = compare(r);

	return status == NFS4ERR_SAME ? NFS4_OK : status;
}

uint32_t v4_nverify(struct req *r)
{
	uint32_t status = compare(r);

	return status == NFS4ERR_NOT_SAME ? NFS4_OK : status;
}
