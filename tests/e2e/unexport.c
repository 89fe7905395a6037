/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * unexport HOST PORT GONE STAYS CHANGE UNEXPORT EXPORT: opens and locks of an export that is taken
 * away and comes back.  The last three are commands that do it, with GONE unmounted in between.
 */
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4owner.h"

static struct v4c c, old; /* of 4.1; of 4.0 */
static struct v4c_fh gone, stays;
static struct v4owner w = {"owner", 1}, k = {"locker", 1}, v = {"old", 1}, l = {"old locker", 1};
static struct v4open f = {.access = 3, .create = true, .set_mode = true, .mode = 0666}, g, p;
static struct v4lock held = {.type = WRITE_LT, .length = 10},
		     other = {.type = WRITE_LT, .offset = 20, .length = 10};

static void run(const char *cmd, const char *what)
{
	tap_is(system(cmd), 0, what);
}

static uint32_t read_by(struct v4c *x, const struct v4open *o)
{
	v4c_begin(x);
	v4c_putfh(x, &o->fh);
	v4c_read(x, &o->id, 0, 10);
	return v4c_run(x);
}

static uint32_t sequence_flags(void)
{
	v4c_begin(&c);
	if (v4c_run(&c))
		return 0;
	return v4c_res(&c, OP_SEQUENCE)
		->nfs_resop4_u.opsequence.SEQUENCE4res_u.sr_resok4.sr_status_flags;
}

static uint32_t test_id(stateid4 id)
{
	TEST_STATEID4args *a;

	v4c_begin(&c);
	a = &v4c_op(&c, OP_TEST_STATEID)->nfs_argop4_u.optest_stateid;
	a->ts_stateids.ts_stateids_len = 1;
	a->ts_stateids.ts_stateids_val = &id;
	if (v4c_run(&c))
		return c.res.status;
	return v4c_res(&c, OP_TEST_STATEID)
		->nfs_resop4_u.optest_stateid.TEST_STATEID4res_u.tsr_resok4.tsr_status_codes
		.tsr_status_codes_val[0];
}

static uint32_t free_id(const stateid4 *id)
{
	v4c_begin(&c);
	v4c_op(&c, OP_FREE_STATEID)->nfs_argop4_u.opfree_stateid.fsa_stateid = *id;
	return v4c_run(&c);
}

static void hold(void)
{
	g = p = f;
	tap_is(v4owner_open(&c, &w, &gone, "f", &f), NFS4_OK, "a file is open");
	tap_is(v4lock_new(&c, &w, &f.fh, &f.id, &k, &held), NFS4_OK, "and locked");
	tap_is(v4owner_open(&c, &w, &stays, "g", &g), NFS4_OK,
	       "another one of another export is open");
	tap_is(v4owner_open(&old, &v, &gone, "f", &p), NFS4_OK,
	       "a client of 4.0 has the first open, too");
	tap_is(v4lock_new(&old, &v, &p.fh, &p.id, &l, &other), NFS4_OK, "and locked");
}

static void while_gone(void)
{
	tap_is(read_by(&c, &f), NFS4ERR_STALE, "its handle is stale");
	tap_ok(sequence_flags() & SEQ4_STATUS_ADMIN_STATE_REVOKED,
	       "SEQUENCE says that state was revoked");
	tap_is(test_id(f.id), NFS4ERR_ADMIN_REVOKED, "the open was");
	tap_is(test_id(held.id), NFS4ERR_ADMIN_REVOKED, "the lock was");
	tap_is(test_id(g.id), NFS4_OK, "the other export's was not");
	tap_is(read_by(&c, &g), NFS4_OK, "and can be read");
}

static void back_again(void)
{
	struct v4open again = f;
	struct v4lock relock = held;

	tap_is(read_by(&c, &f), NFS4ERR_ADMIN_REVOKED, "the handle is good, the open is not");
	tap_is(v4lock_free(&c, &k, &f.fh, &held.id, 0, 10), NFS4ERR_ADMIN_REVOKED,
	       "nor is the lock");
	tap_is(v4owner_close(&c, &w, &f.fh, &f.id), NFS4ERR_ADMIN_REVOKED,
	       "which CLOSE says as well");
	tap_is(free_id(&f.id), NFS4_OK, "the client has heard of the open");
	tap_ok(sequence_flags() & SEQ4_STATUS_ADMIN_STATE_REVOKED, "there is something left");
	tap_is(free_id(&held.id), NFS4_OK, "and of the lock");
	tap_is(sequence_flags() & SEQ4_STATUS_ADMIN_STATE_REVOKED, 0, "that was all");
	tap_is(free_id(&held.id), NFS4ERR_BAD_STATEID, "it is forgotten");
	tap_is(v4owner_open(&c, &w, &gone, "f", &again), NFS4_OK, "the file can be opened");
	tap_is(v4lock_new(&c, &w, &again.fh, &again.id, &k, &relock), NFS4_OK, "and locked");
	tap_is(v4owner_close(&c, &w, &again.fh, &again.id), NFS4_OK, "and closed");
}

static void back_again_40(void)
{
	struct v4open again = p;

	tap_is(v4lock_free(&old, &l, &p.fh, &other.id, 20, 10), NFS4ERR_ADMIN_REVOKED,
	       "4.0 hears of its lock");
	tap_is(v4owner_close(&old, &v, &p.fh, &p.id), NFS4ERR_ADMIN_REVOKED, "and of its open");
	tap_is(v4owner_close(&old, &v, &p.fh, &p.id), NFS4ERR_BAD_STATEID, "once");
	tap_is(v4owner_open(&old, &v, &gone, "f", &again), NFS4_OK, "its sequence has gone on");
	tap_is(v4owner_close(&old, &v, &again.fh, &again.id), NFS4_OK, "closed");
}

int main(int argc, char **argv)
{
	if (argc != 8 || v4c_open(&c, argv[1], atoi(argv[2]), 1) ||
	    v4c_open(&old, argv[1], atoi(argv[2]), 0))
		return 1;
	tap_ok(!v4c_mount(&c, argv[3], &gone) && !v4c_mount(&c, argv[4], &stays),
	       "the exports' roots");
	tap_is(v4c_hello(&c, "client"), NFS4_OK, "a client of 4.1");
	tap_is(v4c_setclientid(&old, "old", "verifier"), NFS4_OK, "and one of 4.0");
	hold();
	run(argv[5], "the export has other options");
	tap_is(read_by(&c, &f), NFS4_OK, "what is open stays so");
	tap_is(sequence_flags() & SEQ4_STATUS_ADMIN_STATE_REVOKED, 0, "nothing is revoked");
	run(argv[6], "the export is taken away and its file system unmounted");
	while_gone();
	run(argv[7], "it is back");
	back_again();
	back_again_40();
	v4c_close(&c);
	v4c_close(&old);
	return tap_done();
}
