/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Room in the table of clients: who gives way to a newcomer. */
#include "config.h"

#include <arpa/inet.h>
#include <string.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_int.h"

/* One newcomer looks at no more clients than this for one that can go. */
#define LOOKS 64

#define OF_ADDR(link) container_of(link, struct state4_client, of_addr)

void state4_room_init(struct state4_room *m)
{
	unsigned i;

	for (i = 0; i < STATE4_ADDR_BUCKETS; i++) {
		state4_list_init(&m->unconfirmed[i]);
		state4_list_init(&m->confirmed[i]);
	}
}

/* The host alone, for the text ends with a port; of IPv6 its network, for a host has 2^64 of them.
 */
unsigned state4_room_bucket(const char *addr)
{
	const char *port = strrchr(addr, ':');
	size_t len = port ? (size_t)(port - addr) : strlen(addr);
	char host[INET6_ADDRSTRLEN];
	struct in6_addr in6;

	if (len > 2 && addr[0] == '[' && len - 2 < sizeof(host)) {
		memcpy(host, addr + 1, len - 2);
		host[len - 2] = '\0';
		if (inet_pton(AF_INET6, host, &in6) == 1)
			return state4_hash(in6.s6_addr, 8) % STATE4_ADDR_BUCKETS;
	}
	return state4_hash((const uint8_t *)addr, len) % STATE4_ADDR_BUCKETS;
}

void state4_room_enter(struct state4_room *m, struct state4_client *c)
{
	unsigned b = c->addr_bucket;

	state4_list_add_tail(c->confirmed ? &m->confirmed[b] : &m->unconfirmed[b], &c->of_addr);
	if (c->confirmed)
		m->nconfirmed[b]++;
	else
		m->nunconfirmed[b]++;
}

void state4_room_leave(struct state4_room *m, struct state4_client *c)
{
	state4_list_del(&c->of_addr);
	if (c->confirmed)
		m->nconfirmed[c->addr_bucket]--;
	else
		m->nunconfirmed[c->addr_bucket]--;
}

void state4_room_used(struct state4_room *m, struct state4_client *c)
{
	state4_list_del(&c->of_addr);
	state4_list_add_tail(&m->confirmed[c->addr_bucket], &c->of_addr);
}

static unsigned all_of(const struct state4_room *m, unsigned bucket)
{
	return m->nunconfirmed[bucket] + m->nconfirmed[bucket];
}

/* The address that has most; when others have as many, the newcomer's own. */
static unsigned most_of(const unsigned *n, unsigned newcomer)
{
	unsigned i, most = newcomer;

	for (i = 0; i < STATE4_ADDR_BUCKETS; i++)
		if (n[i] > n[most])
			most = i;
	return most;
}

/*
 * The oldest unconfirmed one of the address that has most: who floods us puts out its own, and
 * another has the time it takes to confirm itself, even if the flood's are confirmed.
 */
static struct state4_client *unconfirmed_one(struct state4_room *m, unsigned newcomer)
{
	unsigned from = most_of(m->nunconfirmed, newcomer);

	if (!m->nunconfirmed[from])
		return NULL;
	if (from != newcomer && m->nunconfirmed[from] <= m->nunconfirmed[newcomer] + 1 &&
	    all_of(m, from) <= all_of(m, newcomer))
		return NULL;
	return OF_ADDR(m->unconfirmed[from].next);
}

/* Would it lose what cannot be had again? */
static bool has_something(struct state4 *s, const struct state4_client *c)
{
	return c->busy || state4_held_any(&c->held) || state4_grace_awaits(s, c);
}

/*
 * A confirmed one that holds nothing, idle for longest, of the address that has most, if that has
 * more than the newcomer's would have.  Those passed over stand behind the others then, so that
 * the next newcomer looks further.
 *
 * Replies in slots are something, too: the request that comes again after a cut connection would
 * find no session, and its client would run it anew.  But a SEQUENCE is all it takes to have one,
 * so of an address that has more than half of the table the first passed over for that is *replies:
 * who fills the table must not keep others out by it.
 */
static struct state4_client *idle_one(struct state4 *s, unsigned newcomer,
				      struct state4_client **replies)
{
	struct state4_room *m = &s->room;
	unsigned from = most_of(m->nconfirmed, newcomer), looks;
	bool crowd = m->nconfirmed[from] > s->p.max_clients / 2;

	if (m->nconfirmed[from] <= all_of(m, newcomer) + 1)
		return NULL;
	for (looks = 0; looks < LOOKS && looks < m->nconfirmed[from]; looks++) {
		struct state4_client *c = OF_ADDR(m->confirmed[from].next);
		bool something = has_something(s, c);

		if (!something && !c->nreplies)
			return c;
		if (!something && crowd && !*replies)
			*replies = c;
		state4_room_used(m, c);
	}
	return NULL;
}

/* The one used least recently, if it is kept by courtesy. */
static struct state4_client *courtesy_one(struct state4 *s)
{
	struct state4_client *c;

	if (state4_list_empty(&s->confirmed))
		return NULL;
	c = container_of(s->confirmed.next, struct state4_client, lru);
	return c->courtesy ? c : NULL;
}

bool state4_room_make(struct state4 *s, unsigned newcomer, struct state4_client **list)
{
	struct state4_client *c, *replies = NULL;

	if (s->nunconfirmed + s->nconfirmed < s->p.max_clients)
		return true;
	c = unconfirmed_one(&s->room, newcomer);
	if (!c) {
		c = idle_one(s, newcomer, &replies);
		if (!c)
			c = courtesy_one(s);
		if (!c)
			c = replies;
		if (c)
			s->evicted++;
	}
	if (c)
		state4_client_bury(s, c, list);
	return c != NULL;
}
