/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * grammar4 HOST PORT DIR MINOR SEED SECONDS: COMPOUNDs at random that a client might mean, and some
 * it would not, with stateids and filehandles of earlier answers, some of them bent.  Whatever is
 * answered is an answer; at the end the server still serves an honest client.
 */
#include <stdlib.h>
#include <time.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"

#define KEPT 16

static struct v4c c;
static struct v4c_fh root, fh[KEPT];
static stateid4 id[KEPT];
static uint64_t rnd;
static char data[700]; /* eight times that fit a call, whatever else there is */
static const char *const names[] = {"a", "b", "c",  "dir", "link",
				    "",  ".", "..", "a/b", "longer name"};

static uint32_t any(uint32_t n)
{
	rnd ^= rnd << 13;
	rnd ^= rnd >> 7;
	rnd ^= rnd << 17;
	return (uint32_t)(rnd >> 11) % n;
}

static uint64_t offset(void)
{
	static const uint64_t edge[] = {INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX,
					UINT64_MAX - 1, UINT32_MAX};

	return any(8) ? any(65536) : edge[any(5)] - any(3);
}

static const stateid4 *stateid(void)
{
	static stateid4 bent;

	switch (any(8)) {
	case 0: return &v4c_anonymous;
	case 1: return &v4c_bypass;
	case 2: return &v4c_current;
	case 3:
		bent = id[any(KEPT)];
		bent.other[any(12)] ^= (char)(1 << any(8));
		return &bent;
	case 4:
		bent = id[any(KEPT)];
		bent.seqid += any(3) - 1;
		return &bent;
	default: return &id[any(KEPT)];
	}
}

static component4 name(void)
{
	return v4c_name(names[any(sizeof(names) / sizeof(names[0]))]);
}

static void put_object(void)
{
	struct v4c_fh bent = fh[any(KEPT)];

	switch (any(6)) {
	case 0: v4c_putfh(&c, &root); break;
	case 1: v4c_putrootfh(&c); break;
	case 2:
		if (bent.len)
			bent.data[any(bent.len)] ^= (uint8_t)(1 << any(8));
		fh[KEPT - 1] = bent;
		v4c_putfh(&c, &fh[KEPT - 1]);
		break;
	default: v4c_putfh(&c, &fh[any(KEPT - 1)]);
	}
}

static void lock_op(void)
{
	LOCK4args *a = &v4c_op(&c, OP_LOCK)->nfs_argop4_u.oplock;

	a->locktype = (nfs_lock_type4)(1 + any(4));
	a->reclaim = !any(10);
	a->offset = offset();
	a->length = any(4) ? any(1000) : UINT64_MAX;
	a->locker.new_lock_owner = any(2);
	if (a->locker.new_lock_owner) {
		a->locker.locker4_u.open_owner.open_seqid = any(4);
		a->locker.locker4_u.open_owner.open_stateid = *stateid();
		a->locker.locker4_u.open_owner.lock_owner.clientid = c.clientid;
		a->locker.locker4_u.open_owner.lock_owner.owner.owner_len = 1 + any(3);
		a->locker.locker4_u.open_owner.lock_owner.owner.owner_val = data;
	} else {
		a->locker.locker4_u.lock_owner.lock_stateid = *stateid();
		a->locker.locker4_u.lock_owner.lock_seqid = any(4);
	}
}

static void make_op(void)
{
	CREATE4args *a = &v4c_op(&c, OP_CREATE)->nfs_argop4_u.opcreate;

	a->objtype.type = any(2) ? NF4DIR : NF4LNK;
	a->objname = name();
	if (a->objtype.type == NF4LNK) {
		a->objtype.createtype4_u.linkdata.linktext4_len = any(100);
		a->objtype.createtype4_u.linkdata.linktext4_val = data;
	}
}

static void name_op(void)
{
	switch (any(6)) {
	case 0: v4c_op(&c, OP_REMOVE)->nfs_argop4_u.opremove.target = name(); break;
	case 1:
		v4c_op(&c, OP_RENAME)->nfs_argop4_u.oprename.oldname = name();
		c.op[c.nops - 1].nfs_argop4_u.oprename.newname = name();
		break;
	case 2: v4c_op(&c, OP_LINK)->nfs_argop4_u.oplink.newname = name(); break;
	case 3: make_op(); break;
	case 4: v4c_op(&c, OP_LOOKUP)->nfs_argop4_u.oplookup.objname = name(); break;
	default: v4c_op(&c, any(2) ? OP_LOOKUPP : OP_READLINK);
	}
}

static void state_op(void)
{
	nfs_argop4 *a;

	switch (any(6)) {
	case 0:
		a = v4c_op(&c, OP_CLOSE);
		a->nfs_argop4_u.opclose.open_stateid = *stateid();
		a->nfs_argop4_u.opclose.seqid = any(4);
		break;
	case 1:
		a = v4c_op(&c, OP_OPEN_DOWNGRADE);
		a->nfs_argop4_u.opopen_downgrade.open_stateid = *stateid();
		a->nfs_argop4_u.opopen_downgrade.share_access = any(5);
		a->nfs_argop4_u.opopen_downgrade.share_deny = any(5);
		break;
	case 2:
		a = v4c_op(&c, OP_LOCKU);
		a->nfs_argop4_u.oplocku.locktype = WRITE_LT;
		a->nfs_argop4_u.oplocku.lock_stateid = *stateid();
		a->nfs_argop4_u.oplocku.offset = offset();
		a->nfs_argop4_u.oplocku.length = offset();
		break;
	case 3: lock_op(); break;
	case 4:
		v4c_op(&c, OP_FREE_STATEID)->nfs_argop4_u.opfree_stateid.fsa_stateid = *stateid();
		break;
	default:
		v4c_opens(&c, data, 1 + any(3), any(6), names[any(5)], any(5), any(5), any(2));
		v4c_getfh(&c);
	}
}

static void io_op(void)
{
	nfs_argop4 *a;

	switch (any(7)) {
	case 0: v4c_read(&c, stateid(), offset(), any(70000)); break;
	case 1:
		v4c_write(&c, stateid(), offset(), (stable_how4)any(3), data, any(sizeof(data)));
		break;
	case 2: v4c_commit(&c, offset(), any(100000)); break;
	case 3:
		a = v4c_op(&c, any(2) ? OP_ALLOCATE : OP_DEALLOCATE);
		a->nfs_argop4_u.opallocate.aa_stateid = *stateid();
		a->nfs_argop4_u.opallocate.aa_offset = any(65536);
		a->nfs_argop4_u.opallocate.aa_length = any(4) ? any(65536) : UINT64_MAX;
		break;
	case 4:
		a = v4c_op(&c, OP_COPY);
		a->nfs_argop4_u.opcopy.ca_src_stateid = *stateid();
		a->nfs_argop4_u.opcopy.ca_dst_stateid = *stateid();
		a->nfs_argop4_u.opcopy.ca_src_offset = any(65536);
		a->nfs_argop4_u.opcopy.ca_dst_offset = any(65536);
		a->nfs_argop4_u.opcopy.ca_count = any(20000);
		break;
	case 5: v4c_op(&c, OP_SEEK)->nfs_argop4_u.opseek.sa_offset = offset(); break;
	default:
		v4c_op(&c, OP_LISTXATTRS)->nfs_argop4_u.oplistxattrs.lxa_maxcount = any(9000);
	}
}

static void one_op(void)
{
	switch (any(9)) {
	case 0: put_object(); break;
	case 1: v4c_op(&c, any(2) ? OP_SAVEFH : OP_RESTOREFH); break;
	case 2: v4c_getattr(&c, any(UINT32_MAX), any(UINT32_MAX), any(1 << 20)); break;
	case 3: v4c_op(&c, OP_READDIR)->nfs_argop4_u.opreaddir.maxcount = any(9000); break;
	case 4: name_op(); break;
	case 5:
	case 6: state_op(); break;
	default: io_op();
	}
}

static void keep(void)
{
	nfs_resop4 *r = v4c_res(&c, OP_OPEN);

	v4c_keep_fh(&c, &fh[any(KEPT - 1)]);
	if (r && !r->nfs_resop4_u.opopen.status)
		id[any(KEPT)] = r->nfs_resop4_u.opopen.OPEN4res_u.resok4.stateid;
	r = v4c_res(&c, OP_LOCK);
	if (r && !r->nfs_resop4_u.oplock.status)
		id[any(KEPT)] = r->nfs_resop4_u.oplock.LOCK4res_u.resok4.lock_stateid;
}

static bool greet(const char *host, int port, uint32_t minor, const char *owner)
{
	return !v4c_open(&c, host, port, minor) &&
	       !(minor ? v4c_hello(&c, owner) : v4c_setclientid(&c, owner, "grammar4"));
}

int main(int argc, char **argv)
{
	char honest[32];
	time_t end;
	unsigned long n = 0, good = 0, lost = 0;

	if (argc != 7 || !greet(argv[1], atoi(argv[2]), (uint32_t)atoi(argv[4]), argv[4]))
		return 1;
	rnd = strtoull(argv[5], NULL, 0) * 2 + 1;
	end = time(NULL) + atoi(argv[6]);
	tap_is(v4c_mount(&c, argv[3], &root), 0, "the export's root");
	for (unsigned i = 0; i < KEPT; i++)
		fh[i] = root;
	while (time(NULL) < end && lost < 3) {
		v4c_begin(&c);
		put_object();
		for (uint32_t k = 1 + any(8); k--;)
			one_op();
		if (v4c_run(&c) == V4C_BROKEN) {
			lost++;
			printf("# %s, RPC %d.%u, after", strerror(-c.err), c.rpc.denied,
			       c.rpc.stat);
			for (uint32_t k = 0; k < c.nops; k++)
				printf(" %u", c.op[k].argop);
			printf("\n");
		} else
			good += !c.res.status;
		keep();
		n++;
	}
	tap_is((long long)lost, 0, "every COMPOUND is answered");
	printf("# seed %s: %lu COMPOUNDs, %lu of them good to the end\n", argv[5], n, good);
	v4c_close(&c);
	snprintf(honest, sizeof(honest), "honest 4.%s", argv[4]);
	tap_ok(greet(argv[1], atoi(argv[2]), (uint32_t)atoi(argv[4]), honest),
	       "an honest client is served");
	v4c_close(&c);
	return tap_done();
}
