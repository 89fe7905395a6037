/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lockrace HOST PORT DIR ROUNDS: a client that gives a stateid back and takes the next one by the
 * same owner at once, over two connections, as Linux does.  Whichever comes first, the taking is
 * OK.
 */
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4owner.h"

static struct v4c a, b; /* two connections of one session */
static struct v4c_fh root;
static struct v4owner w = {"opener", 0}, k = {"locker", 0};
static struct v4open o = {.access = 3, .create = true, .set_mode = true, .mode = 0666};

static bool send_only(struct v4c *c, struct rawnfs_call *call)
{
	v4c_encode(c, call);
	return !rawnfs_send(&c->raw, call, 0);
}

static uint32_t take(struct v4c *c, struct rawnfs_call *call)
{
	struct rawnfs_reply reply;
	uint32_t st;

	c->err = rawnfs_recv(&c->raw, &reply);
	st = v4c_take(c, &reply);
	rawnfs_call_end(call);
	return st;
}

/* What `a` and `b` have ready goes out side by side, in either order. */
static uint32_t both(unsigned round, uint32_t *st_b)
{
	struct rawnfs_call call_a, call_b;
	uint32_t st;

	if (round % 2)
		send_only(&a, &call_a);
	send_only(&b, &call_b);
	if (round % 2 == 0)
		send_only(&a, &call_a);
	*st_b = take(&b, &call_b);
	st = take(&a, &call_a);
	return st;
}

static void op_lock(struct v4c *c)
{
	LOCK4args *l;

	v4c_begin(c);
	v4c_putfh(c, &o.fh);
	l = &v4c_op(c, OP_LOCK)->nfs_argop4_u.oplock;
	*l = (LOCK4args){.locktype = WRITE_LT, .length = 10};
	l->locker.new_lock_owner = TRUE;
	l->locker.locker4_u.open_owner = (open_to_lock_owner4){
		.open_stateid = o.id,
		.lock_owner = {.clientid = c->clientid, .owner = {6, (char *)(uintptr_t)k.name}},
	};
}

static void op_free(struct v4c *c, const stateid4 *id)
{
	v4c_begin(c);
	v4c_op(c, OP_FREE_STATEID)->nfs_argop4_u.opfree_stateid.fsa_stateid = *id;
}

/* The first status that no order explains. */
static uint32_t lock_against_free(unsigned rounds)
{
	struct v4lock l = {.type = WRITE_LT, .length = 10};
	uint32_t st = v4lock_new(&a, &w, &o.fh, &o.id, &k, &l), other;

	for (unsigned i = 0; !st && i < rounds; i++) {
		st = v4lock_free(&a, &k, &o.fh, &l.id, 0, 10);
		if (st)
			break;
		op_lock(&a);
		op_free(&b, &l.id);
		st = both(i, &other);
		if (other && other != NFS4ERR_OLD_STATEID && other != NFS4ERR_LOCKS_HELD)
			st = other;
		if (!st)
			l.id = v4c_res(&a, OP_LOCK)
				       ->nfs_resop4_u.oplock.LOCK4res_u.resok4.lock_stateid;
	}
	return st;
}

static uint32_t open_against_close(unsigned rounds)
{
	uint8_t buf[12];
	uint32_t st = 0, other;

	for (unsigned i = 0; !st && i < rounds; i++) {
		v4c_begin(&a);
		v4c_putfh(&a, &root);
		v4owner_op_open(&a, &w, "file", &o, buf);
		v4c_begin(&b);
		v4c_putfh(&b, &o.fh);
		v4c_op(&b, OP_CLOSE)->nfs_argop4_u.opclose = (CLOSE4args){.open_stateid = o.id};
		st = both(i, &other);
		if (other && other != NFS4ERR_OLD_STATEID)
			st = other;
		if (st)
			break;
		o.id = v4c_res(&a, OP_OPEN)->nfs_resop4_u.opopen.OPEN4res_u.resok4.stateid;
		v4c_begin(&a);
		v4c_putfh(&a, &o.fh);
		v4c_read(&a, &o.id, 0, 10);
		st = v4c_run(&a);
	}
	return st;
}

int main(int argc, char **argv)
{
	unsigned rounds;

	if (argc != 5)
		return 2;
	rounds = (unsigned)atoi(argv[4]);
	if (v4c_open(&a, argv[1], atoi(argv[2]), 1) || v4c_mount(&a, argv[3], &root) ||
	    v4c_hello(&a, "lockrace") || v4c_join(&b, &a, argv[1], atoi(argv[2]), 1))
		return !tap_ok(false, "two connections of a client");
	tap_is(v4owner_open(&a, &w, &root, "file", &o), NFS4_OK, "a file is open");
	tap_is(lock_against_free(rounds), NFS4_OK, "LOCK beside FREE_STATEID of the same owner's");
	tap_is(open_against_close(rounds), NFS4_OK, "OPEN beside CLOSE of the same owner's");
	v4c_close(&b);
	v4c_close(&a);
	return tap_done();
}
