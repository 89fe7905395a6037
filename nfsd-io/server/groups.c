/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/groups.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/proto/hostdb.h"

#define SLOTS 1024
#define KNOWN_SECONDS 600
#define UNKNOWN_SECONDS 60
#define GIDS_MAX 65536 /* NGROUPS_MAX */
#define NAME_BYTES 256 /* of a user, with its end */

struct entry {
	bool used;
	uid_t uid;
	gid_t gid;
	time_t until;
	gid_t *gids;
	unsigned n;
};

/* Direct-mapped: a collision only asks the database again. */
struct groups {
	pthread_mutex_t lock;
	struct entry slots[SLOTS];
};

int groups_new(struct groups **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	pthread_mutex_init(&(*out)->lock, NULL);
	return 0;
}

void groups_flush(struct groups *g)
{
	pthread_mutex_lock(&g->lock);
	for (unsigned i = 0; i < SLOTS; i++) {
		free(g->slots[i].gids);
		g->slots[i] = (struct entry){0};
	}
	pthread_mutex_unlock(&g->lock);
}

void groups_free(struct groups *g)
{
	if (!g)
		return;
	groups_flush(g);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static time_t now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static int copy(const gid_t *from, unsigned n, gid_t **gids, unsigned *out)
{
	*gids = NULL;
	*out = 0;
	if (!n)
		return 0;
	*gids = malloc(n * sizeof(**gids));
	if (!*gids)
		return -ENOMEM;
	memcpy(*gids, from, n * sizeof(**gids));
	*out = n;
	return 0;
}

/* 1 found, 0 not, or -errno. */
static int from_cache(struct groups *g, uid_t uid, gid_t gid, gid_t **gids, unsigned *n)
{
	const struct entry *e = &g->slots[uid % SLOTS];
	int err = 0;

	pthread_mutex_lock(&g->lock);
	if (e->used && e->uid == uid && e->gid == gid && now_seconds() < e->until)
		err = copy(e->gids, e->n, gids, n) ? -ENOMEM : 1;
	pthread_mutex_unlock(&g->lock);
	return err;
}

static void to_cache(struct groups *g, uid_t uid, gid_t gid, const gid_t *gids, unsigned n,
		     unsigned seconds)
{
	struct entry *e = &g->slots[uid % SLOTS],
		     fresh = {true, uid, gid, now_seconds() + seconds, NULL, 0};

	if (copy(gids, n, &fresh.gids, &fresh.n))
		return;
	pthread_mutex_lock(&g->lock);
	free(e->gids);
	*e = fresh;
	pthread_mutex_unlock(&g->lock);
}

static int ask(const char *name, gid_t gid, gid_t **gids, unsigned *n)
{
	int room = 64, got;
	gid_t *list = NULL;

	for (;;) {
		gid_t *more = realloc(list, (size_t)room * sizeof(*more));

		if (!more) {
			free(list);
			return -ENOMEM;
		}
		list = more;
		got = room;
		if (getgrouplist(name, gid, list, &got) >= 0)
			break;
		if (got <= room || got > GIDS_MAX)
			got = room * 2;
		if (room >= GIDS_MAX) {
			free(list);
			return -E2BIG;
		}
		room = got > GIDS_MAX ? GIDS_MAX : got;
	}
	*gids = list;
	*n = (unsigned)got;
	return 0;
}

int groups_lookup(struct groups *g, uid_t uid, gid_t gid, gid_t **gids, unsigned *n)
{
	char name[NAME_BYTES];
	int err = from_cache(g, uid, gid, gids, n);

	if (err)
		return err < 0 ? err : 0;
	*gids = NULL;
	*n = 0;
	err = hostdb_name(HOSTDB_USERS, uid, name, sizeof(name));
	if (err == -ENOENT) {
		to_cache(g, uid, gid, NULL, 0, UNKNOWN_SECONDS);
		return 0;
	}
	if (!err)
		err = ask(name, gid, gids, n);
	if (!err)
		to_cache(g, uid, gid, *gids, *n, KNOWN_SECONDS);
	return err;
}
