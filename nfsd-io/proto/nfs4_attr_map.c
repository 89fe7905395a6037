/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of attributes: bitmap4, and which attributes each minor version has. */
#include <string.h>

#include "nfsd-io/proto/nfs4_attr.h"

#define WORD(attr) ((attr) / 32)
#define BIT(attr) (UINT32_C(1) << ((attr) % 32))

bool v4_attr_has(const struct v4_attrs *a, unsigned attr)
{
	return a->word[WORD(attr)] & BIT(attr);
}

void v4_attr_add(struct v4_attrs *a, unsigned attr)
{
	a->word[WORD(attr)] |= BIT(attr);
}

/* First minor version of each attribute; those of Linux nfsd, without ACLs, labels and pNFS. */
static const struct {
	uint8_t attr, minor;
	bool settable, exclcreat;
} served[] = {
	{FATTR4_SUPPORTED_ATTRS, 0, false, false},
	{FATTR4_TYPE, 0, false, false},
	{FATTR4_FH_EXPIRE_TYPE, 0, false, false},
	{FATTR4_CHANGE, 0, false, false},
	{FATTR4_SIZE, 0, true, true},
	{FATTR4_LINK_SUPPORT, 0, false, false},
	{FATTR4_SYMLINK_SUPPORT, 0, false, false},
	{FATTR4_NAMED_ATTR, 0, false, false},
	{FATTR4_FSID, 0, false, false},
	{FATTR4_UNIQUE_HANDLES, 0, false, false},
	{FATTR4_LEASE_TIME, 0, false, false},
	{FATTR4_RDATTR_ERROR, 0, false, false},
	{FATTR4_ACLSUPPORT, 0, false, false},
	{FATTR4_CANSETTIME, 0, false, false},
	{FATTR4_CASE_INSENSITIVE, 0, false, false},
	{FATTR4_CASE_PRESERVING, 0, false, false},
	{FATTR4_CHOWN_RESTRICTED, 0, false, false},
	{FATTR4_FILEHANDLE, 0, false, false},
	{FATTR4_FILEID, 0, false, false},
	{FATTR4_FILES_AVAIL, 0, false, false},
	{FATTR4_FILES_FREE, 0, false, false},
	{FATTR4_FILES_TOTAL, 0, false, false},
	{FATTR4_FS_LOCATIONS, 0, false, false},
	{FATTR4_HOMOGENEOUS, 0, false, false},
	{FATTR4_MAXFILESIZE, 0, false, false},
	{FATTR4_MAXLINK, 0, false, false},
	{FATTR4_MAXNAME, 0, false, false},
	{FATTR4_MAXREAD, 0, false, false},
	{FATTR4_MAXWRITE, 0, false, false},
	{FATTR4_MODE, 0, true, true},
	{FATTR4_NO_TRUNC, 0, false, false},
	{FATTR4_NUMLINKS, 0, false, false},
	{FATTR4_OWNER, 0, true, true},
	{FATTR4_OWNER_GROUP, 0, true, true},
	{FATTR4_RAWDEV, 0, false, false},
	{FATTR4_SPACE_AVAIL, 0, false, false},
	{FATTR4_SPACE_FREE, 0, false, false},
	{FATTR4_SPACE_TOTAL, 0, false, false},
	{FATTR4_SPACE_USED, 0, false, false},
	{FATTR4_TIME_ACCESS, 0, false, false},
	/* The verifier of an exclusive create may live in the times. */
	{FATTR4_TIME_ACCESS_SET, 0, true, false},
	/* Settable in name: no Linux file system can, and nobody is told that it was set. */
	{FATTR4_TIME_CREATE, 0, true, false},
	{FATTR4_TIME_DELTA, 0, false, false},
	{FATTR4_TIME_METADATA, 0, false, false},
	{FATTR4_TIME_MODIFY, 0, false, false},
	{FATTR4_TIME_MODIFY_SET, 0, true, false},
	{FATTR4_MOUNTED_ON_FILEID, 0, false, false},
	{FATTR4_SUPPATTR_EXCLCREAT, 1, false, false},
	{FATTR4_CLONE_BLKSIZE, 2, false, false},
	{FATTR4_MODE_UMASK, 2, true, true},
	{FATTR4_XATTR_SUPPORT, 2, false, false},
};
#define NSERVED (sizeof(served) / sizeof(served[0]))

void v4_attr_supported(uint32_t minor, struct v4_attrs *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < NSERVED; i++)
		if (served[i].minor <= minor)
			v4_attr_add(out, served[i].attr);
}

void v4_attr_settable(uint32_t minor, struct v4_attrs *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < NSERVED; i++)
		if (served[i].minor <= minor && served[i].settable)
			v4_attr_add(out, served[i].attr);
}

void v4_attr_exclcreat(uint32_t minor, struct v4_attrs *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < NSERVED; i++)
		if (served[i].minor <= minor && served[i].exclcreat)
			v4_attr_add(out, served[i].attr);
}

void v4_attr_and(struct v4_attrs *a, const struct v4_attrs *b)
{
	for (unsigned i = 0; i < V4_ATTR_WORDS; i++)
		a->word[i] &= b->word[i];
}

bool v4_attr_within(const struct v4_attrs *a, const struct v4_attrs *all)
{
	for (unsigned i = 0; i < V4_ATTR_WORDS; i++)
		if (a->word[i] & ~all->word[i])
			return false;
	return true;
}

bool v4_attr_writeonly(uint32_t minor, const struct v4_attrs *a)
{
	return v4_attr_has(a, FATTR4_TIME_ACCESS_SET) || v4_attr_has(a, FATTR4_TIME_MODIFY_SET) ||
	       (minor >= 2 && v4_attr_has(a, FATTR4_MODE_UMASK));
}

bool v4_attr_needs_owners(const struct v4_attrs *a)
{
	return v4_attr_has(a, FATTR4_OWNER) || v4_attr_has(a, FATTR4_OWNER_GROUP);
}

bool v4_attr_needs_space(const struct v4_attrs *a)
{
	static const struct v4_attrs space = {{
		BIT(FATTR4_FILES_AVAIL) | BIT(FATTR4_FILES_FREE) | BIT(FATTR4_FILES_TOTAL) |
			BIT(FATTR4_MAXLINK) | BIT(FATTR4_MAXNAME),
		BIT(FATTR4_SPACE_AVAIL) | BIT(FATTR4_SPACE_FREE) | BIT(FATTR4_SPACE_TOTAL),
		BIT(FATTR4_CLONE_BLKSIZE),
	}};

	return (a->word[0] & space.word[0]) || (a->word[1] & space.word[1]) ||
	       (a->word[2] & space.word[2]);
}

uint32_t v4_attr_get(struct cursor *c, struct v4_attrs *out, bool *beyond)
{
	uint32_t n = cursor_get_u32(c);

	memset(out, 0, sizeof(*out));
	*beyond = false;
	for (uint32_t i = 0; i < n && cursor_ok(c); i++) {
		uint32_t word = cursor_get_u32(c);

		if (i < V4_ATTR_WORDS)
			out->word[i] = word;
		else if (word)
			*beyond = true;
	}
	return cursor_ok(c) ? NFS4_OK : NFS4ERR_BADXDR;
}

uint32_t v4_get_attrs(struct cursor *c, struct v4_attrs *out)
{
	bool beyond;

	return v4_attr_get(c, out, &beyond);
}

void v4_put_attrs(struct cursor *c, const struct v4_attrs *a)
{
	uint32_t n = V4_ATTR_WORDS;

	while (n && !a->word[n - 1])
		n--;
	cursor_put_u32(c, n);
	for (uint32_t i = 0; i < n; i++)
		cursor_put_u32(c, a->word[i]);
}
