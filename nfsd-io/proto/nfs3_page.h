/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sizes of READDIR and READDIRPLUS replies, exact to the byte (RFC 1813 s.3.3.16, 3.3.17).  Pure.
 */
#ifndef PROTO_NFS3_PAGE_H
#define PROTO_NFS3_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The limits of one page, and what is used of them. */
struct v3_page {
	uint32_t max;     /* bytes the resok structure may have */
	uint32_t dir_max; /* READDIRPLUS: bytes of names, ids and cookies; 0 = no limit */
	uint32_t used, dir_used;
	unsigned entries;
};

/* Bytes of an empty page: directory attributes, verifier, end of list, eof. */
#define V3_PAGE_EMPTY (88 + 8 + 4 + 4)

/* False: not even an empty list fits (TOOSMALL). */
bool v3_page_init(struct v3_page *p, uint32_t max, uint32_t dir_max);
/*
 * Room for an entry of a `name_len`-byte name with `extra` bytes of attributes
 * and handle?  Takes it when there is.  dir_max never refuses the first entry:
 * it is a hint, and a page of nothing would send the client round for ever.
 */
bool v3_page_take(struct v3_page *p, uint32_t name_len, uint32_t extra);

#endif
