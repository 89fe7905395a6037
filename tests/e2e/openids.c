/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * openids HOST PORT DIR: what stateids are and do in 4.1:
 * TEST_STATEID, FREE_STATEID, the current one, CLAIM_FH.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4owner.h"

#define R OPEN4_SHARE_ACCESS_READ
#define W OPEN4_SHARE_ACCESS_WRITE
#define RW OPEN4_SHARE_ACCESS_BOTH

static struct v4c c;
static struct v4c_fh root;
static unsigned names;

/* A name nobody had before. */
static const char *fresh(void)
{
	static char name[8][32];
	char *n = name[names % 8];

	snprintf(n, sizeof(name[0]), "i%u", names++);
	return n;
}

static struct v4owner owner(void)
{
	return (struct v4owner){.name = "ids"};
}

static struct v4open make(uint32_t access, uint32_t deny)
{
	return (struct v4open){
		.access = access, .deny = deny, .create = true, .set_mode = true, .mode = 0644};
}

static uint32_t one_with_id(nfs_opnum4 op, const stateid4 *id)
{
	v4c_begin(&c);
	if (op == OP_FREE_STATEID)
		v4c_op(&c, op)->nfs_argop4_u.opfree_stateid.fsa_stateid = *id;
	else
		v4c_op(&c, op)->nfs_argop4_u.optest_stateid =
			(TEST_STATEID4args){{1, (stateid4 *)(uintptr_t)id}};
	if (v4c_run(&c))
		return c.res.status;
	if (op == OP_FREE_STATEID)
		return NFS4_OK;
	return *v4c_res(&c, op)->nfs_resop4_u.optest_stateid.TEST_STATEID4res_u.tsr_resok4
			.tsr_status_codes.tsr_status_codes_val;
}

static void stateids(void)
{
	struct v4owner a = owner();
	struct v4open o = make(W, 0);
	const char *n = fresh();
	stateid4 id;

	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4_OK, "opened");
	tap_is(o.id.seqid, 1, "seqids begin with 1");
	o.access = R;
	v4owner_open(&c, &a, &root, n, &o);
	tap_is(o.id.seqid, 2, "and go on");
	tap_is(one_with_id(OP_TEST_STATEID, &o.id), NFS4_OK, "TEST_STATEID");
	id = o.id;
	id.seqid = 0;
	tap_is(one_with_id(OP_TEST_STATEID, &id), NFS4_OK, "of the newest");
	id.seqid = 1;
	tap_is(one_with_id(OP_TEST_STATEID, &id), NFS4ERR_OLD_STATEID, "of an old one");
	id = v4owner_stale(o.id);
	tap_is(one_with_id(OP_TEST_STATEID, &id), NFS4ERR_BAD_STATEID, "of nobody's");
	tap_is(one_with_id(OP_TEST_STATEID, &v4c_anonymous), NFS4ERR_BAD_STATEID,
	       "of the anonymous one");
	tap_is(one_with_id(OP_FREE_STATEID, &o.id), NFS4ERR_LOCKS_HELD, "an open is not freed");
	id.seqid = 77;
	tap_is(one_with_id(OP_FREE_STATEID, &id), NFS4ERR_BAD_STATEID, "nor nobody's");
	o.id.seqid = 0;
	tap_is(v4owner_close(&c, &a, &o.fh, &o.id), NFS4_OK, "CLOSE of the newest");
	tap_is(one_with_id(OP_TEST_STATEID, &o.id), NFS4ERR_BAD_STATEID, "then there is none");
}

static void by_handle(void)
{
	struct v4owner a = owner();
	struct v4open o = make(W, 0);
	const char *n = fresh();

	v4owner_open(&c, &a, &root, n, &o);
	v4owner_close(&c, &a, &o.fh, &o.id);
	o = (struct v4open){
		.access = RW | OPEN4_SHARE_ACCESS_WANT_NO_DELEG, .claim = CLAIM_FH, .fh = o.fh};
	tap_is(v4owner_open(&c, &a, &o.fh, NULL, &o), NFS4_OK, "CLAIM_FH");
	tap_ok(o.ok.delegation.delegation_type == OPEN_DELEGATE_NONE_EXT &&
		       o.ok.delegation.open_delegation4_u.od_whynone.ond_why == WND4_NOT_WANTED,
	       "no delegation, as wanted");
	o.access = RW | OPEN4_SHARE_ACCESS_WANT_READ_DELEG;
	tap_is(v4owner_open(&c, &a, &o.fh, NULL, &o), NFS4_OK, "a delegation is wanted");
	tap_ok(o.ok.delegation.delegation_type == OPEN_DELEGATE_NONE_EXT &&
		       o.ok.delegation.open_delegation4_u.od_whynone.ond_why == WND4_RESOURCE,
	       "and not had");
	o.access = 0x40000003;
	tap_is(v4owner_open(&c, &a, &o.fh, NULL, &o), NFS4ERR_BADXDR,
	       "access bits that do not exist");
	o.access = RW;
	tap_is(v4owner_open(&c, &a, &root, NULL, &o), NFS4ERR_ISDIR, "CLAIM_FH of a directory");
	o.claim = CLAIM_DELEG_CUR_FH;
	tap_is(v4owner_open(&c, &a, &o.fh, NULL, &o), NFS4ERR_BAD_STATEID, "by a delegation");
	o.claim = CLAIM_DELEG_PREV_FH;
	tap_is(v4owner_open(&c, &a, &o.fh, NULL, &o), NFS4ERR_NOTSUPP, "by one of before");
}

static void op_close(const stateid4 *id)
{
	v4c_op(&c, OP_CLOSE)->nfs_argop4_u.opclose.open_stateid = *id;
}

/* The current stateid (1, 0) is what the operation before it made. */
static void current(void)
{
	struct v4owner a = owner();
	struct v4open o = make(RW, 0);
	uint8_t buf[12];
	stateid4 id;

	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4owner_op_open(&c, &a, fresh(), &o, buf);
	op_close(&v4c_current);
	tap_is(v4c_run(&c), NFS4_OK, "OPEN and CLOSE of the current stateid");
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4owner_op_open(&c, &a, fresh(), &o, buf);
	v4c_write(&c, &v4c_current, 0, FILE_SYNC4, "data", 4);
	op_close(&v4c_current);
	tap_is(v4c_run(&c), NFS4_OK, "with a WRITE between");
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4owner_op_open(&c, &a, "current", &o, buf);
	v4c_getfh(&c);
	v4c_op(&c, OP_FREE_STATEID)->nfs_argop4_u.opfree_stateid.fsa_stateid = v4c_current;
	tap_is(v4c_run(&c), NFS4ERR_LOCKS_HELD, "FREE_STATEID of it");
	id = v4c_res(&c, OP_OPEN)->nfs_resop4_u.opopen.OPEN4res_u.resok4.stateid;
	v4c_keep_fh(&c, &o.fh);
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	op_close(&v4c_current);
	tap_is(v4c_run(&c), NFS4ERR_BAD_STATEID,
	       "there is none without an operation that makes one");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	op_close(&id);
	tap_is(v4c_run(&c), NFS4_OK, "closed");
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4owner_op_open(&c, &a, "current", &o, buf);
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, &root);
	v4c_op(&c, OP_RESTOREFH);
	op_close(&v4c_current);
	tap_is(v4c_run(&c), NFS4_OK, "it is saved and restored with the filehandle");
}

int main(int argc, char **argv)
{
	if (argc != 4 || v4c_open(&c, argv[1], atoi(argv[2]), 1))
		return 1;
	tap_is(v4c_mount(&c, argv[3], &root), 0, "the export's root");
	tap_is(v4c_hello(&c, "ids"), NFS4_OK, "a client of 4.1");
	stateids();
	by_handle();
	current();
	v4c_close(&c);
	return tap_done();
}
