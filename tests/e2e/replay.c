/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * replay HOST PORT DIR: retransmissions of calls that must not be executed
 * twice (RFC 1813 s.4.5), and calls that only look like one.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/lib/rawnfs.h"
#include "tests/lib/tap.h"

enum { NFS3ERR_NOENT = 2, NFS3ERR_EXIST = 17 };
enum { MKDIR = 9, REMOVE = 12, RENAME = 14, LINK = 15 };

static struct rawnfs watch; /* sees what the others do */
static struct rawnfs_fh root;
static const char *host;
static int port;

static void make_call(struct rawnfs *r, struct rawnfs_call *call, uint32_t proc, const char *name,
		      const char *to)
{
	struct rawnfs_fh fh = {0};

	if (proc == LINK)
		rawnfs_lookup(&watch, &root, name, &fh);
	rawnfs_call_begin(r, call, RAWNFS_NFS, 3, proc);
	if (proc == LINK)
		rawnfs_put_fh(call, &fh);
	else {
		rawnfs_put_fh(call, &root);
		rawnfs_put_string(call, name);
	}
	if (proc == RENAME || proc == LINK) {
		rawnfs_put_fh(call, &root);
		rawnfs_put_string(call, to);
	}
	for (int i = 0; proc == MKDIR && i < 6; i++)
		cursor_put_u32(&call->c, 0); /* no attributes */
}

/* The call's status over r, or -1. */
static int status_of(struct rawnfs *r, struct rawnfs_call *call)
{
	struct rawnfs_reply reply;

	if (rawnfs_call(r, call, &reply) || reply.denied || reply.stat)
		return -1;
	return (int)cursor_get_u32(&reply.c);
}

static bool becomes(const char *name, int status)
{
	struct rawnfs_fh fh;
	int got = -1;

	for (int i = 0; i < 2000 && got != status; i++) {
		got = rawnfs_lookup(&watch, &root, name, &fh);
		if (got != status)
			poll(NULL, 0, 5);
	}
	return got == status;
}

static bool make_file(const char *name)
{
	struct rawnfs_fh fh;

	return rawnfs_create(&watch, &root, name, &fh) == 0;
}

/*
 * As clients do, again and again until there is an answer: while the first call still runs (its
 * directory is being synced, say) the server lets the others drop.
 */
static int retransmitted(struct rawnfs *r, struct rawnfs_call *call)
{
	struct rawnfs_reply reply;

	for (int tries = 0; tries < 40; tries++) {
		if (rawnfs_send(r, call, 0))
			return -1;
		if (!rawnfs_readable(r, 500))
			continue;
		if (rawnfs_recv(r, &reply) || reply.xid != call->xid || reply.denied || reply.stat)
			return -1;
		return (int)cursor_get_u32(&reply.c);
	}
	return -1;
}

/*
 * Connect from a port below those the kernel gives out by itself, which others on this host might
 * take while we let it go; 0: any that is free.  Returns the port or -1.
 */
static int open_from(struct rawnfs *r, int local)
{
	int err = -1, from = local;

	for (int tries = 0; tries < 250; tries++) {
		if (!local)
			from = 10000 + rand() % 20000;
		err = rawnfs_open(r, host, port, from);
		if (!err)
			return from;
		poll(NULL, 0, 20);
	}
	printf("# no connection from port %d: %s\n", from, strerror(-err));
	return -1;
}

/*
 * Send, see it happen, cut the connection with the reply unread, come back and send the same bytes.
 */
static int sent_again(uint32_t proc, const char *name, const char *to, const char *seen,
		      int seen_status, bool same_port)
{
	struct rawnfs r;
	struct rawnfs_call call;
	int local, status = -1;

	local = open_from(&r, 0);
	if (local < 0)
		return -1;
	r.xid = 0x5000 + (uint32_t)rand() % 0x10000000;
	make_call(&r, &call, proc, name, to);
	if (rawnfs_send(&r, &call, 0) == 0 && becomes(seen, seen_status)) {
		rawnfs_reset(&r);
		if (open_from(&r, same_port ? local : 0) > 0)
			status = retransmitted(&r, &call);
	}
	rawnfs_close(&r);
	rawnfs_call_end(&call);
	if (status)
		printf("# procedure %u sent again: status %d\n", proc, status);
	return status;
}

static void test_lost_replies(bool same_port)
{
	const char *how = same_port ? "from the same port" : "from another port";

	make_file("lost");
	tap_ok(sent_again(REMOVE, "lost", NULL, "lost", NFS3ERR_NOENT, same_port) == 0,
	       "REMOVE sent again %s: OK", how);
	make_file("old");
	tap_ok(sent_again(RENAME, "old", "new", "new", 0, same_port) == 0,
	       "RENAME sent again %s: OK", how);
	tap_ok(sent_again(LINK, "new", "newer", "newer", 0, same_port) == 0,
	       "LINK sent again %s: OK", how);
	rawnfs_remove(&watch, &root, "new");
	rawnfs_remove(&watch, &root, "newer");
	tap_ok(sent_again(MKDIR, same_port ? "dir1" : "dir2", NULL, same_port ? "dir1" : "dir2", 0,
			  same_port) == 0,
	       "MKDIR sent again %s: OK", how);
}

/* The same bytes twice at once: one answer is OK, and there is no other answer than that. */
static bool twice_in_one_go_is_done_once(void)
{
	struct rawnfs r;
	struct rawnfs_call call, null;
	struct rawnfs_reply reply;
	int ok = 0, other = 0;

	make_file("twice");
	if (rawnfs_open(&r, host, port, 0))
		return false;
	make_call(&r, &call, REMOVE, "twice", NULL);
	rawnfs_send(&r, &call, 0);
	rawnfs_send(&r, &call, 0);
	rawnfs_call_begin(&r, &null, RAWNFS_NFS, 3, 0);
	/*
	 * The second may be dropped while the first runs; the
	 * NULL behind the first answer ends the wait.
	 */
	while (rawnfs_recv(&r, &reply) == 0 && reply.xid == call.xid) {
		if (!reply.denied && reply.stat == 0 && cursor_get_u32(&reply.c) == 0)
			ok++;
		else
			other++;
		if (ok + other == 1) {
			rawnfs_send(&r, &call, 0); /* surely answered from the cache now */
			rawnfs_send(&r, &null, 0);
		}
	}
	rawnfs_call_end(&call);
	rawnfs_call_end(&null);
	rawnfs_close(&r);
	if (ok < 1 || other)
		printf("# %d OK, %d other\n", ok, other);
	return ok >= 1 && other == 0;
}

/* Two clients on one host that count their calls alike, both connected: each call is executed. */
static bool live_connections_do_not_collide(void)
{
	struct rawnfs a, b;
	struct rawnfs_call first, second;
	int one, two;

	make_file("shared");
	if (rawnfs_open(&a, host, port, 0) || rawnfs_open(&b, host, port, 0))
		return false;
	make_call(&a, &first, REMOVE, "shared", NULL);
	make_call(&b, &second, REMOVE, "shared", NULL);
	one = status_of(&a, &first);
	make_file("shared");
	two = status_of(&b, &second);
	rawnfs_call_end(&first);
	rawnfs_call_end(&second);
	rawnfs_close(&a);
	rawnfs_close(&b);
	return one == 0 && two == 0 && becomes("shared", NFS3ERR_NOENT);
}

/* An xid used again for another call is another call. */
static bool reused_xid_is_a_new_call(void)
{
	struct rawnfs r;
	struct rawnfs_call call;
	int one, two;

	make_file("x1");
	make_file("x2");
	if (rawnfs_open(&r, host, port, 0))
		return false;
	make_call(&r, &call, REMOVE, "x1", NULL);
	one = status_of(&r, &call);
	rawnfs_call_end(&call);
	r.xid--;
	make_call(&r, &call, REMOVE, "x2", NULL);
	two = status_of(&r, &call);
	rawnfs_call_end(&call);
	rawnfs_close(&r);
	return one == 0 && two == 0 && becomes("x2", NFS3ERR_NOENT);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	host = argv[1];
	port = atoi(argv[2]);
	srand((unsigned)time(NULL));
	if (!tap_ok(rawnfs_open(&watch, host, port, 0) == 0 &&
			    rawnfs_mnt(&watch, argv[3], &root) == 0,
		    "mounted"))
		return tap_done();
	watch.xid = 0x40000000;
	test_lost_replies(true);
	test_lost_replies(false);
	tap_ok(twice_in_one_go_is_done_once(), "REMOVE sent twice at once is done once");
	tap_ok(live_connections_do_not_collide(),
	       "equal calls of two live connections are both executed");
	tap_ok(reused_xid_is_a_new_call(), "an xid used again for another call is a new call");
	rawnfs_close(&watch);
	return tap_done();
}
