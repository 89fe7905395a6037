/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_int.h"
#include "rpc/cred.h"

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * STATE4_SECOND + (uint64_t)ts.tv_nsec;
}

static void no_log(void *arg, int priority, const char *fmt, ...)
{
	(void)arg;
	(void)priority;
	(void)fmt;
}

static void set_defaults(struct state4_params *p)
{
	if (!p->lease_s)
		p->lease_s = 90;
	if (!p->grace_s)
		p->grace_s = p->lease_s;
	if (!p->max_clients)
		p->max_clients = 10000;
	if (!p->max_opens)
		p->max_opens = 100000;
	if (!p->max_locks)
		p->max_locks = 1000000;
	if (!p->max_read)
		p->max_read = 1 << 20;
	if (!p->max_write)
		p->max_write = 1 << 20;
	if (!p->now_ns)
		p->now_ns = monotonic_ns;
	if (!p->log)
		p->log = no_log;
}

/* A number of this start: other starts' clientids and stateids are recognized by not having it. */
static int make_boot(struct state4 *s)
{
	uint32_t words[2];

	if (getrandom(words, sizeof(words), 0) != sizeof(words))
		return -EIO;
	s->boot = words[0] ? words[0] : 1;
	s->next_confirm = words[1];
	return 0;
}

static void make_hex(char out[33], const uint8_t id[16])
{
	unsigned i;

	for (i = 0; i < 16; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
}

/*
 * Keeps `id` as the server's, or takes the one kept before.  The
 * file is small: it is there whole or not at all.
 */
static int keep_id(const char *dir, char id[33])
{
	char path[PATH_MAX], tmp[PATH_MAX + 8];
	int fd, n, err = 0;

	snprintf(path, sizeof(path), "%s/server-id", dir);
	snprintf(tmp, sizeof(tmp), "%s.new", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		char old[33] = "";

		n = (int)read(fd, old, 32);
		close(fd);
		if (n == 32 && strspn(old, "0123456789abcdef") == 32) {
			memcpy(id, old, 33);
			return 0;
		}
	}
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (write(fd, id, 32) != 32 || fsync(fd) || rename(tmp, path))
		err = -EIO;
	close(fd);
	return err;
}

/*
 * The same on all addresses and at all starts, and never another server's: clients take servers
 * with the same one to be one (RFC 8881 s.2.10.4), and containers share host names.
 */
static void make_server_id(struct state4 *s)
{
	uint8_t id[16];
	int err;

	if (getrandom(id, sizeof(id), 0) != sizeof(id))
		memset(id, 0, sizeof(id));
	make_hex(s->server_id, id);
	if (!s->record)
		return;
	err = keep_id(s->p.state_dir, s->server_id);
	if (err)
		s->p.log(s->p.arg, LOG_WARNING,
			 "%s/server-id: %s: the server is another one after each start",
			 s->p.state_dir, strerror(-err));
}

int state4_new(struct state4 **out, const struct state4_params *p)
{
	struct state4 *s = calloc(1, sizeof(*s));
	unsigned i;
	int err;

	if (!s)
		return -ENOMEM;
	s->p = *p;
	set_defaults(&s->p);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->burial, NULL);
	pthread_cond_init(&s->woken, NULL);
	state4_list_init(&s->unconfirmed);
	state4_list_init(&s->confirmed);
	state4_list_init(&s->again);
	state4_room_init(&s->room);
	for (i = 0; i < STATE4_CONN_BUCKETS; i++)
		state4_list_init(&s->by_conn[i]);
	err = make_boot(s);
	if (!err)
		err = state4_tables_new(&s->tables, &s->p);
	if (err) {
		state4_free(s);
		return err;
	}
	state4_grace_start(s);
	make_server_id(s);
	*out = s;
	return 0;
}

/* The server ends: everything goes but the records, by which clients reclaim at the next start. */
static void bury_all(struct state4 *s, struct state4_link *from, struct state4_client **list)
{
	while (!state4_list_empty(from)) {
		struct state4_client *c = container_of(from->next, struct state4_client, lru);

		state4_client_bury(s, c, list);
		c->asked_record = false;
	}
}

void state4_free(struct state4 *s)
{
	struct state4_client *list = NULL;

	state4_lock(s);
	bury_all(s, &s->unconfirmed, &list);
	bury_all(s, &s->confirmed, &list);
	state4_unlock(s);
	state4_client_inter(s, list);
	state4_tables_free(s->tables);
	state4_grace_fini(s);
	pthread_cond_destroy(&s->woken);
	pthread_mutex_destroy(&s->burial);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void state4_lock(struct state4 *s)
{
	pthread_mutex_lock(&s->lock);
}

void state4_unlock(struct state4 *s)
{
	pthread_mutex_unlock(&s->lock);
}

uint64_t state4_now_ns(const struct state4 *s)
{
	return s->p.now_ns();
}

uint32_t state4_lease_s(const struct state4 *s)
{
	return s->p.lease_s;
}

uint32_t state4_boot(const struct state4 *s)
{
	return s->boot;
}

void state4_principal_of(const struct rpccred *cred, struct state4_principal *out)
{
	uint32_t i;

	out->flavor = cred->flavor;
	out->uid = cred->uid;
	out->gid = cred->gid;
	out->gids = cred->ngids;
	for (i = 0; i < cred->ngids; i++)
		out->gids = (out->gids ^ cred->gids[i]) * UINT64_C(0x9e3779b97f4a7c15);
}

struct state4_tables *state4_tables(struct state4 *s)
{
	return s->tables;
}

void state4_wait(struct state4 *s)
{
	pthread_cond_wait(&s->woken, &s->lock);
}

void state4_wake(struct state4 *s)
{
	pthread_cond_broadcast(&s->woken);
}

void state4_served(struct state4 *s, struct state4_client *c)
{
	state4_lock(s);
	c->busy--;
	state4_client_renew(s, c);
	state4_unlock(s);
}

bool state4_active(struct state4 *s)
{
	return atomic_load_explicit(&s->active, memory_order_relaxed);
}

void state4_sweep(struct state4 *s)
{
	state4_client_sweep(s);
	state4_back_sweep(s);
	state4_lock(s);
	state4_held_sweep(s);
	state4_unlock(s);
	state4_grace_look(s);
}

void state4_stats(struct state4 *s, struct state4_stats *out)
{
	memset(out, 0, sizeof(*out));
	state4_lock(s);
	out->clients = s->nconfirmed;
	out->unconfirmed = s->nunconfirmed;
	out->courtesy = s->ncourtesy;
	out->sessions = s->nsessions;
	out->expired = s->expired;
	out->evicted = s->evicted;
	out->grace = state4_in_grace(s);
	state4_held_stats(s, out);
	out->replays += s->replays;
	state4_unlock(s);
}
