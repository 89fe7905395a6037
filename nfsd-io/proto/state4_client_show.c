/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clients for people, and by their word. */
#include "config.h"

#include <errno.h>
#include <stddef.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_int.h"

static const struct state4_client *client_of(const struct state4_link *l)
{
	return container_of(l, const struct state4_client, lru);
}

static void tell(struct state4 *s, struct state4_link *from,
		 void (*fn)(void *arg, const struct state4_client_info *c), void *arg)
{
	struct state4_link *l;

	for (l = from->next; l != from; l = l->next) {
		const struct state4_client *c = client_of(l);
		struct state4_client_info i = {
			.id = c->id,
			.number = c->number,
			.minor = c->minor,
			.confirmed = c->confirmed,
			.courtesy = c->courtesy,
			.recorded = c->recorded,
			.addr = c->addr,
			.owner = c->owner,
			.owner_len = c->owner_len,
			.sessions = c->nsessions,
			.opens = c->held.nopens,
			.locks = c->held.nlocks,
			.changes = 2 * c->held.changes + c->courtesy,
			.idle_s = (state4_now_ns(s) - c->renewed_ns) / STATE4_SECOND,
		};

		fn(arg, &i);
	}
}

void state4_client_each(struct state4 *s,
			void (*fn)(void *arg, const struct state4_client_info *c), void *arg)
{
	state4_lock(s);
	tell(s, &s->confirmed, fn, arg);
	tell(s, &s->unconfirmed, fn, arg);
	state4_unlock(s);
}

int state4_client_expire(struct state4 *s, uint32_t number)
{
	clientid4 id = (uint64_t)s->boot << 32 | number;
	struct state4_client *list = NULL, *c;

	state4_lock(s);
	c = state4_client_by_id(s, id, true);
	if (!c)
		c = state4_client_by_id(s, id, false);
	if (c) {
		s->evicted++;
		state4_client_bury(s, c, &list);
	}
	state4_unlock(s);
	state4_client_inter(s, list);
	return c ? 0 : -ENOENT;
}
