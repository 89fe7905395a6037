/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv4 clients as text, in the form of nfsd's clients/N/info and
 * clients/N/states, which nfsdclnts(8) reads.
 */
#ifndef PROTO_STATE4_SHOW_H
#define PROTO_STATE4_SHOW_H

#include <stdint.h>
#include <stdio.h>

struct state4;

/*
 * The confirmed client of this number: 0, -ENOENT, -ENOMEM.  Takes the lock for what is in memory;
 * asks the kernel for names of open files, not for a worker.  `info` is best a stream in memory.
 */
int state4_show(struct state4 *s, uint32_t number, FILE *info, FILE *states);
/* Any bytes, as they may stand between double quotes: what is not printable is \xNN. */
void state4_show_quoted(FILE *out, const uint8_t *bytes, uint32_t len);

#endif
