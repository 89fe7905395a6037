/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "nfsd-io/server/iowq.h"

/*
 * Read and written through one descriptor: should the
 * thread end meanwhile, no other takes its name.
 */
static void name_thread(int dir, const char *tid, const pid_t *owner, unsigned n)
{
	char path[300], comm[32];
	ssize_t len;
	int fd, tid_of;
	unsigned i;

	snprintf(path, sizeof(path), "%s/comm", tid);
	fd = openat(dir, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	len = read(fd, comm, sizeof(comm) - 1);
	comm[len > 0 ? len : 0] = '\0';
	if (sscanf(comm, "iou-wrk-%d", &tid_of) != 1)
		n = 0;
	for (i = 0; i < n && owner[i] != tid_of; i++)
		;
	if (i < n)
		/* For people only: that it cannot be done is no matter. */
		dprintf(fd, "nfsd-io/q%u", i);
	close(fd);
}

void iowq_name(const pid_t *owner, unsigned n)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		if (*e->d_name != '.')
			name_thread(dirfd(d), e->d_name, owner, n);
	closedir(d);
}
