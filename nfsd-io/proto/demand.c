/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/handle.h"
#include "nfsd-io/proto/demand.h"
#include "nfsd-io/proto/peek4.h"
#include "rpc/cursor.h"
#include "rpc/msg.h"

#define NFS_PROGRAM_NUMBER 100003

enum { PROC_READ = 6, PROC_READDIR = 16, PROC_READDIRPLUS = 17 };

/* RFC 1813 s.3.3.6, 3.3.16, 3.3.17: what stands between the handle and the count. */
static size_t before_count(uint32_t proc)
{
	switch (proc) {
	case PROC_READ:
		return 8; /* offset */
	case PROC_READDIR:
		return 16; /* cookie, cookieverf */
	case PROC_READDIRPLUS:
		return 20; /* cookie, cookieverf, dircount */
	default:
		return 0;
	}
}

uint32_t demand_reply_bytes(const uint8_t *buf, size_t len, uint32_t max)
{
	struct msg_call call;
	struct cursor c;
	uint32_t fhlen, count;
	size_t args;

	if (msg_peek(buf, len, &call, &args) != MSG_CALL_OK)
		return 0;
	if (call.prog == PEEK4_PROGRAM && call.vers == PEEK4_VERSION && call.proc == PEEK4_COMPOUND)
		return peek4_demand(buf + args, len - args, max);
	if (call.prog != NFS_PROGRAM_NUMBER || call.vers != 3 || !before_count(call.proc))
		return 0;
	cursor_init_const(&c, buf, len);
	cursor_skip(&c, args);
	cursor_get_opaque(&c, HANDLE_MAX, &fhlen);
	cursor_skip(&c, before_count(call.proc));
	count = cursor_get_u32(&c);
	if (!cursor_ok(&c))
		return 0;
	return count < max ? count : max;
}
