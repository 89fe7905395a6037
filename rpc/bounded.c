/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/bounded.h"

#include <stdlib.h>
#include <string.h>

/*
 * The length word and as many bytes, malloc'd with a NUL
 * behind; NULL when the stream does not hold them.
 */
static char *decode(XDR *x, u_int *len, u_int max)
{
	char *p, pad[BYTES_PER_XDR_UNIT];

	/* x_handy: in a memory stream the bytes left */
	if (!xdr_u_int(x, len) || *len > max || *len > x->x_handy)
		return NULL;
	p = malloc(*len + 1);
	if (!p)
		return NULL;
	/* Not xdr_opaque(): it reads the pad into a static buffer shared by all threads. */
	if ((*len && !XDR_GETBYTES(x, p, *len)) ||
	    ((*len & 3) && !XDR_GETBYTES(x, pad, -*len & 3))) {
		free(p);
		return NULL;
	}
	p[*len] = '\0';
	return p;
}

bool_t bounded_string(XDR *x, char **s, u_int max)
{
	u_int len;
	char *p;

	if (x->x_op != XDR_DECODE)
		return xdr_string(x, s, max);
	p = decode(x, &len, max);
	if (p && memchr(p, '\0', len)) {
		free(p);
		return FALSE;
	}
	*s = p;
	return p != NULL;
}

bool_t bounded_bytes(XDR *x, char **val, u_int *len, u_int max)
{
	if (x->x_op != XDR_DECODE)
		return xdr_bytes(x, val, len, max);
	*val = decode(x, len, max);
	if (!*val) {
		*len = 0;
		return FALSE;
	}
	return TRUE;
}

bool_t bounded_words(XDR *x, uint32_t *val, u_int *len, u_int max)
{
	uint32_t word;
	u_int n;

	if (x->x_op == XDR_FREE)
		return TRUE;
	n = *len;
	if ((x->x_op == XDR_ENCODE && n > max) || !xdr_u_int(x, &n))
		return FALSE;
	/* Decoding a memory stream, so that a false count ends with it at the latest. */
	for (u_int i = 0; i < n; i++) {
		if (!xdr_u_int32_t(x, i < max ? &val[i] : &word))
			return FALSE;
		if (i >= max)
			val[max - 1] |= word;
	}
	*len = n < max ? n : max;
	return TRUE;
}
