/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Record marking: one stream, taken whole, in odd pieces, and with body bytes
 * received in place, must give the same records.  Input: a limit, a seed for
 * the pieces, then the stream.
 */
#include <string.h>

#include "rpc/record.h"
#include "tests/lib/fuzz.h"

/* A digest of what was seen: body bytes, record ends, the end of the stream. */
struct seen {
	uint64_t hash;
	uint32_t len; /* of the current record */
	bool bad;
};

static void see(struct seen *s, uint8_t kind, uint32_t value)
{
	s->hash = (s->hash ^ kind) * 0x100000001b3u;
	s->hash = (s->hash ^ value) * 0x100000001b3u;
}

static void see_body(struct seen *s, const uint8_t *body, size_t n)
{
	for (size_t i = 0; i < n; i++)
		see(s, 'b', body[i]);
	s->len += n;
}

static void see_end(struct seen *s, const struct record *r)
{
	FUZZ_CHECK(s->len == r->len && s->len <= r->max);
	see(s, 'e', s->len);
	s->len = 0;
}

/* Feed one piece by record_next() until it wants more. */
static void eat(struct record *r, struct seen *s, const uint8_t *in, size_t len)
{
	enum record_event ev = RECORD_END;
	const uint8_t *body;
	size_t used, n, at = 0;

	while (!s->bad && ev != RECORD_MORE) {
		ev = record_next(r, in + at, len - at, &used, &body, &n);
		FUZZ_CHECK(used <= len - at && n <= used);
		if (ev == RECORD_BODY) {
			FUZZ_CHECK(n > 0 && body >= in + at && body + n == in + at + used);
			see_body(s, body, n);
		}
		at += used;
		if (ev == RECORD_END)
			see_end(s, r);
		if (ev == RECORD_MORE)
			FUZZ_CHECK(at == len);
		s->bad = ev == RECORD_BAD;
	}
}

static struct seen whole(uint32_t max, const uint8_t *in, size_t len)
{
	struct seen s = {0};
	struct record r;

	record_init(&r, max);
	eat(&r, &s, in, len);
	return s;
}

/* Cut by a little generator; where body bytes are due, every other piece is received in place. */
static struct seen pieces(uint32_t max, uint32_t seed, const uint8_t *in, size_t len)
{
	struct seen s = {0};
	struct record r;
	size_t at = 0, n;

	record_init(&r, max);
	while (at < len && !s.bad) {
		seed = seed * 1103515245u + 12345;
		n = 1 + (seed >> 16) % (seed & 0x100 ? 3 : 40);
		if (n > len - at)
			n = len - at;
		if (record_direct(&r) && seed & 0x200) {
			if (n > record_direct(&r))
				n = record_direct(&r);
			record_advance(&r, (uint32_t)n);
			see_body(&s, in + at, n);
			if (record_ended(&r))
				see_end(&s, &r);
			FUZZ_CHECK(!record_ended(&r));
		} else {
			eat(&r, &s, in + at, n);
		}
		at += n;
	}
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t max, seed;
	struct seen a, b;

	if (size < 8)
		return 0;
	memcpy(&max, data, 4);
	memcpy(&seed, data + 4, 4);
	a = whole(max, data + 8, size - 8);
	b = pieces(max, seed, data + 8, size - 8);
	FUZZ_CHECK(a.hash == b.hash && a.bad == b.bad && a.len == b.len);
	return 0;
}
