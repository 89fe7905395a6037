/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The argument and result types of every NFSv3 and MOUNT
 * procedure, for tests that go through all codecs.
 */
#ifndef TESTS_LIB_NFS3TYPES_H
#define TESTS_LIB_NFS3TYPES_H

#include "rpc/codec.h"
#include "rpc/mount.h"
#include "rpc/nfs3.h"

union nfs3_any {
	GETATTR3args getattr;
	SETATTR3args setattr;
	LOOKUP3args lookup;
	ACCESS3args access;
	READLINK3args readlink;
	READ3args read;
	WRITE3args write;
	CREATE3args create;
	MKDIR3args mkdir;
	SYMLINK3args symlink;
	MKNOD3args mknod;
	REMOVE3args remove;
	RMDIR3args rmdir;
	RENAME3args rename;
	LINK3args link;
	READDIR3args readdir;
	READDIRPLUS3args readdirplus;
	FSSTAT3args fsstat;
	FSINFO3args fsinfo;
	PATHCONF3args pathconf;
	COMMIT3args commit;
	GETATTR3res getattr_res;
	SETATTR3res setattr_res;
	LOOKUP3res lookup_res;
	ACCESS3res access_res;
	READLINK3res readlink_res;
	READ3res read_res;
	WRITE3res write_res;
	CREATE3res create_res;
	MKDIR3res mkdir_res;
	SYMLINK3res symlink_res;
	MKNOD3res mknod_res;
	REMOVE3res remove_res;
	RMDIR3res rmdir_res;
	RENAME3res rename_res;
	LINK3res link_res;
	READDIR3res readdir_res;
	READDIRPLUS3res readdirplus_res;
	FSSTAT3res fsstat_res;
	FSINFO3res fsinfo_res;
	PATHCONF3res pathconf_res;
	COMMIT3res commit_res;
	dirpath mnt;
	mountres3 mnt_res;
	mountlist dump_res;
	exportlist export_res;
};

struct nfs3_type {
	const char *name;
	xdrproc_t xdr;
};

#define NFS3_ARGS(NAME) {#NAME "3args", (xdrproc_t)xdr_##NAME##3args}
#define NFS3_RES(NAME) {#NAME "3res", (xdrproc_t)xdr_##NAME##3res}
#define NFS3_EACH(X)                                                                               \
	X(GETATTR), X(SETATTR), X(LOOKUP), X(ACCESS), X(READLINK), X(READ), X(WRITE), X(CREATE),   \
		X(MKDIR), X(SYMLINK), X(MKNOD), X(REMOVE), X(RMDIR), X(RENAME), X(LINK),           \
		X(READDIR), X(READDIRPLUS), X(FSSTAT), X(FSINFO), X(PATHCONF), X(COMMIT)

/* What comes from the wire to a server. */
static const struct nfs3_type nfs3_args[] = {
	NFS3_EACH(NFS3_ARGS),
	{"dirpath", (xdrproc_t)xdr_dirpath},
};
#define NFS3_NARGS (sizeof(nfs3_args) / sizeof(nfs3_args[0]))

#endif
