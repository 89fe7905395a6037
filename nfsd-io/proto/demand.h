/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much reply memory a call asks for, told before it runs, so that a
 * connection can be held to its budget (policy/budget).  Pure; a guess that is
 * never too small for the procedures with large replies.
 */
#ifndef PROTO_DEMAND_H
#define PROTO_DEMAND_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of file data (READ) or entries (READDIR, READDIRPLUS, all of a COMPOUND's) the call in
 * buf[0..len) asks for, at most `max`; 0 for any other call.
 */
uint32_t demand_reply_bytes(const uint8_t *buf, size_t len, uint32_t max);

#endif
