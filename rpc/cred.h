/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * AUTH_NONE and AUTH_SYS credentials as they come on the
 * wire (RFC 5531 s.8, app. A).  Pure decoding.
 */
#ifndef RPC_CRED_H
#define RPC_CRED_H

#include <stdint.h>

#include "rpc/cursor.h"

#define RPCCRED_GIDS_MAX 16
#define RPCCRED_AUTH_NONE 0
#define RPCCRED_AUTH_SYS 1

struct rpccred {
	uint32_t flavor;
	uint32_t uid, gid; /* AUTH_SYS; AUTH_NONE: (uint32_t)-2 both */
	uint32_t ngids;
	uint32_t gids[RPCCRED_GIDS_MAX];
	uint32_t stamp;
	char machine[256]; /* NUL-terminated; at most 255 bytes are allowed on the wire */
};

/*
 * 0, or an auth_stat: AUTH_BADCRED (1) malformed,
 * AUTH_REJECTEDCRED (2)/AUTH_TOOWEAK (5) flavor not served.
 */
int rpccred_decode(struct rpccred *out, uint32_t flavor, const uint8_t *body, uint32_t len);

#endif
