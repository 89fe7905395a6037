/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nfsd-io/server/process.h"

#define FDS_OWN 64	 /* rings, listeners, control socket, whatever calls under way have open */
#define FDS_PER_FILE 3	 /* O_PATH, buffered, O_DIRECT */
#define FILES_MAX 16384
#define FILES_MIN 8

static mode_t old_umask;
static struct rlimit old_nofile;
static sigset_t old_mask;
static bool held; /* old_mask is set */

static void drop_sys_resource(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = {{0}};
	const uint32_t bit = 1u << CAP_SYS_RESOURCE;

	if (syscall(SYS_capget, &h, d))
		return;
	d[0].effective &= ~bit;
	d[0].permitted &= ~bit;
	d[0].inheritable &= ~bit;
	syscall(SYS_capset, &h, d); /* less is always allowed */
}

void process_hold_hup(void)
{
	sigset_t hup;

	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	sigprocmask(SIG_BLOCK, &hup, &old_mask);
	held = true;
}

void process_hold_std(void)
{
	int fd;

	do /* the lowest one free; --run's command gets it too */
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void process_prepare(sigset_t *waited)
{
	struct rlimit nofile;

	sigemptyset(waited);
	sigaddset(waited, SIGTERM);
	sigaddset(waited, SIGINT);
	sigaddset(waited, SIGHUP);
	sigaddset(waited, SIGCHLD);
	sigprocmask(SIG_BLOCK, waited, held ? NULL : &old_mask);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	old_umask = umask(0);
	if (!getrlimit(RLIMIT_NOFILE, &nofile)) {
		old_nofile = nofile;
		nofile.rlim_cur = nofile.rlim_max;
		setrlimit(RLIMIT_NOFILE, &nofile);
	}
	drop_sys_resource();
}

void process_share_fds(unsigned connections, unsigned exports, struct process_fds *out)
{
	struct rlimit nofile = {.rlim_cur = 1024};
	rlim_t left, own = FDS_OWN + (rlim_t)exports;

	getrlimit(RLIMIT_NOFILE, &nofile);
	left = nofile.rlim_cur > own + FDS_OWN ? nofile.rlim_cur - own : FDS_OWN;
	/* Connections may have half: without files there is nothing to serve. */
	out->connections = connections < left / 2 ? connections : (unsigned)(left / 2);
	left = (left - out->connections) / FDS_PER_FILE;
	out->files = left > FILES_MAX ? FILES_MAX : left < FILES_MIN ? FILES_MIN : (unsigned)left;
}

const char *process_why(int err)
{
	static _Thread_local char text[160];
	struct rlimit nofile = {0};

	if (err != -EMFILE)
		return strerror(-err);
	getrlimit(RLIMIT_NOFILE, &nofile);
	snprintf(text, sizeof(text),
		 "the limit of %ju open files is too low (ulimit -n, LimitNOFILE= of the service); "
		 "each export needs one, the server itself %d",
		 (uintmax_t)nofile.rlim_cur, FDS_OWN);
	return text;
}

void process_restore(void)
{
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	umask(old_umask);
	if (old_nofile.rlim_max)
		setrlimit(RLIMIT_NOFILE, &old_nofile);
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
}
