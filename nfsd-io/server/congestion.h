/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The TCP congestion control of a connection (`congestion-control`).
 *
 * `auto` is the system's choice, except towards peers on this very host: these
 * get reno.  Where the system's choice is one that paces, such as bbr, a reply of
 * 1 MiB is sixteen timers and sixteen wake-ups of the client, and there is no
 * network to pace for.  The kernel takes pacing from a connection never again,
 * so the listening socket has reno and what comes from elsewhere is given the
 * system's choice as soon as it is accepted, before anything was sent.
 */
#ifndef SERVER_CONGESTION_H
#define SERVER_CONGESTION_H

#include <netinet/tcp.h>
#include <sys/socket.h>

#define CONGESTION_NAME 16 /* TCP_CA_NAME_MAX, with the NUL */
#define CONGESTION_LOCAL "reno" /* is always there, and anybody's to choose */

struct congestion {
	/* for connections that leave the host; "": as the listening socket has it */
	char elsewhere[CONGESTION_NAME];
};

/*
 * Make ready a TCP socket that is to listen.  `wish`: auto (or NULL), system, or a name the kernel
 * knows.  0 or -errno: -ENOENT for a name it does not know, -EPERM for one we may not choose.
 */
int congestion_listen(struct congestion *c, int fd, const char *wish);
/* A connection that was accepted from `peer`.  Nothing that fails here matters. */
void congestion_accept(const struct congestion *c, int fd, const struct sockaddr_storage *peer);
/* Would congestion_listen() take it?  0 or its -errno. */
int congestion_check(const char *wish);
/* What is wrong with `wish`, in words, when `err` came of it. */
void congestion_why(const char *wish, int err, char *out, size_t len);

#endif
