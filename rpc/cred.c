/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/cred.h"

#include <string.h>

/* auth_stat (RFC 5531 s.9) */
enum { AUTH_STAT_OK, AUTH_STAT_BADCRED, AUTH_STAT_REJECTEDCRED };

/* authsys_parms, RFC 5531 appendix A */
static int decode_sys(struct rpccred *out, const uint8_t *body, uint32_t len)
{
	struct cursor c;
	const uint8_t *name;
	uint32_t n;

	cursor_init_const(&c, body, len);
	out->stamp = cursor_get_u32(&c);
	name = cursor_get_opaque(&c, sizeof(out->machine) - 1, &n);
	if (name)
		memcpy(out->machine, name, n);
	out->uid = cursor_get_u32(&c);
	out->gid = cursor_get_u32(&c);
	n = cursor_get_u32(&c);
	if (n > RPCCRED_GIDS_MAX)
		return AUTH_STAT_BADCRED;
	for (uint32_t i = 0; i < n; i++)
		out->gids[i] = cursor_get_u32(&c);
	out->ngids = n;
	return cursor_ok(&c) && cursor_left(&c) == 0 ? AUTH_STAT_OK : AUTH_STAT_BADCRED;
}

int rpccred_decode(struct rpccred *out, uint32_t flavor, const uint8_t *body, uint32_t len)
{
	memset(out, 0, sizeof(*out));
	out->flavor = flavor;
	out->uid = out->gid = (uint32_t)-2;
	switch (flavor) {
	case RPCCRED_AUTH_NONE: /* the body is undefined (RFC 5531 s.10.1): not looked at */
		return AUTH_STAT_OK;
	case RPCCRED_AUTH_SYS:
		return decode_sys(out, body, len);
	default:
		return AUTH_STAT_REJECTEDCRED;
	}
}
