/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fill4 HOST PORT DIR MAX [replies]: as many confirmed clients as the server keeps, from 127.0.0.2,
 * of 4.0 and 4.1 in turn, the first of them with a file open, the second with a reply it may ask
 * for again; then newcomers from there and from 127.0.0.1.  `replies`: all are of 4.1, and all have
 * a reply kept.
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
static bool replies;

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

/* A request that must not run twice. */
static uint32_t make_dir(struct v4c *c, const struct v4c_fh *dir, uint32_t seqid)
{
	CREATE4args *a;

	v4c_begin_bare(c);
	v4c_sequence(c, c->slot, seqid, true);
	v4c_putfh(c, dir);
	a = &v4c_op(c, OP_CREATE)->nfs_argop4_u.opcreate;
	a->objtype.type = NF4DIR;
	a->objname = v4c_name("made once");
	return v4c_run(c);
}

/* Its connection is cut; the request comes again over another. */
static void retransmit(const struct v4c *keeper, const struct v4c_fh *root)
{
	struct v4c c;

	tap_ok(come_from(&c, 1, "127.0.0.2"), "a client of before connects again");
	memcpy(c.sessionid, keeper->sessionid, sizeof(c.sessionid));
	c.slot = keeper->slot;
	tap_is(make_dir(&c, root, keeper->seqid[c.slot] + 1), NFS4_OK,
	       "and has the reply to the request it had sent");
	v4c_close(&c);
}

/* SEQUENCE alone, its reply to be kept. */
static uint32_t keep_reply(struct v4c *c)
{
	memset(c->seqid, 0, sizeof(c->seqid)); /* of a new session */
	c->session = c->cachethis = true;
	v4c_begin(c);
	return v4c_run(c);
}

/* How many got in before one did not. */
static unsigned fill(struct v4c crowd[2], unsigned max)
{
	uint32_t status = 0;
	char owner[32];
	unsigned n;

	for (n = 0; n < max; n++) {
		snprintf(owner, sizeof(owner), "crowd %u", n);
		status = confirmed(&crowd[replies || n & 1], owner);
		if (!status && replies)
			status = keep_reply(&crowd[1]);
		if (status)
			break;
	}
	if (status)
		printf("# %u, %d\n", status, crowd[replies || n & 1].err);
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
	struct v4c holder, keeper, crowd[2];
	struct v4c_fh root;
	unsigned max, n;

	if (argc != 5 && argc != 6)
		return 2;
	host = argv[1];
	port = atoi(argv[2]);
	max = (unsigned)atoi(argv[4]);
	replies = argc == 6;
	if (!come_from(&holder, 1, "127.0.0.2") || !come_from(&keeper, 1, "127.0.0.2") ||
	    !come_from(&crowd[0], 0, "127.0.0.2") || !come_from(&crowd[1], 1, "127.0.0.2"))
		return 1;
	tap_is(v4c_hello(&holder, "holder"), NFS4_OK, "a client");
	tap_is(v4c_mount(&holder, argv[3], &root), 0, "the export's root");
	tap_is(v4owner_open(&holder, &w, &root, "file", &o), NFS4_OK, "a file is opened");
	tap_is(v4c_hello(&keeper, "keeper"), NFS4_OK, "another");
	tap_is(make_dir(&keeper, &root, keeper.seqid[keeper.slot] + 1), NFS4_OK,
	       "makes a directory");
	v4c_close(&keeper); /* that it was made is not seen */
	n = fill(crowd, max - 2);
	tap_is(n, max - 2, "as many others as the server keeps");
	newcomers(crowd);
	if (!replies)
		retransmit(&keeper, &root);
	tap_is(v4owner_close(&holder, &w, &o.fh, &o.id), NFS4_OK,
	       "the open file was there all the time");
	v4c_close(&holder);
	v4c_close(&crowd[0]);
	v4c_close(&crowd[1]);
	return tap_done();
}
