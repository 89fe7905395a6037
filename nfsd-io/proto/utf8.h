/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* UTF-8 as NFSv4 wants it in tags and names (RFC 3629).  Pure. */
#ifndef PROTO_UTF8_H
#define PROTO_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* `len` bytes: no overlong form, surrogate or code point above U+10FFFF; NUL is a character. */
bool utf8_valid(const void *s, size_t len);

#endif
