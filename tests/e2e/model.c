/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random READ, WRITE, COMMIT and truncation of one file, each compared with a
 * copy in memory: bytes, counts, end of file, size.  Lengths and offsets crowd
 * around block, page and policy edges.  Two connections take turns, so that
 * both daemon threads see the file.  Usage: model HOST PORT PATH SEED OPS
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/stamp.h"
#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

#define LIMIT (4u << 20) /* bytes; files grow no further */
#define IO_MAX (1u << 20)

static struct v3c conn[2];
static struct v3c_fh file;
static uint64_t seed;
static unsigned char model[LIMIT + IO_MAX], buffer[IO_MAX];
static uint64_t size;
static unsigned step;

static uint64_t pick(uint64_t n)
{
	return stamp_random(&seed) % n;
}

/* A number up to max, near an edge as often as not. */
static uint64_t edgy(uint64_t max)
{
	static const uint64_t edge[] = { 512, 4096, 32768, 65536, 1 << 20 };
	uint64_t unit, n;

	if (pick(2))
		return pick(max + 1);
	unit = edge[pick(5)];
	n = unit * pick(max / unit + 1) + pick(5);
	n = n >= 2 ? n - 2 : 0;
	return n < max ? n : max;
}

static bool wrong(const char *what, uint64_t offset, uint32_t len, const struct v3c_result *r)
{
	printf("# step %u: %s at %llu, %u bytes, size %llu: status %d count %u eof %d\n", step,
	       what, (unsigned long long)offset, len, (unsigned long long)size, r->status, r->count,
	       r->eof);
	return false;
}

static bool do_read(struct v3c *c)
{
	uint64_t offset = edgy(size + 5000);
	uint32_t len = edgy(IO_MAX);
	uint32_t want = offset >= size ? 0 : size - offset < len ? size - offset : len;

	if (v3c_read(c, &file, offset, len, buffer) || c->r.count != want)
		return wrong("READ", offset, len, &c->r);
	/* nfs-ganesha answers a READ of no bytes by itself, without a look at the file. */
	if (!len && getenv("MODEL_GANESHA"))
		return true;
	if (c->r.eof != (offset + c->r.count >= size))
		return wrong("READ's end of file", offset, len, &c->r);
	for (uint32_t i = 0; i < want; i++)
		if (buffer[i] != model[offset + i]) {
			printf("# byte %u is %02x, wanted %02x\n", i, buffer[i], model[offset + i]);
			return wrong("READ's bytes", offset, len, &c->r);
		}
	return true;
}

static bool do_write(struct v3c *c)
{
	uint64_t offset = edgy(size < LIMIT ? size + 5000 < LIMIT ? size + 5000 : LIMIT : LIMIT);
	uint32_t len = edgy(IO_MAX);
	stable_how how = pick(4) ? UNSTABLE : pick(3);

	for (uint32_t i = 0; i < len; i++)
		buffer[i] = stamp_random(&seed);
	if (v3c_write(c, &file, offset, len, how, buffer) || c->r.count != len ||
	    c->r.committed < how)
		return wrong("WRITE", offset, len, &c->r);
	memcpy(model + offset, buffer, len);
	if (len && offset + len > size)
		size = offset + len;
	if (c->r.has_attr && c->r.attr.size != size)
		return wrong("WRITE's size", offset, len, &c->r);
	return true;
}

static bool do_truncate(struct v3c *c)
{
	uint64_t to = edgy(LIMIT);
	sattr3 s = v3c_size(to);

	if (v3c_setattr(c, &file, &s, NULL) || (c->r.has_attr && c->r.attr.size != to))
		return wrong("SETATTR size", to, 0, &c->r);
	if (to < size)
		memset(model + to, 0, size - to);
	size = to;
	return true;
}

static bool do_commit(struct v3c *c)
{
	uint64_t offset = pick(2) ? 0 : edgy(LIMIT);
	uint32_t len = pick(2) ? 0 : edgy(IO_MAX);

	return !v3c_commit(c, &file, offset, len) || wrong("COMMIT", offset, len, &c->r);
}

static bool do_getattr(struct v3c *c)
{
	return (!v3c_getattr(c, &file) && c->r.attr.size == size) || wrong("GETATTR", 0, 0, &c->r);
}

static bool one(void)
{
	struct v3c *c = &conn[pick(2)];
	unsigned what = pick(100);

	if (what < 45)
		return do_read(c);
	if (what < 85)
		return do_write(c);
	if (what < 90)
		return do_truncate(c);
	return what < 95 ? do_commit(c) : do_getattr(c);
}

int main(int argc, char **argv)
{
	uint64_t first;
	unsigned ops;
	bool good = true;
	sattr3 mode = v3c_mode(0644);

	if (argc != 6)
		return 2;
	first = seed = strtoull(argv[4], NULL, 0);
	ops = atoi(argv[5]);
	for (int i = 0; i < 2; i++)
		if (v3c_open(&conn[i], argv[1], atoi(argv[2]), 0, 0, 0, NULL) ||
		    v3c_mnt(&conn[i], argv[3]))
			return !tap_ok(false, "connect and mount") && tap_done();
	v3c_remove(&conn[0], &conn[0].root, "model");
	if (v3c_create(&conn[0], &conn[0].root, "model", GUARDED, &mode, NULL))
		return !tap_ok(false, "create") && tap_done();
	file = conn[0].r.fh;
	for (step = 0; step < ops && good; step++)
		good = one();
	tap_ok(good, "%u random operations agree with the model, seed %llu", ops,
	       (unsigned long long)first);
	for (int i = 0; i < 2; i++)
		v3c_close(&conn[i]);
	return tap_done();
}
