/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * This host's databases of users and groups, by name and by number, whatever name services they
 * come from.  They may block for long: never on a worker.
 */
#ifndef PROTO_HOSTDB_H
#define PROTO_HOSTDB_H

#include <stddef.h>
#include <stdint.h>

enum hostdb { HOSTDB_USERS, HOSTDB_GROUPS };

/*
 * 0; -ENOENT: there is none; -errno: the database cannot be asked now.  A name that does not fit
 * `len` bytes with its end is -ENAMETOOLONG.
 */
int hostdb_id(enum hostdb db, const char *name, uint32_t *id);
int hostdb_name(enum hostdb db, uint32_t id, char *name, size_t len);

#endif
