/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "nfsd-io/proto/state4_int.h"

/* A client recorded before this start. */
struct state4_known {
	struct state4_known *next;
	bool done; /* said RECLAIM_COMPLETE */
	uint32_t len;
	uint8_t owner[];
};

#define BUCKETS 1024

static struct state4_known **bucket(struct state4_known **table, const uint8_t *owner, uint32_t len)
{
	uint32_t h = 2166136261u, i;

	for (i = 0; i < len; i++)
		h = (h ^ owner[i]) * 16777619u;
	return &table[(h ^ (h >> 16)) % BUCKETS];
}

static struct state4_known *find(struct state4 *s, const uint8_t *owner, uint32_t len)
{
	struct state4_known *k;

	if (!s->grace.known)
		return NULL;
	k = *bucket(s->grace.known, owner, len);
	while (k && (k->len != len || memcmp(k->owner, owner, len)))
		k = k->next;
	return k;
}

static void know(void *arg, const uint8_t *owner, uint32_t len)
{
	struct state4 *s = arg;
	struct state4_known *k, **b;

	if (!len || len > NFS4_OPAQUE_LIMIT || !s->grace.known)
		return;
	k = calloc(1, sizeof(*k) + len);
	if (!k)
		return;
	k->len = len;
	memcpy(k->owner, owner, len);
	b = bucket(s->grace.known, owner, len);
	k->next = *b;
	*b = k;
	s->grace.n++;
}

static void forget(struct state4 *s)
{
	unsigned i;

	for (i = 0; s->grace.known && i < BUCKETS; i++) {
		while (s->grace.known[i]) {
			struct state4_known *k = s->grace.known[i];

			s->grace.known[i] = k->next;
			free(k);
		}
	}
	free(s->grace.known);
	s->grace.known = NULL;
}

void state4_grace_start(struct state4 *s)
{
	struct state4_grace *g = &s->grace;
	char why[256] = "";

	if (!s->p.state_dir)
		return;
	g->known = calloc(BUCKETS, sizeof(*g->known));
	if (!g->known ||
	    state4_record_open(&s->record, s->p.state_dir, know, s, why, sizeof(why))) {
		s->p.log(s->p.arg, LOG_WARNING,
			 "%s: %s: NFSv4 clients are not recorded and cannot reclaim after a "
			 "restart",
			 s->p.state_dir, why);
		return;
	}
	g->on = g->n > 0;
	g->start_ns = state4_now_ns(s);
	g->end_ns = g->start_ns + s->p.grace_s * STATE4_SECOND;
	if (!g->on) {
		state4_grace_end(s);
		return;
	}
	atomic_fetch_add(&s->active, 1);
	s->p.log(s->p.arg, LOG_NOTICE, "grace: %u clients may reclaim within %u s", g->n,
		 s->p.grace_s);
}

void state4_grace_fini(struct state4 *s)
{
	state4_record_close(s->record);
	forget(s);
}

bool state4_in_grace(struct state4 *s)
{
	return s->grace.on;
}

bool state4_grace_awaits(struct state4 *s, const struct state4_client *c)
{
	const struct state4_known *k;

	if (!s->grace.on || c->reclaim_done)
		return false;
	k = find(s, c->owner, c->owner_len);
	return k && !k->done;
}

bool state4_may_reclaim(struct state4 *s, struct state4_client *c)
{
	if (!state4_grace_awaits(s, c))
		return false;
	s->grace.reclaiming = true;
	return true;
}

void state4_grace_reclaimed(struct state4 *s, const struct state4_client *c)
{
	struct state4_known *k = find(s, c->owner, c->owner_len);

	if (k && !k->done) {
		k->done = true;
		s->grace.done++;
	}
}

/*
 * All are back, or the time is over: a second more while somebody still
 * reclaims, up to twice the time.
 */
static bool is_over(struct state4 *s, uint64_t now)
{
	struct state4_grace *g = &s->grace;
	bool reclaiming = g->reclaiming;

	g->reclaiming = false;
	if (g->done == g->n)
		return true;
	if (now < g->end_ns)
		return false;
	return !reclaiming || now - g->start_ns >= 2 * s->p.grace_s * STATE4_SECOND;
}

/*
 * Those who did not come back are forgotten in stable
 * storage before anybody is given what was theirs.
 */
void state4_grace_end(struct state4 *s)
{
	int err = 0;
	bool was;

	if (s->record) {
		state4_record_lock(s->record);
		err = state4_record_grace_done(s->record);
		state4_record_unlock(s->record);
	}
	if (err) {
		s->p.log(s->p.arg, LOG_ERR, "%s: main.sqlite cannot be written: grace does not end",
			 s->p.state_dir);
		return;
	}
	state4_lock(s);
	was = s->grace.on;
	s->grace.on = false;
	forget(s);
	state4_unlock(s);
	if (!was)
		return;
	atomic_fetch_sub(&s->active, 1);
	s->p.log(s->p.arg, LOG_NOTICE, "grace is over: %u of %u clients reclaimed", s->grace.done,
		 s->grace.n);
}

void state4_grace_look(struct state4 *s)
{
	bool over;

	state4_lock(s);
	over = s->grace.on && is_over(s, state4_now_ns(s));
	state4_unlock(s);
	if (over)
		state4_grace_end(s);
}

int state4_grace_settle(struct state4 *s, const uint8_t *owner, uint32_t len)
{
	const struct state4_client *c;
	bool want;
	int err;

	if (!s->record)
		return 0;
	state4_record_lock(s->record);
	state4_lock(s);
	c = state4_client_by_owner(s, owner, len, true);
	want = c && c->want_record;
	state4_unlock(s);
	err = want ? state4_record_add(s->record, owner, len)
		   : state4_record_remove(s->record, owner, len);
	state4_record_unlock(s->record);
	if (err)
		s->p.log(s->p.arg, LOG_ERR, "%s: main.sqlite cannot be written", s->p.state_dir);
	return err;
}

void state4_grace_info(struct state4 *s, struct state4_grace_info *out)
{
	uint64_t now = state4_now_ns(s);

	state4_lock(s);
	out->on = s->grace.on;
	out->records = s->record != NULL;
	out->left_s =
		s->grace.on && now < s->grace.end_ns
			? (uint32_t)((s->grace.end_ns - now + STATE4_SECOND - 1) / STATE4_SECOND)
			: 0;
	out->known = s->grace.n;
	out->done = s->grace.done;
	state4_unlock(s);
}
