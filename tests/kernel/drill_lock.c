/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Locks of two mounts of one export: each sees the other's. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kernel/drill.h"

#define LEN 10000

struct pair {
	int a, b; /* one file, open through both mounts */
};

static bool open_pair(const struct drill *d, struct pair *p)
{
	MUST(drill_attach(d, DRILL_B, 65536));
	MUST(drill_make(DRILL_A "/lock", LEN));
	p->a = open(DRILL_A "/lock", O_RDWR | O_APPEND);
	p->b = open(DRILL_B "/lock", O_RDWR);
	MUST(p->a >= 0 && p->b >= 0);
	return true;
}

static bool close_pair(const struct pair *p)
{
	MUST(!close(p->a) && !close(p->b));
	MUST(!unlink(DRILL_A "/lock"));
	return drill_detach(DRILL_B);
}

static bool with_pair(const struct drill *d, bool (*run)(const struct pair *))
{
	struct pair p;
	bool ok;

	MUST(open_pair(d, &p));
	ok = run(&p);
	return close_pair(&p) && ok;
}

static bool refused(int fd, int how)
{
	MUST(flock(fd, how | LOCK_NB) == -1 && errno == EWOULDBLOCK);
	return true;
}

static bool flocks(const struct pair *p)
{
	MUST(!flock(p->a, LOCK_EX));
	MUST(refused(p->b, LOCK_EX) && refused(p->b, LOCK_SH));
	MUST(!flock(p->a, LOCK_UN));
	MUST(!flock(p->a, LOCK_SH) && !flock(p->b, LOCK_SH | LOCK_NB));
	MUST(!flock(p->b, LOCK_UN));
	MUST(refused(p->b, LOCK_EX));
	MUST(!flock(p->a, LOCK_UN));
	MUST(!flock(p->b, LOCK_EX | LOCK_NB) && !flock(p->b, LOCK_UN));
	return true;
}

bool drill_flock(const struct drill *d)
{
	return with_pair(d, flocks);
}

static struct flock range(short type, off_t start, off_t len)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
}

/* What another process is told through the other mount: 0, EAGAIN, or what went wrong. */
static int other(const struct pair *p, short type, off_t start, off_t len)
{
	struct flock l = range(type, start, len);
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fcntl(p->b, F_SETLK, &l) ? errno : 0);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool reported(const struct pair *p)
{
	struct flock l = range(F_RDLCK, 0, 0);

	MUST(!fcntl(p->b, F_OFD_GETLK, &l));
	MUST(l.l_type == F_WRLCK && l.l_start == 100 && l.l_len == 50);
	return true;
}

static bool fcntls(const struct pair *p)
{
	struct flock l = range(F_WRLCK, 100, 50);

	MUST(!fcntl(p->a, F_SETLK, &l));
	MUST(other(p, F_RDLCK, 149, 1) == EAGAIN);
	MUST(other(p, F_WRLCK, 90, 11) == EAGAIN);
	MUST(other(p, F_WRLCK, 0, 100) == 0);
	MUST(other(p, F_WRLCK, 150, 0) == 0);
	MUST(reported(p));
	l = range(F_UNLCK, 110, 30); /* two are left */
	MUST(!fcntl(p->a, F_SETLK, &l));
	MUST(other(p, F_WRLCK, 110, 30) == 0);
	MUST(other(p, F_WRLCK, 109, 1) == EAGAIN && other(p, F_WRLCK, 140, 1) == EAGAIN);
	l = range(F_RDLCK, 100, 10); /* downgraded */
	MUST(!fcntl(p->a, F_SETLK, &l));
	MUST(other(p, F_RDLCK, 100, 10) == 0 && other(p, F_WRLCK, 100, 10) == EAGAIN);
	l = range(F_UNLCK, 0, 0);
	MUST(!fcntl(p->a, F_SETLK, &l));
	MUST(other(p, F_WRLCK, 0, 0) == 0);
	return true;
}

bool drill_fcntl(const struct drill *d)
{
	return with_pair(d, fcntls);
}

/* Refused at first, then granted, and what was written under the first lock is seen. */
static bool wait_for_it(const struct pair *p, int tell)
{
	char tail[6];

	MUST(refused(p->b, LOCK_EX));
	MUST(write(tell, "w", 1) == 1);
	MUST(!flock(p->b, LOCK_EX));
	MUST(pread(p->b, tail, 6, LEN) == 6 && !memcmp(tail, "first\n", 6));
	return true;
}

static bool waits(const struct pair *p)
{
	int pipefd[2];
	char told;
	pid_t pid;

	MUST(!pipe(pipefd));
	MUST(!flock(p->a, LOCK_EX));
	pid = fork();
	if (pid == 0)
		_exit(!wait_for_it(p, pipefd[1]));
	close(pipefd[1]);
	MUST(read(pipefd[0], &told, 1) == 1);
	MUST(write(p->a, "first\n", 6) == 6);
	MUST(!flock(p->a, LOCK_UN));
	close(pipefd[0]);
	return drill_reap(pid);
}

bool drill_wait_lock(const struct drill *d)
{
	return with_pair(d, waits);
}
