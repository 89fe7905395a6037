/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the bytes of a COMPOUND say before it runs, from a prefix of them: where
 * the data of a WRITE begin, and how much reply memory is asked for.  Walks over
 * the operations that come before READ, READDIR and WRITE in practice; stops at
 * any other.  Pure; never wrong about a position, but may not see one.
 */
#ifndef PROTO_PEEK4_H
#define PROTO_PEEK4_H

#include <stddef.h>
#include <stdint.h>

#define PEEK4_PROGRAM 100003
#define PEEK4_VERSION 4
#define PEEK4_COMPOUND 1

enum peek4 { PEEK4_MORE, PEEK4_PLAIN, PEEK4_PAYLOAD };

/*
 * `args`: `len` bytes from COMPOUND's arguments on.  PAYLOAD: the data of the first WRITE with any
 * begin at *at, `bytes` of them go to file offset *offset.  MORE: not to be told yet.
 */
enum peek4 peek4_payload(const uint8_t *args, size_t len, size_t *at, uint32_t *bytes,
			 uint64_t *offset);
/* Bytes of data or entries that READ, READ_PLUS and READDIR ask for, at most `max`. */
uint32_t peek4_demand(const uint8_t *args, size_t len, uint32_t max);

#endif
