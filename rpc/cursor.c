/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/cursor.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

void cursor_init(struct cursor *c, void *base, size_t len)
{
	c->base = c->p = base;
	c->end = len ? c->p + len : c->p; /* nothing may be at NULL */
	c->bad = false;
}

void cursor_init_const(struct cursor *c, const void *base, size_t len)
{
	cursor_init(c, (void *)(uintptr_t)base, len);
}

void cursor_seek(struct cursor *c, size_t pos)
{
	assert(pos <= cursor_pos(c));
	c->p = c->base + pos;
}

/* The next `len` bytes, or NULL and the sticky error; every bound is checked here and only here. */
static uint8_t *take(struct cursor *c, size_t len)
{
	uint8_t *at = c->p;

	if (c->bad || len > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->p += len;
	return at;
}

static size_t pad_of(uint32_t len)
{
	return -len & 3u;
}

/* `len` bytes and their pad, which may not be there only in part. */
static uint8_t *take_padded(struct cursor *c, uint32_t len)
{
	if (len > cursor_left(c)) /* first, so that the sum below cannot wrap */
		c->bad = true;
	return take(c, len + pad_of(len));
}

uint32_t cursor_get_u32(struct cursor *c)
{
	const uint8_t *at = take(c, 4);
	uint32_t v;

	if (!at)
		return 0;
	memcpy(&v, at, sizeof(v));
	return be32toh(v);
}

uint64_t cursor_get_u64(struct cursor *c)
{
	const uint8_t *at = take(c, 8);
	uint64_t v;

	if (!at)
		return 0;
	memcpy(&v, at, sizeof(v));
	return be64toh(v);
}

bool cursor_get_bool(struct cursor *c)
{
	uint32_t v = cursor_get_u32(c);

	if (v > 1)
		c->bad = true;
	return v == 1;
}

const uint8_t *cursor_get_opaque(struct cursor *c, uint32_t max, uint32_t *len)
{
	uint32_t n = cursor_get_u32(c);
	const uint8_t *at;

	if (n > max)
		c->bad = true;
	at = take_padded(c, n);
	*len = at ? n : 0;
	return at;
}

const uint8_t *cursor_get_fixed(struct cursor *c, uint32_t len)
{
	return take_padded(c, len);
}

void cursor_skip(struct cursor *c, size_t len)
{
	take(c, len);
}

void cursor_put_u32(struct cursor *c, uint32_t v)
{
	uint8_t *at = take(c, 4);

	if (at)
		cursor_set_u32(at, v);
}

void cursor_put_u64(struct cursor *c, uint64_t v)
{
	uint8_t *at = take(c, 8);

	v = htobe64(v);
	if (at)
		memcpy(at, &v, sizeof(v));
}

void cursor_put_bool(struct cursor *c, bool v)
{
	cursor_put_u32(c, v);
}

void cursor_put_opaque(struct cursor *c, const void *data, uint32_t len)
{
	cursor_put_u32(c, len);
	cursor_put_fixed(c, data, len);
}

void cursor_put_fixed(struct cursor *c, const void *data, uint32_t len)
{
	uint8_t *at = take_padded(c, len);

	if (!at || !len)
		return;
	memcpy(at, data, len);
	memset(at + len, 0, pad_of(len));
}

uint8_t *cursor_reserve(struct cursor *c, size_t len)
{
	return take(c, len);
}

void cursor_set_u32(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}
