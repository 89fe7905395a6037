/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Registration with the local rpcbind (RFC 1833, version 3), for clients that
 * ask it for our ports.  Never required: it happens on a thread of its own,
 * every exchange has a deadline, and a failure is one log line.
 */
#ifndef SERVER_PORTMAP_H
#define SERVER_PORTMAP_H

#include <stdbool.h>
#include <stdint.h>

struct portmap_entry {
	uint32_t prog, vers;
	uint16_t port;
};

/* On which networks we listen. */
#define PORTMAP_TCP 1u
#define PORTMAP_TCP6 2u

struct portmap;

/*
 * Register n entries in the background, in place of what was there for the
 * same programs and versions.  `expected`: it is worth a warning when no rpcbind
 * answers, and worth trying again.  When rpcbind is started anew, the registration is
 * repeated; nobody is woken until then.  NULL when there is no memory or thread for it (logged).
 */
struct portmap *portmap_start(const struct portmap_entry *e, unsigned n, unsigned networks,
			      bool expected);
/*
 * Take the registrations back and free p (NULL is fine).  Returns within 5 s whatever rpcbind does.
 */
void portmap_stop(struct portmap *p);

/* Does a local rpcbind answer?  Blocks for 2 s at most. */
bool portmap_answers(void);

#endif
