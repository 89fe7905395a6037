/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * clients HOST PORT: client ids over the wire: EXCHANGE_ID,
 * DESTROY_CLIENTID, RECLAIM_COMPLETE, SETCLIENTID, RENEW.  Every case of what
 * they come to is in tests/unit/state4_client.c; here is what only the wire
 * has: flags, unions, bad arguments, one operation alone.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

static struct v4c c;

static EXCHANGE_ID4args *exchange(const char *owner)
{
	EXCHANGE_ID4args *a;

	v4c_begin_bare(&c);
	a = &v4c_op(&c, OP_EXCHANGE_ID)->nfs_argop4_u.opexchange_id;
	a->eia_clientowner.co_ownerid.co_ownerid_len = (uint32_t)strlen(owner);
	a->eia_clientowner.co_ownerid.co_ownerid_val = (char *)(uintptr_t)owner;
	return a;
}

static const EXCHANGE_ID4resok *exchanged(void)
{
	return &v4c_res(&c, OP_EXCHANGE_ID)
			->nfs_resop4_u.opexchange_id.EXCHANGE_ID4res_u.eir_resok4;
}

static void what_exchange_id_says(void)
{
	const EXCHANGE_ID4resok *ok;

	exchange("says");
	tap_is(v4c_run(&c), NFS4_OK, "EXCHANGE_ID without flags");
	ok = exchanged();
	tap_is(ok->eir_flags & EXCHGID4_FLAG_MASK_PNFS, EXCHGID4_FLAG_USE_NON_PNFS,
	       "the server does no pNFS, and says so");
	tap_is(ok->eir_sequenceid, 1, "CREATE_SESSION begins at 1");
	tap_is(ok->eir_server_owner.so_major_id.so_major_id_len, 32,
	       "the server has a name of its own");
	tap_ok(ok->eir_server_scope.eir_server_scope_len == 32 &&
		       !memcmp(ok->eir_server_scope.eir_server_scope_val,
			       ok->eir_server_owner.so_major_id.so_major_id_val, 32),
	       "and that is its scope");
}

static void a_name_of_no_bytes(void)
{
	clientid4 first;

	exchange("");
	tap_is(v4c_run(&c), NFS4_OK, "EXCHANGE_ID under a name of no bytes");
	first = exchanged()->eir_clientid;
	exchange("");
	tap_is(v4c_run(&c), NFS4_OK, "and again");
	tap_ok(first && exchanged()->eir_clientid, "both have a client id");
}

static uint32_t with_flags(uint32_t flags)
{
	exchange("flags")->eia_flags = flags;
	return v4c_run(&c);
}

static uint32_t with_protection(state_protect_how4 how)
{
	exchange("protection")->eia_state_protect.spa_how = how;
	return v4c_run(&c);
}

static void exchange_id_arguments(void)
{
	static nfs_impl_id4 impl[2];
	EXCHANGE_ID4args *a;

	tap_is(with_flags(4), NFS4ERR_INVAL, "an undefined flag");
	tap_is(with_flags(EXCHGID4_FLAG_USE_NON_PNFS | EXCHGID4_FLAG_CONFIRMED_R), NFS4ERR_INVAL,
	       "a flag of the server's");
	tap_is(with_flags(EXCHGID4_FLAG_USE_PNFS_DS), NFS4_OK, "a wish for pNFS is not an error");
	tap_is(with_flags(EXCHGID4_FLAG_UPD_CONFIRMED_REC_A), NFS4ERR_NOENT,
	       "an update of what is not confirmed");
	c.minor = 2;
	tap_is(with_flags(EXCHGID4_FLAG_SUPP_FENCE_OPS), NFS4_OK, "a flag of 4.2 in 4.2");
	c.minor = 1;
	tap_is(with_protection(SP4_SSV), NFS4ERR_ENCR_ALG_UNSUPP, "SSV is not there");
	tap_is(with_protection(SP4_MACH_CRED), NFS4ERR_INVAL, "machine credentials need integrity");
	a = exchange("impl");
	a->eia_client_impl_id.eia_client_impl_id_len = 1;
	a->eia_client_impl_id.eia_client_impl_id_val = impl;
	tap_is(v4c_run(&c), NFS4_OK, "an implementation id");
}

static uint32_t alone(nfs_opnum4 op)
{
	v4c_begin_bare(&c);
	v4c_op(&c, op);
	v4c_putrootfh(&c);
	return v4c_run(&c);
}

static void alone_or_in_a_session(void)
{
	tap_is(alone(OP_EXCHANGE_ID), NFS4ERR_NOT_ONLY_OP,
	       "EXCHANGE_ID and more without a session");
	tap_is(alone(OP_CREATE_SESSION), NFS4ERR_NOT_ONLY_OP, "CREATE_SESSION and more");
	tap_is(alone(OP_DESTROY_SESSION), NFS4ERR_NOT_ONLY_OP, "DESTROY_SESSION and more");
	tap_is(alone(OP_DESTROY_CLIENTID), NFS4ERR_NOT_ONLY_OP, "DESTROY_CLIENTID and more");
	tap_is(alone(OP_BIND_CONN_TO_SESSION), NFS4ERR_NOT_ONLY_OP,
	       "BIND_CONN_TO_SESSION and more");
	tap_is(alone(OP_RECLAIM_COMPLETE), NFS4ERR_OP_NOT_IN_SESSION,
	       "RECLAIM_COMPLETE without a session");
}

static uint32_t destroy(clientid4 id, bool in_session)
{
	if (in_session)
		v4c_begin(&c);
	else
		v4c_begin_bare(&c);
	v4c_op(&c, OP_DESTROY_CLIENTID)->nfs_argop4_u.opdestroy_clientid.dca_clientid = id;
	return v4c_run(&c);
}

static uint32_t reclaim_complete(bool one_fs, bool with_fh)
{
	v4c_begin(&c);
	if (with_fh)
		v4c_putrootfh(&c);
	v4c_op(&c, OP_RECLAIM_COMPLETE)->nfs_argop4_u.opreclaim_complete.rca_one_fs = one_fs;
	return v4c_run(&c);
}

static void ends_of_clients(void)
{
	clientid4 own, other;
	uint32_t seqid;

	v4c_exchange_id(&c, "other", "verifier", 0, &seqid);
	other = c.clientid;
	tap_is(v4c_hello(&c, "own"), NFS4_OK, "a client, confirmed by a session");
	own = c.clientid;
	tap_is(reclaim_complete(false, false), NFS4ERR_COMPLETE_ALREADY,
	       "RECLAIM_COMPLETE a second time");
	tap_is(reclaim_complete(true, false), NFS4ERR_NOFILEHANDLE,
	       "RECLAIM_COMPLETE of one file system, which one?");
	tap_is(destroy(own, true), NFS4ERR_CLIENTID_BUSY, "DESTROY_CLIENTID in its own session");
	tap_is(destroy(own, false), NFS4ERR_CLIENTID_BUSY,
	       "DESTROY_CLIENTID of a client with a session");
	tap_is(destroy(other, true), NFS4_OK, "of another, unconfirmed, in a session");
	tap_is(destroy(other, false), NFS4ERR_STALE_CLIENTID, "a second time");
	tap_is(destroy(0, true), NFS4ERR_STALE_CLIENTID, "of one that never was");
	c.session = false;
}

static uint32_t renew(struct v4c *v, clientid4 id)
{
	v4c_begin_bare(v);
	v4c_op(v, OP_RENEW)->nfs_argop4_u.oprenew.clientid = id;
	return v4c_run(v);
}

static void minor_zero(const char *host, int port)
{
	struct v4c v;
	clientid4 first;

	if (!tap_ok(!v4c_open(&v, host, port, 0), "a connection for 4.0"))
		return;
	tap_is(v4c_setclientid(&v, "zero", "verifier"), NFS4_OK,
	       "SETCLIENTID and its confirmation");
	first = v.clientid;
	tap_is(renew(&v, first), NFS4_OK, "RENEW");
	tap_is(renew(&v, 0), NFS4ERR_STALE_CLIENTID, "RENEW of another server's client");
	tap_is(renew(&v, first + 1000), NFS4ERR_EXPIRED, "RENEW of nobody");
	tap_is(v4c_setclientid(&v, "zero", "verifier"), NFS4_OK,
	       "the same client with another callback");
	tap_is(v.clientid, (long long)first, "has the same id");
	tap_is(v4c_setclientid(&v, "zero", "rebooted"), NFS4_OK, "rebooted");
	tap_ok(v.clientid != first, "it has another");
	tap_is(renew(&v, first), NFS4ERR_EXPIRED, "and the first is gone");
	v.minor = 1;
	tap_is(renew(&v, first), NFS4ERR_OP_NOT_IN_SESSION, "RENEW in 4.1 has no session");
	v4c_close(&v);
}

int main(int argc, char **argv)
{
	if (argc < 3 || v4c_open(&c, argv[1], atoi(argv[2]), 1))
		return 1;
	what_exchange_id_says();
	a_name_of_no_bytes();
	exchange_id_arguments();
	alone_or_in_a_session();
	ends_of_clients();
	minor_zero(argv[1], atoi(argv[2]));
	v4c_close(&c);
	return tap_done();
}
