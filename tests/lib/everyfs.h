/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The four file systems a storage test runs on: ext4, xfs, btrfs and tmpfs,
 * mounted once a program.  Use as
 *	tcase_add_unchecked_fixture(tc, everyfs_up, everyfs_down);
 *	if (everyfs_able) tcase_add_loop_test(tc, test, 0, EVERYFS);
 * and in the test everyfs_dir(_i), which passes it when that one is missing.
 */
#ifndef TESTS_LIB_EVERYFS_H
#define TESTS_LIB_EVERYFS_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/loopfs.h"

#define EVERYFS 4
enum { EVERYFS_EXT4, EVERYFS_XFS, EVERYFS_BTRFS, EVERYFS_TMPFS };

static struct loopfs everyfs[EVERYFS];
static bool everyfs_able;

/* In main(), before the suite is made. */
static inline void everyfs_init(void)
{
	const char *why;

	everyfs_able = loopfs_able(&why);
	if (!everyfs_able)
		printf("# real file systems not tested: %s\n", why);
}

static inline void everyfs_up(void)
{
	static const char *const types[EVERYFS] = { "ext4", "xfs", "btrfs", "tmpfs" };

	for (int i = 0; everyfs_able && i < EVERYFS; i++)
		if (loopfs_up(&everyfs[i], types[i]) < 0)
			printf("# %s cannot be mounted here: not tested\n", types[i]);
}

static inline void everyfs_down(void)
{
	for (int i = 0; i < EVERYFS; i++)
		loopfs_down(&everyfs[i]);
}

static inline const char *everyfs_dir(int i)
{
	if (!everyfs[i].dir[0])
		exit(EXIT_SUCCESS);
	return everyfs[i].dir;
}

#endif
