/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/exports_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOKUP_SECONDS 5
#define ADDRS_MAX 64

/* Both families' address bytes, for masks. */
static uint8_t *bytes_of(struct sockaddr_storage *ss, unsigned *bits)
{
	*bits = ss->ss_family == AF_INET ? 32 : 128;
	return ss->ss_family == AF_INET ? (uint8_t *)&((struct sockaddr_in *)ss)->sin_addr
					: (uint8_t *)&((struct sockaddr_in6 *)ss)->sin6_addr;
}

static bool parse_addr(const char *text, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &((struct sockaddr_in *)out)->sin_addr) == 1)
		out->ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)out)->sin6_addr) == 1)
		out->ss_family = AF_INET6;
	else
		return false;
	return true;
}

/* "24", "255.255.255.0" or "ffff::": how many leading bits; -1 when it is no mask. */
static int parse_mask(const char *text, int family)
{
	struct sockaddr_storage mask;
	unsigned bits, n = 0;
	uint8_t *b;
	char *end;
	long v;

	if (!parse_addr(text, &mask)) {
		v = strtol(text, &end, 10);
		return *text >= '0' && *text <= '9' && !*end && v <= (family == AF_INET ? 32 : 128)
			       ? (int)v
			       : -1;
	}
	if (mask.ss_family != family)
		return -1;
	b = bytes_of(&mask, &bits);
	while (n < bits && (b[n / 8] & (0x80 >> n % 8)))
		n++;
	for (unsigned i = n; i < bits; i++)
		if (b[i / 8] & (0x80 >> i % 8))
			return -1;
	return (int)n;
}

static void clear_host_bits(struct sockaddr_storage *ss, unsigned prefix)
{
	unsigned bits;
	uint8_t *b = bytes_of(ss, &bits);

	for (unsigned i = prefix; i < bits; i++)
		b[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
}

static int init_network(struct export_client *c, const char *name, const char **why)
{
	const char *slash = strchr(name, '/');
	char addr[INET6_ADDRSTRLEN];
	int prefix;

	snprintf(addr, sizeof(addr), "%.*s", (int)(slash - name), name);
	c->addrs = calloc(1, sizeof(*c->addrs));
	if (!c->addrs)
		return -ENOMEM;
	*why = "not an address in front of /";
	if ((size_t)(slash - name) >= sizeof(addr) || !parse_addr(addr, c->addrs))
		return -EINVAL;
	*why = "neither a prefix length nor a mask of leading ones behind /";
	prefix = parse_mask(slash + 1, c->addrs->ss_family);
	if (prefix < 0)
		return -EINVAL;
	c->naddrs = 1;
	c->prefix = (unsigned)prefix;
	clear_host_bits(c->addrs, c->prefix);
	return 0;
}

static int init_host(struct export_client *c, const char *name)
{
	struct sockaddr_storage ss;

	if (!parse_addr(name, &ss))
		return 0;
	c->addrs = malloc(sizeof(ss));
	if (!c->addrs)
		return -ENOMEM;
	*c->addrs = ss;
	c->naddrs = 1;
	return 0;
}

/* The order of the questions is knfsd's: "[" makes a wildcard, not an IPv6 address. */
int exports_client_init(struct export_client *c, const char *name, const char **why)
{
	int err = 0;

	*why = "out of memory";
	if (!strncmp(name, "gss/", 4))
		return -ENOTSUP;
	c->pattern = strdup(name);
	if (!c->pattern)
		return -ENOMEM;
	if (!*name || !strcmp(name, "*")) {
		c->match = EXPORT_ANY;
	} else if (*name == '@') {
		c->match = EXPORT_NETGROUP;
		if (!name[1]) {
			*why = "no netgroup behind @";
			err = -EINVAL;
		}
	} else if (strpbrk(name, "*?[")) {
		c->match = EXPORT_WILDCARD;
	} else if (strchr(name, '/')) {
		c->match = EXPORT_NETWORK;
		err = init_network(c, name, why);
	} else {
		c->match = EXPORT_HOST;
		err = init_host(c, name);
	}
	if (err)
		exports_client_fini(c);
	return err;
}

void exports_client_fini(struct export_client *c)
{
	free(c->pattern);
	free(c->addrs);
	c->pattern = NULL;
	c->addrs = NULL;
	c->naddrs = 0;
}

void exports_client_where(const struct export_client *c, char *out, size_t len)
{
	if (c->line)
		snprintf(out, len, "%s:%u", c->file, c->line);
	else
		snprintf(out, len, "%s", c->file);
}

/*
 * One batch for getaddrinfo_a().  A lookup that is still in a resolver's hands
 * after the time is up cannot be called back: its memory is then left to it.
 */
struct lookups {
	unsigned n;
	struct export_client **clients;
	struct gaicb *cb, **list;
	char **names;
};

static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};

static unsigned count_unknown(const struct export_table *t, struct export_client **out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++) {
		for (unsigned j = 0; j < t->exports[i].nclients; j++) {
			struct export_client *c = &t->exports[i].clients[j];

			if (c->match != EXPORT_HOST || c->naddrs)
				continue;
			if (out)
				out[n] = c;
			n++;
		}
	}
	return n;
}

static void take_addrs(struct export_client *c, const struct addrinfo *ai)
{
	c->addrs = calloc(ADDRS_MAX, sizeof(*c->addrs));
	for (; c->addrs && ai && c->naddrs < ADDRS_MAX; ai = ai->ai_next)
		if (ai->ai_addrlen <= sizeof(*c->addrs))
			memcpy(&c->addrs[c->naddrs++], ai->ai_addr, ai->ai_addrlen);
}

static void lookups_wait(struct lookups *l)
{
	struct timespec now, end, left;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += LOOKUP_SECONDS;
	for (;;) {
		bool busy = false;

		for (unsigned i = 0; i < l->n; i++)
			busy |= gai_error(&l->cb[i]) == EAI_INPROGRESS;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (!busy || now.tv_sec > end.tv_sec ||
		    (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec))
			return;
		left.tv_sec = end.tv_sec - now.tv_sec;
		left.tv_nsec = end.tv_nsec - now.tv_nsec;
		if (left.tv_nsec < 0) {
			left.tv_sec--;
			left.tv_nsec += 1000000000;
		}
		if (gai_suspend((const struct gaicb *const *)l->list, (int)l->n, &left) ==
		    EAI_ALLDONE)
			return;
	}
}

/* True when nothing of the batch is with the resolver any more. */
static bool lookups_collect(struct lookups *l,
			    void (*lost)(void *arg, const struct export_client *c, const char *why),
			    void *arg)
{
	bool all = true;

	for (unsigned i = 0; i < l->n; i++) {
		int err = gai_error(&l->cb[i]);

		if (err == EAI_INPROGRESS && gai_cancel(&l->cb[i]) == EAI_NOTCANCELED)
			all = false;
		if (!err) {
			take_addrs(l->clients[i], l->cb[i].ar_result);
			freeaddrinfo(l->cb[i].ar_result);
		} else {
			lost(arg, l->clients[i],
			     err == EAI_INPROGRESS ? "no answer in time" : gai_strerror(err));
		}
	}
	return all;
}

static void lookups_free(struct lookups *l)
{
	for (unsigned i = 0; l->names && i < l->n; i++)
		free(l->names[i]);
	free(l->names);
	free(l->list);
	free(l->cb);
}

void exports_client_resolve(struct export_table *t,
			    void (*lost)(void *arg, const struct export_client *c, const char *why),
			    void *arg)
{
	struct lookups l = {.n = count_unknown(t, NULL)};
	bool ok = l.n > 0;

	if (!ok)
		return;
	l.clients = calloc(l.n, sizeof(*l.clients));
	l.cb = calloc(l.n, sizeof(*l.cb));
	l.list = calloc(l.n, sizeof(*l.list));
	l.names = calloc(l.n, sizeof(*l.names));
	ok = l.clients && l.cb && l.list && l.names;
	if (ok)
		count_unknown(t, l.clients);
	for (unsigned i = 0; ok && i < l.n; i++) {
		l.names[i] = strdup(l.clients[i]->pattern);
		l.cb[i].ar_name = l.names[i];
		l.cb[i].ar_request = &hints;
		l.list[i] = &l.cb[i];
		ok = l.names[i];
	}
	if (ok) {
		/* A failure may have queued some; those not queued show as errors below. */
		getaddrinfo_a(GAI_NOWAIT, l.list, (int)l.n, NULL);
		lookups_wait(&l);
		ok = lookups_collect(&l, lost, arg);
	} else {
		ok = true;
	}
	if (ok)
		lookups_free(&l);
	free(l.clients);
}
