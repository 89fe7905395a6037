/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * holder HOST PORT DIR OWNER NAME: a client that has DIR/NAME open for reading and writing, writing
 * denied to others, and locked, until its standard input ends; "held" is said when it does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/v4c.h"

static uint32_t hold(struct v4c *c, const struct v4c_fh *dir, const char *name)
{
	LOCK4args *a;

	v4c_begin(c);
	v4c_putfh(c, dir);
	v4c_opens(c, "opener\n", 7, 0, name, OPEN4_SHARE_ACCESS_BOTH, OPEN4_SHARE_DENY_WRITE, true);
	a = &v4c_op(c, OP_LOCK)->nfs_argop4_u.oplock;
	*a = (LOCK4args){.locktype = WRITE_LT, .length = 100, .locker.new_lock_owner = TRUE};
	a->locker.locker4_u.open_owner = (open_to_lock_owner4){
		.open_stateid = v4c_current, .lock_owner.owner = {6, (char *)(uintptr_t)"locker"}};
	return v4c_run(c);
}

int main(int argc, char **argv)
{
	struct v4c_fh dir;
	struct v4c c;
	char line[8];

	if (argc != 6 || v4c_open(&c, argv[1], atoi(argv[2]), 1) || v4c_mount(&c, argv[3], &dir) ||
	    v4c_hello(&c, argv[4]) || hold(&c, &dir, argv[5]))
		return 1;
	puts("held");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	v4c_close(&c);
	return 0;
}
