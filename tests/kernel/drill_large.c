/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A large file in misaligned pieces by several processes, there and back; the host notes its
 * figures. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/kernel/drill.h"

#define FILE_NAME DRILL_A "/large"
#define TILE                                                                                       \
	1000003u /* the contents: tiles of drill_data(), each from elsewhere in it; written one by \
		    one */
#define PIECE 777777u /* read so */
#define CACHED 1048576u
#define WORKERS 4u

/* The bytes from `at` on, of which *len may be used. */
static const unsigned char *contents(uint64_t at, size_t *len)
{
	uint64_t tile = at / TILE, in = at % TILE;

	if (*len > TILE - in)
		*len = TILE - in;
	return drill_data() + tile * 4093 % (DRILL_DATA - TILE) + in;
}

bool drill_source(uint64_t bytes)
{
	size_t len;

	for (uint64_t at = 0; at < bytes; at += len) {
		const unsigned char *p;

		len = bytes - at;
		p = contents(at, &len);
		MUST(fwrite(p, 1, len, stdout) == len);
	}
	return !fflush(stdout);
}

static bool write_tiles(const struct drill *d, unsigned who)
{
	int fd = open(FILE_NAME, O_WRONLY | O_CREAT | O_DIRECT, 0644);

	MUST(fd >= 0);
	for (uint64_t at = (uint64_t)who * TILE; at < d->bytes; at += WORKERS * TILE) {
		size_t len = d->bytes - at < TILE ? d->bytes - at : TILE;

		MUST(drill_write(fd, contents(at, &len), len, (off_t)at));
	}
	MUST(!fsync(fd) && !close(fd));
	return true;
}

static bool is_contents(const unsigned char *got, uint64_t at, size_t len)
{
	while (len) {
		size_t run = len;
		const unsigned char *want = contents(at, &run);

		MUST(!memcmp(got, want, run));
		got += run;
		at += run;
		len -= run;
	}
	return true;
}

static bool read_pieces(const struct drill *d, unsigned who, size_t piece, int flags)
{
	int fd = open(FILE_NAME, O_RDONLY | flags);
	unsigned char *buf;

	MUST(fd >= 0 && !posix_memalign((void **)&buf, 4096, piece));
	for (uint64_t at = (uint64_t)who * piece; at < d->bytes; at += WORKERS * piece) {
		size_t len = d->bytes - at < piece ? d->bytes - at : piece;

		MUST(pread(fd, buf, len, (off_t)at) == (ssize_t)len);
		MUST(is_contents(buf, at, len));
	}
	free(buf);
	MUST(!close(fd));
	return true;
}

static bool read_misaligned(const struct drill *d, unsigned who)
{
	return read_pieces(d, who, PIECE, O_DIRECT);
}

static bool read_cached(const struct drill *d, unsigned who)
{
	return read_pieces(d, who, CACHED, 0);
}

static bool together(const struct drill *d, bool (*run)(const struct drill *, unsigned),
		     const char *what)
{
	pid_t pid[WORKERS];
	bool ok = true;
	double from = drill_seconds();

	MUST(drill_data());
	for (unsigned who = 0; who < WORKERS; who++) {
		pid[who] = fork();
		if (pid[who] == 0)
			_exit(!run(d, who));
	}
	for (unsigned who = 0; who < WORKERS; who++)
		ok = drill_reap(pid[who]) && ok;
	from = drill_seconds() - from;
	return drill_ask("figures %.*s %s %.2f", (int)strcspn(d->options, ","), d->options, what,
			 from) &&
	       ok;
}

bool drill_large_write(const struct drill *d)
{
	return together(d, write_tiles, "write") && drill_ask("same_here");
}

bool drill_large_read(const struct drill *d)
{
	return together(d, read_misaligned, "pieces");
}

bool drill_large_cached(const struct drill *d)
{
	return drill_remount(d) && together(d, read_cached, "cached");
}

bool drill_large_remove(const struct drill *d)
{
	(void)d;
	MUST(!unlink(FILE_NAME));
	return true;
}
