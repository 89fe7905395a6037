/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "nfsd-io/ganesha/plugin.h"

/*
 * Found by object.  A bucket's lock guards all of its files; system calls are
 * made without it, by whoever has made himself alone with the file.
 */
struct bucket {
	pthread_mutex_t lock;
	pthread_cond_t moved; /* an operation is over, or somebody is no longer alone */
	struct plugin_file *files;
};

#define BUCKETS 256
#define SHED_ROUNDS 2 /* of the clock hand: the first may only clear marks */

static struct bucket bucket[BUCKETS] = {
	[0 ... BUCKETS - 1] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL }
};
static _Atomic unsigned open_files, open_fds, hand;

static struct bucket *bucket_of(const struct fsal_obj_handle *obj)
{
	uintptr_t p = (uintptr_t)obj;

	return &bucket[(p >> 6 ^ p >> 14) % BUCKETS];
}

static struct plugin_file *find(struct bucket *b, const struct fsal_obj_handle *obj)
{
	struct plugin_file *pf;

	for (pf = b->files; pf && pf->obj != obj; pf = pf->next)
		;
	return pf;
}

static struct plugin_file *find_or_add(struct bucket *b, struct fsal_obj_handle *obj)
{
	struct plugin_file *pf = find(b, obj);

	if (pf)
		return pf;
	pf = calloc(1, sizeof(*pf));
	if (!pf)
		return NULL;
	pf->obj = obj;
	pf->fd = pf->direct_fd = -1;
	pf->lost = plugin_lost_has(obj);
	pf->next = b->files;
	b->files = pf;
	return pf;
}

/* Under the lock: first that nobody else may begin, then that all who began are over. */
static void be_alone(struct bucket *b, struct plugin_file *pf)
{
	while (pf->exclusive)
		pthread_cond_wait(&b->moved, &b->lock);
	pf->exclusive = true;
	while (pf->inflight)
		pthread_cond_wait(&b->moved, &b->lock);
}

static void no_longer_alone(struct bucket *b, struct plugin_file *pf)
{
	pf->exclusive = false;
	pthread_cond_broadcast(&b->moved);
}

/* --- alone with a file, without the lock -------------------------------------------------- */

/* ganesha's own count of descriptors, by which it decides when to ask for some back. */
static void count_fds(int n)
{
	__atomic_fetch_add(&open_fd_count, (size_t)n, __ATOMIC_SEQ_CST);
	atomic_fetch_add(&open_fds, (unsigned)n);
}

static void close_file(struct plugin_file *pf)
{
	struct nfsdio_stats s;
	int fds = (pf->fd >= 0) + (pf->direct_fd >= 0);

	if (!pf->f)
		return;
	if (nfsdio_file_sync(pf->f) < 0 || nfsdio_file_sync_failures(pf->f))
		plugin_file_lose(pf);
	nfsdio_file_stats(pf->f, &s);
	if (pf->by)
		plugin_export_count(pf->by, &s);
	nfsdio_file_close(pf->f);
	close(pf->fd);
	if (pf->direct_fd >= 0)
		close(pf->direct_fd);
	pf->f = NULL;
	pf->fd = pf->direct_fd = -1;
	atomic_fetch_sub(&open_files, 1);
	count_fds(-fds);
}

static int vfs_open(struct plugin_file *pf, struct plugin_export *x, int flags)
{
	fsal_errors_t unused;

	return x->open(plugin_vfs_of(pf->obj), flags | O_CLOEXEC | O_NOCTTY, &unused);
}

/*
 * For writing too, so that one pair of descriptors serves all;
 * to read what cannot be written, for reading.
 */
static int open_fds_of(struct plugin_file *pf, struct plugin_export *x, bool write)
{
	int access = O_RDWR;

	pf->fd = vfs_open(pf, x, access);
	if (!write &&
	    (pf->fd == -EROFS || pf->fd == -ETXTBSY || pf->fd == -EPERM || pf->fd == -EACCES)) {
		access = O_RDONLY;
		pf->fd = vfs_open(pf, x, access);
	}
	if (pf->fd < 0)
		return pf->fd;
	pf->writable = access == O_RDWR;
	pf->direct_fd = vfs_open(pf, x, access | O_DIRECT);
	if (pf->direct_fd == -EMFILE || pf->direct_fd == -ENFILE)
		return pf->direct_fd;
	if (pf->direct_fd < 0)
		pf->direct_fd = -1; /* no direct I/O there */
	return 0;
}

static int open_file(struct plugin_file *pf, struct plugin_export *x, bool write)
{
	struct nfsdio_file_params p;
	struct nfsdio *n = plugin_engine();
	int ret = n ? open_fds_of(pf, x, write) : -EIO;

	pf->generation = plugin_export_params(x, &p);
	if (ret == 0)
		ret = nfsdio_file_wrap(n, &pf->f, pf->fd, pf->direct_fd, &p);
	if (ret < 0) {
		if (pf->fd >= 0)
			close(pf->fd);
		if (pf->direct_fd >= 0)
			close(pf->direct_fd);
		pf->fd = pf->direct_fd = -1;
		return ret;
	}
	pf->by = x;
	atomic_fetch_add(&open_files, 1);
	count_fds(1 + (pf->direct_fd >= 0));
	return 0;
}

/* --- not too many ------------------------------------------------------------------------ */
static unsigned max_files(void)
{
	struct rlimit r;

	if (plugin.conf.max_files)
		return plugin.conf.max_files;
	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur > 1 << 20)
		return 1 << 18;
	return r.rlim_cur < 64 ? 8 : (unsigned)r.rlim_cur / 8;
}

/* In this bucket: an open file nobody uses, or has used since the hand was here. */
static struct plugin_file *idle(struct bucket *b)
{
	struct plugin_file *pf;

	for (pf = b->files; pf; pf = pf->next)
		if (pf->f && !pf->exclusive && !pf->inflight && !atomic_exchange(&pf->used, false))
			break;
	return pf;
}

/*
 * Close one file that is idle.  The caller holds no lock, and
 * is alone with at most one file, which is not open.
 */
static bool shed(void)
{
	for (unsigned i = 0; i < SHED_ROUNDS * BUCKETS; i++) {
		struct bucket *b = &bucket[atomic_fetch_add(&hand, 1) % BUCKETS];
		struct plugin_file *pf;

		pthread_mutex_lock(&b->lock);
		pf = idle(b);
		if (pf)
			pf->exclusive = true;
		pthread_mutex_unlock(&b->lock);
		if (!pf)
			continue;
		close_file(pf);
		pthread_mutex_lock(&b->lock);
		no_longer_alone(b, pf);
		pthread_mutex_unlock(&b->lock);
		return true;
	}
	return false;
}

/* --- for plugin_io.c and plugin_ops.c ------------------------------------------------------ */
static bool suits(const struct plugin_file *pf, const struct plugin_export *x, bool write)
{
	return pf->f && (pf->writable || !write) && pf->by == x &&
	       pf->generation == atomic_load(&x->generation);
}

/* Alone with it. */
static int make_suit(struct plugin_file *pf, struct plugin_export *x, bool write)
{
	struct nfsdio_file_params p;
	int ret;

	if (pf->f && (pf->writable || !write) && pf->by == x) {
		pf->generation = plugin_export_params(x, &p);
		return nfsdio_file_configure(pf->f, &p);
	}
	close_file(pf);
	while (atomic_load(&open_files) >= max_files() && shed())
		;
	ret = open_file(pf, x, write);
	if ((ret == -EMFILE || ret == -ENFILE) && shed())
		ret = open_file(pf, x, write);
	return ret;
}

int plugin_file_begin(struct plugin_file **out, struct fsal_obj_handle *obj,
		      struct plugin_export *x, bool write)
{
	struct bucket *b = bucket_of(obj);
	struct plugin_file *pf;
	int ret = 0;

	pthread_mutex_lock(&b->lock);
	pf = find_or_add(b, obj);
	if (!pf)
		ret = -ENOMEM;
	while (ret == 0) {
		while (pf->exclusive)
			pthread_cond_wait(&b->moved, &b->lock);
		if (suits(pf, x, write))
			break;
		be_alone(b, pf);
		pthread_mutex_unlock(&b->lock);
		ret = make_suit(pf, x, write);
		pthread_mutex_lock(&b->lock);
		no_longer_alone(b, pf);
	}
	if (ret == 0) {
		pf->inflight++;
		atomic_store(&pf->used, true);
		*out = pf;
	}
	pthread_mutex_unlock(&b->lock);
	return ret;
}

void plugin_file_end(struct plugin_file *pf)
{
	struct bucket *b = bucket_of(pf->obj);

	pthread_mutex_lock(&b->lock);
	if (--pf->inflight == 0 && pf->exclusive)
		pthread_cond_broadcast(&b->moved);
	pthread_mutex_unlock(&b->lock);
}

struct plugin_file *plugin_file_exclude(struct fsal_obj_handle *obj)
{
	struct bucket *b = bucket_of(obj);
	struct plugin_file *pf;

	pthread_mutex_lock(&b->lock);
	pf = find_or_add(b, obj);
	if (pf)
		be_alone(b, pf);
	pthread_mutex_unlock(&b->lock);
	return pf;
}

void plugin_file_readmit(struct plugin_file *pf)
{
	struct bucket *b = bucket_of(pf->obj);

	pthread_mutex_lock(&b->lock);
	no_longer_alone(b, pf);
	pthread_mutex_unlock(&b->lock);
}

void plugin_file_close(struct fsal_obj_handle *obj, bool forget)
{
	struct bucket *b = bucket_of(obj);
	struct plugin_file *pf, **at;

	pthread_mutex_lock(&b->lock);
	pf = find(b, obj);
	if (pf) {
		be_alone(b, pf);
		pthread_mutex_unlock(&b->lock);
		close_file(pf);
		pthread_mutex_lock(&b->lock);
		no_longer_alone(b, pf);
	}
	if (pf && forget) {
		for (at = &b->files; *at != pf; at = &(*at)->next)
			;
		*at = pf->next;
		free(pf);
	}
	pthread_mutex_unlock(&b->lock);
}

void plugin_file_lose(struct plugin_file *pf)
{
	if (!atomic_exchange(&pf->lost, true))
		plugin_lost_add(pf->obj);
}

/* Somebody alone with such a file may be about to count for `x`. */
static bool orphan_all(struct bucket *b, const struct plugin_export *x)
{
	bool busy = false;

	for (struct plugin_file *pf = b->files; pf; pf = pf->next) {
		if (pf->by != x)
			continue;
		busy |= pf->exclusive;
		if (!pf->exclusive)
			pf->by = NULL;
	}
	return !busy;
}

void plugin_file_orphan(struct plugin_export *x)
{
	for (struct bucket *b = bucket; b < bucket + BUCKETS; b++) {
		pthread_mutex_lock(&b->lock);
		while (!orphan_all(b, x))
			pthread_cond_wait(&b->moved, &b->lock);
		pthread_mutex_unlock(&b->lock);
	}
}

void plugin_file_sum(struct plugin_export *x, struct nfsdio_stats *sum)
{
	struct nfsdio_stats s;

	for (struct bucket *b = bucket; b < bucket + BUCKETS; b++) {
		pthread_mutex_lock(&b->lock);
		for (struct plugin_file *pf = b->files; pf; pf = pf->next) {
			if (pf->by != x || !pf->f || pf->exclusive)
				continue;
			nfsdio_file_stats(pf->f, &s);
			plugin_stats_add(sum, &s);
		}
		pthread_mutex_unlock(&b->lock);
	}
}

void plugin_file_counts(unsigned *files, unsigned *descriptors)
{
	*files = atomic_load(&open_files);
	*descriptors = atomic_load(&open_fds);
}
