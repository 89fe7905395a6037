/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes told: fattr4 encoded by cursor, without memory of its own (RFC 8881 s.5.8). */
#include "config.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "nfsd-io/proto/nfs4_attr.h"
#include "nfsd-io/proto/state4.h"

/* Two clock ticks at 100 Hz: within that a change may leave the ctime where it was. */
#define COARSE_NS 20000000

/*
 * Linux nfsd's formula.  Where times move with the clock's tick only, one that is still fresh says
 * nothing: then each look gets a number of its own, so that no change can hide behind an equal one.
 */
uint64_t v4_change(const struct root *root, const struct stat *st)
{
	static _Atomic uint32_t looks;
	uint64_t change = ((uint64_t)st->st_ctim.tv_sec << 30) + (uint64_t)st->st_ctim.tv_nsec;
	struct timespec now;
	int64_t age;

	if (!root || root->probe.ctime_moves)
		return change;
	clock_gettime(CLOCK_REALTIME, &now);
	age = (now.tv_sec - st->st_ctim.tv_sec) * INT64_C(1000000000) + now.tv_nsec -
	      st->st_ctim.tv_nsec;
	if (age < COARSE_NS)
		change += 1 + atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed) % 0x80000;
	return change;
}

void v4_put_change_info(struct cursor *c, uint64_t before, uint64_t after)
{
	cursor_put_bool(c, false);
	cursor_put_u64(c, before);
	cursor_put_u64(c, after);
}

static uint32_t type4(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return NF4DIR;
	case S_IFBLK:
		return NF4BLK;
	case S_IFCHR:
		return NF4CHR;
	case S_IFLNK:
		return NF4LNK;
	case S_IFSOCK:
		return NF4SOCK;
	case S_IFIFO:
		return NF4FIFO;
	default:
		return NF4REG;
	}
}

static void put_time(struct cursor *c, const struct timespec *ts)
{
	cursor_put_u64(c, (uint64_t)ts->tv_sec);
	cursor_put_u32(c, (uint32_t)ts->tv_nsec);
}

static void put_rawdev(struct cursor *c, const struct stat *st)
{
	bool dev = S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode);

	cursor_put_u32(c, dev ? major(st->st_rdev) : 0);
	cursor_put_u32(c, dev ? minor(st->st_rdev) : 0);
}

static void put_word0(struct cursor *c, const struct req *r, unsigned attr,
		      const struct v4_object *o, uint32_t error)
{
	struct v4_attrs set;

	switch (attr) {
	case FATTR4_SUPPORTED_ATTRS:
		v4_attr_supported(v4((struct req *)r)->minor, &set);
		v4_put_attrs(c, &set);
		return;
	case FATTR4_TYPE:
		cursor_put_u32(c, type4(o->st.st_mode));
		return;
	case FATTR4_FH_EXPIRE_TYPE:
		cursor_put_u32(c, FH4_PERSISTENT);
		return;
	case FATTR4_CHANGE:
		cursor_put_u64(c, v4_change(o->root, &o->st));
		return;
	case FATTR4_SIZE:
		cursor_put_u64(c, (uint64_t)o->st.st_size);
		return;
	case FATTR4_FSID:
		cursor_put_u64(c, o->fsid[0]);
		cursor_put_u64(c, o->fsid[1]);
		return;
	case FATTR4_LINK_SUPPORT:
	case FATTR4_SYMLINK_SUPPORT:
	case FATTR4_UNIQUE_HANDLES:
	case FATTR4_CANSETTIME:
	case FATTR4_CASE_PRESERVING:
	case FATTR4_CHOWN_RESTRICTED:
	case FATTR4_HOMOGENEOUS:
		cursor_put_bool(c, true);
		return;
	case FATTR4_NAMED_ATTR:
	case FATTR4_CASE_INSENSITIVE:
		cursor_put_bool(c, false);
		return;
	case FATTR4_LEASE_TIME:
		cursor_put_u32(c, r->env->state ? state4_lease_s(r->env->state) : 0);
		return;
	case FATTR4_RDATTR_ERROR:
		cursor_put_u32(c, error);
		return;
	case FATTR4_ACLSUPPORT:
		cursor_put_u32(c, 0);
		return;
	case FATTR4_FILEHANDLE:
		cursor_put_opaque(c, o->fh->data, o->fh->len);
		return;
	case FATTR4_FILEID:
		cursor_put_u64(c, o->st.st_ino);
		return;
	}
}

/* Numbers 21 to 31, but those above. */
static void put_limits(struct cursor *c, const struct req *r, unsigned attr,
		       const struct v4_object *o)
{
	switch (attr) {
	case FATTR4_FILES_AVAIL:
		cursor_put_u64(c, o->space.f_favail);
		return;
	case FATTR4_FILES_FREE:
		cursor_put_u64(c, o->space.f_ffree);
		return;
	case FATTR4_FILES_TOTAL:
		cursor_put_u64(c, o->space.f_files);
		return;
	case FATTR4_FS_LOCATIONS:
		/* No place but this one: an empty fs_root and no locations, as Linux nfsd. */
		cursor_put_u64(c, 0);
		return;
	case FATTR4_MAXFILESIZE:
		cursor_put_u64(c, INT64_MAX);
		return;
	case FATTR4_MAXLINK:
		cursor_put_u32(c, o->maxlink);
		return;
	case FATTR4_MAXNAME:
		cursor_put_u32(c, (uint32_t)o->space.f_namemax);
		return;
	case FATTR4_MAXREAD:
		cursor_put_u64(c, r->env->max_read);
		return;
	case FATTR4_MAXWRITE:
		cursor_put_u64(c, r->env->max_write);
		return;
	}
}

static void put_word1(struct cursor *c, unsigned attr, const struct v4_object *o)
{
	switch (attr) {
	case FATTR4_MODE:
		cursor_put_u32(c, o->st.st_mode & 07777);
		return;
	case FATTR4_NO_TRUNC:
		cursor_put_bool(c, true);
		return;
	case FATTR4_NUMLINKS:
		cursor_put_u32(c, (uint32_t)o->st.st_nlink);
		return;
	case FATTR4_OWNER:
		cursor_put_opaque(c, o->owner.text, o->owner.len);
		return;
	case FATTR4_OWNER_GROUP:
		cursor_put_opaque(c, o->group.text, o->group.len);
		return;
	case FATTR4_RAWDEV:
		put_rawdev(c, &o->st);
		return;
	case FATTR4_SPACE_AVAIL:
		cursor_put_u64(c, (uint64_t)o->space.f_bavail * o->space.f_frsize);
		return;
	case FATTR4_SPACE_FREE:
		cursor_put_u64(c, (uint64_t)o->space.f_bfree * o->space.f_frsize);
		return;
	case FATTR4_SPACE_TOTAL:
		cursor_put_u64(c, (uint64_t)o->space.f_blocks * o->space.f_frsize);
		return;
	case FATTR4_SPACE_USED:
		cursor_put_u64(c, (uint64_t)o->st.st_blocks * 512);
		return;
	case FATTR4_TIME_ACCESS:
		put_time(c, &o->st.st_atim);
		return;
	case FATTR4_TIME_CREATE:
		put_time(c, &o->btime);
		return;
	case FATTR4_TIME_DELTA:
		put_time(c, &(struct timespec){.tv_nsec = 1});
		return;
	case FATTR4_TIME_METADATA:
		put_time(c, &o->st.st_ctim);
		return;
	case FATTR4_TIME_MODIFY:
		put_time(c, &o->st.st_mtim);
		return;
	case FATTR4_MOUNTED_ON_FILEID:
		cursor_put_u64(c, o->mounted_on);
		return;
	}
}

static void put_word2(struct cursor *c, const struct req *r, unsigned attr,
		      const struct v4_object *o)
{
	struct v4_attrs set;

	switch (attr) {
	case FATTR4_SUPPATTR_EXCLCREAT:
		v4_attr_exclcreat(v4((struct req *)r)->minor, &set);
		v4_put_attrs(c, &set);
		return;
	case FATTR4_CLONE_BLKSIZE:
		cursor_put_u32(c, (uint32_t)o->space.f_bsize);
		return;
	case FATTR4_XATTR_SUPPORT:
		cursor_put_bool(c, o->root != NULL);
		return;
	}
}

void v4_attr_put_value(struct cursor *c, const struct req *r, unsigned attr,
		       const struct v4_object *o, uint32_t error)
{
	if (attr < FATTR4_FILES_AVAIL || attr == FATTR4_HOMOGENEOUS)
		put_word0(c, r, attr, o, error);
	else if (attr < 32)
		put_limits(c, r, attr, o);
	else if (attr < 64)
		put_word1(c, attr, o);
	else
		put_word2(c, r, attr, o);
}

/* Of a value, at most: 16 but where it is more; what is less does not matter. */
uint32_t v4_attr_room(const struct v4_attrs *asked, const struct v4_object *o)
{
	uint32_t n = 4 + 4 * V4_ATTR_WORDS + 4;

	for (unsigned i = 0; i < V4_ATTR_WORDS; i++)
		n += 16 * (uint32_t)__builtin_popcount(asked->word[i]);
	if (v4_attr_has(asked, FATTR4_FILEHANDLE))
		n += HANDLE_MAX;
	if (v4_attr_has(asked, FATTR4_OWNER))
		n += o->owner.len;
	if (v4_attr_has(asked, FATTR4_OWNER_GROUP))
		n += o->group.len;
	return n;
}

uint32_t v4_attr_size(const struct req *r, const struct v4_attrs *asked, const struct v4_object *o)
{
	uint8_t buf[8 + (4 + 16 * 32) * V4_ATTR_WORDS + HANDLE_MAX + 2 * IDMAP_MAX];
	struct cursor c;

	cursor_init(&c, buf, sizeof(buf));
	v4_attr_put(&c, r, asked, o, NFS4_OK);
	return (uint32_t)cursor_pos(&c);
}

void v4_attr_put(struct cursor *c, const struct req *r, const struct v4_attrs *asked,
		 const struct v4_object *o, uint32_t error)
{
	struct v4_attrs told = *asked;
	uint8_t *len;
	size_t at;

	if (!o->have_btime)
		told.word[FATTR4_TIME_CREATE / 32] &= ~(UINT32_C(1) << FATTR4_TIME_CREATE % 32);
	v4_put_attrs(c, &told);
	len = cursor_reserve(c, 4);
	at = cursor_pos(c);
	for (unsigned i = 0; i < V4_ATTR_WORDS; i++)
		for (uint32_t w = told.word[i]; w; w &= w - 1)
			v4_attr_put_value(c, r, 32 * i + (unsigned)__builtin_ctz(w), o, error);
	if (cursor_ok(c))
		cursor_set_u32(len, (uint32_t)(cursor_pos(c) - at));
}
