/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bounded XDR reader and writer (RFC 4506) with a sticky error: decode or
 * encode on, then ask cursor_ok() once.  For headers and the hot path; all
 * bounds live here.  Reading past the end gives zeros and sets the error.
 */
#ifndef RPC_CURSOR_H
#define RPC_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	uint8_t *p, *end; /* next byte; one past the last */
	uint8_t *base;
	bool bad;
};

void cursor_init(struct cursor *c, void *base, size_t len);
void cursor_init_const(struct cursor *c, const void *base, size_t len); /* for reading only */
static inline bool cursor_ok(const struct cursor *c) { return !c->bad; }
static inline size_t cursor_pos(const struct cursor *c) { return (size_t)(c->p - c->base); }
static inline size_t cursor_left(const struct cursor *c) { return (size_t)(c->end - c->p); }
void cursor_seek(struct cursor *c, size_t pos); /* back to an earlier position; clears nothing */

uint32_t cursor_get_u32(struct cursor *c);
uint64_t cursor_get_u64(struct cursor *c);
bool cursor_get_bool(struct cursor *c); /* anything but 0 or 1 is an error */
/* opaque<max>: pointer into the buffer (NULL when bad), pads skipped.  *len = bytes. */
const uint8_t *cursor_get_opaque(struct cursor *c, uint32_t max, uint32_t *len);
/* opaque[len] */
const uint8_t *cursor_get_fixed(struct cursor *c, uint32_t len);
void cursor_skip(struct cursor *c, size_t len);

void cursor_put_u32(struct cursor *c, uint32_t v);
void cursor_put_u64(struct cursor *c, uint64_t v);
void cursor_put_bool(struct cursor *c, bool v);
/* length, bytes, zero pad */
void cursor_put_opaque(struct cursor *c, const void *data, uint32_t len);
void cursor_put_fixed(struct cursor *c, const void *data, uint32_t len);  /* bytes, zero pad */
/* Room for a value to be known later; patch with cursor_set_u32(). */
uint8_t *cursor_reserve(struct cursor *c, size_t len);
void cursor_set_u32(uint8_t *at, uint32_t v);

#endif
