/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "nfsd-io/server/congestion.h"
#include "nfsd-io/server/conn.h"
#include "nfsd-io/server/holder.h"
#include "nfsd-io/server/peername.h"
#include "nfsd-io/server/port.h"

#define LISTENERS_MAX 32
#define ACCEPTS_A_ROUND 64
#define BACKOFF_MIN_MS 20
#define BACKOFF_MAX_MS 500
#define SHED_FILES 16

struct port {
	struct pollfd fds[1 + LISTENERS_MAX]; /* [0] is the eventfd that ends the thread */
	unsigned nfds;
	/* of fds[1] on; since port_start() nobody changes them */
	struct sockaddr_storage addrs[LISTENERS_MAX];
	unsigned naddrs;
	struct congestion congestion; /* the same for all of them */
	struct port_service s;
	struct peername *names; /* connections whose host name is being found */
	int backoff_ms;		/* 0 = accepting */
	bool running;
	pthread_t thread;
	_Atomic uint64_t accepted, refused, shortages;
};

int port_new(struct port **out)
{
	struct port *p = calloc(1, sizeof(*p));
	int fd;

	if (!p)
		return -ENOMEM;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0) {
		free(p);
		return -errno;
	}
	p->fds[p->nfds++] = (struct pollfd){.fd = fd, .events = POLLIN};
	*out = p;
	return 0;
}

void port_text(const struct sockaddr_storage *a, char *out, size_t len)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)a;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(out, len, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in = (const void *)a;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(out, len, "%s:%u", host, ntohs(in->sin_port));
	}
}

static void set_port(struct sockaddr_storage *a, uint16_t number)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons(number);
	else
		((struct sockaddr_in *)a)->sin_port = htons(number);
}

static uint16_t get_port(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
					      : ((const struct sockaddr_in *)a)->sin_port);
}

static socklen_t addr_len(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* A listening descriptor, or -errno. */
static int listen_on(struct port *p, const struct sockaddr_storage *a,
		     const struct port_params *params)
{
	int fd = socket(a->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (a->ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)))
		goto fail;
	err = congestion_listen(&p->congestion, fd, params->congestion);
	if (err) {
		close(fd);
		return err;
	}
	if (bind(fd, (const struct sockaddr *)a, addr_len(a)) ||
	    listen(fd, params->backlog ? (int)params->backlog : SOMAXCONN))
		goto fail;
	return fd;
fail:
	err = -errno;
	close(fd);
	return err;
}

static void explain_failure(const struct sockaddr_storage *a, int err, char *why, size_t len)
{
	char text[INET6_ADDRSTRLEN + 8], holder[160] = "";

	port_text(a, text, sizeof(text));
	if (err == -EADDRINUSE)
		holder_find(get_port(a), holder, sizeof(holder));
	if (*holder)
		snprintf(why, len, "cannot listen on %s: the port is held by %s", text, holder);
	else
		snprintf(why, len, "cannot listen on %s: %s", text, strerror(-err));
}

static int add_listener(struct port *p, struct sockaddr_storage *a,
			const struct port_params *params, uint16_t *number)
{
	socklen_t len = sizeof(*a);
	int fd;

	if (p->naddrs == LISTENERS_MAX)
		return -E2BIG;
	set_port(a, *number);
	fd = listen_on(p, a, params);
	if (fd < 0)
		return fd;
	if (!*number && !getsockname(fd, (struct sockaddr *)a, &len))
		*number = get_port(a);
	p->addrs[p->naddrs++] = *a;
	p->fds[p->nfds++] = (struct pollfd){.fd = fd, .events = POLLIN};
	return 0;
}

/* All addresses `host` stands for; NULL is every address of the machine. */
static int resolve(const char *host, struct addrinfo **out, char *why, size_t len)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	int err = getaddrinfo(host, "0", &hints, out);

	if (!err)
		return 0;
	snprintf(why, len, "cannot listen on \"%s\": %s", host ? host : "*", gai_strerror(err));
	return -EADDRNOTAVAIL;
}

/* One host's addresses.  Families this machine does not have are passed over when `lenient`. */
static int bind_host(struct port *p, const char *host, const struct port_params *params,
		     bool lenient, uint16_t *number, char *why, size_t len)
{
	struct addrinfo *list, *ai;
	int err, first = 0;
	unsigned bound = 0;

	err = resolve(host, &list, why, len);
	if (err)
		return err;
	for (ai = list; ai; ai = ai->ai_next) {
		struct sockaddr_storage a = {0};

		if (ai->ai_family != AF_INET && ai->ai_family != AF_INET6)
			continue;
		memcpy(&a, ai->ai_addr, ai->ai_addrlen);
		err = add_listener(p, &a, params, number);
		if (!err) {
			bound++;
			continue;
		}
		if (!first || err == -EADDRINUSE) {
			first = err;
			explain_failure(&a, err, why, len);
		}
		if (!lenient || (err != -EAFNOSUPPORT && err != -EADDRNOTAVAIL))
			break;
		err = 0;
	}
	freeaddrinfo(list);
	if (err)
		return err;
	return bound ? 0 : first ? first : -EADDRNOTAVAIL;
}

static void unbind(struct port *p, unsigned keep)
{
	while (p->nfds > keep)
		close(p->fds[--p->nfds].fd);
}

int port_bind(struct port *p, const struct port_params *params, uint16_t number, char *why,
	      size_t len)
{
	unsigned keep = p->nfds, i, tries = number ? 1 : 16;
	uint16_t chosen = number;
	int err = congestion_check(params->congestion);
	char wrong[256];

	if (err) {
		congestion_why(params->congestion, err, wrong, sizeof(wrong));
		snprintf(why, len, "[nfsd] congestion-control: %s", wrong);
		return err;
	}
	/* A free port of one family may be taken in the other: then another one is tried. */
	while (tries--) {
		chosen = number;
		if (!params->nhosts)
			err = bind_host(p, NULL, params, true, &chosen, why, len);
		for (i = 0; i < params->nhosts; i++) {
			err = bind_host(p, params->hosts[i], params, params->any_will_do, &chosen,
					why, len);
			if (err && !(params->any_will_do && err != -EADDRINUSE))
				break;
		}
		if (params->any_will_do && err != -EADDRINUSE && p->nfds > keep)
			err = 0;
		if (!err)
			return chosen;
		unbind(p, keep);
		p->naddrs = p->nfds - 1;
		if (err != -EADDRINUSE)
			break;
	}
	return err;
}

static struct worker *least_loaded(const struct port *p)
{
	struct worker *best = p->s.workers[0];
	unsigned i;

	for (i = 1; i < p->s.nworkers; i++) {
		if (atomic_load_explicit(&p->s.workers[i]->nconns, memory_order_relaxed) <
		    atomic_load_explicit(&best->nconns, memory_order_relaxed))
			best = p->s.workers[i];
	}
	return best;
}

/* Takes `fd`. */
static void deliver(void *arg, int fd, const struct peer *peer)
{
	struct port *p = arg;
	struct worker *w = least_loaded(p);
	struct conn *c = conn_new(w, fd, peer);

	if (c)
		worker_hand(w, c);
}

static void fill_peer(struct peer *peer, const struct sockaddr_storage *a)
{
	memset(peer, 0, sizeof(*peer));
	peer->addr = *a;
	port_text(a, peer->text, sizeof(peer->text));
	peer->secure_port = get_port(a) < IPPORT_RESERVED;
}

static void take(struct port *p, int fd, const struct sockaddr_storage *a)
{
	const struct proto_env *env = p->s.env;
	struct peer peer;

	fill_peer(&peer, a);
	if (connreg_count(p->s.conns) + peername_pending(p->names) >= p->s.max_connections) {
		atomic_fetch_add_explicit(&p->refused, 1, memory_order_relaxed);
		env->log(env->arg, LOG_WARNING,
			 "%s: refused: %u connections are open (max-connections)", peer.text,
			 p->s.max_connections);
		close(fd);
		return;
	}
	atomic_fetch_add_explicit(&p->accepted, 1, memory_order_relaxed);
	if (peername_wanted(env))
		peername_find(p->names, fd, &peer);
	else
		deliver(p, fd, &peer);
}

/* Descriptors or memory are out: leave callers in the backlog for a moment. */
static void back_off(struct port *p, int err)
{
	const struct proto_env *env = p->s.env;

	atomic_fetch_add_explicit(&p->shortages, 1, memory_order_relaxed);
	if (!p->backoff_ms)
		env->log(env->arg, LOG_WARNING, "accept: %s; closing cached files", strerror(err));
	p->backoff_ms = p->backoff_ms ? p->backoff_ms * 2 : BACKOFF_MIN_MS;
	if (p->backoff_ms > BACKOFF_MAX_MS)
		p->backoff_ms = BACKOFF_MAX_MS;
	fdcache_shed(env->files, SHED_FILES);
}

static void accept_round(struct port *p, int fd)
{
	unsigned i;

	for (i = 0; i < ACCEPTS_A_ROUND; i++) {
		struct sockaddr_storage a = {0};
		socklen_t len = sizeof(a);
		/* Not O_NONBLOCK: io_uring would hand EAGAIN back instead of waiting. */
		int new = accept4(fd, (struct sockaddr *)&a, &len, SOCK_CLOEXEC);

		if (new >= 0) {
			p->backoff_ms = 0;
			congestion_accept(&p->congestion, new, &a);
			take(p, new, &a);
			continue;
		}
		if (errno == EAGAIN)
			return;
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			back_off(p, errno);
			return;
		}
		/*
		 * Whatever else was the fault of that one connection (accept(2), "Error handling").
		 */
	}
}

static void *run(void *arg)
{
	struct port *p = arg;
	unsigned i;

	pthread_setname_np(pthread_self(), "nfsd-io/accept");
	for (;;) {
		int n = poll(p->fds, p->backoff_ms ? 1 : p->nfds,
			     p->backoff_ms ? p->backoff_ms : -1);

		if (n < 0 && errno != EINTR)
			p->backoff_ms = BACKOFF_MAX_MS; /* ENOMEM */
		if (p->fds[0].revents)
			return NULL;
		for (i = 1; i < p->nfds; i++)
			if (p->backoff_ms || p->fds[i].revents)
				accept_round(p, p->fds[i].fd);
	}
}

int port_start(struct port *p, const struct port_service *s)
{
	int err;

	p->s = *s;
	err = peername_new(&p->names, deliver, p);
	if (err)
		return err;
	err = -pthread_create(&p->thread, NULL, run, p);
	p->running = !err;
	return err;
}

void port_stop(struct port *p)
{
	uint64_t one = 1;

	if (p->running) {
		if (write(p->fds[0].fd, &one, sizeof(one)) < 0)
			abort(); /* an eventfd of our own takes a one */
		pthread_join(p->thread, NULL);
		p->running = false;
		peername_stop(p->names);
	}
	unbind(p, 1);
}

void port_free(struct port *p)
{
	if (!p)
		return;
	port_stop(p);
	peername_free(p->names);
	close(p->fds[0].fd);
	free(p);
}

unsigned port_sockaddrs(const struct port *p, struct sockaddr_storage *out, unsigned max)
{
	unsigned n = p->naddrs < max ? p->naddrs : max;

	memcpy(out, p->addrs, n * sizeof(*out));
	return n;
}

unsigned port_addresses(const struct port *p, char ***out)
{
	unsigned n = 0;

	*out = calloc(p->naddrs + 1, sizeof(**out));
	for (unsigned i = 0; *out && i < p->naddrs; i++) {
		char text[INET6_ADDRSTRLEN + 8];

		port_text(&p->addrs[i], text, sizeof(text));
		(*out)[n] = strdup(text);
		if ((*out)[n])
			n++;
	}
	return n;
}

void port_stats(const struct port *p, struct port_stats *out)
{
	out->accepted = p->accepted;
	out->refused = p->refused;
	out->shortages = p->shortages;
}
