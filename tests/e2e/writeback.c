/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A device that fails: BALLAST fills up what lies under the exported file
 * system, so that write-back ends in EIO.  No COMMIT may then say OK under the
 * verifier the lost WRITEs were answered with: not the first, not a second one,
 * not one over another connection.  With the ballast gone, a new file can be written.
 * A directory for BALLAST: the ext4 mounted there, on which the exported one's image lies, is shut
 * down, and stays so: EIO for what the exported one writes.  Usage: writeback HOST PORT PATH
 * BALLAST OFFSET
 */
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

#define CHUNK (1u << 20)
#define CHUNKS 6

static struct v3c a, b;
static struct v3c_fh file;
static uint64_t base;
static char buf[CHUNK], back[CHUNK];

/* EXT4_IOC_SHUTDOWN, without its log: no header of the kernel's tells it. */
#define SHUTDOWN _IOR('X', 125, uint32_t)

/* Is `dir` one, and its file system shut down? */
static bool shut_down(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	uint32_t no_log = 2;
	bool done = fd >= 0 && ioctl(fd, SHUTDOWN, &no_log) == 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static void fill_device(const char *ballast)
{
	int fd = open(ballast, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	memset(buf, 'b', sizeof buf);
	for (size_t n = sizeof buf; n; n /= 2)
		while (write(fd, buf, n) == (ssize_t)n)
			;
	close(fd);
}

/* How many of the chunks were acknowledged; their verifier in `verf`. */
static unsigned write_all(stable_how how, char verf[8])
{
	unsigned acked = 0;

	for (unsigned i = 0; i < CHUNKS; i++) {
		memset(buf, 'a' + i, sizeof buf);
		if (v3c_write(&a, &file, base + (uint64_t)i * CHUNK, CHUNK, how, buf) ||
		    a.r.count != CHUNK) {
			printf("# WRITE %u: status %d count %u\n", i, a.r.status, a.r.count);
			continue;
		}
		if (acked && memcmp(verf, a.r.verf, 8))
			/*
			 * what was acknowledged before is to be sent
			 * again: nothing is claimed of it
			 */
			acked = 0;
		memcpy(verf, a.r.verf, 8);
		acked++;
	}
	return acked;
}

static bool lies(struct v3c *c, const char verf[8])
{
	return v3c_commit(c, &file, 0, 0) == NFS3_OK && !memcmp(c->r.verf, verf, 8);
}

static bool contents(void)
{
	for (unsigned i = 0; i < CHUNKS; i++) {
		unsigned k = 0;

		if (v3c_read(&b, &file, base + (uint64_t)i * CHUNK, CHUNK, back) ||
		    b.r.count != CHUNK) {
			printf("# READ %u: status %d count %u\n", i, b.r.status, b.r.count);
			return false;
		}
		while (k < CHUNK && back[k] == (char)('a' + i))
			k++;
		if (k < CHUNK) {
			printf("# chunk %u: byte %u is %02x\n", i, k, back[k]);
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	sattr3 mode = v3c_mode(0644);
	bool for_good;
	char verf[8];
	unsigned acked;

	if (argc != 6)
		return 2;
	base = strtoull(argv[5], NULL, 0);
	if (v3c_open(&a, argv[1], atoi(argv[2]), 0, 0, 0, NULL) || v3c_mnt(&a, argv[3]) ||
	    v3c_open(&b, argv[1], atoi(argv[2]), 0, 0, 0, NULL))
		return !tap_ok(false, "connect and mount") && tap_done();
	v3c_create(&a, &a.root, "writeback", UNCHECKED, &mode, NULL);
	file = a.r.fh;
	for_good = shut_down(argv[4]);
	if (!for_good)
		fill_device(argv[4]);
	acked = write_all(UNSTABLE, verf);
	if (acked) {
		tap_ok(!lies(&a, verf), "COMMIT does not say OK for %u lost WRITEs (status %d)",
		       acked, a.r.status);
		tap_ok(!lies(&a, verf), "nor does a second COMMIT (status %d)", a.r.status);
		tap_ok(!lies(&b, verf), "nor one over another connection (status %d)", b.r.status);
	} else {
		tap_ok(true, "WRITE reports the error itself");
	}
	acked = write_all(FILE_SYNC, verf);
	tap_ok(!acked, "no FILE_SYNC WRITE succeeds (%u did)", acked);
	if (for_good) {
		tap_ok(a.r.status == NFS3ERR_IO,
		       "and the client is told of an I/O error (status %d)", a.r.status);
		v3c_close(&a);
		v3c_close(&b);
		return tap_done();
	}
	unlink(argv[4]);
	/*
	 * A new file: ext4 keeps extents of a failed write-back
	 * unwritten, so that the old one's blocks stay zeros.
	 */
	v3c_remove(&a, &a.root, "writeback");
	v3c_create(&a, &a.root, "writeback", GUARDED, &mode, NULL);
	file = a.r.fh;
	acked = write_all(UNSTABLE, verf);
	tap_ok(acked == CHUNKS, "with space again, all WRITEs are taken (%u)", acked);
	for (int tries = 0; tries < 2 && !lies(&a, verf); tries++)
		write_all(UNSTABLE, verf); /* a new verifier: as a client does, send again */
	tap_ok(lies(&a, verf), "and committed");
	tap_ok(contents(), "and read back");
	v3c_remove(&a, &a.root, "writeback");
	v3c_close(&a);
	v3c_close(&b);
	return tap_done();
}
