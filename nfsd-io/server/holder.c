/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/server/holder.h"

/*
 * The inode of a socket listening on `port`, or 0.
 * Columns as in proc_net_tcp.rst; state 0A listens.
 */
static unsigned long listener_inode(const char *table, uint16_t port)
{
	unsigned long inode, found = 0;
	unsigned local, state;
	char line[512];
	FILE *f = fopen(table, "re");

	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			   " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u "
			   "%*u %lu",
			   &local, &state, &inode) == 3 &&
		    local == port && state == 0x0a)
			found = inode;
	}
	fclose(f);
	return found;
}

static bool process_has(const char *pid, const char *link)
{
	char path[300], target[64];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	d = opendir(path);
	if (!d)
		return false;
	while (!found && (e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		found = !strcmp(target, link);
	}
	closedir(d);
	return found;
}

static void name_process(const char *pid, char *out, size_t len)
{
	char path[300], comm[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(comm, sizeof(comm), f))
			comm[0] = '\0';
		fclose(f);
	}
	comm[strcspn(comm, "\n")] = '\0';
	snprintf(out, len, "%s (pid %s)", *comm ? comm : "a process", pid);
}

static bool find_process(unsigned long inode, char *out, size_t len)
{
	DIR *d = opendir("/proc");
	bool found = false;
	struct dirent *e;
	char link[64];

	if (!d)
		return false;
	snprintf(link, sizeof(link), "socket:[%lu]", inode);
	while (!found && (e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]) || !process_has(e->d_name, link))
			continue;
		name_process(e->d_name, out, len);
		found = true;
	}
	closedir(d);
	return found;
}

/* The kernel's sockets belong to no process. */
static bool knfsd_runs(void)
{
	FILE *f = fopen("/proc/fs/nfsd/threads", "re");
	unsigned n = 0;

	if (!f)
		return false;
	if (fscanf(f, "%u", &n) != 1)
		n = 0;
	fclose(f);
	return n > 0;
}

void holder_find(uint16_t port, char *out, size_t len)
{
	unsigned long inode = listener_inode("/proc/net/tcp", port);

	out[0] = '\0';
	if (!inode)
		inode = listener_inode("/proc/net/tcp6", port);
	if (inode && find_process(inode, out, len))
		return;
	if (port == 2049 && knfsd_runs())
		snprintf(out, len, "the kernel's nfsd (systemctl stop nfs-server)");
}
