/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the operator takes away: the opens and locks of an export that is no more.  They go at once,
 * files and all; what stays of each is its number, so that its client hears of it (RFC 8881 s.8.5,
 * s.18.46.3): 4.1's until FREE_STATEID, 4.0's until it has been told.
 */
#include <stddef.h>
#include <stdlib.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_held.h"
#include "nfsd-io/proto/v4.h"

static struct state4_open *by_file(struct state4_link *l)
{
	return container_of(l, struct state4_open, of_file);
}

static struct state4_revoked *by_node(struct state4_node *n)
{
	return container_of(n, struct state4_revoked, node);
}

struct state4_revoked *state4_revoke_find(const struct state4_tables *t, uint32_t number)
{
	struct state4_node *n = state4_map_first(&t->revoked, number);

	return n ? by_node(n) : NULL;
}

/* A client that has as many as it may have opens hears no more of the others. */
static void mark(struct state4 *s, const struct state4_open *o)
{
	struct state4_tables *t = state4_tables(s);
	struct state4_held *h = state4_client_held(o->owner->client);
	struct state4_revoked *v = h->nrevoked < t->max_opens ? calloc(1, sizeof(*v)) : NULL;

	if (!v)
		return;
	v->client = o->owner->client;
	v->owner = state4_owner_get(o->owner);
	v->next = h->revoked;
	v->pprev = &h->revoked;
	if (v->next)
		v->next->pprev = &v->next;
	h->revoked = v;
	h->nrevoked++;
	state4_map_add(&t->revoked, &v->node, o->id);
}

static void forget(struct state4 *s, struct state4_revoked *v)
{
	*v->pprev = v->next;
	if (v->next)
		v->next->pprev = v->pprev;
	state4_client_held(v->client)->nrevoked--;
	state4_map_del(&state4_tables(s)->revoked, &v->node);
	state4_owner_put(v->owner);
	free(v);
}

uint32_t state4_revoke_free(struct state4 *s, const struct state4_client *c, uint32_t number)
{
	struct state4_revoked *v = state4_revoke_find(state4_tables(s), number);

	if (!v || v->client != c)
		return NFS4ERR_BAD_STATEID;
	forget(s, v);
	return NFS4_OK;
}

void state4_revoke_told(struct state4 *s, const struct state4_client *c, uint32_t number,
			const uint32_t *seqid)
{
	struct state4_revoked *v = state4_revoke_find(state4_tables(s), number);
	struct state4_owner *w = v ? v->owner : NULL;

	if (!v || v->client != c)
		return;
	/* The client's sequence goes on with this status. */
	if (seqid && !w->gone && !w->busy && w->seqid == *seqid) {
		w->seqid++;
		w->replay.have = false;
	}
	forget(s, v);
}

void state4_revoke_forget(struct state4 *s, struct state4_client *c)
{
	struct state4_held *h = state4_client_held(c);

	while (h->revoked)
		forget(s, h->revoked);
}

/* --- an export that is no more -------------------------------------------------------- */

static bool of_root(const struct state4_file *f, uint32_t root_id)
{
	return !state4_list_empty(&f->opens) && by_file(f->opens.next)->file->root->id == root_id;
}

static unsigned revoke(struct state4 *s, struct state4_file *f, struct state4_files **dead)
{
	struct state4_link *l;
	unsigned n = 0;

	for (l = f->opens.next; l != &f->opens; l = l->next, n++)
		mark(s, by_file(l));
	f->users++; /* it stays until it is empty */
	while (!state4_list_empty(&f->opens))
		state4_open_drop(s, by_file(f->opens.next), false, dead);
	f->users--;
	state4_file_check(s, f);
	return n;
}

unsigned state4_revoke_root(struct state4 *s, uint32_t root_id)
{
	struct state4_map *m = &state4_tables(s)->files;
	struct state4_files *dead = NULL;
	struct state4_node *n;
	unsigned i, count = 0;

	state4_lock(s);
	for (i = 0; i < m->buckets; i++) {
		n = m->bucket[i];
		while (n) {
			struct state4_file *f = container_of(n, struct state4_file, node);

			n = n->next;
			if (of_root(f, root_id))
				count += revoke(s, f, &dead);
		}
	}
	state4_unlock(s);
	state4_files_put(dead);
	return count;
}
