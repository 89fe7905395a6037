/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Listening sockets and the thread that accepts on them.  A new connection
 * goes to the worker that has the fewest, so that nconnect=16 spreads.
 * Sleeps in poll(); out of descriptors it sheds cached files and backs off.
 */
#ifndef SERVER_PORT_H
#define SERVER_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsd-io/proto/req.h"
#include "nfsd-io/server/connreg.h"
#include "nfsd-io/server/worker.h"

struct port;

struct port_params {
	char **hosts; /* addresses or names; none = all addresses */
	unsigned nhosts;
	bool any_will_do; /* a host that cannot be bound is passed over as long as one can */
	unsigned backlog;	/* 0 = the system's */
	const char *congestion; /* congestion_listen()'s wish; NULL = auto */
};

struct port_service {
	struct worker **workers;
	unsigned nworkers;
	struct connreg *conns;
	unsigned max_connections;
	const struct proto_env *env;
};

struct port_stats { uint64_t accepted, refused, shortages; };

/* Nothing bound yet. */
int port_new(struct port **out);
/*
 * Bind and listen on `number` (0 = any free one, the same on all addresses).
 * Returns the port, or -errno with a line for the operator in why[len].
 */
int port_bind(struct port *p, const struct port_params *params, uint16_t number, char *why,
	      size_t len);
/* Accept from now on; `s` is copied.  0 or -errno. */
int port_start(struct port *p, const struct port_service *s);
/* Accept no more and close the sockets; returns when the thread has ended. */
void port_stop(struct port *p);
void port_free(struct port *p); /* NULL is fine */

/*
 * What port_bind() bound, port_stop() or not; for any thread from port_start() on.
 * "127.0.0.1:2049", "[::]:2049"; malloc'd array of malloc'd strings.
 */
unsigned port_addresses(const struct port *p, char ***out);
/* The same as addresses; how many, at most `max`. */
unsigned port_sockaddrs(const struct port *p, struct sockaddr_storage *out, unsigned max);
void port_stats(const struct port *p, struct port_stats *out);
/* "192.0.2.2:891" or "[2001:db8::1]:891". */
void port_text(const struct sockaddr_storage *a, char *out, size_t len);

#endif
