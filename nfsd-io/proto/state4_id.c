/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A stateid is a seqid and 12 bytes: the client's id, whose first half is this
 * start of the server, and a number that is not used again for 2^32 others.
 */
#include <endian.h>
#include <string.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_held.h"
#include "nfsd-io/proto/v4.h"

static bool other_is(const stateid4 *id, uint8_t byte)
{
	for (unsigned i = 0; i < NFS4_OTHER_SIZE; i++)
		if ((uint8_t)id->other[i] != byte)
			return false;
	return true;
}

bool state4_id_anonymous(const stateid4 *id)
{
	return id->seqid == 0 && other_is(id, 0);
}

bool state4_id_bypass(const stateid4 *id)
{
	return id->seqid == UINT32_MAX && other_is(id, 0xff);
}

static bool id_special(const stateid4 *id)
{
	return other_is(id, 0) ? id->seqid <= 1 || id->seqid == UINT32_MAX : state4_id_bypass(id);
}

void state4_id_current(const struct v4 *c, stateid4 *id)
{
	if (c->minor > 0 && c->have_id && id->seqid == 1 && other_is(id, 0))
		*id = c->id;
}

void state4_id_invalid(stateid4 *out)
{
	memset(out, 0, sizeof(*out));
	out->seqid = UINT32_MAX;
}

static struct state4_open *id_lookup(const struct state4_tables *t, uint32_t number)
{
	for (struct state4_node *n = state4_map_first(&t->ids, number); n; n = state4_map_next(n)) {
		struct state4_open *o = container_of(n, struct state4_open, node);

		if (o->id == number)
			return o;
	}
	return NULL;
}

uint32_t state4_id_new(struct state4_tables *t)
{
	/* There are far fewer than 2^32. */
	while (t->next_id == 0 || id_lookup(t, t->next_id) || state4_revoke_find(t, t->next_id))
		t->next_id++;
	return t->next_id++;
}

uint32_t state4_id_number(const stateid4 *id)
{
	uint32_t number;

	memcpy(&number, id->other + NFS4_OTHER_SIZE - sizeof(number), sizeof(number));
	return be32toh(number);
}

void state4_id_of(const struct state4_open *o, stateid4 *out)
{
	uint64_t client = htobe64(state4_client_id(o->owner->client));
	uint32_t number = htobe32(o->id);

	out->seqid = o->seqid;
	memcpy(out->other, &client, sizeof(client));
	memcpy(out->other + sizeof(client), &number, sizeof(number));
}

void state4_id_bump(struct state4_open *o, stateid4 *out)
{
	/* 0 means "the newest" (RFC 8881 s.8.2.2): left out when it wraps. */
	if (++o->seqid == 0)
		o->seqid = 1;
	if (!o->gone)
		state4_client_held(o->owner->client)->changes++;
	state4_id_of(o, out);
}

uint32_t state4_id_client(struct state4 *s, struct v4 *c, clientid4 id)
{
	struct state4_client *client;
	uint32_t st;

	if (c->client && state4_client_id(c->client) != id)
		return NFS4ERR_STALE_CLIENTID;
	st = state4_client_find(s, id, true, &client);
	if (st)
		return st;
	if (!c->client) {
		c->client = state4_client_get(client);
		client->busy++; /* until state4_served() */
	}
	state4_client_renew(s, client);
	return NFS4_OK;
}

static unsigned kind_of(const struct state4_open *o)
{
	return o->gone ? STATE4_CLOSED : o->lock ? STATE4_LOCK : STATE4_OPEN;
}

uint32_t state4_id_find(struct state4 *s, struct v4 *c, const stateid4 *id, unsigned kinds,
			struct state4_open **out)
{
	uint32_t number = state4_id_number(id), st;
	const struct state4_revoked *v;
	struct state4_open *o;
	uint64_t client;

	if (id_special(id))
		return NFS4ERR_BAD_STATEID;
	memcpy(&client, id->other, sizeof(client));
	client = be64toh(client);
	if (c->minor == 0) {
		st = client >> 32 == state4_boot(s) ? state4_id_client(s, c, client)
						    : NFS4ERR_STALE_CLIENTID;
		if (st == NFS4ERR_STALE_CLIENTID)
			return NFS4ERR_STALE_STATEID;
		if (st)
			return st;
	}
	v = state4_revoke_find(state4_tables(s), number);
	if (v && v->client == c->client && state4_client_id(v->client) == client)
		return NFS4ERR_ADMIN_REVOKED;
	o = id_lookup(state4_tables(s), number);
	if (!o || !o->owner || o->owner->client != c->client ||
	    state4_client_id(c->client) != client || !(kind_of(o) & kinds))
		return NFS4ERR_BAD_STATEID;
	*out = o;
	return NFS4_OK;
}

uint32_t state4_id_seqid(const stateid4 *id, const struct state4_open *o, bool v40)
{
	if (id->seqid == o->seqid || (!v40 && id->seqid == 0))
		return NFS4_OK;
	/* One from the future is none of ours. */
	return (int32_t)(id->seqid - o->seqid) > 0 ? NFS4ERR_BAD_STATEID : NFS4ERR_OLD_STATEID;
}
