/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who may do what.  The caller's identity reaches the file system, squashing
 * included.  Usage: perms HOST PORT PLAIN ROOT_SQUASH ALL_SQUASH READ_ONLY
 * (export paths; plain is no_root_squash, all_squash has anonuid=4242,anongid=4343)
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

static const char *host;
static int port;
static struct v3c root, user, stranger;

static void attach(struct v3c *c, uint32_t uid, uint32_t gid, const char *path)
{
	if (v3c_open(c, host, port, uid, gid, 0, NULL) || v3c_mnt(c, path))
		tap_ok(false, "connect and mount %s as %u: status %d", path, uid, c->r.status);
}

static void owner_override(void)
{
	sattr3 s = v3c_mode(0444);
	struct v3c_fh f;
	char buf[100] = "data", back[100];

	tap_is(v3c_create(&user, &user.root, "readonly", GUARDED, &s, NULL), NFS3_OK,
	       "a user creates a file of mode 0444");
	f = user.r.fh;
	tap_ok(user.r.has_attr && user.r.attr.uid == 1000 && user.r.attr.gid == 1000,
	       "which is the user's");
	for (int how = UNSTABLE; how <= FILE_SYNC; how++)
		tap_is(v3c_write(&user, &f, 0, 100, how, buf), NFS3_OK,
		       "its owner writes it through the handle");
	tap_is(v3c_commit(&user, &f, 0, 0), NFS3_OK, "and commits");
	v3c_access(&user, &f, 0x3f);
	tap_ok(!(user.r.access & (ACCESS3_MODIFY | ACCESS3_EXTEND)),
	       "ACCESS says the owner may not modify");
	tap_is(v3c_write(&stranger, &f, 0, 100, UNSTABLE, buf), NFS3ERR_ACCES,
	       "another user's WRITE is ACCES");
	tap_is(v3c_read(&stranger, &f, 0, 100, back), NFS3_OK, "another user may read 0444");
	s = v3c_mode(0);
	tap_is(v3c_setattr(&user, &f, &s, NULL), NFS3_OK, "chmod 0 between");
	tap_is(v3c_read(&stranger, &f, 0, 100, back), NFS3ERR_ACCES,
	       "shuts the other user out at once");
	tap_is(v3c_read(&user, &f, 0, 100, back), NFS3_OK, "not the owner");
	tap_is(v3c_write(&user, &f, 0, 100, UNSTABLE, buf), NFS3_OK,
	       "who writes after reading, too");
	s = v3c_mode(0111);
	v3c_setattr(&user, &f, &s, NULL);
	tap_is(v3c_read(&stranger, &f, 0, 100, back), NFS3_OK,
	       "a file that may be executed may be read");
	s = v3c_mode(0666);
	tap_is(v3c_setattr(&stranger, &f, &s, NULL), NFS3ERR_PERM, "another user's chmod is PERM");
	s = (sattr3){ .uid = { 1, { 1001 } } };
	tap_is(v3c_setattr(&user, &f, &s, NULL), NFS3ERR_PERM, "a user cannot give a file away");
}

static void directories(void)
{
	sattr3 s = v3c_mode(0644);
	struct v3c_fh d;
	uint32_t groups[] = { 7000, 7001 };

	v3c_mkdir(&user, &user.root, "private", 0700);
	d = user.r.fh;
	tap_is(v3c_create(&user, &d, "x", GUARDED, &s, NULL), NFS3_OK,
	       "a user creates in a directory of the user's");
	tap_is(v3c_lookup(&stranger, &d, "x"), NFS3ERR_ACCES, "another user's LOOKUP is ACCES");
	tap_is(v3c_create(&stranger, &d, "y", GUARDED, &s, NULL), NFS3ERR_ACCES,
	       "another user's CREATE is ACCES");
	tap_is(v3c_remove(&stranger, &d, "x"), NFS3ERR_ACCES, "another user's REMOVE is ACCES");
	tap_is(v3c_rename(&stranger, &d, "x", &user.root, "z"), NFS3ERR_ACCES,
	       "another user's RENAME is ACCES");
	v3c_mkdir(&root, &root.root, "group", 0770);
	d = root.r.fh;
	s = (sattr3){ .gid = { 1, { 7001 } } };
	v3c_setattr(&root, &d, &s, NULL);
	s = v3c_mode(0640);
	tap_is(v3c_create(&stranger, &d, "y", GUARDED, &s, NULL), NFS3ERR_ACCES,
	       "a directory of a group is closed");
	v3c_user(&stranger, 1001, 1001, 2, groups);
	tap_is(v3c_create(&stranger, &d, "y", GUARDED, &s, NULL), NFS3_OK,
	       "but for members by supplementary group");
	v3c_user(&stranger, 1001, 1001, 0, NULL);
	tap_is(v3c_lookup(&stranger, &d, "y"), NFS3ERR_ACCES, "and closed again without it");
	v3c_mknod(&user, &user.root, "null", NF3CHR, 0666);
	tap_ok(user.r.status == NFS3ERR_ACCES || user.r.status == NFS3ERR_PERM,
	       "a user's MKNOD of a device is refused");
	v3c_mkdir(&root, &root.root, "sticky", 01777);
	d = root.r.fh;
	v3c_create(&user, &d, "mine", GUARDED, &s, NULL);
	v3c_remove(&stranger, &d, "mine");
	tap_ok(stranger.r.status == NFS3ERR_PERM || stranger.r.status == NFS3ERR_ACCES,
	       "the sticky bit guards files from others");
	tap_is(v3c_remove(&user, &d, "mine"), NFS3_OK, "not from their owner");
}

static void privilege_bits(void)
{
	static const uint32_t sizes[] = { 4, 1 << 20, 1 << 20 };
	static char buf[1 << 20] = "hack";
	sattr3 s = v3c_mode(06777);
	struct v3c_fh f;

	for (int how = UNSTABLE, i = 0; i < 6; i++, how = FILE_SYNC - how) {
		v3c_create(&root, &root.root, "suid", UNCHECKED, &s, NULL);
		f = root.r.fh;
		v3c_setattr(&root, &f, &s, NULL);
		tap_is(v3c_write(&stranger, &f, 0, sizes[i / 2], how, buf), NFS3_OK,
		       "a user writes a set-user-id file of root's");
		v3c_getattr(&root, &f);
		tap_ok(!(root.r.attr.mode & 06000), "and the set-id bits are gone (%o)",
		       root.r.attr.mode);
		v3c_remove(&root, &root.root, "suid");
	}
}

static void squash(const char *squashed, const char *all, const char *ro)
{
	struct v3c c;
	sattr3 s = v3c_mode(0644);
	uint32_t zero[] = { 0 };
	char buf[4] = "x";

	attach(&c, 0, 0, squashed);
	tap_is(v3c_create(&c, &c.root, "byroot", GUARDED, &s, NULL), NFS3_OK,
	       "root creates on root_squash");
	tap_is(c.r.attr.uid, 65534, "as nobody");
	tap_is(c.r.attr.gid, 65534, "in group nogroup");
	v3c_user(&c, 1000, 1000, 1, zero);
	v3c_create(&c, &c.root, "byuser", GUARDED, &s, NULL);
	tap_ok(c.r.attr.uid == 1000 && c.r.attr.gid == 1000, "a user stays the user");
	v3c_close(&c);
	attach(&c, 1000, 1000, all);
	tap_is(v3c_create(&c, &c.root, "byall", GUARDED, &s, NULL), NFS3_OK,
	       "a user creates on all_squash");
	tap_ok(c.r.attr.uid == 4242 && c.r.attr.gid == 4343, "as anonuid and anongid");
	v3c_close(&c);
	attach(&c, 0, 0, ro);
	tap_is(v3c_create(&c, &c.root, "x", GUARDED, &s, NULL), NFS3ERR_ROFS,
	       "CREATE on a read-only export is ROFS");
	tap_is(v3c_mkdir(&c, &c.root, "x", 0755), NFS3ERR_ROFS, "MKDIR is ROFS");
	tap_is(v3c_remove(&c, &c.root, "file"), NFS3ERR_ROFS, "REMOVE is ROFS");
	tap_is(v3c_lookup(&c, &c.root, "file"), NFS3_OK, "LOOKUP works");
	struct v3c_fh f = c.r.fh;

	tap_is(v3c_write(&c, &f, 0, 1, UNSTABLE, buf), NFS3ERR_ROFS, "WRITE is ROFS");
	tap_is(v3c_setattr(&c, &f, &s, NULL), NFS3ERR_ROFS, "SETATTR is ROFS");
	tap_is(v3c_read(&c, &f, 0, 1, buf), NFS3_OK, "READ works");
	v3c_access(&c, &f, 0x3f);
	tap_ok(!(c.r.access & (ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE)),
	       "ACCESS offers no change");
	v3c_close(&c);
}

int main(int argc, char **argv)
{
	sattr3 open_to_all = v3c_mode(01777);

	if (argc != 7)
		return 2;
	host = argv[1];
	port = atoi(argv[2]);
	attach(&root, 0, 0, argv[3]);
	attach(&user, 1000, 1000, argv[3]);
	attach(&stranger, 1001, 1001, argv[3]);
	v3c_setattr(&root, &root.root, &open_to_all, NULL);
	owner_override();
	directories();
	privilege_bits();
	squash(argv[4], argv[5], argv[6]);
	v3c_close(&root);
	v3c_close(&user);
	v3c_close(&stranger);
	return tap_done();
}
