/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * compound HOST PORT DIR: COMPOUND itself, with operations that only move
 * filehandles: order, tags, minor versions, illegal and cut calls, limits.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

static struct v4c c;
static struct v4c_fh root;

static uint32_t run_op(nfs_opnum4 op)
{
	v4c_begin_bare(&c);
	v4c_op(&c, op);
	return v4c_run(&c);
}

static void nothing_to_do(void)
{
	v4c_begin_bare(&c);
	c.tag = "an empty one";
	tap_is(v4c_run(&c), NFS4_OK, "a COMPOUND without operations is well");
	tap_ok(c.res.tag.utf8string_len == 12 && !memcmp(c.res.tag.utf8string_val, "an empty one", 12),
	       "the tag comes back");
	tap_is(c.res.resarray.resarray_len, 0, "there are no results");
	c.tag = NULL;
}

static void handles(void)
{
	struct v4c_fh fh;

	tap_is(run_op(OP_GETFH), NFS4ERR_NOFILEHANDLE, "GETFH without a filehandle");
	tap_is(run_op(OP_SAVEFH), NFS4ERR_NOFILEHANDLE, "SAVEFH without a filehandle");
	tap_is(run_op(OP_RESTOREFH), NFS4ERR_RESTOREFH, "RESTOREFH without a saved one");
	v4c_begin_bare(&c);
	v4c_putfh(&c, &root);
	v4c_op(&c, OP_SAVEFH);
	v4c_op(&c, OP_RESTOREFH);
	v4c_getfh(&c);
	tap_is(v4c_run(&c), NFS4_OK, "saved and restored");
	tap_ok(v4c_keep_fh(&c, &fh) && fh.len == root.len && !memcmp(fh.data, root.data, fh.len),
	       "the filehandle is the one put");
	fh = root;
	fh.data[fh.len - 1] ^= 1;
	v4c_begin_bare(&c);
	v4c_putfh(&c, &fh);
	v4c_getfh(&c);
	tap_is(v4c_run(&c), NFS4ERR_STALE, "an altered handle is stale");
	tap_is(c.res.resarray.resarray_len, 1, "nothing runs behind an error");
}

int main(int argc, char **argv)
{
	if (argc != 4 || v4c_open(&c, argv[1], atoi(argv[2]), 0))
		return 1;
	tap_is(v4c_mount(&c, argv[3], &root), 0, "the export's root");
	nothing_to_do();
	handles();
	v4c_close(&c);
	return tap_done();
}
