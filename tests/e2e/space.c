/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fill a small file system, or a quota, through WRITEs that start at any phase of a block,
 * so that the shortage meets the head, the middle and the tail: what was
 * acknowledged is there, the rest is NOSPC at WRITE or an error at COMMIT, and
 * after removing the file the space can be used again.
 * Usage: space HOST PORT PATH START LENGTH HOW(0-2) [quota]: it is a quota that is reached
 */
#define _GNU_SOURCE /* syncfs */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/stamp.h"
#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

static struct v3c c;
static struct v3c_fh file;
static unsigned char buf[1 << 20], back[1 << 20];
static uint64_t start, end; /* bytes acknowledged */
static uint32_t len;

static void fill(uint64_t offset, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (offset + i) / 8;

		/* never the zero of a hole */
		buf[i] = (stamp_random(&at) >> ((offset + i) % 8 * 8)) | 1;
	}
}

/* Write until refused; the status of the refusal. */
static int until_full(stable_how how)
{
	for (end = start;; end += c.r.count) {
		fill(end, len);
		if (v3c_write(&c, &file, end, len, how, buf))
			return c.r.status;
		if (!c.r.count || c.r.count > len || c.r.committed < how)
			return V3C_BROKEN;
	}
}

static bool verify(void)
{
	for (uint64_t at = start; at < end; at += c.r.count) {
		uint32_t n = end - at < len ? end - at : len;

		if (v3c_read(&c, &file, at, n, back) || !c.r.count) {
			printf("# READ at %llu: status %d count %u\n", (unsigned long long)at,
			       c.r.status, c.r.count);
			return false;
		}
		fill(at, c.r.count);
		if (memcmp(buf, back, c.r.count)) {
			printf("# wrong bytes at %llu\n", (unsigned long long)at);
			return false;
		}
	}
	return true;
}

/* btrfs counts the space of a removed file as used until its next transaction is written. */
static bool fresh_file(const char *dir)
{
	sattr3 mode = v3c_mode(0644);
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	for (int tries = 0; tries < 100; tries++) {
		v3c_remove(&c, &c.root, "space");
		if (!v3c_create(&c, &c.root, "space", GUARDED, &mode, NULL))
			break;
		if (c.r.status != NFS3ERR_DQUOT && c.r.status != NFS3ERR_NOSPC)
			break;
		syncfs(fd);
		usleep(100000);
	}
	close(fd);
	return c.r.status == NFS3_OK;
}

int main(int argc, char **argv)
{
	int status, want, how, committed;
	uint64_t first = 0;

	want = argc == 8 ? NFS3ERR_DQUOT : NFS3ERR_NOSPC;
	if (argc != 7 && argc != 8)
		return 2;
	start = strtoull(argv[4], NULL, 0);
	len = atoi(argv[5]);
	how = atoi(argv[6]);
	if (v3c_open(&c, argv[1], atoi(argv[2]), 0, 0, 0, NULL) || v3c_mnt(&c, argv[3]))
		return !tap_ok(false, "connect and mount") && tap_done();
	for (int round = 0; round < 2; round++) {
		if (!fresh_file(argv[3]))
			return !tap_ok(false, "create: status %d", c.r.status) && tap_done();
		file = c.r.fh;
		status = until_full(how);
		tap_ok(status == want,
		       "the WRITE that does not fit is %s (status %d after %llu bytes)",
		       want == NFS3ERR_DQUOT ? "DQUOT" : "NOSPC", status,
		       (unsigned long long)(end - start));
		committed = v3c_commit(&c, &file, 0, 0);
		tap_ok(committed == NFS3_OK || committed == NFS3ERR_IO, "COMMIT says OK or IO (%d)",
		       committed);
		if (committed == NFS3_OK)
			tap_ok(verify(), "all that was acknowledged is there");
		if (round)
			tap_ok(end - start > first / 2, "the space came back after REMOVE");
		first = end - start;
	}
	v3c_remove(&c, &c.root, "space");
	v3c_close(&c);
	return tap_done();
}
