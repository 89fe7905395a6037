/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which network interfaces own the addresses that are listened on. */
#ifndef SERVER_NETDEV_H
#define SERVER_NETDEV_H

#include <net/if.h>
#include <sys/socket.h>

/*
 * Names of the interfaces that have one of the n addresses; for an address
 * that stands for all, every interface that is up.  No loopback, none twice.
 * Returns how many, at most `max`.
 */
unsigned netdev_owners(const struct sockaddr_storage *addrs, unsigned n, char (*names)[IF_NAMESIZE],
		       unsigned max);

#endif
