/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Share reservations: what an NFSv4.1 OPEN denies to others is denied to an
 * anonymous stateid, until it is closed.  NAME is a file below
 * the export PATH, and not empty.
 * Usage: shares HOST PORT PATH NAME
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

#define LEN 70000

static struct v4c a, b;
static struct v4c_fh dir, file;
static stateid4 id;
static char buf[LEN];

static uint32_t look_up(struct v4c *c, char *path)
{
	v4c_begin(c);
	v4c_putrootfh(c);
	for (char *part = strtok(path, "/"); part; part = strtok(NULL, "/"))
		v4c_lookup(c, part);
	v4c_getfh(c);
	if (v4c_run(c) != NFS4_OK)
		return c->res.status;
	return v4c_keep_fh(c, &dir) ? NFS4_OK : NFS4ERR_SERVERFAULT;
}

static uint32_t open_denying(struct v4c *c, const char *owner, const char *name, uint32_t access,
			     uint32_t deny)
{
	v4c_begin(c);
	v4c_putfh(c, &dir);
	v4c_opens(c, owner, (uint32_t)strlen(owner), 0, name, access, deny, false);
	v4c_getfh(c);
	if (v4c_run(c) != NFS4_OK)
		return c->res.status;
	id = v4c_res(c, OP_OPEN)->nfs_resop4_u.opopen.OPEN4res_u.resok4.stateid;
	return v4c_keep_fh(c, &file) ? NFS4_OK : NFS4ERR_SERVERFAULT;
}

static uint32_t write_as(struct v4c *c, const stateid4 *as, stable_how4 how)
{
	v4c_begin(c);
	v4c_putfh(c, &file);
	v4c_write(c, as, 1000, how, buf, LEN);
	return v4c_run(c);
}

static uint32_t read_as(struct v4c *c, const stateid4 *as)
{
	v4c_begin(c);
	v4c_putfh(c, &file);
	v4c_read(c, as, 0, LEN);
	return v4c_run(c);
}

static uint32_t close_it(struct v4c *c)
{
	v4c_begin(c);
	v4c_putfh(c, &file);
	v4c_op(c, OP_CLOSE)->nfs_argop4_u.opclose.open_stateid = id;
	return v4c_run(c);
}

int main(int argc, char **argv)
{
	char denier[256], other[256];
	uint32_t st;

	if (argc != 5)
		return 2;
	/* As clients of their own in each run. */
	snprintf(denier, sizeof(denier), "denier of %s", argv[3]);
	snprintf(other, sizeof(other), "other of %s", argv[3]);
	if (v4c_open(&a, argv[1], atoi(argv[2]), 1) || v4c_open(&b, argv[1], atoi(argv[2]), 1) ||
	    v4c_hello(&a, denier) || v4c_hello(&b, other) || look_up(&a, argv[3]))
		return !tap_ok(false, "two clients and a directory") && tap_done();
	memset(buf, 's', sizeof(buf));
	st = open_denying(&a, "o", argv[4], OPEN4_SHARE_ACCESS_BOTH, OPEN4_SHARE_DENY_WRITE);
	tap_ok(st == NFS4_OK, "OPEN that denies writing (%u)", st);
	st = write_as(&a, &id, UNSTABLE4);
	tap_ok(st == NFS4_OK, "who has opened may write (%u)", st);
	st = write_as(&b, &v4c_anonymous, UNSTABLE4);
	tap_ok(st == NFS4ERR_LOCKED, "an anonymous WRITE is refused (%u)", st);
	st = write_as(&b, &v4c_anonymous, FILE_SYNC4);
	tap_ok(st == NFS4ERR_LOCKED, "a stable one, too (%u)", st);
	st = read_as(&b, &v4c_anonymous);
	tap_ok(st == NFS4_OK, "an anonymous READ is not (%u)", st);
	st = close_it(&a);
	tap_ok(st == NFS4_OK, "CLOSE (%u)", st);
	st = write_as(&b, &v4c_anonymous, UNSTABLE4);
	tap_ok(st == NFS4_OK, "then others may write (%u)", st);
	st = open_denying(&a, "o", argv[4], OPEN4_SHARE_ACCESS_BOTH, OPEN4_SHARE_DENY_READ);
	tap_ok(st == NFS4_OK, "OPEN that denies reading (%u)", st);
	st = read_as(&b, &v4c_anonymous);
	tap_ok(st == NFS4ERR_LOCKED, "an anonymous READ is refused (%u)", st);
	st = read_as(&a, &id);
	tap_ok(st == NFS4_OK, "who has opened may read (%u)", st);
	st = write_as(&b, &v4c_anonymous, UNSTABLE4);
	tap_ok(st == NFS4_OK, "an anonymous WRITE is not refused (%u)", st);
	st = close_it(&a);
	tap_ok(st == NFS4_OK, "CLOSE (%u)", st);
	v4c_close(&a);
	v4c_close(&b);
	return tap_done();
}
