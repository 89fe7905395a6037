/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/utf8.h"

#include <stdint.h>

/* Bytes of the character that begins with `b`, or 0: none does. */
static unsigned length(uint8_t b)
{
	if (b < 0x80)
		return 1;
	if (b >= 0xc2 && b < 0xe0)
		return 2;
	if (b >= 0xe0 && b < 0xf0)
		return 3;
	return b >= 0xf0 && b < 0xf5 ? 4 : 0;
}

/*
 * Is the second byte one that makes neither an overlong form,
 * a surrogate nor too high a code point?
 */
static bool second_ok(uint8_t first, uint8_t second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0;
	case 0xed:
		return second < 0xa0;
	case 0xf0:
		return second >= 0x90;
	case 0xf4:
		return second < 0x90;
	default:
		return true;
	}
}

bool utf8_valid(const void *s, size_t len)
{
	const uint8_t *p = s, *end = p + len;

	while (p < end) {
		unsigned n = length(*p);

		if (!n || n > (size_t)(end - p))
			return false;
		for (unsigned i = 1; i < n; i++)
			if ((p[i] & 0xc0) != 0x80)
				return false;
		if (n > 1 && !second_ok(p[0], p[1]))
			return false;
		p += n;
	}
	return true;
}
