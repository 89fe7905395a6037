/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * XDR by hand for the load generator: what is put goes into a buffer the
 * caller sized, what is got is bounded by what came, with a sticky error.
 */
#ifndef TOOLS_NFSLOAD_WIRE_H
#define TOOLS_NFSLOAD_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct wire_in {
	const uint8_t *at, *end;
	bool bad; /* something was missing; what was got since is 0 */
};

static inline uint8_t *wire_put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, 4);
	return p + 4;
}

static inline uint8_t *wire_put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, 8);
	return p + 8;
}

/* Fixed length, padded to four bytes. */
static inline uint8_t *wire_put_fixed(uint8_t *p, const void *data, uint32_t len)
{
	memcpy(p, data, len);
	memset(p + len, 0, -len & 3);
	return p + len + (-len & 3);
}

static inline uint8_t *wire_put_opaque(uint8_t *p, const void *data, uint32_t len)
{
	return wire_put_fixed(wire_put32(p, len), data, len);
}

/* `len` bytes and their padding, or NULL. */
static inline const uint8_t *wire_get(struct wire_in *in, uint32_t len)
{
	uint64_t room = (uint64_t)len + (-len & 3);
	const uint8_t *p = in->at;

	if (in->bad || room > (uint64_t)(in->end - p)) {
		in->bad = true;
		return NULL;
	}
	in->at += room;
	return p;
}

static inline uint32_t wire_get32(struct wire_in *in)
{
	const uint8_t *p = wire_get(in, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, 4);
	return be32toh(v);
}

static inline uint64_t wire_get64(struct wire_in *in)
{
	uint64_t high = wire_get32(in);

	return high << 32 | wire_get32(in);
}

#endif
