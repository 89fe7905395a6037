/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A device that fails, over NFSv4.1: one client writes UNSTABLE, another's
 * COMMIT meets the failure; the first client's COMMIT may then not say OK
 * under the verifier its WRITEs were answered with.  FILE is a name below the
 * export PATH and exists; BALLAST fills up what lies under its file system.
 * Usage: writeback4 HOST PORT PATH FILE BALLAST
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

#define CHUNK (256u << 10)
#define CHUNKS 16

static struct v4c a, b;
static struct v4c_fh file;
static char buf[1 << 20];

static void fill_device(const char *ballast)
{
	int fd = open(ballast, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	for (size_t n = sizeof(buf); n; n /= 2)
		while (write(fd, buf, n) == (ssize_t)n)
			;
	close(fd);
}

static uint32_t look_up(struct v4c *c, char *path, const char *name)
{
	v4c_begin(c);
	v4c_putrootfh(c);
	for (char *part = strtok(path, "/"); part; part = strtok(NULL, "/"))
		v4c_lookup(c, part);
	v4c_lookup(c, name);
	v4c_getfh(c);
	if (v4c_run(c) != NFS4_OK)
		return c->res.status;
	return v4c_keep_fh(c, &file) ? NFS4_OK : NFS4ERR_SERVERFAULT;
}

static uint32_t write_chunk(unsigned i, stable_how4 how, char verf[8])
{
	uint32_t st;

	v4c_begin(&a);
	v4c_putfh(&a, &file);
	v4c_write(&a, &v4c_anonymous, (uint64_t)i * CHUNK, how, buf, CHUNK);
	st = v4c_run(&a);
	if (st == NFS4_OK)
		memcpy(verf,
		       v4c_res(&a, OP_WRITE)->nfs_resop4_u.opwrite.WRITE4res_u.resok4.writeverf, 8);
	return st;
}

static uint32_t commit(struct v4c *c, char verf[8])
{
	uint32_t st;

	v4c_begin(c);
	v4c_putfh(c, &file);
	v4c_commit(c, 0, 0);
	st = v4c_run(c);
	if (st == NFS4_OK)
		memcpy(verf,
		       v4c_res(c, OP_COMMIT)->nfs_resop4_u.opcommit.COMMIT4res_u.resok4.writeverf,
		       8);
	return st;
}

int main(int argc, char **argv)
{
	char verf[8] = "", later[8] = "", now[8] = "";
	unsigned bad = 0, moved = 0;
	uint32_t st;

	if (argc != 6)
		return 2;
	if (v4c_open(&a, argv[1], atoi(argv[2]), 1) || v4c_open(&b, argv[1], atoi(argv[2]), 1) ||
	    v4c_hello(&a, "writer") || v4c_hello(&b, "committer") || look_up(&a, argv[3], argv[4]))
		return !tap_ok(false, "two clients find the file") && tap_done();
	memset(buf, 'a', sizeof(buf));
	fill_device(argv[5]);
	for (unsigned i = 0; i < CHUNKS; i++) {
		bad += write_chunk(i, UNSTABLE4, now) != NFS4_OK;
		moved += i && memcmp(now, verf, 8);
		memcpy(verf, now, 8);
	}
	tap_ok(!bad && !moved, "UNSTABLE WRITEs are taken under one verifier (%u not, %u others)",
	       bad, moved);
	st = commit(&b, later);
	tap_ok(st != NFS4_OK, "the other client's COMMIT fails (%u)", st);
	st = commit(&a, later);
	tap_ok(st != NFS4_OK || memcmp(verf, later, 8),
	       "the writer's is not told OK under the old verifier (%u)", st);
	tap_ok(write_chunk(0, FILE_SYNC4, now) != NFS4_OK, "a FILE_SYNC WRITE fails");
	unlink(argv[5]);
	bad = 0;
	for (unsigned i = 0; i < CHUNKS; i++)
		bad += write_chunk(i, UNSTABLE4, verf) != NFS4_OK;
	st = commit(&a, later);
	tap_ok(!bad && st == NFS4_OK && !memcmp(verf, later, 8),
	       "with space again, the data are sent again and committed (%u)", st);
	v4c_close(&a);
	v4c_close(&b);
	return tap_done();
}
