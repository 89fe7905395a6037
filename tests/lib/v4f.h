/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fattr4 for tests: sets of attributes made and taken apart by hand, and one object of each type.
 */
#ifndef TESTS_LIB_V4F_H
#define TESTS_LIB_V4F_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/v4c.h"

/* Attributes in the making, in ascending order. */
struct v4f {
	fattr4 f;
	uint8_t buf[1024];
	struct cursor c;
};

static inline void v4f_begin(struct v4f *s)
{
	memset(s, 0, sizeof(*s));
	cursor_init(&s->c, s->buf, sizeof(s->buf));
	s->f.attr_vals.attrlist4_val = (char *)s->buf;
}

/* The next attribute: its value is to be put at the cursor, then v4f_end(). */
static inline struct cursor *v4f_add(struct v4f *s, unsigned attr)
{
	s->f.attrmask.bitmap4_val[attr / 32] |= UINT32_C(1) << attr % 32;
	if (s->f.attrmask.bitmap4_len < attr / 32 + 1)
		s->f.attrmask.bitmap4_len = attr / 32 + 1;
	return &s->c;
}

static inline fattr4 v4f_end(struct v4f *s)
{
	s->f.attr_vals.attrlist4_len = (uint32_t)cursor_pos(&s->c);
	return s->f;
}

static inline fattr4 v4f_u32(struct v4f *s, unsigned attr, uint32_t v)
{
	v4f_begin(s);
	cursor_put_u32(v4f_add(s, attr), v);
	return v4f_end(s);
}

static inline fattr4 v4f_u64(struct v4f *s, unsigned attr, uint64_t v)
{
	v4f_begin(s);
	cursor_put_u64(v4f_add(s, attr), v);
	return v4f_end(s);
}

static inline bool v4f_has(const fattr4 *f, unsigned attr)
{
	return attr / 32 < f->attrmask.bitmap4_len &&
	       (f->attrmask.bitmap4_val[attr / 32] >> attr % 32 & 1);
}

/* What GETATTR told, with a cursor on the values; NULL when it failed. */
static inline const fattr4 *v4f_got(struct v4c *c, struct cursor *vals)
{
	const nfs_resop4 *r = v4c_res(c, OP_GETATTR);
	const fattr4 *f;

	if (!r || r->nfs_resop4_u.opgetattr.status)
		return NULL;
	f = &r->nfs_resop4_u.opgetattr.GETATTR4res_u.resok4.obj_attributes;
	cursor_init_const(vals, f->attr_vals.attrlist4_val, f->attr_vals.attrlist4_len);
	return f;
}

/* One attribute of 4 or 8 bytes of the object; ~0 when it is not told. */
static inline uint64_t v4f_number(struct v4c *c, const struct v4c_fh *fh, unsigned attr)
{
	struct cursor vals;
	const fattr4 *f;
	uint32_t w[3] = {0};

	w[attr / 32] = UINT32_C(1) << attr % 32;
	v4c_begin(c);
	v4c_putfh(c, fh);
	v4c_getattr(c, w[0], w[1], w[2]);
	if (v4c_run(c))
		return UINT64_MAX;
	f = v4f_got(c, &vals);
	if (!f || !v4f_has(f, attr))
		return UINT64_MAX;
	return cursor_left(&vals) == 4 ? cursor_get_u32(&vals) : cursor_get_u64(&vals);
}

/* --- one object of each type --- */

enum { V4F_FILE, V4F_DIR, V4F_LINK, V4F_BLOCK, V4F_CHAR, V4F_FIFO, V4F_SOCKET, V4F_TYPES };

static const struct {
	const char *name;
	uint32_t type;
} v4f_types[V4F_TYPES] = {
	{"file", NF4REG}, {"dir", NF4DIR},   {"link", NF4LNK},    {"block", NF4BLK},
	{"char", NF4CHR}, {"fifo", NF4FIFO}, {"socket", NF4SOCK},
};

/* Made on the server's side, in `dir`.  0 or -errno. */
static inline int v4f_make(const char *dir, int type)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char path[4096];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", dir, v4f_types[type].name);
	switch (type) {
	case V4F_DIR:
		return mkdir(path, 0755) ? -errno : 0;
	case V4F_LINK:
		return symlink("/where/it/leads", path) ? -errno : 0;
	case V4F_SOCKET:
		if (strlen(path) >= sizeof(un.sun_path))
			return -ENAMETOOLONG;
		strcpy(un.sun_path, path);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		rc = fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) ? -errno : 0;
		close(fd);
		return rc;
	default:
		return mknod(path,
			     (type == V4F_BLOCK  ? S_IFBLK
			      : type == V4F_CHAR ? S_IFCHR
			      : type == V4F_FIFO ? S_IFIFO
						 : S_IFREG) | 0644,
			     makedev(1, 3))
			       ? -errno
			       : 0;
	}
}

/* The handle of `name` in `dir`: the status of LOOKUP. */
static inline uint32_t v4f_lookup(struct v4c *c, const struct v4c_fh *dir, const char *name,
				  struct v4c_fh *out)
{
	uint32_t status;

	v4c_begin(c);
	v4c_putfh(c, dir);
	v4c_lookup(c, name);
	v4c_getfh(c);
	status = v4c_run(c);
	return status ? status : v4c_keep_fh(c, out) ? 0 : V4C_BROKEN;
}

#endif
