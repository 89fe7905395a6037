/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * (program, version, procedure) -> table entry, or the
 * RFC 5531 reason why not.  Knows no procedure.
 */
#ifndef RPC_DISPATCH_H
#define RPC_DISPATCH_H

#include <stddef.h>

#include "rpc/msg.h"

/* One version of one program; `procs` is the owner's array of nprocs entries of `stride` bytes. */
struct dispatch_program {
	uint32_t prog, vers;
	uint32_t nprocs;
	const void *procs;
	size_t stride;
};

/*
 * The entry for `call`, or NULL with *err: PROG_UNAVAIL, PROG_MISMATCH (lowest
 * and highest version served), PROC_UNAVAIL.
 */
const void *dispatch_find(const struct dispatch_program *table, size_t n,
			  const struct msg_call *call, struct msg_error *err);

#endif
