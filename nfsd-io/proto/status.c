/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/status.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * nfsstat3 (RFC 1813 s.2.6), nfsstat4 (RFC 8881 s.15.1) and mountstat3
 * (s.5.1.5); numbers, so that this file needs no codec.
 */
enum {
	ST_PERM = 1,
	ST_NOENT = 2,
	ST_IO = 5,
	ST_NXIO = 6,
	ST_ACCES = 13,
	ST_EXIST = 17,
	ST_XDEV = 18,
	ST_NODEV = 19,
	ST_NOTDIR = 20,
	ST_ISDIR = 21,
	ST_INVAL = 22,
	ST_FBIG = 27,
	ST_NOSPC = 28,
	ST_ROFS = 30,
	ST_MLINK = 31,
	ST_NAMETOOLONG = 63,
	ST_NOTEMPTY = 66,
	ST_DQUOT = 69,
	ST_STALE = 70,
	ST_REMOTE = 71,
	ST_BADHANDLE = 10001,
	ST_NOT_SYNC = 10002,
	ST_BAD_COOKIE = 10003,
	ST_NOTSUPP = 10004,
	ST_TOOSMALL = 10005,
	ST_SERVERFAULT = 10006,
	ST_BADTYPE = 10007,
	ST_JUKEBOX = 10008, /* NFSv4: DELAY */
	ST4_WRONGSEC = 10016,
	ST4_SYMLINK = 10029,
	ST4_FILE_OPEN = 10046,
	ST4_NOXATTR = 10095,
	ST4_XATTR2BIG = 10096,
};

/* One bit a status, so that a procedure's list is one word. */
static uint64_t bit(uint32_t st)
{
	static const uint32_t order[] = {
		ST_PERM,        ST_NOENT,    ST_IO,         ST_NXIO,    ST_ACCES,
		ST_EXIST,       ST_XDEV,     ST_NODEV,      ST_NOTDIR,  ST_ISDIR,
		ST_INVAL,       ST_FBIG,     ST_NOSPC,      ST_ROFS,    ST_MLINK,
		ST_NAMETOOLONG, ST_NOTEMPTY, ST_DQUOT,      ST_STALE,   ST_REMOTE,
		ST_BADHANDLE,   ST_NOT_SYNC, ST_BAD_COOKIE, ST_NOTSUPP, ST_TOOSMALL,
		ST_SERVERFAULT, ST_BADTYPE,  ST_JUKEBOX,
	};

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (order[i] == st)
			return UINT64_C(1) << i;
	return 0;
}

#define LIST(...)                                                                                  \
	{                                                                                          \
		__VA_ARGS__, 0                                                                     \
	}

/*
 * What RFC 1813 s.3.3.1-3.3.21 lets each procedure answer, beside IO, STALE,
 * BADHANDLE, SERVERFAULT and JUKEBOX, which all may.  REMOVE has ISDIR, which
 * the RFC leaves out and every client knows.
 */
static const uint32_t lists[22][16] = {
	[1] = LIST(0),
	[2] = LIST(ST_PERM, ST_ACCES, ST_INVAL, ST_NOSPC, ST_ROFS, ST_DQUOT, ST_NOT_SYNC,
		   ST_NOTSUPP),
	[3] = LIST(ST_NOENT, ST_ACCES, ST_NOTDIR, ST_NAMETOOLONG),
	[4] = LIST(0),
	[5] = LIST(ST_INVAL, ST_ACCES, ST_NOTSUPP),
	[6] = LIST(ST_NXIO, ST_ACCES, ST_INVAL),
	[7] = LIST(ST_ACCES, ST_FBIG, ST_DQUOT, ST_NOSPC, ST_ROFS, ST_INVAL),
	[8] = LIST(ST_ACCES, ST_EXIST, ST_NOTDIR, ST_NOSPC, ST_ROFS, ST_NAMETOOLONG, ST_DQUOT,
		   ST_NOTSUPP),
	[9] = LIST(ST_ACCES, ST_EXIST, ST_NOTDIR, ST_NOSPC, ST_ROFS, ST_NAMETOOLONG, ST_DQUOT,
		   ST_NOTSUPP),
	[10] = LIST(ST_ACCES, ST_EXIST, ST_NOTDIR, ST_NOSPC, ST_ROFS, ST_NAMETOOLONG, ST_DQUOT,
		    ST_NOTSUPP),
	[11] = LIST(ST_ACCES, ST_EXIST, ST_NOTDIR, ST_NOSPC, ST_ROFS, ST_NAMETOOLONG, ST_DQUOT,
		    ST_NOTSUPP, ST_BADTYPE),
	[12] = LIST(ST_NOENT, ST_ACCES, ST_NOTDIR, ST_NAMETOOLONG, ST_ROFS, ST_ISDIR),
	[13] = LIST(ST_NOENT, ST_ACCES, ST_INVAL, ST_EXIST, ST_NOTDIR, ST_NAMETOOLONG, ST_ROFS,
		    ST_NOTEMPTY, ST_NOTSUPP),
	[14] = LIST(ST_NOENT, ST_ACCES, ST_EXIST, ST_XDEV, ST_NOTDIR, ST_ISDIR, ST_INVAL, ST_NOSPC,
		    ST_ROFS, ST_MLINK, ST_NAMETOOLONG, ST_NOTEMPTY, ST_DQUOT, ST_NOTSUPP),
	[15] = LIST(ST_ACCES, ST_EXIST, ST_XDEV, ST_NOTDIR, ST_INVAL, ST_NOSPC, ST_ROFS, ST_MLINK,
		    ST_NAMETOOLONG, ST_DQUOT, ST_NOTSUPP),
	[16] = LIST(ST_ACCES, ST_NOTDIR, ST_BAD_COOKIE, ST_TOOSMALL),
	[17] = LIST(ST_ACCES, ST_NOTDIR, ST_BAD_COOKIE, ST_NOTSUPP, ST_TOOSMALL),
	[18] = LIST(0),
	[19] = LIST(0),
	[20] = LIST(0),
	[21] = LIST(0),
};

static uint64_t allowed(uint32_t proc)
{
	uint64_t set = bit(ST_IO) | bit(ST_STALE) | bit(ST_BADHANDLE) | bit(ST_SERVERFAULT) |
		       bit(ST_JUKEBOX);

	if (proc < 22)
		for (const uint32_t *st = lists[proc]; *st; st++)
			set |= bit(*st);
	return set;
}

static const struct {
	int err;
	uint32_t st;
} map[] = {
	{EPERM, ST_PERM},
	{ENOENT, ST_NOENT},
	{EIO, ST_IO},
	{ENXIO, ST_NXIO},
	{EACCES, ST_ACCES},
	{EEXIST, ST_EXIST},
	{EXDEV, ST_XDEV},
	{ENODEV, ST_NODEV},
	{ENOTDIR, ST_NOTDIR},
	{EISDIR, ST_ISDIR},
	{EINVAL, ST_INVAL},
	{EFBIG, ST_FBIG},
	{ENOSPC, ST_NOSPC},
	{EROFS, ST_ROFS},
	{EMLINK, ST_MLINK},
	{ENAMETOOLONG, ST_NAMETOOLONG},
	{ENOTEMPTY, ST_NOTEMPTY},
	{EDQUOT, ST_DQUOT},
	{ESTALE, ST_STALE},
	{EBADMSG, ST_BADHANDLE},
	{EOPNOTSUPP, ST_NOTSUPP},
	{ELOOP, ST_NOTDIR},
	{EOVERFLOW, ST_FBIG},
	{ETXTBSY, ST_ACCES},
	{EBUSY, ST_ACCES},
	{ENOMEM, ST_JUKEBOX},
	{EMFILE, ST_JUKEBOX},
	{ENFILE, ST_JUKEBOX},
	{EAGAIN, ST_JUKEBOX},
	{EINTR, ST_JUKEBOX},
	{ETIMEDOUT, ST_IO},
	{EBADF, ST_STALE},
	{ENOSYS, ST_NOTSUPP},
};

/* Where a status a procedure may not give goes instead: tried in order until the list has it. */
static const struct {
	uint32_t from, to;
} nearest[] = {
	{ST_PERM, ST_ACCES},     {ST_ROFS, ST_ACCES},        {ST_ISDIR, ST_INVAL},
	{ST_ISDIR, ST_EXIST},    {ST_NOTDIR, ST_INVAL},      {ST_FBIG, ST_INVAL},
	{ST_FBIG, ST_NOSPC},     {ST_DQUOT, ST_NOSPC},       {ST_XDEV, ST_ACCES},
	{ST_MLINK, ST_NOSPC},    {ST_NXIO, ST_INVAL},        {ST_NODEV, ST_INVAL},
	{ST_NOTEMPTY, ST_EXIST}, {ST_INVAL, ST_ACCES},       {ST_NOTSUPP, ST_ACCES},
	{ST_NOENT, ST_STALE},    {ST_NAMETOOLONG, ST_INVAL}, {ST_NOT_SYNC, ST_INVAL},
	{ST_NOSPC, ST_IO},       {ST_FBIG, ST_IO},           {ST_DQUOT, ST_IO},
};

uint32_t status_nfs3(int err, uint32_t proc)
{
	uint64_t may = allowed(proc);
	uint32_t st = err ? ST_IO : 0;

	if (!err)
		return 0;
	for (unsigned i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (map[i].err == -err)
			st = map[i].st;
	if (bit(st) & may)
		return st;
	for (unsigned i = 0; i < sizeof(nearest) / sizeof(nearest[0]); i++)
		if (nearest[i].from == st && (bit(nearest[i].to) & may))
			return nearest[i].to;
	return ST_SERVERFAULT;
}

/* RFC 8881 s.15.1; the numbers up to DQUOT are those of NFSv3. */
static const struct {
	int err;
	uint32_t st;
} map4[] = {
	{EPERM, ST_PERM},
	{ENOENT, ST_NOENT},
	{EIO, ST_IO},
	{ENXIO, ST_NXIO},
	{ENODEV, ST_NXIO},
	{EACCES, ST_ACCES},
	{EEXIST, ST_EXIST},
	{EXDEV, ST_XDEV},
	{ENOTDIR, ST_NOTDIR},
	{EISDIR, ST_ISDIR},
	{EINVAL, ST_INVAL},
	{EFBIG, ST_FBIG},
	{EOVERFLOW, ST_FBIG},
	{ENOSPC, ST_NOSPC},
	{EROFS, ST_ROFS},
	{EMLINK, ST_MLINK},
	{ENAMETOOLONG, ST_NAMETOOLONG},
	{ENOTEMPTY, ST_NOTEMPTY},
	{EDQUOT, ST_DQUOT},
	{ESTALE, ST_STALE},
	{EBADF, ST_STALE},
	{EBADMSG, ST_BADHANDLE},
	{EOPNOTSUPP, ST_NOTSUPP},
	{ENOSYS, ST_NOTSUPP},
	{ENOTTY, ST_NOTSUPP},
	{ENOMEM, ST_JUKEBOX},
	{EMFILE, ST_JUKEBOX},
	{ENFILE, ST_JUKEBOX},
	{EAGAIN, ST_JUKEBOX},
	{EINTR, ST_JUKEBOX},
	{ETXTBSY, ST4_FILE_OPEN},
	{EBUSY, ST4_FILE_OPEN},
	{EKEYREJECTED, ST4_WRONGSEC},
	{ELOOP, ST4_SYMLINK},
	{ENODATA, ST4_NOXATTR},
	{E2BIG, ST4_XATTR2BIG},
	{ERANGE, ST4_XATTR2BIG},
};

uint32_t status_nfs4(int err)
{
	if (!err)
		return 0;
	for (unsigned i = 0; i < sizeof(map4) / sizeof(map4[0]); i++)
		if (map4[i].err == -err)
			return map4[i].st;
	return ST_IO;
}

uint32_t status_mount3(int err)
{
	switch (-err) {
	case 0:
		return 0;
	case EPERM:
		return 1;
	case ENOENT:
	case ESTALE:
		return 2;
	case EIO:
		return 5;
	case EACCES:
	case EXDEV:
		return 13;
	case ENOTDIR:
	case ELOOP:
		return 20;
	case EINVAL:
		return 22;
	case ENAMETOOLONG:
		return 63;
	case EOPNOTSUPP:
		return 10004;
	default:
		return 10006;
	}
}
