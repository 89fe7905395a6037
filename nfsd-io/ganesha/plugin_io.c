/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nfsd-io/ganesha/plugin.h"

/* A READ or WRITE from ganesha's call to its callback. */
struct call {
	struct fsal_obj_handle *obj;
	struct plugin_file *file;
	fsal_async_cb done;
	struct fsal_io_arg *arg;
	void *caller;
	struct gsh_export *gsh; /* counted */
	struct fsal_export *exp;
	/* the request's, which waits for us; inline: this very thread's */
	struct req_op_context *ctx;
};

/* Descriptors are short: the client shall come again, others close theirs meanwhile. */
static fsal_status_t status_of(int err)
{
	if (err >= 0)
		return fsalstat(ERR_FSAL_NO_ERROR, 0);
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		return fsalstat(ERR_FSAL_DELAY, -err);
	return fsalstat(posix2fsal_error(-err), -err);
}

/* Whose verifier can change. */
static bool is_v4(void)
{
	return op_ctx->nfs_vers == 4;
}

/* The export when the operation is for us. */
static struct plugin_export *ours(struct fsal_obj_handle *obj, const struct fsal_io_arg *arg)
{
	struct plugin_export *x = plugin_export_find(op_ctx->fsal_export);
	size_t len = 0;

	if (!x || obj->fsal != obj->fs->fsal || obj->type != REGULAR_FILE || !plugin_engine())
		return NULL;
	for (int i = 0; arg && i < arg->iov_count; i++)
		len += arg->iov[i].iov_len;
	return len <= PLUGIN_MAX_IO ? x : NULL;
}

/* A thread of the library's belongs to no request: the callback wants a context all the same. */
static void tell_with_context(struct call *c, fsal_status_t st)
{
	struct req_op_context ctx;

	init_op_context_simple(&ctx, c->gsh, c->exp);
	c->done(c->obj, st, c->arg, c->caller);
	release_op_context();
}

static void complete(struct call *c, fsal_status_t st)
{
	plugin_file_end(c->file);
	if (op_ctx == c->ctx) {
		put_gsh_export(c->gsh);
		c->done(c->obj, st, c->arg, c->caller);
	} else {
		tell_with_context(c, st);
	}
	free(c);
}

static void on_read(void *arg, const struct nfsdio_result *r)
{
	struct call *c = arg;

	c->arg->io_amount = r->res < 0 ? 0 : (size_t)r->res;
	c->arg->end_of_file = r->eof;
	complete(c, status_of(r->res));
}

static void note_failures(struct plugin_file *pf)
{
	if (nfsdio_file_sync_failures(pf->f))
		plugin_file_lose(pf);
}

static void on_write(void *arg, const struct nfsdio_result *r)
{
	struct call *c = arg;

	c->arg->io_amount = r->res < 0 ? 0 : (size_t)r->res;
	c->arg->fsal_stable = r->res >= 0 && r->committed != NFSDIO_UNSTABLE;
	if (r->res < 0) {
		note_failures(c->file);
		c->ctx->fsal_private = NULL;
	}
	complete(c, status_of(r->res));
}

/* The share reservations allow it, the file is open, and a call stands for it; else the failure. */
static fsal_status_t call_new(struct call **out, struct plugin_export *x,
			      struct fsal_obj_handle *obj, bool bypass, fsal_async_cb done,
			      struct fsal_io_arg *arg, void *caller, bool write)
{
	fsal_status_t st =
		plugin_check_share(obj, bypass, arg->state, write ? FSAL_O_WRITE : FSAL_O_READ);
	struct call *c;
	int ret;

	if (FSAL_IS_ERROR(st))
		return st;
	c = malloc(sizeof(*c));
	if (!c)
		return status_of(-ENOMEM);
	*c = (struct call){.obj = obj,
			   .done = done,
			   .arg = arg,
			   .caller = caller,
			   .gsh = op_ctx->ctx_export,
			   .exp = op_ctx->fsal_export,
			   .ctx = op_ctx};
	ret = plugin_file_begin(&c->file, obj, x, write);
	if (ret < 0) {
		free(c);
		return status_of(ret);
	}
	get_gsh_export_ref(c->gsh);
	*out = c;
	return st;
}

/*
 * It did not start: the callback is for us to call, on this thread, whose context is the request's.
 */
static void not_started(struct call *c, int err)
{
	c->ctx->fsal_private = NULL;
	plugin_file_end(c->file);
	put_gsh_export(c->gsh);
	c->done(c->obj, status_of(err), c->arg, c->caller);
	free(c);
}

void plugin_io_read(struct fsal_obj_handle *obj, bool bypass, fsal_async_cb done,
		    struct fsal_io_arg *arg, void *caller)
{
	struct plugin_export *x = arg->info ? NULL : ours(obj, arg);
	fsal_status_t st;
	struct call *c;
	int ret;

	if (!x) {
		plugin_ops_saved(obj)->read2(obj, bypass, done, arg, caller);
		return;
	}
	st = call_new(&c, x, obj, bypass, done, arg, caller, false);
	if (FSAL_IS_ERROR(st)) {
		done(obj, st, arg, caller);
		return;
	}
	ret = nfsdio_readv(c->file->f, arg->iov, arg->iov_count, arg->offset, on_read, c);
	if (ret < 0)
		not_started(c, ret);
}

/* 0 with the caller's identity (NULL: root's, which is ours), or -errno. */
static int caller_cred(const struct fsal_obj_handle *obj, struct nfsdio_cred **out)
{
	const struct user_cred *who = &op_ctx->creds;

	*out = NULL;
	if (plugin_one_user(obj->fsal))
		return fsal_set_credentials_only_one_user(who) ? 0 : -EPERM;
	if (who->caller_uid == 0)
		return 0;
	return nfsdio_cred_new(out, who->caller_uid, who->caller_gid, who->caller_garray,
			       who->caller_glen);
}

static int start_write(struct call *c)
{
	bool stable = c->arg->fsal_stable || (!is_v4() && atomic_load(&c->file->lost));
	struct nfsdio_cred *cred;
	int ret = caller_cred(c->obj, &cred);

	if (ret < 0)
		return ret;
	/* Asked for below, when the reply is made: see plugin_io_verifier(). */
	if (is_v4())
		c->ctx->fsal_private = (void *)(uintptr_t)nfsdio_verifier(plugin_engine());
	ret = nfsdio_writev(c->file->f, c->arg->iov, c->arg->iov_count, c->arg->offset,
			    stable ? NFSDIO_FILE_SYNC : NFSDIO_UNSTABLE, cred, on_write, c);
	nfsdio_cred_free(cred);
	return ret;
}

void plugin_io_write(struct fsal_obj_handle *obj, bool bypass, fsal_async_cb done,
		     struct fsal_io_arg *arg, void *caller)
{
	struct plugin_export *x = ours(obj, arg);
	fsal_status_t st;
	struct call *c;
	int ret;

	if (!x) {
		plugin_ops_saved(obj)->write2(obj, bypass, done, arg, caller);
		return;
	}
	st = call_new(&c, x, obj, bypass, done, arg, caller, true);
	if (FSAL_IS_ERROR(st)) {
		done(obj, st, arg, caller);
		return;
	}
	ret = start_write(c);
	if (ret < 0)
		not_started(c, ret);
}

_Static_assert(sizeof(void *) >= sizeof(uint64_t),
	       "a verifier fits where a request keeps a pointer");

/*
 * A WRITE tells the verifier of before it began: had a flush failed since, its
 * bytes may be among those lost, and only an older verifier says so.  The
 * request carries it from plugin_io_write() to here; a COMMIT carries none.
 */
void plugin_io_verifier(struct fsal_export *exp, struct gsh_buffdesc *out)
{
	struct nfsdio *n = plugin_engine();
	uint64_t v;

	if (!n) {
		plugin_export_find(exp)->saved.get_write_verifier(exp, out);
		return;
	}
	v = (uintptr_t)op_ctx->fsal_private;
	op_ctx->fsal_private = NULL;
	if (!v)
		v = nfsdio_verifier(n);
	memset(out->addr, 0, out->len);
	memcpy(out->addr, &v, out->len < sizeof(v) ? out->len : sizeof(v));
}

struct waiter {
	int fd, res;
};

static void on_commit(void *arg, const struct nfsdio_result *r)
{
	struct waiter *w = arg;

	w->res = r->res;
	eventfd_write(w->fd, 1);
}

/* ganesha's COMMIT is a function that returns when it is done. */
static int commit_and_wait(struct plugin_file *pf, uint64_t offset, uint32_t count)
{
	struct waiter w = { eventfd(0, EFD_CLOEXEC), 0 };
	eventfd_t one;
	int ret;

	if (w.fd < 0)
		return -errno;
	ret = nfsdio_commit(pf->f, offset, count, on_commit, &w);
	if (ret == 0) {
		while (eventfd_read(w.fd, &one) < 0)
			;
		ret = w.res;
	}
	close(w.fd);
	return ret;
}

fsal_status_t plugin_io_commit(struct fsal_obj_handle *obj, off_t offset, size_t len)
{
	struct plugin_export *x = ours(obj, NULL);
	struct plugin_file *pf;
	int ret;

	if (!x)
		return plugin_ops_saved(obj)->commit2(obj, offset, len);
	ret = plugin_file_begin(&pf, obj, x, false);
	if (ret < 0)
		return status_of(ret);
	ret = commit_and_wait(pf, (uint64_t)offset, len > UINT32_MAX ? 0 : (uint32_t)len);
	/* Another's flush may have failed beside ours, which then found nothing left to report. */
	note_failures(pf);
	if (ret == 0 && !is_v4() && atomic_load(&pf->lost))
		ret = -EIO;
	plugin_file_end(pf);
	return status_of(ret);
}
