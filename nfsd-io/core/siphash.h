/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * SipHash-2-4: a keyed hash that who does not know the key
 * can neither forge nor make collide.  Pure.
 */
#ifndef CORE_SIPHASH_H
#define CORE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
	uint64_t k[2]; /* the 16 key bytes as little-endian words */
};

uint64_t siphash(const struct siphash_key *key, const void *data, size_t len);

#endif
