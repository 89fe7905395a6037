/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations of all minor versions, by number; what each needs before it may run is v4.h's. */
#include <stddef.h>

#include "nfsd-io/proto/v4.h"

#define FH V4_NEEDS_FH
#define TWO (V4_NEEDS_FH | V4_NEEDS_SAVED)
/* Only on an export: elsewhere `pseudo_status`. */
#define REAL (V4_NEEDS_FH | V4_NO_PSEUDO)
/* Makes, moves or removes names or attributes. */
#define CHANGE (V4_BLOCKS | V4_CHANGES | V4_MODIFIES)
#define CINFO 20	      /* bytes of a change_info4 */
#define BITMAP 16	      /* of a bitmap4 of three words */
#define STATEID 16	      /* of a stateid4 */

const struct v4_op v4_ops[REQ_OPS_MAX] = {
	[OP_ACCESS] = {"ACCESS", 0, 2, FH, 8, 0, v4_access},
	[OP_CLOSE] = {"CLOSE", 0, 2, REAL | V4_BLOCKS, STATEID, NFS4ERR_BAD_STATEID, v4_close},
	[OP_COMMIT] = {"COMMIT", 0, 2, REAL | V4_WORKER, 8, NFS4ERR_ISDIR, v4_commit},
	[OP_CREATE] = {"CREATE", 0, 2, FH | CHANGE, CINFO + BITMAP, 0, v4_create},
	[OP_DELEGPURGE] = {"DELEGPURGE", 0, 2, 0, 0, 0, v4_notsupp},
	[OP_DELEGRETURN] = {"DELEGRETURN", 0, 2, FH, 0, 0, v4_delegreturn},
	[OP_GETATTR] = {"GETATTR", 0, 2, FH, 0, 0, v4_getattr},
	[OP_GETFH] = {"GETFH", 0, 2, FH, 4 + NFS4_FHSIZE, 0, v4_getfh},
	[OP_LINK] = {"LINK", 0, 2, TWO | CHANGE, CINFO, 0, v4_link},
	[OP_LOCK] = {"LOCK", 0, 2, REAL | V4_BLOCKS, STATEID, NFS4ERR_ISDIR, v4_lock},
	[OP_LOCKT] = {"LOCKT", 0, 2, REAL | V4_BLOCKS, 0, NFS4ERR_ISDIR, v4_lockt},
	[OP_LOCKU] = {"LOCKU", 0, 2, REAL | V4_BLOCKS, STATEID, NFS4ERR_BAD_STATEID, v4_locku},
	[OP_LOOKUP] = {"LOOKUP", 0, 2, FH | V4_BLOCKS, 0, 0, v4_lookup},
	[OP_LOOKUPP] = {"LOOKUPP", 0, 2, FH | V4_BLOCKS, 0, 0, v4_lookupp},
	[OP_NVERIFY] = {"NVERIFY", 0, 2, FH, 0, 0, v4_nverify},
	[OP_OPEN] = {"OPEN", 0, 2, FH | V4_BLOCKS | V4_CHANGES, STATEID + CINFO + BITMAP + 64, 0,
		     v4_open},
	[OP_OPENATTR] = {"OPENATTR", 0, 2, FH, 0, 0, v4_notsupp},
	[OP_OPEN_CONFIRM] = {"OPEN_CONFIRM", 0, 0, REAL | V4_BLOCKS, STATEID, NFS4ERR_BAD_STATEID,
			     v4_open_confirm},
	[OP_OPEN_DOWNGRADE] = {"OPEN_DOWNGRADE", 0, 2, REAL | V4_BLOCKS, STATEID,
			       NFS4ERR_BAD_STATEID, v4_open_downgrade},
	[OP_PUTFH] = {"PUTFH", 0, 2, V4_WORKER, 0, 0, v4_putfh},
	[OP_PUTPUBFH] = {"PUTPUBFH", 0, 2, V4_WORKER, 0, 0, v4_putrootfh},
	[OP_PUTROOTFH] = {"PUTROOTFH", 0, 2, V4_WORKER, 0, 0, v4_putrootfh},
	[OP_READ] = {"READ", 0, 2, REAL | V4_WORKER, 8, NFS4ERR_ISDIR, v4_read},
	[OP_READDIR] = {"READDIR", 0, 2, FH | V4_BLOCKS, 0, 0, v4_readdir},
	[OP_READLINK] = {"READLINK", 0, 2, REAL | V4_BLOCKS, 0, NFS4ERR_INVAL, v4_readlink},
	[OP_REMOVE] = {"REMOVE", 0, 2, FH | CHANGE, CINFO, 0, v4_remove},
	[OP_RENAME] = {"RENAME", 0, 2, TWO | CHANGE, 2 * CINFO, 0, v4_rename},
	[OP_RENEW] = {"RENEW", 0, 0, 0, 0, 0, v4_renew},
	[OP_RESTOREFH] = {"RESTOREFH", 0, 2, 0, 0, 0, v4_restorefh},
	[OP_SAVEFH] = {"SAVEFH", 0, 2, FH, 0, 0, v4_savefh},
	[OP_SECINFO] = {"SECINFO", 0, 2, FH | V4_BLOCKS, 64, 0, v4_secinfo},
	[OP_SETATTR] = {"SETATTR", 0, 2, FH | CHANGE, BITMAP, 0, v4_setattr},
	[OP_SETCLIENTID] = {"SETCLIENTID", 0, 0, V4_BLOCKS, 256, 0, v4_setclientid},
	[OP_SETCLIENTID_CONFIRM] = {"SETCLIENTID_CONFIRM", 0, 0, V4_BLOCKS, 0, 0,
				    v4_setclientid_confirm},
	[OP_VERIFY] = {"VERIFY", 0, 2, FH, 0, 0, v4_verify},
	[OP_WRITE] = {"WRITE", 0, 2, REAL | V4_WORKER | V4_MODIFIES, 16, NFS4ERR_ISDIR, v4_write},
	[OP_RELEASE_LOCKOWNER] = {"RELEASE_LOCKOWNER", 0, 0, V4_BLOCKS, 0, 0, v4_release_lockowner},
	[OP_BACKCHANNEL_CTL] = {"BACKCHANNEL_CTL", 1, 2, 0, 0, 0, v4_backchannel_ctl},
	[OP_BIND_CONN_TO_SESSION] = {"BIND_CONN_TO_SESSION", 1, 2, V4_SESSIONLESS, 24, 0,
				     v4_bind_conn_to_session},
	[OP_EXCHANGE_ID] = {"EXCHANGE_ID", 1, 2, V4_SESSIONLESS | V4_BLOCKS, 128, 0,
			    v4_exchange_id},
	[OP_CREATE_SESSION] = {"CREATE_SESSION", 1, 2, V4_SESSIONLESS | V4_BLOCKS, 96, 0,
			       v4_create_session},
	[OP_DESTROY_SESSION] = {"DESTROY_SESSION", 1, 2, V4_SESSIONLESS, 0, 0, v4_destroy_session},
	[OP_FREE_STATEID] = {"FREE_STATEID", 1, 2, V4_BLOCKS, 0, 0, v4_free_stateid},
	[OP_GET_DIR_DELEGATION] = {"GET_DIR_DELEGATION", 1, 2, FH, 0, 0, v4_notsupp},
	[OP_GETDEVICEINFO] = {"GETDEVICEINFO", 1, 2, 0, 0, 0, v4_notsupp},
	[OP_GETDEVICELIST] = {"GETDEVICELIST", 1, 2, FH, 0, 0, v4_notsupp},
	[OP_LAYOUTCOMMIT] = {"LAYOUTCOMMIT", 1, 2, FH, 0, 0, v4_notsupp},
	[OP_LAYOUTGET] = {"LAYOUTGET", 1, 2, FH, 0, 0, v4_notsupp},
	[OP_LAYOUTRETURN] = {"LAYOUTRETURN", 1, 2, FH, 0, 0, v4_notsupp},
	[OP_SECINFO_NO_NAME] = {"SECINFO_NO_NAME", 1, 2, FH | V4_BLOCKS, 64, 0, v4_secinfo_no_name},
	[OP_SEQUENCE] = {"SEQUENCE", 1, 2, V4_SESSIONLESS | V4_WORKER, 36, 0, v4_sequence},
	[OP_SET_SSV] = {"SET_SSV", 1, 2, 0, 0, 0, v4_notsupp},
	[OP_TEST_STATEID] = {"TEST_STATEID", 1, 2, 0, 0, 0, v4_test_stateid},
	[OP_WANT_DELEGATION] = {"WANT_DELEGATION", 1, 2, FH, 0, 0, v4_notsupp},
	[OP_DESTROY_CLIENTID] = {"DESTROY_CLIENTID", 1, 2, V4_SESSIONLESS | V4_BLOCKS, 0, 0,
				 v4_destroy_clientid},
	[OP_RECLAIM_COMPLETE] = {"RECLAIM_COMPLETE", 1, 2, V4_BLOCKS, 0, 0, v4_reclaim_complete},
	[OP_ALLOCATE] = {"ALLOCATE", 2, 2, FH | CHANGE, 0, 0, v4_allocate},
	[OP_COPY] = {"COPY", 2, 2, TWO | CHANGE, 64, 0, v4_copy},
	[OP_COPY_NOTIFY] = {"COPY_NOTIFY", 2, 2, FH, 0, 0, v4_notsupp},
	[OP_DEALLOCATE] = {"DEALLOCATE", 2, 2, FH | CHANGE, 0, 0, v4_deallocate},
	[OP_IO_ADVISE] = {"IO_ADVISE", 2, 2, FH, 0, 0, v4_notsupp},
	[OP_LAYOUTERROR] = {"LAYOUTERROR", 2, 2, FH, 0, 0, v4_notsupp},
	[OP_LAYOUTSTATS] = {"LAYOUTSTATS", 2, 2, FH, 0, 0, v4_notsupp},
	[OP_OFFLOAD_CANCEL] = {"OFFLOAD_CANCEL", 2, 2, FH, 0, 0, v4_offload},
	[OP_OFFLOAD_STATUS] = {"OFFLOAD_STATUS", 2, 2, FH, 0, 0, v4_offload},
	[OP_READ_PLUS] = {"READ_PLUS", 2, 2, REAL | V4_WORKER, 28, NFS4ERR_ISDIR, v4_read_plus},
	[OP_SEEK] = {"SEEK", 2, 2, REAL | V4_BLOCKS, 12, NFS4ERR_ISDIR, v4_seek},
	[OP_WRITE_SAME] = {"WRITE_SAME", 2, 2, FH, 0, 0, v4_notsupp},
	[OP_CLONE] = {"CLONE", 2, 2, TWO | CHANGE, 0, 0, v4_clone},
	[OP_GETXATTR] = {"GETXATTR", 2, 2, REAL | V4_BLOCKS, 0, NFS4ERR_NOXATTR, v4_getxattr},
	[OP_SETXATTR] = {"SETXATTR", 2, 2, FH | CHANGE, CINFO, 0, v4_setxattr},
	[OP_LISTXATTRS] = {"LISTXATTRS", 2, 2, REAL | V4_BLOCKS, 0, NFS4ERR_NOTSUPP, v4_listxattrs},
	[OP_REMOVEXATTR] = {"REMOVEXATTR", 2, 2, FH | CHANGE, CINFO, 0, v4_removexattr},
};
static_assert(OP_REMOVEXATTR + 1 == REQ_OPS_MAX, "there is a row for each operation");

/* Known in an older minor version, not to be used in this (RFC 8881 s.17). */
static const struct v4_op gone = {"gone", 0, V4_MINOR_MAX, 0, 0, 0, v4_notsupp};

uint32_t v4_notsupp(struct req *r)
{
	(void)r;
	return NFS4ERR_NOTSUPP;
}

const struct v4_op *v4_op_find(uint32_t op, uint32_t minor)
{
	const struct v4_op *o = op < REQ_OPS_MAX ? &v4_ops[op] : NULL;

	if (!o || !o->run || minor < o->minor_first)
		return NULL;
	return minor > o->minor_last ? &gone : o;
}
