/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Owners on the wire of NFSv4 (RFC 8881 s.5.9): told as numbers, which AUTH_SYS clients of all
 * kinds take; understood as numbers and as names of this server's users, with or without "@domain".
 */
#ifndef PROTO_IDMAP_H
#define PROTO_IDMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define IDMAP_MAX 16 /* bytes of a text told, at most */

/* Bytes in `out`, not terminated. */
uint32_t idmap_text(uint32_t id, char out[IDMAP_MAX]);
/*
 * The number `text` stands for.  Names are looked up, which blocks: offload threads.  0; -EINVAL:
 * empty; -ENOENT: nobody's (NFS4ERR_BADOWNER); -errno of the lookup.
 */
int idmap_user(const char *text, uint32_t len, uid_t *out);
int idmap_group(const char *text, uint32_t len, gid_t *out);

#endif
