/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/congestion.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KNOWN "/proc/sys/net/ipv4/tcp_available_congestion_control"

static int set(int fd, const char *name)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) ? -errno
											  : 0;
}

int congestion_listen(struct congestion *c, int fd, const char *wish)
{
	socklen_t len = sizeof(c->elsewhere) - 1;

	memset(c, 0, sizeof(*c));
	if (wish && !strcmp(wish, "system"))
		return 0;
	if (wish && strcmp(wish, "auto"))
		return set(fd, wish);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, c->elsewhere, &len))
		*c->elsewhere = '\0';
	/* A kernel without either sends as it always does. */
	if (!*c->elsewhere || !strcmp(c->elsewhere, CONGESTION_LOCAL) || set(fd, CONGESTION_LOCAL))
		*c->elsewhere = '\0';
	return 0;
}

/* The IPv4 address of a mapped one too, in network order; false for all others. */
static bool ipv4(const struct sockaddr_storage *a, struct in_addr *out)
{
	const struct sockaddr_in6 *in6 = (const void *)a;

	if (a->ss_family == AF_INET)
		*out = ((const struct sockaddr_in *)a)->sin_addr;
	else if (a->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		memcpy(out, &in6->sin6_addr.s6_addr[12], sizeof(*out));
	else
		return false;
	return true;
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	struct in_addr x, y;

	if (ipv4(a, &x))
		return ipv4(b, &y) && x.s_addr == y.s_addr;
	return a->ss_family == AF_INET6 && b->ss_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				  &((const struct sockaddr_in6 *)b)->sin6_addr);
}

/* From an address of loopback, or from the very address it called. */
static bool is_here(int fd, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage own = {0};
	socklen_t len = sizeof(own);
	struct in_addr v4;

	if (ipv4(peer, &v4) && ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET)
		return true;
	if (peer->ss_family == AF_INET6 &&
	    IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)peer)->sin6_addr))
		return true;
	return !getsockname(fd, (struct sockaddr *)&own, &len) && same_address(peer, &own);
}

void congestion_accept(const struct congestion *c, int fd, const struct sockaddr_storage *peer)
{
	if (*c->elsewhere && !is_here(fd, peer))
		set(fd, c->elsewhere);
}

int congestion_check(const char *wish)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	struct congestion c;

	if (fd < 0)
		fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0; /* whoever listens will say so */
	err = congestion_listen(&c, fd, wish);
	close(fd);
	return err;
}

/* "bbr, cubic". */
static void known(char *out, size_t len)
{
	FILE *f = fopen(KNOWN, "re");
	char names[256] = "";
	size_t at = 0;

	*out = '\0';
	if (!f)
		return;
	if (fgets(names, sizeof(names), f)) {
		for (char *save, *n = strtok_r(names, " \n", &save); n && at < len;
		     n = strtok_r(NULL, " \n", &save))
			at += (size_t)snprintf(out + at, len - at, "%s%s", at ? ", " : "", n);
	}
	fclose(f);
}

void congestion_why(const char *wish, int err, char *out, size_t len)
{
	char list[200];

	known(list, sizeof(list));
	if (err == -ENOENT)
		snprintf(out, len,
			 "\"%s\" is neither auto nor system, nor known to this kernel (%s)", wish,
			 list);
	else if (err == -EPERM)
		snprintf(out, len,
			 "\"%s\" is for root to choose (net.ipv4.tcp_allowed_congestion_control)",
			 wish);
	else
		snprintf(out, len, "\"%s\": %s", wish, strerror(-err));
}
