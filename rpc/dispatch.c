/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/dispatch.h"

static const void *find_proc(const struct dispatch_program *p, uint32_t proc, struct msg_error *err)
{
	if (proc >= p->nprocs) {
		*err = (struct msg_error){.kind = MSG_ERR_ACCEPTED, .accept = MSG_PROC_UNAVAIL};
		return NULL;
	}
	return (const char *)p->procs + proc * p->stride;
}

const void *dispatch_find(const struct dispatch_program *table, size_t n,
			  const struct msg_call *call, struct msg_error *err)
{
	*err = (struct msg_error){.kind = MSG_ERR_ACCEPTED, .accept = MSG_PROG_UNAVAIL};
	for (size_t i = 0; i < n; i++) {
		const struct dispatch_program *p = &table[i];

		if (p->prog != call->prog)
			continue;
		if (p->vers == call->vers)
			return find_proc(p, call->proc, err);
		if (err->accept == MSG_PROG_UNAVAIL || p->vers < err->low)
			err->low = p->vers;
		if (p->vers > err->high)
			err->high = p->vers;
		err->accept = MSG_PROG_MISMATCH;
	}
	return NULL;
}
