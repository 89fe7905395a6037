/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/cred.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/core/siphash.h"

/* Where the plain number is the 16-bit call of old. */
#ifdef SYS_setgroups32
#define CRED_SETGROUPS SYS_setgroups32
#define CRED_SETFSGID SYS_setfsgid32
#define CRED_SETFSUID SYS_setfsuid32
#else
#define CRED_SETGROUPS SYS_setgroups
#define CRED_SETFSGID SYS_setfsgid
#define CRED_SETFSUID SYS_setfsuid
#endif

/* What the process was when it first asked; threads go back to this. */
static struct {
	pthread_once_t once;
	pthread_key_t assumed; /* struct cred * of the thread, counted */
	struct siphash_key seed;
	bool switchable, overrides;
	struct cred *self;
} cred_server = { .once = PTHREAD_ONCE_INIT };

static int cred_gid_cmp(const void *a, const void *b)
{
	gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

	return (x > y) - (x < y);
}

/* Clients choose these numbers, so a guessable hash could be made to collide. */
static uint64_t cred_hash(const struct cred *c)
{
	const uint8_t *p = (const uint8_t *)&c->uid;

	return siphash(&cred_server.seed, p, (const uint8_t *)(c->gids + c->ngids) - p);
}

static struct cred *cred_alloc(uid_t uid, gid_t gid, const gid_t *gids, unsigned ngids)
{
	struct cred *c;
	unsigned n = 0;

	c = malloc(sizeof(*c) + ngids * sizeof(*gids));
	if (!c)
		return NULL;
	c->refs = 1;
	c->uid = uid;
	c->gid = gid;
	if (ngids) {
		memcpy(c->gids, gids, ngids * sizeof(*gids));
		qsort(c->gids, ngids, sizeof(*gids), cred_gid_cmp);
	}
	for (unsigned i = 0; i < ngids; i++)
		if (i == 0 || c->gids[i] != c->gids[n - 1])
			c->gids[n++] = c->gids[i];
	c->ngids = n < NGROUPS_MAX ? n : NGROUPS_MAX;
	c->key = cred_hash(c);
	return c;
}

static void cred_thread_exit(void *assumed)
{
	cred_put(assumed);
}

static void cred_server_init(void)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	struct timespec now;
	gid_t *gids = NULL;
	int n, rc;

	if (getrandom(&cred_server.seed, sizeof(cred_server.seed), GRND_NONBLOCK) < 0) {
		clock_gettime(CLOCK_MONOTONIC, &now); /* better than a constant, early at boot */
		cred_server.seed.k[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
	}
	if (syscall(SYS_capget, &hdr, data) == 0)
		cred_server.switchable = (data[0].effective & 1u << CAP_SETUID) &&
					 (data[0].effective & 1u << CAP_SETGID);
	cred_server.overrides = geteuid() == 0 && (data[0].effective & 1u << CAP_DAC_OVERRIDE);
	rc = pthread_key_create(&cred_server.assumed, cred_thread_exit);
	n = getgroups(0, NULL);
	if (n > 0) {
		gids = calloc(n, sizeof(*gids));
		n = gids ? getgroups(n, gids) : -1;
	}
	if (rc == 0 && n >= 0)
		cred_server.self = cred_alloc(geteuid(), getegid(), gids, n);
	free(gids);
	if (cred_server.self)
		n = cred_server.self->ngids;
	/* Without a way back nobody may leave (a user namespace may deny setgroups to all). */
	if (!cred_server.self || syscall(CRED_SETGROUPS, (size_t)n, cred_server.self->gids) < 0)
		cred_server.switchable = false;
}

struct cred *cred_new(uid_t uid, gid_t gid, const gid_t *gids, unsigned ngids)
{
	pthread_once(&cred_server.once, cred_server_init);
	return cred_alloc(uid, gid, gids, ngids);
}

struct cred *cred_get(struct cred *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void cred_put(struct cred *c)
{
	if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		free(c);
}

bool cred_equal(const struct cred *a, const struct cred *b)
{
	return a == b || (a->key == b->key && a->uid == b->uid && a->gid == b->gid &&
			  a->ngids == b->ngids &&
			  !memcmp(a->gids, b->gids, a->ngids * sizeof(*a->gids)));
}

bool cred_in_group(const struct cred *c, gid_t gid)
{
	return c->gid == gid ||
	       bsearch(&gid, c->gids, c->ngids, sizeof(*c->gids), cred_gid_cmp) != NULL;
}

bool cred_switchable(void)
{
	pthread_once(&cred_server.once, cred_server_init);
	return cred_server.switchable;
}

bool cred_overrides(void)
{
	return cred_switchable() && cred_server.overrides;
}

/*
 * Groups and gid first: with fsuid the file system capabilities go, and a
 * thread must never have the new uid with the old groups.  setfsuid reports
 * no errors, so a second call reads it back.
 */
static int cred_apply(const struct cred *c)
{
	if (syscall(CRED_SETGROUPS, (size_t)c->ngids, c->gids) < 0)
		return -errno;
	syscall(CRED_SETFSGID, c->gid);
	if ((gid_t)syscall(CRED_SETFSGID, (gid_t)-1) != c->gid)
		return -EPERM;
	syscall(CRED_SETFSUID, c->uid);
	if ((uid_t)syscall(CRED_SETFSUID, (uid_t)-1) != c->uid)
		return -EPERM;
	return 0;
}

/* Back to the server; it held all of this before, so only a broken kernel refuses. */
static void cred_revert(void)
{
	struct cred *old = pthread_getspecific(cred_server.assumed);
	int rc;

	syscall(CRED_SETFSUID, cred_server.self->uid);
	rc = cred_apply(cred_server.self);
	assert(rc == 0);
	pthread_setspecific(cred_server.assumed, NULL);
	cred_put(old);
}

int cred_assume(const struct cred *c)
{
	struct cred *old;
	int rc;

	if (!cred_switchable())
		return 0;
	old = pthread_getspecific(cred_server.assumed);
	if (!c) {
		if (old)
			cred_revert();
		return 0;
	}
	if (c->uid == (uid_t)-1 || c->gid == (gid_t)-1)
		rc = -EINVAL; /* to the kernel -1 means "leave it" */
	else if (old && cred_equal(old, c))
		return 0;
	else
		rc = cred_apply(c);
	if (rc == 0)
		rc = -pthread_setspecific(cred_server.assumed, c);
	if (rc < 0) {
		cred_revert();
		return rc;
	}
	cred_get((struct cred *)c);
	cred_put(old);
	return 0;
}
