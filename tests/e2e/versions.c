/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* versions HOST PORT: a server without NFSv3 says what it has instead. */
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

static bool refused(struct rawnfs *r, uint32_t prog, struct rawnfs_reply *reply)
{
	struct rawnfs_call call;
	int err;

	rawnfs_call_begin(r, &call, prog, 3, 0);
	err = rawnfs_call(r, &call, reply);
	rawnfs_call_end(&call);
	return !err && !reply->denied;
}

int main(int argc, char **argv)
{
	struct rawnfs_reply reply;
	struct v4c c;

	if (argc != 3 || v4c_open(&c, argv[1], atoi(argv[2]), 1))
		return 2;
	tap_ok(refused(&c.raw, RAWNFS_NFS, &reply) && reply.stat == 2 /* PROG_MISMATCH */,
	       "NFSv3 is refused");
	tap_ok(reply.low == 4 && reply.high == 4, "by telling that version 4 is there");
	tap_ok(refused(&c.raw, RAWNFS_MOUNT, &reply) && reply.stat == 1 /* PROG_UNAVAIL */,
	       "there is no MOUNT");
	tap_is(v4c_hello(&c, "version 4"), NFS4_OK, "NFSv4.1 works");
	v4c_close(&c);
	return tap_done();
}
