/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/proto/export.h"

#include <errno.h>
#include <fnmatch.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/proto/pseudo.h"

#define ID_NONE ((uint32_t)-1)
#define GIDS_MAX 65536

struct export_table *export_table_get(struct export_table *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

static void export_fini(struct export *e)
{
	for (unsigned i = 0; i < e->nclients; i++) {
		free(e->clients[i].pattern);
		free(e->clients[i].addrs);
	}
	free(e->clients);
	free(e->path);
	free(e->down);
	if (e->root)
		root_put(e->root);
}

void export_table_put(struct export_table *t)
{
	if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned i = 0; i < t->n; i++)
		export_fini(&t->exports[i]);
	pseudo_free(t->pseudo);
	free(t->exports);
	free(t);
}

/* The address as 16 bytes, IPv4 in its mapped form, so that both families compare alike. */
static bool addr_bytes(const struct sockaddr_storage *ss, uint8_t out[16])
{
	if (ss->ss_family == AF_INET6) {
		memcpy(out, &((const struct sockaddr_in6 *)ss)->sin6_addr, 16);
		return true;
	}
	if (ss->ss_family != AF_INET)
		return false;
	memset(out, 0, 10);
	out[10] = out[11] = 0xff;
	memcpy(out + 12, &((const struct sockaddr_in *)ss)->sin_addr, 4);
	return true;
}

static bool prefix_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole))
		return false;
	return !rest || !((a[whole] ^ b[whole]) >> (8 - rest));
}

static bool match_addrs(const struct export_client *c, const struct peer *p, bool network)
{
	uint8_t a[16], b[16];

	if (!addr_bytes(&p->addr, a))
		return false;
	for (unsigned i = 0; i < c->naddrs; i++) {
		unsigned bits = 128;

		if (!addr_bytes(&c->addrs[i], b))
			continue;
		if (network)
			bits = c->addrs[i].ss_family == AF_INET ? 96 + c->prefix : c->prefix;
		if (bits <= 128 && prefix_equal(a, b, bits))
			return true;
	}
	return false;
}

static bool match_netgroup(const char *group, const struct peer *p)
{
	char text[NI_MAXHOST];

	if (p->host[0] && innetgr(group, p->host, NULL, NULL))
		return true;
	if (getnameinfo((const struct sockaddr *)&p->addr, sizeof(p->addr), text, sizeof(text),
			NULL, 0, NI_NUMERICHOST))
		return false;
	return innetgr(group, text, NULL, NULL);
}

static bool client_matches(const struct export_client *c, const struct peer *p)
{
	switch (c->match) {
	case EXPORT_HOST:
		return match_addrs(c, p, false);
	case EXPORT_NETWORK:
		return match_addrs(c, p, true);
	case EXPORT_WILDCARD:
		return p->host[0] && !fnmatch(c->pattern, p->host, FNM_CASEFOLD);
	case EXPORT_NETGROUP:
		return match_netgroup(c->pattern + (c->pattern[0] == '@'), p);
	case EXPORT_ANY:
		return true;
	}
	return false;
}

const struct export_client *export_client_match(const struct export *e, const struct peer *p)
{
	for (unsigned i = 0; i < e->nclients; i++)
		if (client_matches(&e->clients[i], p))
			return &e->clients[i];
	return NULL;
}

struct export *export_by_root_id(const struct export_table *t, uint32_t root_id)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->exports[i].root && t->exports[i].root->id == root_id)
			return &t->exports[i];
	return NULL;
}

/* Behind `prefix` in `path` when it is one by components, else NULL. */
static const char *behind_prefix(const char *path, const char *prefix)
{
	for (;;) {
		while (*path == '/')
			path++;
		while (*prefix == '/')
			prefix++;
		if (!*prefix)
			return path;
		while (*prefix && *prefix != '/')
			if (*prefix++ != *path++)
				return NULL;
		if (*path && *path != '/')
			return NULL;
	}
}

struct export *export_by_path(const struct export_table *t, const char *path, const char **rest)
{
	struct export *best = NULL;

	if (path[0] != '/')
		return NULL;
	for (unsigned i = 0; i < t->n; i++) {
		const char *r = behind_prefix(path, t->exports[i].path);

		/* The less is left over, the longer the prefix. */
		if (r && (!best || r > *rest)) {
			best = &t->exports[i];
			*rest = r;
		}
	}
	return best;
}

/* An unprivileged server can act as nobody but itself. */
static struct cred *own_cred(void)
{
	gid_t *gids = NULL;
	struct cred *c = NULL;
	int n = getgroups(0, NULL);

	if (n > 0)
		gids = calloc((size_t)n, sizeof(*gids));
	if (n <= 0 || (gids && (n = getgroups(n, gids)) >= 0))
		c = cred_new(geteuid(), getegid(), gids, n > 0 ? (unsigned)n : 0);
	free(gids);
	return c;
}

bool export_all_are_server(const struct export *x)
{
	if (cred_switchable())
		return false;
	for (unsigned i = 0; i < x->nclients; i++) {
		const struct export_opts *o = &x->clients[i].opts;

		if (!o->all_squash || o->anonuid != geteuid())
			return true;
	}
	return false;
}

static gid_t squash_gid(const struct export_opts *o, gid_t gid)
{
	return (gid == 0 && o->root_squash) || gid == ID_NONE ? o->anongid : gid;
}

struct cred *export_squash(const struct export_opts *o, const struct rpccred *rc, const gid_t *gids,
			   unsigned ngids)
{
	gid_t small[RPCCRED_GIDS_MAX], *list = small;
	struct cred *c;
	uid_t uid;

	if (!cred_switchable())
		return own_cred();
	if (o->all_squash || rc->flavor != RPCCRED_AUTH_SYS || !(o->sec_sys || !o->sec_none))
		return cred_new(o->anonuid, o->anongid, NULL, 0);
	if (!gids)
		ngids = rc->ngids < RPCCRED_GIDS_MAX ? rc->ngids : RPCCRED_GIDS_MAX;
	else if (ngids > RPCCRED_GIDS_MAX && ngids <= GIDS_MAX)
		list = calloc(ngids, sizeof(*list));
	else if (ngids > GIDS_MAX)
		list = NULL;
	if (!list)
		return NULL;
	for (unsigned i = 0; i < ngids; i++)
		list[i] = squash_gid(o, gids ? gids[i] : rc->gids[i]);
	uid = (rc->uid == 0 && o->root_squash) || rc->uid == ID_NONE ? o->anonuid : rc->uid;
	c = cred_new(uid, squash_gid(o, rc->gid), list, ngids);
	if (list != small)
		free(list);
	return c;
}
