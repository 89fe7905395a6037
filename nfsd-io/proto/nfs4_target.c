/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/proto/nfs4_target.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/status.h"

#define PATH_FLAGS (O_PATH | O_NOFOLLOW | O_CLOEXEC)

void v4_target_fini(struct v4_target *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

/* Another export with its root right there, if the caller may use it. */
static bool another_export(struct req *r, const struct stat *st, struct v4_target *t)
{
	for (unsigned i = 0; i < r->table->n; i++) {
		struct export *e = &r->table->exports[i];

		if (e == r->export || !e->root || e->root->ino != st->st_ino ||
		    e->root->dev != st->st_dev)
			continue;
		t->client = pseudo_usable(r, e);
		t->export = e;
		if (t->client)
			return true;
	}
	return false;
}

/* What is mounted at `name`: only an export may be entered. */
static int cross_mount(struct req *r, int dirfd, const char *name, struct v4_target *t)
{
	int fd = openat(dirfd, name, PATH_FLAGS);
	struct stat st;
	bool known;

	if (fd < 0)
		return -errno;
	known = !fstat(fd, &st) && another_export(r, &st, t);
	close(fd);
	return known ? 0 : -EXDEV;
}

int v4_target_below(struct req *r, int dirfd, const char *name, struct v4_target *t)
{
	struct root *root = r->export->root;
	struct stat st;
	int err;

	*t = (struct v4_target){.fd = -1, .export = r->export};
	t->fd = object_lookup(root, dirfd, name);
	if (t->fd == -EXDEV)
		return cross_mount(r, dirfd, name, t);
	if (t->fd < 0)
		return t->fd;
	if (r->table->n > 1 && !fstat(t->fd, &st) && S_ISDIR(st.st_mode) &&
	    another_export(r, &st, t)) {
		v4_target_fini(t);
		return 0;
	}
	t->export = r->export;
	err = handle_of_child(r->env->key, root, dirfd, name, t->fd, &t->fh);
	if (err)
		v4_target_fini(t);
	return err;
}

static uint32_t name_in_tree(struct req *r, const char *name, struct v4_target *t)
{
	const struct pseudo_node *n = pseudo_current(r);

	*t = (struct v4_target){.fd = -1};
	if (!n)
		return NFS4ERR_STALE;
	n = pseudo_child(n, name);
	if (!n || !pseudo_visible(r, n))
		return NFS4ERR_NOENT;
	t->node = n;
	return NFS4_OK;
}

/* A mount that is no export is closed to everybody. */
static uint32_t status_of(int err)
{
	return err == -EXDEV ? NFS4ERR_ACCESS : status_nfs4(err);
}

uint32_t v4_target_name(struct req *r, const char *name, struct v4_target *t)
{
	uint32_t status;

	if (v4_pseudo(r))
		return name_in_tree(r, name, t);
	status = v4_dir(r);
	if (!status)
		status = v4_as_caller(r);
	if (!status)
		status = status_of(v4_target_below(r, r->file->path_fd, name, t));
	cred_assume(NULL);
	return status;
}

/* --- up --- */

/*
 * The real directory that the node is, below the root of the export `a` stands for: as the server.
 */
static int dir_below(const struct pseudo_node *a, const struct pseudo_node *n)
{
	int up, fd;

	if (n == a) {
		fd = fcntl(a->export->root->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	up = dir_below(a, n->parent);
	if (up < 0)
		return up;
	fd = object_lookup(a->export->root, up, n->name);
	close(up);
	return fd;
}

/* `n` is above the root of an export: a directory of the export around it, or itself. */
static uint32_t above_root(struct req *r, const struct pseudo_node *n, struct v4_target *t)
{
	const struct pseudo_node *a = n;

	t->node = n;
	while (a && !(a->export && (t->client = pseudo_usable(r, a->export))))
		a = a->parent;
	if (!a || a == n)
		return NFS4_OK;
	t->fd = dir_below(a, n);
	/* Another file system lies between: the node will do. */
	if (t->fd < 0 || handle_of(r->env->key, a->export->root, t->fd, &t->fh)) {
		v4_target_fini(t);
		return NFS4_OK;
	}
	t->node = NULL;
	t->export = a->export;
	return NFS4_OK;
}

static bool at_root(const struct req *r)
{
	const struct root *root = r->export->root;
	struct stat st;

	return !fstat(r->file->path_fd, &st) && st.st_ino == root->ino && st.st_dev == root->dev;
}

static uint32_t parent_in_export(struct req *r, struct v4_target *t)
{
	struct root *root = r->export->root;
	uint32_t status = v4_as_caller(r);
	int err = 0;

	if (status)
		return status;
	t->export = r->export;
	t->fd = object_lookup(root, r->file->path_fd, "..");
	cred_assume(NULL);
	if (t->fd < 0)
		err = t->fd;
	else
		err = handle_of(r->env->key, root, t->fd, &t->fh);
	if (err)
		v4_target_fini(t);
	return status_of(err);
}

uint32_t v4_target_parent(struct req *r, struct v4_target *t)
{
	const struct pseudo_node *n;
	const struct pseudo *tree;
	uint32_t status;

	*t = (struct v4_target){.fd = -1};
	if (v4_pseudo(r)) {
		n = pseudo_current(r);
	} else {
		status = v4_dir(r);
		if (status)
			return status;
		if (!at_root(r))
			return parent_in_export(r, t);
		tree = pseudo_of(r->table);
		n = tree ? pseudo_of_export(tree, r->export) : NULL;
	}
	/* At the top, or of an export that is not in the tree. */
	return n && n->parent ? above_root(r, n->parent, t) : NFS4ERR_NOENT;
}

/* --- there --- */

const struct export_opts *v4_target_opts(struct req *r, const struct v4_target *t)
{
	const struct export_client *c = t->client;

	if (t->node)
		c = t->node->export ? pseudo_usable(r, t->node->export) : NULL;
	else if (!c)
		return r->opts;
	return c ? &c->opts : NULL;
}

uint32_t v4_target_enter(struct req *r, const struct v4_target *t)
{
	struct handle_parts p;
	uint32_t status = NFS4_OK;
	int err;

	if (t->node)
		return pseudo_enter(r, t->node);
	if (t->client)
		status = pseudo_enter_export(r, t->export, t->client);
	if (status || t->fd < 0)
		return status;
	err = handle_decode(r->env->key, t->fh.data, t->fh.len, &p);
	if (err)
		return status_nfs4(err);
	v4_set_fh(r, &t->fh, &p, NULL);
	return NFS4_OK;
}
