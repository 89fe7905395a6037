/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edges HOST PORT DIR: offsets and counts at the ends of
 * their types, lengths of zero and lengths that lie.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/rawnfs.h"
#include "tests/lib/tap.h"

#define FILE_SYNC 2
#define TOP (1ull << 63)
enum { NFS3ERR_INVAL = 22, NFS3ERR_FBIG = 27 };
enum { GARBAGE_ARGS = 4 };

static struct rawnfs r;
static struct rawnfs_fh root, file;

static bool read_is_eof(uint64_t offset, uint32_t count)
{
	struct rawnfs_data d;
	int status = rawnfs_read(&r, &file, offset, count, &d);

	if (status == 0 && d.count == 0 && d.len == 0 && d.eof)
		return true;
	printf("# READ %llu+%u: status %d, count %u, eof %d\n", (unsigned long long)offset, count,
	       status, d.count, d.eof);
	return false;
}

static int write_at(uint64_t offset, uint32_t len)
{
	static const uint8_t data[8192];
	struct rawnfs_data d;

	return rawnfs_write(&r, &file, offset, FILE_SYNC, data, len, &d);
}

static bool write_is_fbig(uint64_t offset, uint32_t len)
{
	int status = write_at(offset, len);

	if (status != NFS3ERR_FBIG)
		printf("# WRITE %llu+%u: status %d\n", (unsigned long long)offset, len, status);
	return status == NFS3ERR_FBIG;
}

static bool is_untouched(const struct rawnfs_attr *before)
{
	struct rawnfs_attr a;

	return rawnfs_getattr(&r, &file, &a) == 0 && a.size == before->size &&
	       a.mtime_ns == before->mtime_ns;
}

static bool setattr_size_is(uint64_t size, int want)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	int status = -1;

	rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, 2);
	rawnfs_put_fh(&call, &file);
	for (int i = 0; i < 3; i++)
		cursor_put_u32(&call.c, 0); /* mode, uid, gid */
	cursor_put_u32(&call.c, 1);
	cursor_put_u64(&call.c, size);
	for (int i = 0; i < 3; i++)
		cursor_put_u32(&call.c, 0); /* times, guard */
	if (rawnfs_call(&r, &call, &reply) == 0 && !reply.denied && reply.stat == 0)
		status = (int)cursor_get_u32(&reply.c);
	rawnfs_call_end(&call);
	if (status != want)
		printf("# SETATTR size %llu: status %d\n", (unsigned long long)size, status);
	return status == want;
}

static void test_offsets(void)
{
	struct rawnfs_attr before;
	struct rawnfs_data d;

	rawnfs_getattr(&r, &file, &before);
	tap_ok(read_is_eof(TOP - 1, 1) && read_is_eof(TOP, 1) && read_is_eof(TOP - 1, 4096),
	       "READ at 2^63 is the end");
	tap_ok(read_is_eof(UINT64_MAX, 1) && read_is_eof(UINT64_MAX, 1 << 20),
	       "READ at 2^64-1 is the end");
	tap_ok(read_is_eof(TOP - 2, 4096) && read_is_eof(TOP - 4096, 1 << 20),
	       "READ across 2^63 is the end");
	tap_ok(write_is_fbig(TOP - 1, 1) && write_is_fbig(TOP, 1) && write_is_fbig(UINT64_MAX, 1),
	       "WRITE at 2^63 and 2^64-1: FBIG");
	tap_ok(write_is_fbig(TOP - 4096, 4096) && write_is_fbig(TOP - 1, 8192) &&
		       write_is_fbig(UINT64_MAX - 100, 8192),
	       "WRITE up to and across the end: FBIG");
	tap_ok(setattr_size_is(UINT64_MAX, NFS3ERR_INVAL) && setattr_size_is(TOP, NFS3ERR_INVAL),
	       "SETATTR to a size of 2^63 or more: INVAL");
	tap_ok(rawnfs_commit(&r, &file, UINT64_MAX, 0, &d) == 0 &&
		       rawnfs_commit(&r, &file, UINT64_MAX, UINT32_MAX, &d) == 0,
	       "COMMIT at 2^64-1 commits");
	tap_ok(is_untouched(&before), "none of it touched the file");
}

static bool read_is_short(uint32_t count)
{
	struct rawnfs_data d;

	return rawnfs_read(&r, &file, 0, count, &d) == 0 && d.count == d.len && d.count == 3000 &&
	       d.eof;
}

static void test_zero_lengths(void)
{
	static const uint64_t offsets[] = {0, 1500, 3000, 1 << 30, TOP - 1};
	struct rawnfs_attr before;
	struct rawnfs_data d;
	bool good = true;

	tap_ok(read_is_short(UINT32_MAX) && read_is_short(TOP >> 32),
	       "READ of up to 4 GiB gives what there is");
	rawnfs_getattr(&r, &file, &before);
	for (size_t i = 0; i < 5; i++)
		good &= write_at(offsets[i], 0) == 0;
	tap_ok(good, "WRITE of no bytes is OK anywhere");
	tap_ok(is_untouched(&before), "WRITE of no bytes changes neither size nor time");
	good = rawnfs_read(&r, &file, 0, 0, &d) == 0 && d.count == 0 && !d.eof;
	good &= rawnfs_read(&r, &file, 1500, 0, &d) == 0 && d.count == 0 && !d.eof;
	tap_ok(good, "READ of no bytes before the end is OK");
	tap_ok(read_is_eof(3000, 0) && read_is_eof(TOP - 1, 0),
	       "READ of no bytes at the end is OK");
}

/* Rejected by RPC or with INVAL, the file untouched and the connection alive. */
static bool lie_is_refused(uint32_t count, uint32_t len)
{
	static const uint8_t data[65536];
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	struct rawnfs_attr before;
	bool good;

	rawnfs_getattr(&r, &file, &before);
	rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, 7);
	rawnfs_put_write(&call, &file, 0, count, FILE_SYNC, data, len);
	good = rawnfs_call(&r, &call, &reply) == 0 && !reply.denied &&
	       (reply.stat == GARBAGE_ARGS ||
		(reply.stat == 0 && cursor_get_u32(&reply.c) == NFS3ERR_INVAL));
	rawnfs_call_end(&call);
	if (!good)
		printf("# count %u, data %u: stat %u\n", count, len, reply.stat);
	return good && is_untouched(&before);
}

static bool unknown_stability_is_refused(void)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	bool good;

	rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, 7);
	rawnfs_put_write(&call, &file, 0, 4, 3, "data", 4);
	good = rawnfs_call(&r, &call, &reply) == 0 && !reply.denied &&
	       (reply.stat == GARBAGE_ARGS ||
		(reply.stat == 0 && cursor_get_u32(&reply.c) == NFS3ERR_INVAL));
	rawnfs_call_end(&call);
	return good && rawnfs_alive(&r);
}

static bool largest_write_is_stored_whole_or_in_part(uint32_t len)
{
	uint8_t *data = malloc(len);
	struct rawnfs_data d;
	bool good;

	memset(data, 'w', len);
	good = rawnfs_write(&r, &file, 100, FILE_SYNC, data, len, &d) == 0 && d.count > 0 &&
	       d.count <= len && d.committed == FILE_SYNC;
	free(data);
	return good;
}

static bool connect_and_create(const char *host, int port, const char *dir)
{
	static const uint8_t data[3000] = "some content";
	struct rawnfs_data d;

	if (rawnfs_open(&r, host, port, 0) || rawnfs_mnt(&r, dir, &root))
		return false;
	rawnfs_remove(&r, &root, "edges"); /* of an earlier run */
	return rawnfs_create(&r, &root, "edges", &file) == 0 &&
	       rawnfs_write(&r, &file, 0, FILE_SYNC, data, sizeof(data), &d) == 0;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	if (!tap_ok(connect_and_create(argv[1], atoi(argv[2]), argv[3]),
		    "a file of 3000 bytes is made"))
		return tap_done();
	test_offsets();
	test_zero_lengths();
	tap_ok(lie_is_refused(10, 5) && lie_is_refused(5, 10),
	       "WRITE whose count is not the data's: refused");
	tap_ok(lie_is_refused(5, 0) && lie_is_refused(0, 5),
	       "WRITE with data and a count of 0, or none: refused");
	tap_ok(lie_is_refused(40000, 65536) && lie_is_refused(65536, 40000),
	       "WRITE that lies about 64 KiB: refused");
	tap_ok(lie_is_refused(UINT32_MAX, 8), "WRITE that counts 4 GiB: refused");
	tap_ok(unknown_stability_is_refused(), "WRITE of a stability that is none: refused");
	tap_ok(largest_write_is_stored_whole_or_in_part(1 << 20), "WRITE of 1 MiB is stored");
	tap_ok(rawnfs_alive(&r), "the connection lives");
	rawnfs_close(&r);
	return tap_done();
}
