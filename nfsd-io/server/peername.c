/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/server/peername.h"

#define THREADS 4
#define PENDING_MAX 256

struct peername {
	struct offload *threads;
	void (*deliver)(void *arg, int fd, const struct peer *peer);
	void *arg;
	pthread_mutex_t lock; /* stopped, held while delivering */
	bool stopped;
	_Atomic unsigned pending;
};

struct lookup {
	struct offload_job job; /* first */
	struct peername *n;
	int fd;
	struct peer peer;
};

int peername_new(struct peername **out, void (*deliver)(void *arg, int fd, const struct peer *peer),
		 void *arg)
{
	struct peername *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	err = offload_new(&n->threads, THREADS);
	if (err) {
		free(n);
		return err;
	}
	n->deliver = deliver;
	n->arg = arg;
	pthread_mutex_init(&n->lock, NULL);
	*out = n;
	return 0;
}

void peername_stop(struct peername *n)
{
	pthread_mutex_lock(&n->lock);
	n->stopped = true;
	pthread_mutex_unlock(&n->lock);
}

void peername_free(struct peername *n)
{
	if (!n)
		return;
	peername_stop(n);
	offload_free(n->threads);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

static bool export_wants(const struct export *e)
{
	unsigned i;

	for (i = 0; i < e->nclients; i++) {
		if (e->clients[i].match == EXPORT_WILDCARD ||
		    e->clients[i].match == EXPORT_NETGROUP)
			return true;
	}
	return false;
}

bool peername_wanted(const struct proto_env *env)
{
	struct export_table *t = env->exports(env->arg);
	bool wanted = false;
	unsigned i;

	for (i = 0; !wanted && i < t->n; i++)
		wanted = export_wants(&t->exports[i]);
	export_table_put(t);
	return wanted;
}

static socklen_t addr_len(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static bool same_host(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	if (a->sa_family != b->ss_family)
		return false;
	if (a->sa_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr,
			       sizeof(struct in6_addr));
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

/* Whoever runs the reverse zone may claim any name: the name must lead back to the address. */
static bool confirmed(const char *host, const struct sockaddr_storage *addr)
{
	struct addrinfo hints = {.ai_family = addr->ss_family, .ai_socktype = SOCK_STREAM}, *list,
			*ai;
	bool found = false;

	if (getaddrinfo(host, NULL, &hints, &list))
		return false;
	for (ai = list; ai && !found; ai = ai->ai_next)
		found = same_host(ai->ai_addr, addr);
	freeaddrinfo(list);
	return found;
}

static void look_up(struct offload_job *job)
{
	struct lookup *l = (struct lookup *)job;
	struct peername *n = l->n;
	struct peer *peer = &l->peer;

	if (getnameinfo((struct sockaddr *)&peer->addr, addr_len(&peer->addr), peer->host,
			sizeof(peer->host), NULL, 0, NI_NAMEREQD) ||
	    !confirmed(peer->host, &peer->addr))
		peer->host[0] = '\0';
	pthread_mutex_lock(&n->lock);
	if (n->stopped)
		close(l->fd);
	else
		n->deliver(n->arg, l->fd, peer);
	pthread_mutex_unlock(&n->lock);
	n->pending--;
	free(l);
}

void peername_find(struct peername *n, int fd, const struct peer *peer)
{
	struct lookup *l = n->pending < PENDING_MAX ? calloc(1, sizeof(*l)) : NULL;

	if (!l) {
		close(fd);
		return;
	}
	l->job.run = look_up;
	l->n = n;
	l->fd = fd;
	l->peer = *peer;
	n->pending++;
	offload_submit(n->threads, &l->job);
}

unsigned peername_pending(const struct peername *n)
{
	return n->pending;
}
