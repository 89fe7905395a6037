/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rejects HOST PORT DIR: calls that are refused by RPC (RFC 5531 s.9) or for
 * their handle, each with the right reason; the connection lives on after all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/rawnfs.h"
#include "tests/lib/tap.h"

enum { PROG_UNAVAIL = 1, PROG_MISMATCH, PROC_UNAVAIL, GARBAGE_ARGS };
enum { NFS3ERR_STALE = 70, NFS3ERR_BADHANDLE = 10001 };

static struct rawnfs r;
static struct rawnfs_fh root, file;
static int nfs_status; /* of the last accepted call */

/* Ends the call; its reply in out. */
static bool ask(struct rawnfs_call *call, struct rawnfs_reply *out)
{
	bool good = rawnfs_call(&r, call, out) == 0;

	rawnfs_call_end(call);
	nfs_status = good && !out->denied && !out->stat ? (int)cursor_get_u32(&out->c) : -1;
	return good;
}

static bool refused(uint32_t prog, uint32_t vers, uint32_t proc, uint32_t stat)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;

	rawnfs_call_begin(&r, &call, prog, vers, proc);
	return ask(&call, &reply) && !reply.denied && reply.stat == stat && rawnfs_alive(&r);
}

static bool mismatch(uint32_t prog, uint32_t vers, uint32_t high)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;

	rawnfs_call_begin(&r, &call, prog, vers, 0);
	return ask(&call, &reply) && !reply.denied && reply.stat == PROG_MISMATCH &&
	       reply.low <= 3 && reply.high >= high && reply.low <= reply.high && reply.len == 32 &&
	       rawnfs_alive(&r);
}

static bool rpc_version_is_mismatched(uint32_t vers)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;

	rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, 0);
	cursor_set_u32(call.byte + 8, vers);
	return ask(&call, &reply) && reply.denied && reply.stat == 0 && reply.low == 2 &&
	       reply.high == 2 && reply.len == 24 && rawnfs_alive(&r);
}

/* A GETATTR with this credential and verifier. */
static bool auth_refused(uint32_t flavor, const void *body, uint32_t len, uint32_t verf_flavor,
			 uint32_t verf_len, uint32_t stat)
{
	static const uint8_t zeros[404];
	struct rawnfs_call call;
	struct rawnfs_reply reply;

	rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, 1);
	cursor_seek(&call.c, 24);
	cursor_put_u32(&call.c, flavor);
	cursor_put_opaque(&call.c, body, len);
	cursor_put_u32(&call.c, verf_flavor);
	cursor_put_opaque(&call.c, zeros, verf_len);
	rawnfs_put_fh(&call, &root);
	return ask(&call, &reply) && reply.denied && reply.stat == 1 && reply.auth_stat == stat &&
	       reply.len == 20 && rawnfs_alive(&r);
}

static void test_auth(void)
{
	uint8_t body[404] = {0};

	tap_ok(auth_refused(6, body, 20, 6, 28, 2), "RPCSEC_GSS: AUTH_REJECTEDCRED");
	tap_ok(auth_refused(2, body, 20, 0, 0, 2), "AUTH_SHORT: AUTH_REJECTEDCRED");
	tap_ok(auth_refused(1, body, 16, 0, 0, 1), "AUTH_SYS cut short: AUTH_BADCRED");
	tap_ok(auth_refused(1, body, 404, 0, 0, 1), "a credential over 400 bytes: AUTH_BADCRED");
	tap_ok(auth_refused(1, body, 20, 1, 20, 3), "a verifier that is none: AUTH_BADVERF");
	tap_ok(auth_refused(1, body, 20, 0, 404, 3), "a verifier over 400 bytes: AUTH_BADVERF");
	cursor_set_u32(body + 16, 17); /* groups, all there */
	tap_ok(auth_refused(1, body, 20 + 17 * 4, 0, 0, 1), "17 groups: AUTH_BADCRED");
	cursor_set_u32(body + 4, 256); /* machine name */
	tap_ok(auth_refused(1, body, 276, 0, 0, 1), "a machine name of 256: AUTH_BADCRED");
}

static bool null_needs_no_credential(uint32_t prog)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;

	rawnfs_call_begin(&r, &call, prog, 3, 0);
	cursor_seek(&call.c, 24);
	cursor_put_u64(&call.c, 0);
	cursor_put_u64(&call.c, 0);
	return ask(&call, &reply) && !reply.denied && reply.stat == 0 && reply.len == 24;
}

/*
 * The arguments every procedure would take, in its order, for
 * `proc`; where they end is where they may not be cut.
 */
static void put_args(struct rawnfs_call *call, uint32_t proc)
{
	static const uint8_t zeros[64];

	rawnfs_put_fh(call, proc == 6 || proc == 7 || proc == 21 ? &file : &root);
	switch (proc) {
	case 2: /* SETATTR: nothing set, no guard */
		cursor_put_fixed(&call->c, zeros, 28);
		break;
	case 3: /* LOOKUP, REMOVE, RMDIR */
	case 12:
	case 13:
		rawnfs_put_string(call, "nothing");
		break;
	case 4: /* ACCESS */
		cursor_put_u32(&call->c, 0x3f);
		break;
	case 6: /* READ, COMMIT */
	case 21:
		cursor_put_fixed(&call->c, zeros, 12);
		break;
	case 7: /* WRITE of 4 bytes */
		cursor_put_u64(&call->c, 0);
		cursor_put_u32(&call->c, 4);
		cursor_put_u32(&call->c, 0);
		cursor_put_opaque(&call->c, "data", 4);
		break;
	case 14: /* RENAME */
		rawnfs_put_string(call, "nothing");
		rawnfs_put_fh(call, &root);
		rawnfs_put_string(call, "nowhere");
		break;
	case 15: /* LINK to what cannot be linked */
		rawnfs_put_fh(call, &root);
		rawnfs_put_string(call, "link");
		break;
	case 16: /* READDIR */
		cursor_put_fixed(&call->c, zeros, 16);
		cursor_put_u32(&call->c, 4096);
		break;
	case 17: /* READDIRPLUS */
		cursor_put_fixed(&call->c, zeros, 16);
		cursor_put_u32(&call->c, 4096);
		cursor_put_u32(&call->c, 4096);
		break;
	}
}

/* Every length short of whole; CREATE and its like are left out, for they would make things. */
static bool cut_arguments_are_garbage(uint32_t proc)
{
	size_t header = 64, whole;
	struct rawnfs_reply reply;

	for (size_t len = header;; len++) {
		struct rawnfs_call call;

		rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, proc);
		put_args(&call, proc);
		whole = rawnfs_call_len(&call);
		if (len == whole) {
			bool good = ask(&call, &reply) && !reply.denied && reply.stat == 0;

			if (!good)
				printf("# procedure %u whole: stat %u\n", proc, reply.stat);
			return good && rawnfs_alive(&r);
		}
		cursor_seek(&call.c, len);
		if (!ask(&call, &reply) || reply.denied || reply.stat != GARBAGE_ARGS) {
			printf("# procedure %u cut at %zu of %zu: stat %u\n", proc, len, whole,
			       reply.stat);
			return false;
		}
	}
}

static bool handle_gets(uint32_t len, const uint8_t *data, bool garbage)
{
	static const uint32_t procs[] = {1, 2, 4, 6, 7, 16, 17, 18, 19, 20, 21};
	struct rawnfs_fh saved_root = root, saved_file = file;
	bool good = true;

	root.len = file.len = len;
	memcpy(root.data, data, len);
	memcpy(file.data, data, len);
	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]) && good; i++) {
		struct rawnfs_call call;
		struct rawnfs_reply reply;

		rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, procs[i]);
		put_args(&call, procs[i]);
		good = ask(&call, &reply) && !reply.denied;
		if (garbage)
			good = good && reply.stat == GARBAGE_ARGS;
		else
			good = good &&
			       (nfs_status == NFS3ERR_STALE || nfs_status == NFS3ERR_BADHANDLE);
		if (!good)
			printf("# procedure %u: stat %u, status %d\n", procs[i], reply.stat,
			       nfs_status);
	}
	root = saved_root;
	file = saved_file;
	return good && rawnfs_alive(&r);
}

static void test_handles(void)
{
	static const uint32_t lengths[] = {0, 1, 10, 63, 64};
	uint8_t data[128];
	char name[80];
	bool good = true;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 + 11);
	for (size_t i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "a handle of %u bytes: BADHANDLE or STALE",
			 lengths[i]);
		tap_ok(handle_gets(lengths[i], data, false), "%s", name);
	}
	tap_ok(handle_gets(65, data, true), "a handle of 65 bytes: GARBAGE_ARGS");
	tap_ok(handle_gets(128, data, true), "a handle of 128 bytes: GARBAGE_ARGS");
	for (uint32_t bit = 0; bit < root.len * 8 && good; bit++) {
		memcpy(data, root.data, root.len);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		good = handle_gets(root.len, data, false);
	}
	tap_ok(good, "a handle with any one bit flipped: BADHANDLE or STALE");
	memcpy(data, root.data, root.len);
	data[root.len] = 0;
	tap_ok(handle_gets(root.len - 1, data, false),
	       "a handle one byte short: BADHANDLE or STALE");
	if (root.len < 64)
		tap_ok(handle_gets(root.len + 1, data, false),
		       "a handle one byte long: BADHANDLE or STALE");
}

static bool connect_and_create(const char *host, int port, const char *dir)
{
	return rawnfs_open(&r, host, port, 0) == 0 && rawnfs_mnt(&r, dir, &root) == 0 &&
	       rawnfs_create(&r, &root, "rejects", &file) == 0;
}

int main(int argc, char **argv)
{
	static const uint32_t procs[] = {1,  2,  3,  4,  5,  6,  7,  12, 13,
					 14, 15, 16, 17, 18, 19, 20, 21};

	if (argc != 4)
		return 2;
	if (!tap_ok(connect_and_create(argv[1], atoi(argv[2]), argv[3]),
		    "a file is created by hand-made calls"))
		return tap_done();
	tap_ok(rpc_version_is_mismatched(1) && rpc_version_is_mismatched(3),
	       "RPC versions 1, 3: RPC_MISMATCH 2..2");
	tap_ok(refused(100227, 3, 0, PROG_UNAVAIL), "NFSACL: PROG_UNAVAIL");
	tap_ok(refused(0xffffffff, 3, 0, PROG_UNAVAIL), "a program nobody has: PROG_UNAVAIL");
	tap_ok(mismatch(RAWNFS_NFS, 2, 3) && mismatch(RAWNFS_NFS, 99, 3),
	       "NFS versions 2, 99: PROG_MISMATCH");
	tap_ok(mismatch(RAWNFS_MOUNT, 0, 3) && mismatch(RAWNFS_MOUNT, 4, 3),
	       "MOUNT versions 0, 4: PROG_MISMATCH");
	tap_ok(refused(RAWNFS_NFS, 3, 22, PROC_UNAVAIL), "procedure 22: PROC_UNAVAIL");
	tap_ok(refused(RAWNFS_NFS, 3, 0xffffffff, PROC_UNAVAIL), "procedure 2^32-1: PROC_UNAVAIL");
	tap_ok(refused(RAWNFS_MOUNT, 3, 6, PROC_UNAVAIL), "MOUNT procedure 6: PROC_UNAVAIL");
	tap_ok(null_needs_no_credential(RAWNFS_NFS) && null_needs_no_credential(RAWNFS_MOUNT),
	       "NULL is answered under AUTH_NONE");
	test_auth();
	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++)
		tap_ok(cut_arguments_are_garbage(procs[i]),
		       "procedure %u cut at any byte: GARBAGE_ARGS", procs[i]);
	test_handles();
	rawnfs_close(&r);
	return tap_done();
}
