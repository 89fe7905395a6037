/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bytes of files: cached and O_DIRECT, cut off, kept open, from two mounts at once. */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/kernel/drill.h"
#include "tests/lib/stamp.h"

#define STAMPED 3000000
#define PASSES 2

static unsigned char *scratch(void)
{
	static unsigned char *buf;

	if (!buf && posix_memalign((void **)&buf, 4096, DRILL_DATA + 4096))
		abort();
	return buf;
}

const unsigned char *drill_data(void)
{
	static unsigned char *data;
	uint64_t state = 1, word;

	if (data)
		return data;
	if (posix_memalign((void **)&data, 4096, DRILL_DATA))
		abort();
	for (size_t i = 0; i < DRILL_DATA; i += sizeof(word)) {
		word = stamp_random(&state);
		memcpy(data + i, &word, sizeof(word));
	}
	return data;
}

bool drill_write(int fd, const void *buf, size_t len, off_t at)
{
	MUST(pwrite(fd, buf, len, at) == (ssize_t)len);
	return true;
}

static bool same_fd(int fd, const void *want, size_t len)
{
	size_t got = 0;
	ssize_t n;

	MUST(len <= DRILL_DATA);
	while ((n = pread(fd, scratch() + got, DRILL_DATA + 4096 - got, (off_t)got)) > 0)
		got += (size_t)n;
	MUST(n == 0);
	MUST(got == len);
	MUST(!memcmp(scratch(), want, len));
	return true;
}

bool drill_same(const char *path, const void *want, size_t len)
{
	int fd = open(path, O_RDONLY);
	bool same;

	MUST(fd >= 0);
	same = same_fd(fd, want, len);
	close(fd);
	return same;
}

bool drill_make(const char *path, size_t len)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	MUST(fd >= 0);
	MUST(drill_write(fd, drill_data(), len, 0));
	MUST(!close(fd));
	return true;
}

/* 8 blocks and a rest; each WRITE waits for the disk. */
static bool direct_blocks(const char *path, size_t bs, size_t len)
{
	int fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0644);
	size_t got = 0;
	ssize_t n;

	MUST(fd >= 0);
	for (size_t at = 0; at < len; at += bs)
		MUST(drill_write(fd, drill_data() + at, len - at < bs ? len - at : bs, (off_t)at));
	while ((n = pread(fd, scratch(), bs, (off_t)got)) > 0) {
		MUST(got + (size_t)n <= len && !memcmp(scratch(), drill_data() + got, (size_t)n));
		got += (size_t)n;
	}
	MUST(n == 0 && got == len);
	MUST(!close(fd));
	return drill_same(path, drill_data(), len);
}

/* Into the middle of what the cache knows. */
static bool overwrite(const char *path, size_t len)
{
	static unsigned char model[DRILL_DATA];
	int fd = open(path, O_WRONLY | O_DIRECT);

	MUST(fd >= 0);
	memcpy(model, drill_data(), len);
	memcpy(model + 17770, drill_data() + 300, 100017);
	for (size_t at = 0; at < 100017; at += 17770)
		MUST(drill_write(fd, drill_data() + 300 + at,
				 100017 - at < 17770 ? 100017 - at : 17770, (off_t)(17770 + at)));
	MUST(!close(fd));
	return drill_same(path, model, len);
}

bool drill_direct(const struct drill *d)
{
	static const size_t bs[] = {512, 1000, 4096, 47008, 65537, 114688};
	char path[64];

	(void)d;
	for (size_t i = 0; i < sizeof(bs) / sizeof(*bs); i++) {
		snprintf(path, sizeof(path), DRILL_A "/dd.%zu", bs[i]);
		MUST(direct_blocks(path, bs[i], bs[i] * 8 + 17));
		MUST(bs[i] != 65537 || overwrite(path, bs[i] * 8 + 17));
		MUST(!unlink(path));
	}
	return true;
}

bool drill_truncate(const struct drill *d)
{
	static unsigned char model[477777];

	(void)d;
	memcpy(model, drill_data(), 33333);
	MUST(drill_make(DRILL_A "/trunc", 100017));
	MUST(!truncate(DRILL_A "/trunc", 33333));
	MUST(!truncate(DRILL_A "/trunc", sizeof(model)));
	MUST(drill_same(DRILL_A "/trunc", model, sizeof(model)));
	MUST(!truncate(DRILL_A "/trunc", 0));
	MUST(drill_same(DRILL_A "/trunc", model, 0));
	MUST(!unlink(DRILL_A "/trunc"));
	return true;
}

static bool no_silly_names(void)
{
	DIR *dir = opendir(DRILL_A);
	struct dirent *e;
	bool none = true;

	MUST(dir);
	while ((e = readdir(dir)))
		none = none && strncmp(e->d_name, ".nfs", 4);
	closedir(dir);
	return none;
}

/* The client removes them after close() has returned. */
static bool silly_names_go(void)
{
	time_t end = time(NULL) + 20;

	while (!no_silly_names()) {
		MUST(time(NULL) < end);
		usleep(20000);
	}
	return true;
}

static bool unlinked_while_open(void)
{
	int fd = open(DRILL_A "/open", O_RDWR | O_CREAT, 0644);

	MUST(fd >= 0);
	MUST(drill_write(fd, drill_data(), 50000, 0));
	MUST(!unlink(DRILL_A "/open"));
	MUST(access(DRILL_A "/open", F_OK) && errno == ENOENT);
	MUST(same_fd(fd, drill_data(), 50000));
	MUST(drill_write(fd, drill_data() + 50000, 10000, 50000));
	MUST(!fsync(fd));
	MUST(same_fd(fd, drill_data(), 60000));
	MUST(!close(fd));
	MUST(silly_names_go());
	return true;
}

static bool replaced_while_open(void)
{
	int fd;

	MUST(drill_make(DRILL_A "/from", 100017) && drill_make(DRILL_A "/other", 70000));
	fd = open(DRILL_A "/from", O_RDONLY);
	MUST(fd >= 0);
	MUST(!rename(DRILL_A "/from", DRILL_A "/to"));
	MUST(!rename(DRILL_A "/other", DRILL_A "/to"));
	MUST(same_fd(fd, drill_data(), 100017));
	MUST(drill_same(DRILL_A "/to", drill_data(), 70000));
	MUST(!close(fd));
	MUST(!unlink(DRILL_A "/to"));
	return true;
}

/* Editors' way to save. */
static bool saved_by_rename(void)
{
	static const size_t len[] = {10, 12, 13000, 9};

	for (size_t i = 0; i < sizeof(len) / sizeof(*len); i++) {
		MUST(drill_make(DRILL_A "/f.lock", len[i]));
		MUST(!rename(DRILL_A "/f.lock", DRILL_A "/f"));
		MUST(drill_same(DRILL_A "/f", drill_data(), len[i]));
	}
	MUST(!unlink(DRILL_A "/f"));
	return true;
}

bool drill_open_files(const struct drill *d)
{
	(void)d;
	return unlinked_while_open() && replaced_while_open() && saved_by_rename();
}

/* One of two writers of a file: every second slot, in an order of its own. */
static bool write_stamps(const char *path, const struct drill *d, unsigned who)
{
	struct stamp_map m;
	uint64_t state = d->seed + who;
	unsigned first, step;
	int fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0644);

	MUST(fd >= 0 && !stamp_map_init(&m, d->seed, STAMPED));
	step = m.n % 7919 ? 7919 : 1; /* coprime to n: every slot once */
	for (unsigned pass = 0; pass < PASSES; pass++) {
		first = (unsigned)(stamp_random(&state) % m.n);
		for (unsigned k = 0; k < m.n; k++) {
			unsigned i = (unsigned)((first + (unsigned long)k * step) % m.n);

			if (i % 2 != who)
				continue;
			stamp_fill(scratch(), &m.slot[i], pass);
			MUST(drill_write(fd, scratch(), m.slot[i].len, (off_t)m.slot[i].offset));
		}
	}
	MUST(!fsync(fd) && !close(fd));
	stamp_map_fini(&m);
	return true;
}

static bool check_stamps(const char *path, const struct drill *d, int flags)
{
	int fd = open(path, O_RDONLY | flags);
	struct stamp_map m;

	MUST(fd >= 0 && !stamp_map_init(&m, d->seed, STAMPED));
	for (unsigned i = 0; i < m.n; i++) {
		const struct stamp_slot *s = &m.slot[i];

		MUST(pread(fd, scratch(), s->len, (off_t)s->offset) == (ssize_t)s->len);
		MUST(stamp_check(scratch(), s, PASSES - 1) < 0);
	}
	close(fd);
	stamp_map_fini(&m);
	return true;
}

static bool stamp_both(const struct drill *d)
{
	pid_t other = fork();
	bool ok;

	if (other == 0)
		_exit(!write_stamps(DRILL_B "/stamped", d, 1));
	MUST(other > 0);
	ok = write_stamps(DRILL_A "/stamped", d, 0);
	return drill_reap(other) && ok && check_stamps(DRILL_A "/stamped", d, 0) &&
	       check_stamps(DRILL_B "/stamped", d, O_DIRECT);
}

bool drill_stamps(const struct drill *d)
{
	bool ok;

	MUST(drill_attach(d, DRILL_B, 65536));
	ok = stamp_both(d);
	MUST(drill_detach(DRILL_B));
	MUST(!unlink(DRILL_A "/stamped"));
	return ok;
}
