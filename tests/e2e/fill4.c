/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fill4 HOST PORT DIR MAX: as many confirmed clients as the server keeps, from 127.0.0.2, of 4.0
 * and 4.1 in turn, the first of them with a file open; then newcomers from there and from
 * 127.0.0.1.
 */
#include "config.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"
#include "tests/lib/v4owner.h"

static const char *host;
static int port;

/* Connected from `from`. */
static bool come_from(struct v4c *c, uint32_t minor, const char *from)
{
	struct sockaddr_in a = {.sin_family = AF_INET}, to = a;
	struct timeval wait = {.tv_sec = RAWNFS_WAIT_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok;

	inet_pton(AF_INET, from, &a.sin_addr);
	inet_pton(AF_INET, host, &to.sin_addr);
	to.sin_port = htons((uint16_t)port);
	ok = !v4c_open(c, host, port, minor) && !bind(fd, (struct sockaddr *)&a, sizeof(a)) &&
	     !connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
	     !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) &&
	     dup2(fd, c->raw.fd) >= 0;
	close(fd);
	return ok;
}

/* A client of the connection's version, confirmed; not recorded, for it has nothing to reclaim. */
static uint32_t confirmed(struct v4c *c, const char *owner)
{
	uint32_t seqid, status;

	c->session = false;
	if (!c->minor)
		return v4c_setclientid(c, owner, "verifier");
	status = v4c_exchange_id(c, owner, "verifier", 0, &seqid);
	return status ? status : v4c_create_session(c, seqid, 1);
}

/* How many got in before one did not. */
static unsigned fill(struct v4c crowd[2], unsigned max)
{
	uint32_t status = 0;
	char owner[32];
	unsigned n;

	for (n = 0; n < max; n++) {
		snprintf(owner, sizeof(owner), "crowd %u", n);
		status = confirmed(&crowd[n & 1], owner);
		if (status)
			break;
	}
	if (status)
		printf("# %u, %d\n", status, crowd[n & 1].err);
	return n;
}

static void newcomers(struct v4c crowd[2])
{
	struct v4c c;
	char owner[32];

	for (uint32_t minor = 0; minor < 3; minor++) {
		tap_ok(come_from(&c, minor, "127.0.0.1"), "4.%u: another address connects", minor);
		snprintf(owner, sizeof(owner), "honest %u", minor);
		tap_is(minor ? v4c_hello(&c, owner) : confirmed(&c, owner), NFS4_OK,
		       "it becomes a client");
		v4c_begin(&c);
		v4c_putrootfh(&c);
		v4c_getattr(&c, 1u << FATTR4_TYPE, 0, 0);
		tap_is(v4c_run(&c), NFS4_OK, "and is served");
		v4c_close(&c);
	}
	tap_is(confirmed(&crowd[0], "one more"), NFS4ERR_DELAY, "4.0: who has most has to wait");
	tap_is(confirmed(&crowd[1], "one more"), NFS4ERR_DELAY, "4.1: who has most has to wait");
}

int main(int argc, char **argv)
{
	struct v4owner w = {.name = "owner", .seqid = 1};
	struct v4open o = {.access = OPEN4_SHARE_ACCESS_BOTH, .create = true};
	struct v4c holder, crowd[2];
	struct v4c_fh root;
	unsigned max, n;

	if (argc != 5)
		return 2;
	host = argv[1];
	port = atoi(argv[2]);
	max = (unsigned)atoi(argv[4]);
	if (!come_from(&holder, 1, "127.0.0.2") || !come_from(&crowd[0], 0, "127.0.0.2") ||
	    !come_from(&crowd[1], 1, "127.0.0.2"))
		return 1;
	tap_is(v4c_hello(&holder, "holder"), NFS4_OK, "a client");
	tap_is(v4c_mount(&holder, argv[3], &root), 0, "the export's root");
	tap_is(v4owner_open(&holder, &w, &root, "file", &o), NFS4_OK, "a file is opened");
	n = fill(crowd, max - 1);
	tap_is(n, max - 1, "as many others as the server keeps");
	newcomers(crowd);
	tap_is(v4owner_close(&holder, &w, &o.fh, &o.id), NFS4_OK,
	       "the open file was there all the time");
	v4c_close(&holder);
	v4c_close(&crowd[0]);
	v4c_close(&crowd[1]);
	return tap_done();
}
