/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CREATE: everything but regular files (RFC 8881 s.18.4). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nfsd-io/proto/nfs4_attr.h"
#include "nfsd-io/proto/status.h"

struct create {
	uint32_t type, dev[2];
	char target[PATH_MAX]; /* of a symbolic link */
	char name[NAME_MAX + 1];
	struct v4_sattr attrs;
};

static uint32_t get_target(struct cursor *args, char target[PATH_MAX])
{
	uint32_t len;
	const uint8_t *text = cursor_get_opaque(args, UINT32_MAX, &len);

	if (!cursor_ok(args))
		return NFS4ERR_BADXDR;
	if (!len || memchr(text, '\0', len))
		return NFS4ERR_INVAL;
	if (len >= PATH_MAX)
		return NFS4ERR_NAMETOOLONG;
	memcpy(target, text, len);
	target[len] = '\0';
	return NFS4_OK;
}

static uint32_t get_create(struct req *r, struct create *c)
{
	uint32_t status = NFS4_OK;

	c->type = cursor_get_u32(&r->args);
	if (c->type == NF4LNK)
		status = get_target(&r->args, c->target);
	else if (c->type == NF4BLK || c->type == NF4CHR)
		for (int i = 0; i < 2; i++)
			c->dev[i] = cursor_get_u32(&r->args);
	if (!status)
		status = v4_get_name(&r->args, c->name);
	if (!status)
		status = v4_sattr_get(r, &r->args, V4_SATTR_NEW, &c->attrs);
	if (status)
		return status;
	/* Only what is regular has a size to be set; the mode of a link means nothing. */
	c->attrs.s.set_size = false;
	c->attrs.asked.word[0] &= ~(UINT32_C(1) << FATTR4_SIZE);
	return c->type == NF4REG || c->type > NF4FIFO || !c->type ? NFS4ERR_BADTYPE : NFS4_OK;
}

static int make(struct req *r, const struct create *c)
{
	const struct sattr *a = &c->attrs.s;

	switch (c->type) {
	case NF4DIR:
		return act_mkdir(r, c->name, a);
	case NF4LNK:
		return act_symlink(r, c->name, c->target, a);
	case NF4FIFO:
		return act_mknod(r, c->name, S_IFIFO, 0, a);
	case NF4SOCK:
		return act_mknod(r, c->name, S_IFSOCK, 0, a);
	default:
		return act_mknod(r, c->name, c->type == NF4CHR ? S_IFCHR : S_IFBLK,
				 makedev(c->dev[0], c->dev[1]), a);
	}
}

/* Made and stable; its handle. */
static uint32_t carry_out(struct req *r, const struct create *c, struct fh *fh)
{
	uint32_t status = v4_dir(r);
	int fd, err;

	if (!status)
		status = v4_as_caller(r);
	if (status)
		return status;
	fd = make(r, c);
	cred_assume(NULL);
	if (fd < 0)
		return status_nfs4(fd);
	err = act_finish(r, c->name, fd, fh);
	close(fd);
	return err ? status_nfs4(err) : fh->len ? NFS4_OK : NFS4ERR_SERVERFAULT;
}

static uint32_t create(struct req *r, struct create *c)
{
	struct handle_parts p;
	uint64_t before;
	struct fh fh;
	uint32_t status = get_create(r, c);

	if (!status)
		status = v4_dir(r);
	if (status)
		return status;
	before = v4_change_now(r->file);
	status = carry_out(r, c, &fh);
	if (!status)
		status = status_nfs4(handle_decode(r->env->key, fh.data, fh.len, &p));
	if (status)
		return status;
	v4_put_change_info(&r->reply, before, v4_change_now(r->file));
	v4_put_attrs(&r->reply, &c->attrs.asked);
	v4_set_fh(r, &fh, &p, NULL);
	return NFS4_OK;
}

uint32_t v4_create(struct req *r)
{
	struct create *c = malloc(sizeof(*c));
	uint32_t status = c ? create(r, c) : (uint32_t)NFS4ERR_DELAY;

	cred_assume(NULL);
	free(c);
	return status;
}
