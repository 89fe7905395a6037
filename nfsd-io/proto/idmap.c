/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/idmap.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 256
/* A group of many members has a long entry. */
#define ENTRY_BYTES (64 << 10)

uint32_t idmap_text(uint32_t id, char out[IDMAP_MAX])
{
	return (uint32_t)snprintf(out, IDMAP_MAX, "%u", id);
}

/* A number that is one from end to end; (uid_t)-1 is nobody's. */
static bool number(const char *text, uint32_t len, uint32_t *out)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || n > UINT32_MAX)
			return false;
		n = n * 10 + (uint64_t)(text[i] - '0');
	}
	*out = (uint32_t)n;
	return n < UINT32_MAX;
}

/* The part before "@", terminated: 0, -EINVAL (empty), -ENOENT (cannot be a name). */
static int name_of(const char *text, uint32_t len, char name[NAME_BYTES])
{
	const char *at = memchr(text, '@', len);
	size_t n = at ? (size_t)(at - text) : len;

	if (!len)
		return -EINVAL;
	if (!n || n >= NAME_BYTES || memchr(text, '\0', n))
		return -ENOENT;
	memcpy(name, text, n);
	name[n] = '\0';
	return 0;
}

/* The lookup itself may fail in as many ways as there are name services: none of them is an owner. */
static int found(int err, bool any)
{
	return any ? 0 : err == ENOMEM || err == EMFILE || err == EINTR ? -EAGAIN : -ENOENT;
}

int idmap_user(const char *text, uint32_t len, uid_t *out)
{
	struct passwd pw, *res = NULL;
	char name[NAME_BYTES], *buf;
	int err;

	if (len && number(text, len, out))
		return 0;
	err = name_of(text, len, name);
	if (err)
		return err;
	buf = malloc(ENTRY_BYTES);
	if (!buf)
		return -ENOMEM;
	err = getpwnam_r(name, &pw, buf, ENTRY_BYTES, &res);
	err = found(err, res != NULL);
	if (!err)
		*out = pw.pw_uid;
	free(buf);
	return err;
}

int idmap_group(const char *text, uint32_t len, gid_t *out)
{
	struct group gr, *res = NULL;
	char name[NAME_BYTES], *buf;
	int err;

	if (len && number(text, len, out))
		return 0;
	err = name_of(text, len, name);
	if (err)
		return err;
	buf = malloc(ENTRY_BYTES);
	if (!buf)
		return -ENOMEM;
	err = getgrnam_r(name, &gr, buf, ENTRY_BYTES, &res);
	err = found(err, res != NULL);
	if (!err)
		*out = gr.gr_gid;
	free(buf);
	return err;
}
