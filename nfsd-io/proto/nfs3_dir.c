/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * READDIR and READDIRPLUS.  A cookie is the kernel's d_off, the place behind
 * an entry, so any entry can be resumed from; the verifier is always 0, since
 * no change to a directory makes such a cookie invalid.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nfsd-io/core/attr.h"
#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/nfs3_page.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v3.h"

#define GETDENTS_LEN (16 << 10)

struct dir_call {
	bool plus;
	uint64_t cookie;
	struct v3_page page;
	struct cursor out; /* over the buffer: entries only */
	bool eof;
	bool have_st;
	struct stat st;
};
static_assert(sizeof(struct dir_call) <= sizeof(((struct req *)0)->proc_data),
	      "READDIR fits its request");

static struct dir_call *dir_call(struct req *r)
{
	return (struct dir_call *)&r->proc_data;
}

/* What READDIRPLUS adds to an entry; either may be missing. */
struct extra {
	bool have_st;
	struct stat st;
	struct fh fh; /* len 0: none */
};

static uint32_t extra_len(const struct extra *x)
{
	return 4 + (x->have_st ? 84 : 0) + 4 + (x->fh.len ? 4 + ((x->fh.len + 3u) & ~3u) : 0);
}

/* As the caller: who may list a directory but not search it gets names only. */
static void find_extra(struct req *r, int dirfd, const char *name, struct extra *x)
{
	struct root *root = r->export->root;
	struct statx attrs;
	int fd;

	x->have_st = !object_is_dots(name) &&
		     handle_glance(r->env->key, root, dirfd, name, &attrs, &x->fh);
	if (x->have_st) {
		attr_of_statx(&x->st, &attrs);
		return;
	}
	x->fh.len = 0;
	fd = object_lookup(root, dirfd, name);
	if (fd < 0)
		return;
	object_tell(r->env->key, root, dirfd, name, fd, &x->st, &x->have_st, &x->fh);
	close(fd);
}

static uint64_t entry_fileid(struct req *r, const struct dir_call *d, const struct dirent64 *e)
{
	const struct root *root = r->export->root;

	/* Nothing above the root is told, not even a number. */
	if (!strcmp(e->d_name, "..") && d->have_st && d->st.st_ino == root->ino &&
	    d->st.st_dev == root->dev)
		return root->ino;
	return e->d_ino;
}

/* False: the page is full. */
static bool put_entry(struct req *r, int dirfd, const struct dirent64 *e)
{
	struct dir_call *d = dir_call(r);
	uint32_t len = (uint32_t)strlen(e->d_name);
	struct extra x = {0}; /* without READDIRPLUS there is nothing more */

	if (d->plus)
		find_extra(r, dirfd, e->d_name, &x);
	if (!v3_page_take(&d->page, len, d->plus ? extra_len(&x) : 0))
		return false;
	cursor_put_bool(&d->out, true);
	cursor_put_u64(&d->out, d->plus && x.have_st ? x.st.st_ino : entry_fileid(r, d, e));
	cursor_put_opaque(&d->out, e->d_name, len);
	cursor_put_u64(&d->out, (uint64_t)e->d_off);
	if (!d->plus)
		return true;
	v3_put_post(&d->out, r->export->root, x.have_st ? &x.st : NULL);
	cursor_put_bool(&d->out, x.fh.len > 0);
	if (x.fh.len)
		cursor_put_opaque(&d->out, x.fh.data, x.fh.len);
	return true;
}

static int fill_page(struct req *r, int fd)
{
	char buf[GETDENTS_LEN] __attribute__((aligned(8)));
	struct dir_call *d = dir_call(r);

	for (;;) {
		long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));

		if (n < 0)
			return -errno;
		if (n == 0) {
			d->eof = true;
			return 0;
		}
		for (long at = 0; at < n;) {
			const struct dirent64 *e = (const struct dirent64 *)(buf + at);

			if (!put_entry(r, fd, e))
				return 0;
			at += e->d_reclen;
		}
	}
}

static int list(struct req *r)
{
	struct dir_call *d = dir_call(r);
	int fd, err;

	err = act_as_caller(r);
	if (err)
		return err;
	fd = object_reopen(r->file->path_fd, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	if (d->cookie && lseek(fd, (off_t)d->cookie, SEEK_SET) < 0)
		err = -EILSEQ; /* a cookie this directory never gave */
	else
		err = fill_page(r, fd);
	close(fd);
	return err;
}

static void dir_work(struct req *r)
{
	struct dir_call *d = dir_call(r);

	r->err = access_cred(r);
	if (!r->err)
		r->err = fdcache_open(r->env->files, r->export->root, &r->fh, &r->parts, FILE_PATH,
				      &r->file);
	if (r->err)
		return;
	d->have_st = !fstat(r->file->path_fd, &d->st);
	r->err = v3_need_dir(r->file);
	if (!r->err)
		r->err = list(r);
	cred_assume(NULL);
	d->have_st = !fstat(r->file->path_fd, &d->st);
}

static enum req_step_result dir_reply(struct req *r)
{
	struct dir_call *d = dir_call(r);
	uint32_t status = r->err == -EILSEQ ? NFS3ERR_BAD_COOKIE : status_nfs3(r->err, r->hdr.proc);

	if (!status && !d->page.entries && !d->eof)
		status = NFS3ERR_TOOSMALL;
	v3_reply_status(r, status, 0);
	v3_put_post(&r->reply, r->export->root, d->have_st ? &d->st : NULL);
	if (status)
		return STEP_REPLY;
	cursor_put_u64(&r->reply, 0);
	cursor_put_bool(&d->out, false);
	cursor_put_bool(&d->out, d->eof);
	if (!cursor_ok(&d->out))
		r->reply.bad = true;
	r->data = d->out.base;
	r->data_len = (uint32_t)cursor_pos(&d->out);
	return STEP_REPLY;
}

static enum req_step_result dir_start(struct req *r)
{
	struct dir_call *d = dir_call(r);

	cursor_init(&d->out, r->data_buf->base, r->data_buf->size);
	return req_offload(r, dir_work, dir_reply);
}

static enum req_step_result dir_begin(struct req *r, uint32_t max, uint32_t dir_max)
{
	struct dir_call *d = dir_call(r);
	size_t most = pool_max(r->pool);

	if (most > r->env->max_read)
		most = r->env->max_read;
	if (max > most)
		max = (uint32_t)most;
	if (!v3_page_init(&d->page, max, dir_max)) {
		v3_reply_status(r, NFS3ERR_TOOSMALL, 0);
		v3_put_post(&r->reply, r->export->root, NULL);
		return STEP_REPLY;
	}
	return v3_borrow(r, max, dir_start);
}

/* Cookie and verifier as decoded; STEP_MORE when they may be used. */
static enum req_step_result check_cookie(struct req *r, uint64_t cookie, uint64_t verf)
{
	dir_call(r)->cookie = cookie;
	if (cookie <= INT64_MAX && (!cookie || !verf))
		return STEP_MORE;
	v3_reply_status(r, NFS3ERR_BAD_COOKIE, 0);
	v3_put_post(&r->reply, r->export->root, NULL);
	return STEP_REPLY;
}

static enum req_step_result dir_call_begin(struct req *r, bool plus)
{
	enum req_step_result res;
	uint32_t len, dir_max = 0, max;
	const uint8_t *fh = v3_get_fh(&r->args, &len);
	uint64_t cookie = cursor_get_u64(&r->args), verf = cursor_get_u64(&r->args);

	if (plus)
		dir_max = cursor_get_u32(&r->args);
	max = cursor_get_u32(&r->args);
	if (!cursor_ok(&r->args))
		return req_garbage(r);
	dir_call(r)->plus = plus;
	res = v3_enter(r, fh, len, false, 1);
	if (res == STEP_MORE)
		res = check_cookie(r, cookie, verf);
	return res == STEP_MORE ? dir_begin(r, max, dir_max) : res;
}

enum req_step_result v3_readdir(struct req *r)
{
	return dir_call_begin(r, false);
}

enum req_step_result v3_readdirplus(struct req *r)
{
	return dir_call_begin(r, true);
}
