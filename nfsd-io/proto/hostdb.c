/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/hostdb.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

/* A group of many members has a long entry. */
#define ENTRY_BYTES 4096
#define ENTRY_BYTES_MAX (8u << 20)

struct entry {
	const char *name; /* in the buffer that was given */
	uint32_t id;
};

/* By name, or by number where there is no name. */
static int user(const char *name, uint32_t id, char *buf, size_t len, struct entry *out)
{
	struct passwd pw, *p = NULL;
	int err = name ? getpwnam_r(name, &pw, buf, len, &p) : getpwuid_r(id, &pw, buf, len, &p);

	if (!p)
		return err ? -err : -ENOENT;
	*out = (struct entry){p->pw_name, p->pw_uid};
	return 0;
}

static int group(const char *name, uint32_t id, char *buf, size_t len, struct entry *out)
{
	struct group gr, *g = NULL;
	int err = name ? getgrnam_r(name, &gr, buf, len, &g) : getgrgid_r(id, &gr, buf, len, &g);

	if (!g)
		return err ? -err : -ENOENT;
	*out = (struct entry){g->gr_name, g->gr_gid};
	return 0;
}

/* The entry points into *buf, which is the caller's to free, also after an error. */
static int look_up(enum hostdb db, const char *name, uint32_t id, char **buf, struct entry *out)
{
	size_t len = ENTRY_BYTES;
	int err;

	*buf = NULL;
	do {
		free(*buf);
		*buf = malloc(len);
		if (!*buf)
			return -ENOMEM;
		err = (db == HOSTDB_USERS ? user : group)(name, id, *buf, len, out);
		len *= 4;
	} while (err == -ERANGE && len <= ENTRY_BYTES_MAX);
	/* getpwnam_r(3): these all mean that there is none. */
	return err == -ESRCH || err == -EBADF || err == -EPERM ? -ENOENT : err;
}

int hostdb_id(enum hostdb db, const char *name, uint32_t *id)
{
	struct entry e;
	char *buf;
	int err = look_up(db, name, 0, &buf, &e);

	if (!err)
		*id = e.id;
	free(buf);
	return err;
}

int hostdb_name(enum hostdb db, uint32_t id, char *name, size_t len)
{
	struct entry e;
	char *buf;
	int err = look_up(db, NULL, id, &buf, &e);

	if (!err && strlen(e.name) >= len)
		err = -ENAMETOOLONG;
	if (!err)
		strcpy(name, e.name);
	free(buf);
	return err;
}
