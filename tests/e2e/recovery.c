/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * recovery HOST PORT DIR STEP...: what an NFSv4.1 client does before and after
 * the server is killed.  Each step is one word; a program that is started again
 * is the same incarnation of its client, whose state the server may have lost.
 *
 *	hold		a client that has the file "held" in DIR open for writing
 *	reclaim		the same, come back: it reclaims, and says that it is done
 *	late		the same, come back too late
 *	other-waits	another client: it is told to wait
 *	other-opens	another client: it gets what it asks for
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

static struct v4c c;
static struct v4c_fh root;

static uint32_t open_new(const char *name)
{
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4c_opens(&c, "owner", 5, 0, name, OPEN4_SHARE_ACCESS_WRITE, OPEN4_SHARE_DENY_NONE, true);
	v4c_getfh(&c);
	return v4c_run(&c);
}

/*
 * CLAIM_PREVIOUS of "held"; its handle is found as any
 * client would keep it, by a look at the directory.
 */
static uint32_t reclaim(void)
{
	OPEN4args *a;
	struct v4c_fh fh;

	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4c_lookup(&c, "held");
	v4c_getfh(&c);
	if (v4c_run(&c) || !v4c_keep_fh(&c, &fh))
		return V4C_BROKEN;
	v4c_begin(&c);
	v4c_putfh(&c, &fh);
	v4c_opens(&c, "owner", 5, 0, "held", OPEN4_SHARE_ACCESS_WRITE, OPEN4_SHARE_DENY_NONE,
		  false);
	a = &c.op[c.nops - 1].nfs_argop4_u.opopen;
	a->claim.claim = CLAIM_PREVIOUS;
	a->claim.open_claim4_u.delegate_type = OPEN_DELEGATE_NONE;
	return v4c_run(&c);
}

/* As v4c_hello(), but for its end: RECLAIM_COMPLETE. */
static uint32_t hello_incomplete(const char *owner)
{
	uint32_t seqid = 0, status = v4c_exchange_id(&c, owner, "verifier", 0, &seqid);

	return status ? status : v4c_create_session(&c, seqid, 8);
}

static uint32_t complete(void)
{
	v4c_begin(&c);
	v4c_op(&c, OP_RECLAIM_COMPLETE);
	return v4c_run(&c);
}

static void hold(void)
{
	time_t from = time(NULL);

	tap_is(v4c_hello(&c, "holder"), NFS4_OK, "a client");
	tap_is(open_new("held"), NFS4_OK, "it opens a file");
	tap_ok(time(NULL) - from < 2, "at once");
}

static void come_back(void)
{
	time_t from = time(NULL);

	tap_is(hello_incomplete("holder"), NFS4_OK, "the client is back");
	tap_is(open_new("more"), NFS4ERR_GRACE, "it gets nothing new before it has reclaimed");
	tap_is(reclaim(), NFS4_OK, "it reclaims its open");
	tap_is(complete(), NFS4_OK, "RECLAIM_COMPLETE");
	tap_is(reclaim(), NFS4ERR_NO_GRACE, "afterwards it reclaims no more");
	tap_is(open_new("more"), NFS4_OK, "but opens what is new");
	tap_ok(time(NULL) - from < 5, "all within five seconds");
}

static void come_late(void)
{
	tap_is(hello_incomplete("holder"), NFS4_OK, "the client is back");
	tap_is(reclaim(), NFS4ERR_NO_GRACE, "too late to reclaim");
	tap_is(complete(), NFS4_OK, "RECLAIM_COMPLETE");
	tap_is(open_new("held"), NFS4_OK, "it opens anew");
}

static void other(uint32_t expected)
{
	uint32_t status = v4c_hello(&c, "other");

	tap_ok(!status || status == NFS4ERR_COMPLETE_ALREADY, "another client");
	tap_is(open_new("another"), expected,
	       expected ? "it is told to wait" : "it gets what it asks for");
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 5 || v4c_open(&c, argv[1], atoi(argv[2]), 1) || v4c_mount(&c, argv[3], &root))
		return 1;
	for (i = 4; i < argc; i++) {
		c.session = false;
		if (!strcmp(argv[i], "hold"))
			hold();
		else if (!strcmp(argv[i], "reclaim"))
			come_back();
		else if (!strcmp(argv[i], "late"))
			come_late();
		else if (!strcmp(argv[i], "other-waits"))
			other(NFS4ERR_GRACE);
		else if (!strcmp(argv[i], "other-opens"))
			other(NFS4_OK);
		else
			return 2;
	}
	v4c_close(&c);
	return tap_done();
}
