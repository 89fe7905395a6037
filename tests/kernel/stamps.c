/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stamped I/O through the file system interface, for several writers of one
 * file (two mounts of one export):
 *
 *	stamps write FILE WHO OF SEED SIZE PASSES	own slots (number mod OF = WHO), O_DIRECT, random order
 *	stamps check FILE OF SEED SIZE PASSES [direct]	every byte is the last pass's
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/stamp.h"

static unsigned char *buffer;

static int fail(const char *what, const struct stamp_slot *s, long at)
{
	printf("%s: slot at %llu, %u bytes, byte %ld: %m\n", what, (unsigned long long)s->offset, s->len, at);
	return 1;
}

static int write_pass(int fd, const struct stamp_map *m, unsigned who, unsigned of, uint64_t seed, unsigned pass)
{
	unsigned first = stamp_random(&seed) % m->n;
	unsigned long step = m->n % 7919 ? 7919 : 1; /* coprime to n: every slot once */

	for (unsigned k = 0; k < m->n; k++) {
		unsigned i = (first + k * step) % m->n;
		const struct stamp_slot *s = &m->slot[i];

		if (i % of != who)
			continue;
		stamp_fill(buffer, s, pass);
		if (pwrite(fd, buffer, s->len, s->offset) != (ssize_t)s->len)
			return fail("write", s, -1);
	}
	return 0;
}

static int do_write(int argc, char **argv)
{
	struct stamp_map m;
	unsigned who = atoi(argv[3]), of = atoi(argv[4]), passes = atoi(argv[7]);
	uint64_t seed = strtoull(argv[5], NULL, 0);
	int fd = open(argv[2], O_RDWR | O_CREAT | O_DIRECT, 0644), rc = 0;

	(void)argc;
	if (fd < 0 || stamp_map_init(&m, seed, strtoull(argv[6], NULL, 0))) {
		perror(argv[2]);
		return 1;
	}
	for (unsigned p = 0; p < passes && !rc; p++)
		rc = write_pass(fd, &m, who, of, seed + who, p);
	if (fsync(fd) || close(fd)) {
		perror("fsync");
		rc = 1;
	}
	stamp_map_fini(&m);
	return rc;
}

static int do_check(int argc, char **argv)
{
	struct stamp_map m;
	unsigned passes = atoi(argv[6]);
	int fd = open(argv[2], O_RDONLY | (argc > 7 ? O_DIRECT : 0)), rc = 0;

	if (fd < 0 || stamp_map_init(&m, strtoull(argv[4], NULL, 0), strtoull(argv[5], NULL, 0))) {
		perror(argv[2]);
		return 1;
	}
	for (unsigned i = 0; i < m.n && !rc; i++) {
		const struct stamp_slot *s = &m.slot[i];
		long bad;

		if (pread(fd, buffer, s->len, s->offset) != (ssize_t)s->len)
			rc = fail("short read", s, -1);
		else if ((bad = stamp_check(buffer, s, passes - 1)) >= 0)
			rc = fail("wrong byte", s, bad);
	}
	close(fd);
	stamp_map_fini(&m);
	return rc;
}

int main(int argc, char **argv)
{
	if (posix_memalign((void **)&buffer, 4096, STAMP_MAX))
		return 1;
	if (argc == 8 && !strcmp(argv[1], "write"))
		return do_write(argc, argv);
	if (argc >= 7 && !strcmp(argv[1], "check"))
		return do_check(argc, argv);
	fprintf(stderr, "usage: stamps write FILE WHO OF SEED SIZE PASSES | check FILE OF SEED SIZE PASSES [direct]\n");
	return 2;
}
