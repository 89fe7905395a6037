/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the client sees of a server that is killed and started, and of connections that are cut:
 * nothing. */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/kernel/drill.h"

#define BLOCK 65536
#define BLOCKS 1500 /* a copy's bound */
#define SOME 16     /* blocks before and after the kill */
#define CUT_BLOCK 47008
#define CUT_BLOCKS 16
#define WRITERS 16
#define AT_ONCE 2 /* s */
#define RESUMED 5 /* s, where RECLAIM_COMPLETE tells the server that all is reclaimed */

/* What a process that writes and the one that breaks things tell each other. */
struct both {
	atomic_uint done; /* blocks, or passes over them */
	atomic_bool stop;
};

static struct both *both_new(void)
{
	struct both *b = mmap(NULL, WRITERS * sizeof(*b), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return b == MAP_FAILED ? NULL : b;
}

static void await(const struct both *b, unsigned done)
{
	for (int i = 0; i < 30000 && b->done < done; i++)
		poll(NULL, 0, 2);
}

bool drill_first_open(const struct drill *d)
{
	double from = drill_seconds();
	int fd = open(DRILL_A "/first", O_RDWR | O_CREAT | O_EXCL, 0644);

	(void)d;
	MUST(fd >= 0);
	printf("# answered in %.0f ms\n", (drill_seconds() - from) * 1e3);
	MUST(drill_seconds() - from < AT_ONCE);
	MUST(drill_write(fd, "x", 1, 0) && !close(fd) && !unlink(DRILL_A "/first"));
	return true;
}

static const unsigned char *block(unsigned i)
{
	return drill_data() + (size_t)i * BLOCK % DRILL_DATA;
}

static bool write_blocks(struct both *b)
{
	int fd = open(DRILL_A "/large", O_WRONLY | O_CREAT | O_DIRECT, 0644);

	MUST(fd >= 0);
	for (unsigned i = 0; i < BLOCKS && !b->stop; i++) {
		MUST(drill_write(fd, block(i), BLOCK, (off_t)i * BLOCK));
		b->done = i + 1;
	}
	MUST(!fsync(fd) && !close(fd));
	return true;
}

static bool same_blocks(unsigned count)
{
	static unsigned char got[BLOCK];
	int fd = open(DRILL_A "/large", O_RDONLY);

	MUST(fd >= 0);
	for (unsigned i = 0; i < count; i++) {
		MUST(pread(fd, got, BLOCK, (off_t)i * BLOCK) == BLOCK);
		MUST(!memcmp(got, block(i), BLOCK));
	}
	MUST(!close(fd));
	return true;
}

/* The grace time is over for new files, too, where all is known to be reclaimed. */
static bool new_file(const struct drill *d, double up)
{
	int fd = open(DRILL_A "/new", O_WRONLY | O_CREAT | O_EXCL, 0644);

	MUST(fd >= 0 && !close(fd) && !unlink(DRILL_A "/new"));
	printf("# a new file %.0f ms after it is up\n", (drill_seconds() - up) * 1e3);
	MUST(drill_seconds() - up < RESUMED || strstr(d->options, "vers=4.0"));
	return true;
}

/* The copy goes on within a time of the start; how long that takes is the host's affair. */
static bool goes_on(const struct drill *d, struct both *b)
{
	double from = drill_seconds(), up;
	unsigned before = b->done;

	MUST(before >= SOME && before < BLOCKS);
	MUST(drill_ask("restart"));
	up = drill_seconds();
	before = b->done;
	await(b, before + 1);
	printf("# up after %.0f ms, resumed after %.0f\n", (up - from) * 1e3,
	       (drill_seconds() - from) * 1e3);
	MUST(drill_seconds() - up < RESUMED || strstr(d->options, "vers=4.0"));
	await(b, before + SOME);
	MUST(b->done >= before + SOME);
	return new_file(d, up);
}

bool drill_restart_copy(const struct drill *d)
{
	struct both *b = both_new();
	pid_t pid;
	bool ok;

	MUST(b && drill_data());
	pid = fork();
	if (pid == 0)
		_exit(!write_blocks(b));
	await(b, SOME);
	ok = goes_on(d, b);
	b->stop = true;
	MUST(drill_reap(pid) && ok);
	MUST(drill_remount(d) && same_blocks(b->done));
	MUST(!unlink(DRILL_A "/large"));
	munmap(b, WRITERS * sizeof(*b));
	return true;
}

/* The lock is reclaimed; another client waits, then is refused, and gets it in the end. */
bool drill_restart_lock(const struct drill *d)
{
	const char *path = strchr(d->source, ':') + 1;
	int fd;

	MUST(drill_make(DRILL_A "/held", 10));
	fd = open(DRILL_A "/held", O_RDWR);
	MUST(fd >= 0 && !flock(fd, LOCK_EX));
	MUST(drill_ask("restart"));
	MUST(drill_ask("rival %s held 10010", path));
	MUST(drill_write(fd, "more", 4, 10) && !fsync(fd));
	MUST(!flock(fd, LOCK_UN) && !close(fd));
	MUST(drill_ask("rival %s held 0", path));
	MUST(!unlink(DRILL_A "/held"));
	return true;
}

static bool cut_pass(int fd, unsigned pass, bool check_only)
{
	static unsigned char got[CUT_BLOCK] __attribute__((aligned(4096)));

	for (unsigned i = 0; i < CUT_BLOCKS; i++) {
		const unsigned char *want =
			drill_data() + (pass * 311 + i * 4096) % (DRILL_DATA - CUT_BLOCK);

		MUST(check_only || drill_write(fd, want, CUT_BLOCK, (off_t)i * CUT_BLOCK));
		MUST(pread(fd, got, CUT_BLOCK, (off_t)i * CUT_BLOCK) == CUT_BLOCK);
		MUST(!memcmp(got, want, CUT_BLOCK));
	}
	return true;
}

static void cut_name(char *path, size_t room, unsigned who)
{
	snprintf(path, room, DRILL_A "/cut%u", who);
}

static bool write_while_cut(struct both *b, unsigned who)
{
	unsigned pass = 0;
	char path[32];
	int fd;

	cut_name(path, sizeof(path), who);
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0644);
	MUST(fd >= 0);
	do
		MUST(cut_pass(fd, pass++, false));
	while (!b[who].stop);
	b[who].done = pass;
	MUST(!fsync(fd) && !close(fd));
	return true;
}

static bool same_after_cuts(const struct both *b)
{
	char path[32];
	int fd;

	for (unsigned who = 0; who < WRITERS; who++) {
		cut_name(path, sizeof(path), who);
		fd = open(path, O_RDONLY);
		MUST(fd >= 0 && cut_pass(fd, b[who].done - 1, true));
		MUST(!close(fd) && !unlink(path));
	}
	return true;
}

bool drill_cuts(const struct drill *d)
{
	struct both *b = both_new();
	pid_t pid[WRITERS];
	bool ok;

	MUST(b && drill_data());
	for (unsigned who = 0; who < WRITERS; who++) {
		pid[who] = fork();
		if (pid[who] == 0)
			_exit(!write_while_cut(b, who));
	}
	ok = drill_ask("cut %u", d->cuts);
	for (unsigned who = 0; who < WRITERS; who++)
		b[who].stop = true;
	for (unsigned who = 0; who < WRITERS; who++)
		ok = drill_reap(pid[who]) && ok;
	MUST(ok && drill_remount(d) && same_after_cuts(b));
	munmap(b, WRITERS * sizeof(*b));
	return true;
}
