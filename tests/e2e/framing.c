/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * framing HOST PORT DIR: records as a peer may send them and as none should.
 * The payload of every WRITE is read back, for a byte misplaced between header
 * and buffer is what these could find.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/record.h"
#include "tests/lib/rawnfs.h"
#include "tests/lib/tap.h"

#define FILE_SYNC 2
#define UNSTABLE 0

static struct rawnfs r;
static struct rawnfs_fh root, file;
static const char *host;
static int port;

static void fill(uint8_t *p, size_t len, uint32_t seed)
{
	while (len--) {
		seed = seed * 1664525u + 1013904223u;
		*p++ = (uint8_t)(seed >> 24);
	}
}

static bool holds(uint64_t offset, const uint8_t *want, uint32_t len)
{
	struct rawnfs_data d;

	return rawnfs_read(&r, &file, offset, len, &d) == 0 && d.len == len &&
	       !memcmp(d.data, want, len);
}

/* A WRITE of len bytes of that seed; the caller ends the call. */
static void write_call(struct rawnfs_call *call, uint64_t offset, uint32_t len, uint32_t seed,
		       uint8_t *data)
{
	fill(data, len, seed);
	rawnfs_call_begin(&r, call, RAWNFS_NFS, 3, 7);
	rawnfs_put_write(call, &file, offset, len, UNSTABLE, data, len);
}

static bool answered(uint32_t xid)
{
	struct rawnfs_reply reply;

	return rawnfs_recv(&r, &reply) == 0 && reply.xid == xid && !reply.denied &&
	       reply.stat == 0 && cursor_get_u32(&reply.c) == 0;
}

/* The record in two sends, cut before each byte in turn, the first part known to be delivered. */
static bool survives_every_cut(size_t fragment, uint32_t len)
{
	uint8_t data[4096];
	size_t n, cut = 1;
	bool good = true;

	for (n = 2; good && cut < n; cut++) {
		struct rawnfs_call call;
		uint8_t *record;

		write_call(&call, 1000, len, (uint32_t)cut, data);
		record = rawnfs_record(&call, fragment, &n);
		good = rawnfs_send_bytes(&r, record, cut) == 0 && rawnfs_flush(&r) == 0 &&
		       rawnfs_send_bytes(&r, record + cut, n - cut) == 0 && answered(call.xid) &&
		       holds(1000, data, len);
		free(record);
		rawnfs_call_end(&call);
	}
	if (!good)
		printf("# cut before byte %zu\n", cut - 1);
	return good;
}

static bool survives_fragments_of(size_t fragment, uint64_t offset, uint32_t len)
{
	struct rawnfs_call call;
	uint8_t *data = malloc(len + 1);
	bool good;

	write_call(&call, offset, len, (uint32_t)fragment, data);
	good = rawnfs_send(&r, &call, fragment) == 0 && answered(call.xid) &&
	       holds(offset, data, len);
	rawnfs_call_end(&call);
	free(data);
	return good;
}

static bool survives_every_fragment_size(void)
{
	for (size_t fragment = 1; fragment < 300; fragment++)
		if (!survives_fragments_of(fragment, 4000 + fragment, 150)) {
			printf("# fragments of %zu\n", fragment);
			return false;
		}
	return true;
}

/* One byte a send, each known to be delivered before the next. */
static bool survives_single_bytes(void)
{
	struct rawnfs_call call;
	uint8_t data[40], *record;
	bool good = true;
	size_t n;

	write_call(&call, 77, sizeof(data), 5, data);
	record = rawnfs_record(&call, 0, &n);
	for (size_t i = 0; i < n && good; i++)
		good = rawnfs_send_bytes(&r, record + i, 1) == 0 && rawnfs_flush(&r) == 0;
	good = good && answered(call.xid) && holds(77, data, sizeof(data));
	free(record);
	rawnfs_call_end(&call);
	return good;
}

/* Some NULL calls, WRITEs and GETATTRs in one send; a reply to each, in any order. */
static bool pipelined_calls_are_all_answered(void)
{
	enum { CALLS = 300 };
	static uint8_t data[512];
	static bool seen[CALLS];
	uint8_t *all = malloc(CALLS * 1024);
	struct rawnfs_reply reply;
	uint32_t first = r.xid + 1;
	size_t len = 0, n;
	bool good;

	for (int i = 0; i < CALLS; i++) {
		struct rawnfs_call call;
		uint8_t *record;

		if (i % 3 == 0)
			rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, 0);
		else
			write_call(&call, (uint64_t)i * 512, sizeof(data), (uint32_t)i, data);
		record = rawnfs_record(&call, 100, &n);
		memcpy(all + len, record, n);
		len += n;
		free(record);
		rawnfs_call_end(&call);
	}
	good = rawnfs_send_bytes(&r, all, len) == 0;
	for (int i = 0; i < CALLS && good; i++) {
		good = rawnfs_recv(&r, &reply) == 0 && reply.xid - first < CALLS &&
		       !seen[reply.xid - first];
		if (good)
			seen[reply.xid - first] = true;
	}
	for (int i = 1; i < CALLS && good; i += 3) {
		fill(data, sizeof(data), (uint32_t)i);
		good = holds((uint64_t)i * 512, data, sizeof(data));
	}
	free(all);
	return good;
}

static bool empty_fragments_are_skipped(void)
{
	static const uint8_t empty[4] = {0};
	struct rawnfs_call call;
	bool good = true;

	rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, 0);
	for (int i = 0; i < RECORD_EMPTY_MAX && good; i++)
		good = rawnfs_send_bytes(&r, empty, 4) == 0;
	good = good && rawnfs_send(&r, &call, 10) == 0;
	if (good) {
		struct rawnfs_reply reply;

		good = rawnfs_recv(&r, &reply) == 0 && reply.xid == call.xid;
	}
	rawnfs_call_end(&call);
	return good;
}

/* Records with no call in them are dropped; what follows is served. */
static bool junk_records_are_dropped(void)
{
	static const uint8_t stream[] = {
		0x80, 0, 0, 0, /* no byte */
		0x80, 0, 0, 3, 1, 2, 3,
		0x80, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 1, /* a reply */
		0x80, 0, 0, 8, 0, 0, 0, 1, 9, 9, 9, 9,
		0, 0, 0, 2, 7, 7, 0x80, 0, 0, 0,
	};

	return rawnfs_send_bytes(&r, stream, sizeof(stream)) == 0 && rawnfs_alive(&r);
}

/* On a connection of its own: this must close it, and hurt nobody else. */
static bool closes(const void *p, size_t len)
{
	struct rawnfs bad;
	bool good;

	if (rawnfs_open(&bad, host, port, 0))
		return false;
	rawnfs_send_bytes(&bad, p, len); /* may find it closed already */
	good = rawnfs_closed(&bad);
	rawnfs_close(&bad);
	return good && rawnfs_alive(&r);
}

static bool long_record_in_small_fragments_closes(void)
{
	size_t n = 40, total = (size_t)n << 16;
	uint8_t *p = calloc(1, total);
	bool good;

	for (size_t i = 0; i < n; i++)
		cursor_set_u32(p + (i << 16), 65532);
	good = closes(p, total);
	free(p);
	return good;
}

static bool endless_empty_fragments_close(void)
{
	static const uint8_t p[4096];

	return closes(p, sizeof(p));
}

/* The opaque length says more than the record holds, and the record ends there. */
static bool payload_cut_by_the_record_is_garbage(uint32_t claim, uint32_t have)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;
	static uint8_t data[65536];
	bool good;

	rawnfs_call_begin(&r, &call, RAWNFS_NFS, 3, 7);
	rawnfs_put_fh(&call, &file);
	cursor_put_u64(&call.c, 0);
	cursor_put_u32(&call.c, claim);
	cursor_put_u32(&call.c, FILE_SYNC);
	cursor_put_u32(&call.c, claim);
	cursor_put_fixed(&call.c, data, have);
	good = rawnfs_call(&r, &call, &reply) == 0 && !reply.denied && reply.stat == 4;
	rawnfs_call_end(&call);
	return good && rawnfs_alive(&r);
}

static bool payload_with_bytes_behind_it_is_stored(void)
{
	struct rawnfs_call call;
	uint8_t data[333];
	bool good;

	write_call(&call, 5000, sizeof(data), 9, data);
	cursor_put_fixed(&call.c, "trailing", 8);
	good = rawnfs_send(&r, &call, 0) == 0 && answered(call.xid) &&
	       holds(5000, data, sizeof(data));
	rawnfs_call_end(&call);
	return good && rawnfs_alive(&r);
}

static bool connect_and_create(const char *dir)
{
	return rawnfs_open(&r, host, port, 0) == 0 && rawnfs_mnt(&r, dir, &root) == 0 &&
	       rawnfs_create(&r, &root, "framing", &file) == 0;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	host = argv[1];
	port = atoi(argv[2]);
	if (!tap_ok(connect_and_create(argv[3]), "a file is created by hand-made calls"))
		return tap_done();
	tap_ok(survives_every_cut(0, 60), "a WRITE cut before any byte is stored");
	tap_ok(survives_every_cut(0, 1), "a WRITE of one byte cut before any byte is stored");
	tap_ok(survives_every_cut(17, 43),
	       "a WRITE in fragments of 17, cut before any byte, is stored");
	tap_ok(survives_every_fragment_size(), "a WRITE in fragments of any size is stored");
	tap_ok(survives_fragments_of(1, 10, 5000), "a WRITE in fragments of one byte is stored");
	tap_ok(survives_fragments_of(1000, 12345, 47008),
	       "a misaligned WRITE in fragments of 1000 is stored");
	tap_ok(survives_fragments_of(4096, 1 << 20, 1 << 20),
	       "a WRITE of 1 MiB in fragments of 4096 is stored");
	tap_ok(survives_fragments_of(65535, 777, 1 << 20),
	       "a misaligned WRITE of 1 MiB in fragments is stored");
	tap_ok(survives_single_bytes(), "a WRITE sent byte by byte is stored");
	tap_ok(pipelined_calls_are_all_answered(),
	       "300 calls in one send are all answered, once each");
	tap_ok(empty_fragments_are_skipped(), "a record may begin with empty fragments");
	tap_ok(junk_records_are_dropped(),
	       "records that are no calls are dropped and the connection lives");
	tap_ok(payload_with_bytes_behind_it_is_stored(),
	       "bytes behind a WRITE's data change nothing");
	tap_ok(payload_cut_by_the_record_is_garbage(10, 4),
	       "data cut by the end of the record: GARBAGE_ARGS");
	tap_ok(payload_cut_by_the_record_is_garbage(65536, 40000),
	       "40000 bytes of 65536: GARBAGE_ARGS");
	tap_ok(payload_cut_by_the_record_is_garbage(1 << 20, 0), "no byte of 1 MiB: GARBAGE_ARGS");
	tap_ok(payload_cut_by_the_record_is_garbage(0xfffffff0, 8),
	       "4 GiB claimed, 8 bytes there: GARBAGE_ARGS");
	tap_ok(closes("\xff\xff\xff\xff", 4),
	       "a mark of 2 GiB closes the connection, and only that");
	tap_ok(closes("\x80\x80\x00\x00", 4), "a mark of 8 MiB closes the connection");
	tap_ok(closes("GET / HTTP/1.1\r\n\r\n", 18), "HTTP closes the connection");
	tap_ok(long_record_in_small_fragments_closes(),
	       "fragments that add up to too much close the connection");
	tap_ok(endless_empty_fragments_close(), "endless empty fragments close the connection");
	rawnfs_close(&r);
	return tap_done();
}
