/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file half of ring.h with the test in the kernel's place: linked before
 * libcore it replaces ring.c.  Each operation is logged; the next answer of
 * the script says how it ends.  Bytes it lets through are really moved.
 */
#ifndef TESTS_LIB_FAKERING_H
#define TESTS_LIB_FAKERING_H

#include "nfsd-io/core/ring.h"

#define FAKERING_ALL 0x7fffffff /* let all through; also what an empty script says */

struct fakering_call {
	enum op_kind kind;
	int fd;
	uint64_t offset;
	uint32_t len;	/* bytes asked */
	unsigned flags; /* RWF_*; RING_OP_FSYNC: datasync */
	int buf_index;
	const void *buf;
	const struct cred *cred;
	int res;	/* how it ended */
};

/* Forget log and script.  `answers`: bytes to let through at most, or -errno; copied. */
void fakering_script(const int *answers, unsigned n);

/* Complete what is pending and what follows from it, oldest first; `last_first`: newest first. */
void fakering_run(bool last_first);

extern struct fakering_call fakering_log[];
extern unsigned fakering_calls;

#endif
