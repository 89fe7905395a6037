/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/core/file.h"
#include "nfsd-io/core/sync.h"

#define FDCACHE_SHARDS 64
#define FDCACHE_MAX 16384
#define FDCACHE_FILE_FDS 3 /* O_PATH, buffered, O_DIRECT */
#define FDCACHE_IDLE_NS 10000000000ull
#define FDCACHE_SCAN 16	   /* files of a shard looked at for one to evict */
#define FDCACHE_RETRIES 8  /* opens tried again after EMFILE */

/* Shard locks are leaves: nothing is called and no other lock taken under them. */
struct fdcache_shard {
	pthread_mutex_t lock;
	struct file **bucket;
	struct file *newest, *oldest; /* by last use */
	/* an open that began before one must look at the link count again */
	uint64_t forgets;
} __attribute__((aligned(64)));

struct fdcache {
	struct fdcache_params params;
	size_t buckets; /* a shard; power of two */
	_Atomic unsigned count, hand;
	_Atomic unsigned held; /* descriptors, as fdcache_cost() counts them */
	_Atomic uint64_t hits, misses, evictions, sync_failures;
	pthread_mutex_t live_lock;
	pthread_cond_t live_gone;
	unsigned live; /* files not yet closed, hashed or not; under live_lock */
	struct fdcache_shard shard[FDCACHE_SHARDS];
};

static uint64_t fdcache_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The handle ends in its MAC: as good a hash as can be, and not for clients to choose. */
static uint64_t fdcache_hash(const struct fh *fh)
{
	uint64_t h = 0;

	if (fh->len >= sizeof(h))
		memcpy(&h, fh->data + fh->len - sizeof(h), sizeof(h));
	return h;
}

static struct fdcache_shard *fdcache_shard_of(struct fdcache *c, const struct fh *fh)
{
	return &c->shard[fdcache_hash(fh) % FDCACHE_SHARDS];
}

static struct file **fdcache_bucket(struct fdcache *c, struct fdcache_shard *s, const struct fh *fh)
{
	return &s->bucket[fdcache_hash(fh) / FDCACHE_SHARDS & (c->buckets - 1)];
}

static unsigned fdcache_default_max(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur / 4 > FDCACHE_MAX)
		return FDCACHE_MAX;
	return lim.rlim_cur / 4 > 16 ? lim.rlim_cur / 4 : 16;
}

int fdcache_new(struct fdcache **out, const struct fdcache_params *p)
{
	struct fdcache *c = aligned_alloc(_Alignof(struct fdcache), sizeof(*c));

	if (!c)
		return -ENOMEM;
	memset(c, 0, sizeof(*c));
	c->params = *p;
	if (c->params.max_files == 0)
		c->params.max_files = fdcache_default_max();
	if (c->params.idle_ns == 0)
		c->params.idle_ns = FDCACHE_IDLE_NS;
	for (c->buckets = 1; c->buckets * FDCACHE_SHARDS < c->params.max_files; c->buckets *= 2)
		;
	pthread_mutex_init(&c->live_lock, NULL);
	pthread_cond_init(&c->live_gone, NULL);
	for (int i = 0; i < FDCACHE_SHARDS; i++)
		pthread_mutex_init(&c->shard[i].lock, NULL);
	for (int i = 0; i < FDCACHE_SHARDS; i++) {
		c->shard[i].bucket = calloc(c->buckets, sizeof(struct file *));
		if (!c->shard[i].bucket) {
			fdcache_free(c);
			return -ENOMEM;
		}
	}
	*out = c;
	return 0;
}

/* --- under the shard's lock --- */

static struct file *fdcache_find(struct fdcache *c, struct fdcache_shard *s, const struct fh *fh)
{
	struct file *f = *fdcache_bucket(c, s, fh);

	while (f && (f->fh.len != fh->len || memcmp(f->fh.data, fh->data, fh->len)))
		f = f->hash_next;
	return f;
}

/* Descriptors it has: one, or up to three. */
static unsigned fdcache_cost(const struct file *f)
{
	return f->access == FILE_PATH ? 1 : FDCACHE_FILE_FDS;
}

static void fdcache_unage(struct fdcache_shard *s, struct file *f)
{
	*(f->newer ? &f->newer->older : &s->newest) = f->older;
	*(f->older ? &f->older->newer : &s->oldest) = f->newer;
}

static void fdcache_age(struct fdcache_shard *s, struct file *f)
{
	f->used_ns = fdcache_now();
	f->newer = NULL;
	f->older = s->newest;
	*(s->newest ? &s->newest->newer : &s->oldest) = f;
	s->newest = f;
}

static void fdcache_touch(struct fdcache_shard *s, struct file *f)
{
	if (s->newest == f) {
		f->used_ns = fdcache_now();
		return;
	}
	fdcache_unage(s, f);
	fdcache_age(s, f);
}

/* Into the table, which takes a reference. */
static void fdcache_hash_in(struct fdcache *c, struct fdcache_shard *s, struct file *f)
{
	struct file **b = fdcache_bucket(c, s, &f->fh);

	f->hash_next = *b;
	*b = f;
	f->hashed = true;
	fdcache_age(s, f);
	c->count++;
	c->held += fdcache_cost(f);
	file_get(f);
}

/* Out of the table; its reference is the caller's now. */
static void fdcache_unhash(struct fdcache *c, struct fdcache_shard *s, struct file *f)
{
	struct file **p = fdcache_bucket(c, s, &f->fh);

	while (*p != f)
		p = &(*p)->hash_next;
	*p = f->hash_next;
	f->hash_next = NULL;
	f->hashed = false;
	fdcache_unage(s, f);
	c->count--;
	c->held -= fdcache_cost(f);
}

/* Nobody but the table has it: nobody can get it while we hold the lock. */
static bool fdcache_unused(const struct file *f)
{
	return f->refs == 1 && !f->cleaning;
}

/* --- closing --- */

static void fdcache_close(struct fdcache *c, struct file *f)
{
	if (file_close(f, c->params.verifier) < 0)
		c->sync_failures++;
	pthread_mutex_lock(&c->live_lock);
	if (--c->live == 0)
		pthread_cond_broadcast(&c->live_gone);
	pthread_mutex_unlock(&c->live_lock);
}

static struct file *fdcache_job_file(struct offload_job *job)
{
	return container_of(job, struct file, job);
}

static void fdcache_close_job(struct offload_job *job)
{
	struct file *f = fdcache_job_file(job);

	fdcache_close(f->cache, f);
}

static void fdcache_submit(struct fdcache *c, struct file *f, void (*run)(struct offload_job *))
{
	f->job = (struct offload_job){ .run = run };
	offload_submit(c->params.offload, &f->job);
}

void fdcache_release(struct fdcache *c, struct file *f)
{
	fdcache_submit(c, f, fdcache_close_job);
}

/* As file_put, for threads that may block. */
static void fdcache_put_here(struct fdcache *c, struct file *f)
{
	if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1)
		fdcache_close(c, f);
}

/*
 * A file with unstable data is synced while it can still be found: whoever
 * opened it anew meanwhile would see the error already taken by this sync, and
 * COMMIT would say yes.  It is then dropped, unless it was used again.
 */
static void fdcache_clean(struct fdcache *c, struct file *f)
{
	struct fdcache_shard *s = fdcache_shard_of(c, &f->fh);
	bool failed = sync_now(f, c->params.verifier) < 0, drop;

	if (failed)
		c->sync_failures++;
	pthread_mutex_lock(&s->lock);
	f->cleaning = false;
	drop = f->hashed && f->refs == 2 && (failed || f->unsynced == 0);
	if (drop) {
		/* lost, and the verifier said so: nothing to try again when closing */
		f->unsynced = 0;
		fdcache_unhash(c, s, f);
	}
	pthread_mutex_unlock(&s->lock);
	if (drop)
		fdcache_put_here(c, f);
	fdcache_put_here(c, f);
}

static void fdcache_clean_job(struct offload_job *job)
{
	struct file *f = fdcache_job_file(job);

	fdcache_clean(f->cache, f);
}

/*
 * Under the lock: take an unused file out, or mark a dirty one to be cleaned.
 * Either way the caller has a reference and calls fdcache_dispose().
 */
static void fdcache_take(struct fdcache *c, struct fdcache_shard *s, struct file *f)
{
	c->evictions++;
	if (f->unsynced == 0) {
		fdcache_unhash(c, s, f);
		return;
	}
	f->cleaning = true;
	file_get(f);
}

static void fdcache_dispose(struct fdcache *c, struct file *f, bool may_block)
{
	if (f->cleaning && may_block)
		fdcache_clean(c, f);
	else if (f->cleaning)
		fdcache_submit(c, f, fdcache_clean_job);
	else if (may_block)
		fdcache_put_here(c, f);
	else
		file_put(f);
}

static struct file *fdcache_victim(struct fdcache *c, struct fdcache_shard *s, bool clean)
{
	struct file *f;
	int left = FDCACHE_SCAN;

	pthread_mutex_lock(&s->lock);
	f = s->oldest;
	while (f && left > 0 && (!fdcache_unused(f) || (clean && f->unsynced))) {
		f = f->newer;
		left--;
	}
	if (left == 0)
		f = NULL;
	if (f)
		fdcache_take(c, s, f);
	pthread_mutex_unlock(&s->lock);
	return f;
}

/*
 * The least used of the first shard that has one to give,
 * shards in turn; one to sync only when all are such.
 */
static bool fdcache_evict(struct fdcache *c, bool may_block)
{
	for (int i = 0; i < 2 * FDCACHE_SHARDS; i++) {
		struct fdcache_shard *s = &c->shard[c->hand++ % FDCACHE_SHARDS];
		struct file *f = fdcache_victim(c, s, i < FDCACHE_SHARDS);

		if (f) {
			fdcache_dispose(c, f, may_block);
			return true;
		}
	}
	return false;
}

static unsigned fdcache_evict_some(struct fdcache *c, unsigned want, bool may_block)
{
	unsigned n = 0;

	while (n < want && fdcache_evict(c, may_block))
		n++;
	return n;
}

/* One that was used again while it was synced stays: it is not waited for. */
static void fdcache_fit(struct fdcache *c)
{
	unsigned max = c->params.max_files * FDCACHE_FILE_FDS,
		 over = c->held > max ? c->held - max : 0;

	for (; over && c->held > max; over--)
		fdcache_evict(c, true);
}

/* --- finding and opening --- */

struct file *fdcache_peek(struct fdcache *c, const struct fh *fh, enum file_access a)
{
	struct fdcache_shard *s = fdcache_shard_of(c, fh);
	struct file *f;

	pthread_mutex_lock(&s->lock);
	f = fdcache_find(c, s, fh);
	if (f && f->access >= a) {
		fdcache_touch(s, f);
		file_get(f);
		c->hits++;
	} else {
		f = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return f;
}

static int fdcache_open_new(struct fdcache *c, struct root *r, const struct fh *fh,
			    const struct handle_parts *p, enum file_access a, struct file **out)
{
	int rc = file_open(out, c, r, fh, p, a);

	for (int i = 0; i < FDCACHE_RETRIES && (rc == -EMFILE || rc == -ENFILE); i++) {
		if (fdcache_evict_some(c, 8, true) == 0)
			break;
		rc = file_open(out, c, r, fh, p, a);
	}
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&c->live_lock);
	c->live++;
	pthread_mutex_unlock(&c->live_lock);
	return 0;
}

/*
 * Put `f`, just opened, into the table, or find that another thread was
 * faster.  Called with the lock; gives the file to use and in *loser one
 * whose reference is to be put after unlocking, or NULL.
 */
static struct file *fdcache_settle(struct fdcache *c, struct fdcache_shard *s, struct file *f,
				   struct file **loser)
{
	struct file *old = fdcache_find(c, s, &f->fh);

	*loser = f;
	if (old && old->access >= f->access && old->root == f->root) {
		fdcache_touch(s, old);
		return file_get(old);
	}
	*loser = NULL;
	if (f->root->retired)
		return f; /* a request that began before the reload: for itself alone */
	*loser = old;
	if (old)
		fdcache_unhash(c, s, old);
	fdcache_hash_in(c, s, f);
	return f;
}

/* `forgets` is the shard's count from before the file was opened; takes `f`. */
static int fdcache_insert(struct fdcache *c, struct file *f, uint64_t forgets, struct file **out)
{
	struct fdcache_shard *s = fdcache_shard_of(c, &f->fh);
	struct file *loser;
	int rc;

	pthread_mutex_lock(&s->lock);
	while (s->forgets != forgets) {
		forgets = s->forgets;
		pthread_mutex_unlock(&s->lock);
		rc = file_linked(f);
		if (rc < 0) {
			fdcache_put_here(c, f);
			return rc;
		}
		pthread_mutex_lock(&s->lock);
	}
	*out = fdcache_settle(c, s, f, &loser);
	pthread_mutex_unlock(&s->lock);
	if (loser)
		fdcache_put_here(c, loser);
	fdcache_fit(c);
	return 0;
}

int fdcache_open(struct fdcache *c, struct root *r, const struct fh *fh,
		 const struct handle_parts *p, enum file_access a, struct file **out)
{
	struct fdcache_shard *s = fdcache_shard_of(c, fh);
	struct file *f = fdcache_peek(c, fh, a);
	uint64_t forgets;
	int rc;

	if (f && f->root == r) {
		*out = f;
		return 0;
	}
	if (f) {
		/* Of a root since replaced: what is unstable there first, then a new one. */
		if (sync_now(f, c->params.verifier) < 0)
			c->sync_failures++;
		fdcache_put_here(c, f);
	}
	c->misses++;
	pthread_mutex_lock(&s->lock);
	forgets = s->forgets;
	pthread_mutex_unlock(&s->lock);
	rc = fdcache_open_new(c, r, fh, p, a, &f);
	return rc < 0 ? rc : fdcache_insert(c, f, forgets, out);
}

/* --- dropping --- */

void fdcache_forget(struct fdcache *c, const struct fh *fh)
{
	struct fdcache_shard *s = fdcache_shard_of(c, fh);
	struct file *f;
	bool gone;

	pthread_mutex_lock(&s->lock);
	s->forgets++;
	f = fdcache_find(c, s, fh);
	if (f)
		file_get(f);
	pthread_mutex_unlock(&s->lock);
	if (!f)
		return;
	gone = file_linked(f) < 0;
	if (gone) {
		pthread_mutex_lock(&s->lock);
		gone = f->hashed;
		if (gone)
			fdcache_unhash(c, s, f);
		pthread_mutex_unlock(&s->lock);
	}
	/*
	 * Not here: the last close of a big deleted file takes long, and a worker may be waiting.
	 */
	if (gone)
		file_put(f);
	file_put(f);
}

/* Unhash what belongs to `r` (NULL: everything); the list's references are the caller's. */
static struct file *fdcache_take_root(struct fdcache *c, struct fdcache_shard *s,
				      const struct root *r)
{
	struct file *list = NULL, *f, *newer;

	pthread_mutex_lock(&s->lock);
	for (f = s->oldest; f; f = newer) {
		newer = f->newer;
		if (r && f->root != r)
			continue;
		fdcache_unhash(c, s, f);
		f->hash_next = list;
		list = f;
	}
	pthread_mutex_unlock(&s->lock);
	return list;
}

void fdcache_purge(struct fdcache *c, struct root *r)
{
	r->retired = true; /* before the shards: fdcache_settle() looks under each one's lock */
	for (int i = 0; i < FDCACHE_SHARDS; i++) {
		struct file *f = fdcache_take_root(c, &c->shard[i], r), *next;

		for (; f; f = next) {
			next = f->hash_next;
			file_put(f);
		}
	}
}

void fdcache_sweep(struct fdcache *c, uint64_t now_ns)
{
	for (int i = 0; i < FDCACHE_SHARDS; i++) {
		struct fdcache_shard *s = &c->shard[i];
		struct file *f;

		do {
			pthread_mutex_lock(&s->lock);
			f = s->oldest;
			while (f && f->used_ns + c->params.idle_ns <= now_ns && !fdcache_unused(f))
				f = f->newer;
			if (f && f->used_ns + c->params.idle_ns > now_ns)
				f = NULL;
			if (f)
				fdcache_take(c, s, f);
			pthread_mutex_unlock(&s->lock);
			if (f)
				fdcache_dispose(c, f, false);
		} while (f);
	}
}

unsigned fdcache_shed(struct fdcache *c, unsigned want)
{
	return fdcache_evict_some(c, want, false);
}

unsigned fdcache_count(const struct fdcache *c)
{
	return c->count;
}

void fdcache_stats(struct fdcache *c, struct fdcache_stats *out)
{
	out->hits = c->hits;
	out->misses = c->misses;
	out->evictions = c->evictions;
	out->sync_failures = c->sync_failures;
	out->files = c->count;
}

void fdcache_free(struct fdcache *c)
{
	if (!c)
		return;
	for (int i = 0; i < FDCACHE_SHARDS; i++) {
		struct file *f = fdcache_take_root(c, &c->shard[i], NULL), *next;

		for (; f; f = next) {
			next = f->hash_next;
			fdcache_put_here(c, f);
		}
	}
	/* Jobs still closing files use the cache. */
	pthread_mutex_lock(&c->live_lock);
	while (c->live > 0)
		pthread_cond_wait(&c->live_gone, &c->live_lock);
	pthread_mutex_unlock(&c->live_lock);
	for (int i = 0; i < FDCACHE_SHARDS; i++) {
		pthread_mutex_destroy(&c->shard[i].lock);
		free(c->shard[i].bucket);
	}
	pthread_cond_destroy(&c->live_gone);
	pthread_mutex_destroy(&c->live_lock);
	free(c);
}
