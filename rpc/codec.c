/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/codec.h"

#include <limits.h>

static bool run(struct cursor *c, xdrproc_t proc, void *data, enum xdr_op op)
{
	size_t left = cursor_left(c);
	XDR x;

	if (!cursor_ok(c))
		return false;
	xdrmem_create(&x, (char *)c->p, left < INT_MAX ? (u_int)left : INT_MAX, op);
	if (!proc(&x, data)) {
		c->bad = true;
		return false;
	}
	cursor_skip(c, xdr_getpos(&x));
	return true;
}

bool codec_decode(struct cursor *c, xdrproc_t proc, void *out)
{
	if (run(c, proc, out, XDR_DECODE))
		return true;
	codec_free(proc, out);
	return false;
}

bool codec_encode(struct cursor *c, xdrproc_t proc, const void *in)
{
	/* XDR routines take one pointer for both ways and do not write through it when encoding. */
	return run(c, proc, (void *)(uintptr_t)in, XDR_ENCODE);
}

void codec_free(xdrproc_t proc, void *out)
{
	xdr_free(proc, out);
}
