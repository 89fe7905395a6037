/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* READDIR (RFC 8881 s.18.23), of directories and of the pseudo file system. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/nfs4_attr.h"
#include "nfsd-io/proto/nfs4_target.h"
#include "nfsd-io/proto/status.h"

#define GETDENTS_LEN (16 << 10)
#define PAGE_MAX (256u << 10) /* bytes; so long nobody waits for one READDIR */
#define PAGE_EMPTY 16	      /* verifier, end of list, eof */
/* 1 and 2 are reserved; a file system may well use them. */
#define COOKIE_SHIFT 2

struct page {
	uint64_t cookie;
	uint32_t dir_max, max; /* bytes: of names and cookies, of all */
	struct v4_attrs asked;
	uint32_t used, dir_used, entries;
	bool eof;
};

/* One entry's attributes, or why there are none. */
struct entry {
	uint64_t cookie;
	const char *name;
	uint32_t status;
	struct v4_object o;
	struct fh fh;
};

/* NFS4_OK, or TOOSMALL: the page is full. */
static uint32_t put_entry(struct req *r, struct page *p, const struct entry *e)
{
	static const struct v4_attrs error_only = {{UINT32_C(1) << FATTR4_RDATTR_ERROR}};
	uint32_t len = (uint32_t)strlen(e->name), info = 12 + ((len + 3) & ~3u), n;
	size_t at = cursor_pos(&r->reply);
	uint32_t status = v4_room(r, 4 + info + v4_attr_room(&p->asked, &e->o) + 8);

	if (status)
		return p->entries ? (uint32_t)NFS4ERR_TOOSMALL : status;
	/* A hint, and a page of nothing would send the client round for ever. */
	if (p->dir_max && p->entries && p->dir_used + info > p->dir_max)
		return NFS4ERR_TOOSMALL;
	cursor_put_bool(&r->reply, true);
	cursor_put_u64(&r->reply, e->cookie);
	cursor_put_opaque(&r->reply, e->name, len);
	v4_attr_put(&r->reply, r, e->status ? &error_only : &p->asked, &e->o, e->status);
	n = (uint32_t)(cursor_pos(&r->reply) - at);
	if (p->used + n > p->max) {
		cursor_seek(&r->reply, at);
		return NFS4ERR_TOOSMALL;
	}
	p->used += n;
	p->dir_used += info;
	p->entries++;
	return NFS4_OK;
}

/* --- attributes of an entry --- */

static bool within(const struct v4_attrs *asked, bool fileid_too)
{
	struct v4_attrs few = {{0}};

	v4_attr_add(&few, FATTR4_RDATTR_ERROR);
	v4_attr_add(&few, FATTR4_MOUNTED_ON_FILEID);
	if (fileid_too)
		v4_attr_add(&few, FATTR4_FILEID);
	return v4_attr_within(asked, &few);
}

/*
 * Names and numbers alone stand in the directory already.  A directory may be the root of
 * something else, and then has other numbers.
 */
static bool known_already(const struct req *r, const struct page *p, const struct dirent64 *d)
{
	bool may_be_root = d->d_type == DT_DIR || d->d_type == DT_UNKNOWN;

	if (!p->asked.word[0] && !p->asked.word[1] && !p->asked.word[2])
		return true;
	return within(&p->asked, !may_be_root) && (!may_be_root || r->table->n == 1);
}

static int export_root(struct req *r, struct page *p, struct export *x,
		       const struct export_client *c, struct entry *e)
{
	struct handle_parts parts = {.kind = HANDLE_ROOT, .root_id = x->root->id};
	int err = access_check_opts(r, &c->opts);

	memcpy(parts.fskey, x->root->fskey, sizeof(parts.fskey));
	if (!err)
		err = handle_encode(r->env->key, &parts, &e->fh);
	if (!err)
		err = v4_object_stat(&e->o, x, x->root->fd, &e->fh);
	if (!err && v4_attr_needs_space(&p->asked))
		err = v4_object_space(&e->o, x->root->fd);
	return err;
}

/*
 * A directory may be the root of another export, and the space of a file system takes a descriptor.
 */
static bool seen_at_a_glance(struct req *r, const struct page *p, int dirfd, struct entry *e)
{
	struct statx x;

	if (v4_attr_needs_space(&p->asked) ||
	    !handle_glance(r->env->key, r->export->root, dirfd, e->name, &x, &e->fh) ||
	    (S_ISDIR(x.stx_mode) && r->table->n > 1))
		return false;
	v4_object_seen(&e->o, r->export, &x, &e->fh);
	return true;
}

/* As the caller: who may list a directory but not search it is told names only. */
static int find_attributes(struct req *r, struct page *p, int dirfd, struct entry *e)
{
	struct v4_target t;
	int err;

	if (seen_at_a_glance(r, p, dirfd, e))
		return 0;
	err = v4_target_below(r, dirfd, e->name, &t);
	if (err)
		return err;
	if (t.client)
		return export_root(r, p, t.export, t.client, e);
	e->fh = t.fh;
	err = v4_object_found(&e->o, r->export, t.fd, &e->fh);
	if (!err && v4_attr_needs_space(&p->asked))
		err = v4_object_space(&e->o, t.fd);
	v4_target_fini(&t);
	return err;
}

/* Told at the end, for a look-up is done as the server. */
static uint32_t owners(struct req *r, const struct page *p, struct entry *e)
{
	return v4_attr_needs_owners(&p->asked) ? v4_object_owners(r, &e->o) : (uint32_t)NFS4_OK;
}

/* --- of a directory --- */

static uint32_t one(struct req *r, struct page *p, int dirfd, const struct dirent64 *d)
{
	struct entry e = {.cookie = (uint64_t)d->d_off + COOKIE_SHIFT, .name = d->d_name};
	int err = 0;

	if (object_is_dots(d->d_name))
		return NFS4_OK;
	if (known_already(r, p, d))
		e.o.mounted_on = e.o.st.st_ino = d->d_ino;
	else
		err = find_attributes(r, p, dirfd, &e);
	/* Gone since it was listed, or nothing that may be entered: not there. */
	if (err == -ENOENT || (err == -EXDEV && !v4_attr_has(&p->asked, FATTR4_RDATTR_ERROR)))
		return NFS4_OK;
	e.status = err == -EXDEV ? (uint32_t)NFS4ERR_ACCESS : status_nfs4(err);
	if (!e.status)
		e.status = owners(r, p, &e);
	if (!e.status)
		e.status = status_nfs4(act_as_caller(r));
	if (e.status && !v4_attr_has(&p->asked, FATTR4_RDATTR_ERROR))
		return e.status;
	return put_entry(r, p, &e);
}

static uint32_t fill(struct req *r, struct page *p, int fd)
{
	char buf[GETDENTS_LEN] __attribute__((aligned(8)));
	uint32_t status;

	for (;;) {
		long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));

		if (n < 0)
			return status_nfs4(-errno);
		p->eof = n == 0;
		if (p->eof)
			return NFS4_OK;
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(buf + at);

			status = one(r, p, fd, d);
			if (status)
				return status;
			at += d->d_reclen;
		}
	}
}

static uint32_t list(struct req *r, struct page *p)
{
	uint32_t status = v4_dir(r);
	int fd;

	if (!status)
		status = v4_as_caller(r);
	if (status)
		return status;
	fd = object_reopen(r->file->path_fd, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return status_nfs4(fd);
	if (p->cookie && lseek(fd, (off_t)(p->cookie - COOKIE_SHIFT), SEEK_SET) < 0)
		status = NFS4ERR_BAD_COOKIE; /* one this directory never gave */
	else
		status = fill(r, p, fd);
	close(fd);
	return status;
}

/* --- of the pseudo file system --- */

static int node_attributes(struct req *r, struct page *p, const struct pseudo_node *n,
			   struct entry *e)
{
	const struct export_client *c = n->export ? pseudo_usable(r, n->export) : NULL;

	if (c)
		return export_root(r, p, n->export, c, e);
	return pseudo_attributes(r, n, &e->fh, &e->o);
}

static uint32_t list_nodes(struct req *r, struct page *p)
{
	const struct pseudo_node *n = pseudo_current(r);
	uint32_t status = NFS4_OK;

	if (!n)
		return NFS4ERR_STALE;
	for (unsigned i = 0; i < n->nchildren && !status; i++) {
		struct entry e = {.cookie = n->children[i]->id, .name = n->children[i]->name};

		if (e.cookie <= p->cookie || !pseudo_visible(r, n->children[i]))
			continue;
		e.status = status_nfs4(node_attributes(r, p, n->children[i], &e));
		if (!e.status)
			e.status = owners(r, p, &e);
		if (e.status && !v4_attr_has(&p->asked, FATTR4_RDATTR_ERROR))
			return e.status;
		status = put_entry(r, p, &e);
	}
	p->eof = !status;
	return status;
}

/* --- READDIR --- */

static uint32_t get_args(struct req *r, struct page *p)
{
	struct v4_attrs known;
	uint64_t verf;
	uint32_t status;

	p->cookie = cursor_get_u64(&r->args);
	verf = cursor_get_u64(&r->args);
	p->dir_max = cursor_get_u32(&r->args);
	p->max = cursor_get_u32(&r->args);
	status = v4_get_attrs(&r->args, &p->asked);
	if (status)
		return status;
	if (p->cookie == 1 || p->cookie == 2 || p->cookie > (uint64_t)INT64_MAX + COOKIE_SHIFT ||
	    (!p->cookie && verf))
		return NFS4ERR_BAD_COOKIE;
	/* Ours is always 0. */
	if (verf)
		return NFS4ERR_NOT_SAME;
	if (v4_attr_writeonly(v4(r)->minor, &p->asked))
		return NFS4ERR_INVAL;
	v4_attr_supported(v4(r)->minor, &known);
	v4_attr_and(&p->asked, &known);
	if (p->max > PAGE_MAX)
		p->max = PAGE_MAX;
	return NFS4_OK;
}

uint32_t v4_readdir(struct req *r)
{
	struct page p = {.used = PAGE_EMPTY};
	uint32_t status = get_args(r, &p);

	if (!status && !v4_pseudo(r))
		status = v4_dir(r);
	if (!status)
		status = p.max < PAGE_EMPTY ? (uint32_t)NFS4ERR_TOOSMALL : v4_room(r, PAGE_EMPTY);
	if (status)
		return status;
	cursor_put_u64(&r->reply, 0);
	status = v4_pseudo(r) ? list_nodes(r, &p) : list(r, &p);
	cred_assume(NULL);
	/* A full page is an answer, too. */
	if (status && !(status == NFS4ERR_TOOSMALL && p.entries))
		return status;
	cursor_put_bool(&r->reply, false);
	cursor_put_bool(&r->reply, p.eof);
	return NFS4_OK;
}
