/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * XDR primitives for the codecs made from our .x files, in place of
 * libtirpc's xdr_string() and xdr_bytes(): these look at what the buffer still
 * holds before they allocate, and refuse a NUL inside a string, which C could
 * only see cut short.  For memory streams (xdrmem) and targets set to zero only.
 */
#ifndef RPC_BOUNDED_H
#define RPC_BOUNDED_H

#include <rpc/types.h>
#include <rpc/xdr.h>
#include <stdint.h>

/* string<max>; decoding: *s is malloc'd and NUL-terminated, freed by XDR_FREE. */
bool_t bounded_string(XDR *x, char **s, u_int max);
/*
 * opaque<max>; decoding: *val is malloc'd, never NULL (so that
 * memcpy and memcmp may have it), freed by XDR_FREE.
 */
bool_t bounded_bytes(XDR *x, char **val, u_int *len, u_int max);
/*
 * A set of bits, uint32_t<>, of which `max` words are kept in val[].  Decoding: more of them must
 * be there; their bits are or-ed into the last, so that who looks for bits it does not know finds
 * them.
 */
bool_t bounded_words(XDR *x, uint32_t *val, u_int *len, u_int max);

/* A type for opaque<max>, with rpcgen's members field_len and field_val, and its codec. */
#define BOUNDED_OPAQUE(type, field, max)                                                           \
	typedef struct {                                                                           \
		u_int field##_len;                                                                 \
		char *field##_val;                                                                 \
	} type;                                                                                    \
	static inline bool_t xdr_##type(XDR *x, type *v)                                           \
	{                                                                                          \
		return bounded_bytes(x, &v->field##_val, &v->field##_len, max);                    \
	}

#endif
