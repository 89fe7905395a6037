/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nfsd-io/server/netdev.h"

static bool owns(const struct ifaddrs *i, const struct sockaddr_storage *a)
{
	if (!i->ifa_addr || i->ifa_addr->sa_family != a->ss_family)
		return false;
	if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *own = (const void *)i->ifa_addr;
		const struct in6_addr *want = &((const struct sockaddr_in6 *)a)->sin6_addr,
				      *have = &own->sin6_addr;

		return IN6_IS_ADDR_UNSPECIFIED(want) || IN6_ARE_ADDR_EQUAL(want, have);
	} else {
		in_addr_t want = ((const struct sockaddr_in *)a)->sin_addr.s_addr;

		return want == htonl(INADDR_ANY) ||
		       want == ((const struct sockaddr_in *)(const void *)i->ifa_addr)
				       ->sin_addr.s_addr;
	}
}

static bool listed(char (*names)[IF_NAMESIZE], unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

unsigned netdev_owners(const struct sockaddr_storage *addrs, unsigned n, char (*names)[IF_NAMESIZE],
		       unsigned max)
{
	struct ifaddrs *list, *i;
	unsigned found = 0;

	if (getifaddrs(&list))
		return 0;
	for (i = list; i; i = i->ifa_next) {
		if (i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP))
			continue;
		for (unsigned k = 0; k < n && found < max; k++)
			if (owns(i, &addrs[k]) && !listed(names, found, i->ifa_name))
				snprintf(names[found++], IF_NAMESIZE, "%s", i->ifa_name);
	}
	freeifaddrs(list);
	return found;
}
