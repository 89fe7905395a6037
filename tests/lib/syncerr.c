/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "tests/lib/syncerr.h"

#include <errno.h>
#include <fcntl.h>

static int bad_fd = -1, bad_err;

void syncerr_set(int fd, int err)
{
	bad_fd = fd;
	bad_err = err;
}

/* The program's own symbol comes before libc's. */
int sync_file_range(int fd, off64_t from, off64_t to, unsigned flags)
{
	(void)from;
	(void)to;
	(void)flags;
	if (fd != bad_fd)
		return 0;
	bad_fd = -1;
	errno = bad_err;
	return -1;
}
