/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/drc.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHARDS 16
#define BUCKETS 256 /* a shard */
#define CONNS 64     /* lists of a shard by connection */
#define SUM_BYTES 256
#define SETTLED_NS UINT64_C(60000000000)

struct drc_entry {
	struct drc_entry *hash_next, *conn_next, *conn_prev;
	struct drc_entry *lru_prev, *lru_next; /* answered ones only; or free list by lru_next */
	unsigned shard;
	uint64_t hash, sum, conn;
	uint64_t settled_ns; /* when its connection was closed with nothing left to ask, or 0 */
	uint8_t addr[16];
	in_port_t port;
	uint32_t xid, prog, vers, proc;
	size_t call_len;
	bool done;
	struct drc_waiter *waiter; /* not done; NULL: nobody waits */
	uint8_t *reply;
	size_t len;
};

struct shard {
	pthread_mutex_t lock;
	struct drc_entry *entries, *free;
	struct drc_entry *newest, *oldest;
	struct drc_entry *buckets[BUCKETS];
	struct drc_entry *conns[CONNS];
	size_t bytes;
	unsigned used;
	uint64_t hits, misses, in_progress, evicted;
};

struct drc {
	struct drc_params p;
	size_t shard_bytes;
	struct shard shards[SHARDS];
};

static uint64_t fnv(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static void addr_of(const struct sockaddr_storage *ss, uint8_t out[16])
{
	memset(out, 0, 16);
	if (ss->ss_family == AF_INET6)
		memcpy(out, &((const struct sockaddr_in6 *)ss)->sin6_addr, 16);
	else if (ss->ss_family == AF_INET)
		memcpy(out + 12, &((const struct sockaddr_in *)ss)->sin_addr, 4);
}

static in_port_t port_of(const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)ss)->sin6_port;
	return ss->ss_family == AF_INET ? ((const struct sockaddr_in *)ss)->sin_port : 0;
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The key's part of an entry; the entry is not yet anywhere. */
static void entry_fill(struct drc_entry *e, const struct drc_key *k)
{
	uint32_t words[4] = {k->xid, k->prog, k->vers, k->proc};
	uint64_t h;

	addr_of(&k->addr, e->addr);
	e->port = port_of(&k->addr);
	e->conn = k->conn;
	e->xid = k->xid;
	e->prog = k->prog;
	e->vers = k->vers;
	e->proc = k->proc;
	e->call_len = k->len;
	e->sum =
		fnv(UINT64_C(0xcbf29ce484222325), k->call, k->len < SUM_BYTES ? k->len : SUM_BYTES);
	h = fnv(e->sum, e->addr, sizeof(e->addr));
	h = fnv(h, words, sizeof(words));
	e->hash = h ^ (h >> 32);
	e->shard = e->hash % SHARDS;
}

static bool entry_same(const struct drc_entry *a, const struct drc_entry *b)
{
	return a->hash == b->hash && a->sum == b->sum && a->call_len == b->call_len &&
	       a->xid == b->xid && a->prog == b->prog && a->vers == b->vers && a->proc == b->proc &&
	       !memcmp(a->addr, b->addr, sizeof(a->addr));
}

static struct drc_entry **bucket(struct shard *s, const struct drc_entry *e)
{
	return &s->buckets[e->hash / SHARDS % BUCKETS];
}

static void lru_unlink(struct shard *s, struct drc_entry *e)
{
	*(e->lru_prev ? &e->lru_prev->lru_next : &s->newest) = e->lru_next;
	*(e->lru_next ? &e->lru_next->lru_prev : &s->oldest) = e->lru_prev;
	e->lru_prev = e->lru_next = NULL;
}

static void lru_push(struct shard *s, struct drc_entry *e)
{
	e->lru_prev = NULL;
	e->lru_next = s->newest;
	*(s->newest ? &s->newest->lru_prev : &s->oldest) = e;
	s->newest = e;
}

static struct drc_entry **conn_list(struct shard *s, uint64_t conn)
{
	return &s->conns[conn % CONNS];
}

static void conn_unlink(struct shard *s, struct drc_entry *e)
{
	*(e->conn_prev ? &e->conn_prev->conn_next : conn_list(s, e->conn)) = e->conn_next;
	if (e->conn_next)
		e->conn_next->conn_prev = e->conn_prev;
}

static void conn_link(struct shard *s, struct drc_entry *e, uint64_t conn)
{
	struct drc_entry **head = conn_list(s, conn);

	e->conn = conn;
	e->conn_prev = NULL;
	e->conn_next = *head;
	if (*head)
		(*head)->conn_prev = e;
	*head = e;
}

/* Out of the table and onto the free list; not on the LRU any more. */
static void entry_forget(struct shard *s, struct drc_entry *e)
{
	struct drc_entry **p = bucket(s, e);

	while (*p != e)
		p = &(*p)->hash_next;
	*p = e->hash_next;
	conn_unlink(s, e);
	s->bytes -= e->len;
	s->used--;
	free(e->reply);
	memset(e, 0, sizeof(*e));
	e->lru_next = s->free;
	s->free = e;
}

static void evict_oldest(struct shard *s)
{
	struct drc_entry *e = s->oldest;

	lru_unlink(s, e);
	entry_forget(s, e);
	s->evicted++;
}

int drc_new(struct drc **out, const struct drc_params *p)
{
	struct drc *d = calloc(1, sizeof(*d));
	unsigned each;

	if (!d)
		return -ENOMEM;
	d->p = *p;
	each = ((p->max_entries ? p->max_entries : 4096) + SHARDS - 1) / SHARDS;
	d->shard_bytes = (p->max_bytes ? p->max_bytes : (size_t)8 << 20) / SHARDS;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *s = &d->shards[i];

		pthread_mutex_init(&s->lock, NULL);
		s->entries = calloc(each, sizeof(*s->entries));
		if (!s->entries)
			goto fail;
		for (unsigned j = 0; j < each; j++) {
			s->entries[j].lru_next = s->free;
			s->free = &s->entries[j];
		}
	}
	*out = d;
	return 0;
fail:
	drc_free(d);
	return -ENOMEM;
}

void drc_free(struct drc *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *s = &d->shards[i];

		while (s->oldest)
			evict_oldest(s);
		free(s->entries);
		pthread_mutex_destroy(&s->lock);
	}
	free(d);
}

/* A twin from another connection: is it the same call? */
static bool again(const struct drc *d, const struct drc_entry *e, const struct drc_entry *probe)
{
	if (e->settled_ns)
		return e->port == probe->port && clock_ns() - e->settled_ns < SETTLED_NS;
	return !d->p.conn_alive || !d->p.conn_alive(d->p.arg, e->conn);
}

/* The entry that `probe` repeats, or NULL. */
static struct drc_entry *find(struct drc *d, struct shard *s, const struct drc_entry *probe)
{
	for (struct drc_entry *e = *bucket(s, probe); e; e = e->hash_next)
		if (entry_same(e, probe) && (e->conn == probe->conn || again(d, e, probe)))
			return e;
	return NULL;
}

static struct drc_entry *insert(struct shard *s, const struct drc_entry *probe)
{
	struct drc_entry *e, **b;

	if (!s->free && s->oldest)
		evict_oldest(s);
	e = s->free;
	if (!e) /* all in progress: this one goes without */
		return NULL;
	s->free = e->lru_next;
	*e = *probe;
	b = bucket(s, e);
	e->hash_next = *b;
	*b = e;
	conn_link(s, e, probe->conn);
	s->used++;
	return e;
}

static void wake(struct drc_waiter *w)
{
	if (w)
		w->wake(w);
}

static enum drc_verdict replay(struct shard *s, struct drc_entry *e, uint8_t **reply, size_t *len)
{
	*reply = malloc(e->len ? e->len : 1);
	if (!*reply) /* as if lost on the way: the client will ask again */
		return DRC_IN_PROGRESS;
	memcpy(*reply, e->reply, e->len);
	*len = e->len;
	lru_unlink(s, e);
	lru_push(s, e);
	s->hits++;
	return DRC_REPLAY;
}

/* The first is at work.  Who waited for it until now: *old. */
static enum drc_verdict wait_for(struct shard *s, struct drc_entry *e, struct drc_waiter *w,
				 struct drc_waiter **old)
{
	s->in_progress++;
	if (!w)
		return DRC_IN_PROGRESS;
	*old = e->waiter;
	if (*old)
		(*old)->displaced = true;
	e->waiter = w;
	return DRC_WAITS;
}

enum drc_verdict drc_begin(struct drc *d, const struct drc_key *k, struct drc_waiter *w,
			   struct drc_entry **out, uint8_t **reply, size_t *len)
{
	struct drc_entry probe = {0}, *e;
	struct drc_waiter *old = NULL;
	enum drc_verdict v = DRC_NEW;
	struct shard *s;

	entry_fill(&probe, k);
	s = &d->shards[probe.shard];
	pthread_mutex_lock(&s->lock);
	e = find(d, s, &probe);
	if (e) {
		conn_unlink(s, e);
		conn_link(s, e, probe.conn);
		e->port = probe.port;
		e->settled_ns = 0;
		v = e->done ? replay(s, e, reply, len) : wait_for(s, e, w, &old);
	} else {
		s->misses++;
		*out = insert(s, &probe);
	}
	pthread_mutex_unlock(&s->lock);
	wake(old);
	return v;
}

void drc_done(struct drc *d, struct drc_entry *e, const uint8_t *reply, size_t len)
{
	struct drc_waiter *w;
	struct shard *s;
	uint8_t *copy = NULL;

	if (!e)
		return;
	s = &d->shards[e->shard];
	if (reply && len <= d->shard_bytes)
		copy = malloc(len ? len : 1);
	if (copy)
		memcpy(copy, reply, len);
	pthread_mutex_lock(&s->lock);
	assert(!e->done);
	w = e->waiter;
	e->waiter = NULL;
	if (copy) {
		while (s->oldest && s->bytes + len > d->shard_bytes)
			evict_oldest(s);
		e->done = true;
		e->reply = copy;
		e->len = len;
		s->bytes += len;
		lru_push(s, e);
	} else {
		entry_forget(s, e);
	}
	pthread_mutex_unlock(&s->lock);
	wake(w);
}

void drc_settle(struct drc *d, uint64_t conn)
{
	uint64_t now = clock_ns();

	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *s = &d->shards[i];

		pthread_mutex_lock(&s->lock);
		for (struct drc_entry *e = *conn_list(s, conn); e; e = e->conn_next)
			if (e->conn == conn && e->done)
				e->settled_ns = now;
		pthread_mutex_unlock(&s->lock);
	}
}

void drc_stats(struct drc *d, struct drc_stats *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *s = &d->shards[i];

		pthread_mutex_lock(&s->lock);
		out->hits += s->hits;
		out->misses += s->misses;
		out->in_progress += s->in_progress;
		out->evicted += s->evicted;
		out->entries += s->used;
		out->bytes += s->bytes;
		pthread_mutex_unlock(&s->lock);
	}
}
