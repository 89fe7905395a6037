/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every NFSv3 procedure once as it should work and once as it should fail, on
 * a writable export mounted without squashing.  Usage: ops HOST PORT PATH
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

static struct v3c c;
static struct v3c_fh dir; /* a fresh directory of ours */

static struct v3c_fh make(const char *name, uint32_t mode)
{
	sattr3 s = v3c_mode(mode);

	v3c_create(&c, &dir, name, UNCHECKED, &s, NULL);
	if (!c.r.has_fh)
		v3c_lookup(&c, &dir, name);
	return c.r.fh;
}

static void attributes(void)
{
	struct v3c_fh f = make("attr", 0640);
	nfstime3 old, t = { 1000000000, 123456789 };
	sattr3 s = v3c_mode(0604);

	tap_is(v3c_getattr(&c, &f), NFS3_OK, "GETATTR of a new file");
	tap_is(c.r.attr.mode & 07777, 0640, "CREATE applies the mode, no umask of the server's");
	tap_is(c.r.attr.type, NF3REG, "a file is a file");
	tap_is(c.r.attr.nlink, 1, "one link");
	old = c.r.attr.ctime;
	tap_is(v3c_setattr(&c, &f, &s, NULL), NFS3_OK, "SETATTR mode");
	tap_ok(c.r.has_attr && (c.r.attr.mode & 07777) == 0604,
	       "SETATTR answers with the new attributes");
	s = v3c_size(12345);
	tap_is(v3c_setattr(&c, &f, &s, NULL), NFS3_OK, "SETATTR size extends");
	tap_is(c.r.attr.size, 12345, "the new size is told");
	s = (sattr3){.atime = {SET_TO_CLIENT_TIME, {t}}, .mtime = {SET_TO_CLIENT_TIME, {t}}};
	tap_is(v3c_setattr(&c, &f, &s, NULL), NFS3_OK, "SETATTR of times");
	tap_ok(c.r.attr.mtime.seconds == t.seconds && c.r.attr.mtime.nseconds == t.nseconds,
	       "the time set is the time told, to the nanosecond");
	s = (sattr3){ .uid = { 1, { 1234 } }, .gid = { 1, { 4321 } } };
	tap_is(v3c_setattr(&c, &f, &s, NULL), NFS3_OK, "SETATTR of owner and group by root");
	tap_ok(c.r.attr.uid == 1234 && c.r.attr.gid == 4321, "owner and group are told");
	s = v3c_mode(0600);
	old.seconds -= 10;
	tap_is(v3c_setattr(&c, &f, &s, &old), NFS3ERR_NOT_SYNC,
	       "SETATTR with a wrong guard is NOT_SYNC");
	v3c_getattr(&c, &f);
	old = c.r.attr.ctime;
	tap_is(v3c_setattr(&c, &f, &s, &old), NFS3_OK, "SETATTR with the right guard works");
	s = v3c_size(UINT64_MAX);
	tap_is(v3c_setattr(&c, &f, &s, NULL), NFS3ERR_INVAL, "SETATTR size beyond 2^63 is INVAL");
	v3c_remove(&c, &dir, "attr");
	tap_is(v3c_getattr(&c, &f), NFS3ERR_STALE, "GETATTR after REMOVE is STALE");
	f = dir;
	f.data[f.len / 2] ^= 1;
	v3c_getattr(&c, &f);
	tap_ok(c.r.status == NFS3ERR_STALE || c.r.status == NFS3ERR_BADHANDLE,
	       "a forged handle opens nothing");
	f.len = 7;
	v3c_getattr(&c, &f);
	tap_ok(c.r.status == NFS3ERR_STALE || c.r.status == NFS3ERR_BADHANDLE,
	       "a short handle opens nothing");
}

static void names(void)
{
	char longest[257];
	struct v3c_fh f = make("name", 0644), d;

	tap_is(v3c_lookup(&c, &dir, "name"), NFS3_OK, "LOOKUP finds a file");
	tap_ok(v3c_same_fh(&c.r.fh, &f), "LOOKUP and CREATE give the same handle");
	tap_ok(c.r.has_attr && c.r.has_dir_attr, "LOOKUP tells both objects' attributes");
	tap_is(v3c_lookup(&c, &dir, "absent"), NFS3ERR_NOENT, "LOOKUP of an absent name is NOENT");
	tap_ok(c.r.has_dir_attr, "and still tells the directory's attributes");
	tap_is(v3c_lookup(&c, &f, "x"), NFS3ERR_NOTDIR, "LOOKUP in a file is NOTDIR");
	tap_is(v3c_lookup(&c, &c.root, ".."), NFS3_OK, "LOOKUP of .. in the export's root works");
	tap_ok(v3c_same_fh(&c.r.fh, &c.root), "and stays in the root");
	tap_is(v3c_lookup(&c, &dir, ".."), NFS3_OK, "LOOKUP of .. below works");
	tap_ok(v3c_same_fh(&c.r.fh, &c.root), "and is the parent");
	v3c_lookup(&c, &dir, ".");
	tap_ok(v3c_same_fh(&c.r.fh, &dir), "LOOKUP of . is the directory");
	v3c_lookup(&c, &dir, "a/b");
	tap_ok(c.r.status != NFS3_OK && c.r.status != V3C_BROKEN,
	       "a name with a slash names nothing");
	memset(longest, 'n', 256);
	longest[256] = 0;
	tap_is(v3c_lookup(&c, &dir, longest), NFS3ERR_NAMETOOLONG, "256 bytes are NAMETOOLONG");
	longest[255] = 0;
	tap_is(v3c_mkdir(&c, &dir, longest, 0755), NFS3_OK, "255 bytes are a name");
	tap_is(v3c_rmdir(&c, &dir, longest), NFS3_OK, "and go away");
	tap_is(v3c_lookup(&c, &dir, ""), NFS3ERR_ACCES, "the empty name is ACCES");

	static const char *const cafe[] = { "caf\xe9", "caf\xc3\xa9", "cafe\xcc\x81" };
	struct v3c_dir list = { 0 };
	unsigned seen = 0;

	for (int i = 0; i < 3; i++)
		make(cafe[i], 0644);
	v3c_readdir(&c, &dir, 0, 8192, &list);
	for (size_t i = 0; i < list.n; i++)
		for (int k = 0; k < 3; k++)
			seen += !strcmp(list.entry[i].name, cafe[k]);
	free(list.entry);
	tap_is(seen, 3, "names are bytes: three spellings stay three files");
	for (int i = 0; i < 3; i++)
		v3c_remove(&c, &dir, cafe[i]);

	tap_is(v3c_symlink(&c, &dir, "sym", "some where/else"), NFS3_OK, "SYMLINK");
	d = c.r.fh;
	tap_is(v3c_readlink(&c, &d), NFS3_OK, "READLINK");
	tap_ok(!strcmp(c.r.text, "some where/else"), "the target comes back");
	tap_is(v3c_readlink(&c, &f), NFS3ERR_INVAL, "READLINK of a file is INVAL");
	v3c_read(&c, &d, 0, 10, longest);
	tap_is(c.r.status, NFS3ERR_INVAL, "READ of a symbolic link is INVAL");
	v3c_remove(&c, &dir, "sym");
	v3c_remove(&c, &dir, "name");
}

static void creation(void)
{
	sattr3 s = v3c_mode(0644);
	struct v3c_fh f, g;
	static const char verf[3][8] = {
		{0}, {-1, -1, -1, -1, -1, -1, -1, -1}, {1, 2, 3, 4, -1, -2, -3, -4}};

	tap_is(v3c_create(&c, &dir, "new", GUARDED, &s, NULL), NFS3_OK, "CREATE guarded");
	tap_ok(c.r.has_fh && c.r.has_attr && c.r.has_dir_attr,
	       "CREATE tells handle, attributes and directory");
	tap_is(v3c_create(&c, &dir, "new", GUARDED, &s, NULL), NFS3ERR_EXIST,
	       "CREATE guarded again is EXIST");
	s = v3c_size(77);
	tap_is(v3c_create(&c, &dir, "new", UNCHECKED, &s, NULL), NFS3_OK, "CREATE on an old file");
	v3c_lookup(&c, &dir, "new");
	tap_is(c.r.attr.size, 77, "and its size is set");
	v3c_remove(&c, &dir, "new");
	for (int i = 0; i < 3; i++) {
		tap_is(v3c_create(&c, &dir, "excl", EXCLUSIVE, NULL, verf[i]), NFS3_OK,
		       "CREATE exclusive");
		f = c.r.fh;
		tap_is(v3c_create(&c, &dir, "excl", EXCLUSIVE, NULL, verf[i]), NFS3_OK,
		       "the same verifier again");
		g = c.r.fh;
		tap_ok(v3c_same_fh(&f, &g), "is the same file");
		tap_is(v3c_create(&c, &dir, "excl", EXCLUSIVE, NULL, verf[(i + 1) % 3]),
		       NFS3ERR_EXIST, "another verifier is EXIST");
		s = v3c_mode(0600);
		tap_is(v3c_setattr(&c, &f, &s, NULL), NFS3_OK, "SETATTR after exclusive CREATE");
		v3c_remove(&c, &dir, "excl");
	}
	tap_is(v3c_mkdir(&c, &dir, "d", 0750), NFS3_OK, "MKDIR");
	g = c.r.fh;
	tap_ok(c.r.has_dir_attr, "MKDIR tells the directory's attributes");
	tap_is(v3c_mkdir(&c, &dir, "d", 0750), NFS3ERR_EXIST, "MKDIR again is EXIST");
	v3c_getattr(&c, &g);
	tap_is(c.r.attr.mode & 07777, 0750, "MKDIR applies the mode");
	tap_is(v3c_mknod(&c, &dir, "fifo", NF3FIFO, 0600), NFS3_OK, "MKNOD fifo");
	f = c.r.fh;
	v3c_getattr(&c, &f);
	tap_is(c.r.attr.type, NF3FIFO, "is a fifo");
	v3c_read(&c, &f, 0, 10, &s);
	tap_ok(c.r.status == NFS3ERR_INVAL, "READ of a fifo is INVAL and waits for no writer");
	tap_is(v3c_mknod(&c, &dir, "sock", NF3SOCK, 0600), NFS3_OK, "MKNOD socket");
	tap_is(v3c_mknod(&c, &dir, "null", NF3CHR, 0600), NFS3_OK, "MKNOD device as root");
	tap_is(v3c_mknod(&c, &dir, "bad", NF3REG, 0600), NFS3ERR_BADTYPE,
	       "MKNOD of a regular file is BADTYPE");
	tap_is(v3c_remove(&c, &dir, "d"), NFS3ERR_ISDIR, "REMOVE of a directory is ISDIR");
	tap_is(v3c_rmdir(&c, &dir, "fifo"), NFS3ERR_NOTDIR, "RMDIR of a fifo is NOTDIR");
	v3c_create(&c, &g, "inside", GUARDED, &s, NULL);
	v3c_rmdir(&c, &dir, "d");
	tap_ok(c.r.status == NFS3ERR_NOTEMPTY || c.r.status == NFS3ERR_EXIST,
	       "RMDIR of a full directory is NOTEMPTY");
	v3c_remove(&c, &g, "inside");
	tap_is(v3c_rmdir(&c, &dir, "."), NFS3ERR_INVAL, "RMDIR of . is INVAL");
	tap_is(v3c_rmdir(&c, &dir, "d"), NFS3_OK, "RMDIR");
	tap_is(v3c_rmdir(&c, &dir, "d"), NFS3ERR_NOENT, "RMDIR again is NOENT");
	v3c_remove(&c, &dir, "fifo");
	v3c_remove(&c, &dir, "sock");
	tap_is(v3c_remove(&c, &dir, "null"), NFS3_OK, "REMOVE of a device");
	tap_is(v3c_remove(&c, &dir, "null"), NFS3ERR_NOENT, "REMOVE again is NOENT");
}

static void moving(void)
{
	struct v3c_fh a = make("a", 0644), b = make("b", 0644), d1, d2;

	v3c_mkdir(&c, &dir, "d1", 0755);
	d1 = c.r.fh;
	v3c_mkdir(&c, &d1, "d2", 0755);
	d2 = c.r.fh;
	tap_is(v3c_link(&c, &a, &d1, "a2"), NFS3_OK, "LINK into another directory");
	tap_ok(c.r.has_attr && c.r.attr.nlink == 2, "LINK tells the new count");
	tap_is(v3c_link(&c, &a, &d1, "a2"), NFS3ERR_EXIST, "LINK again is EXIST");
	v3c_link(&c, &d2, &dir, "dirlink");
	tap_ok(c.r.status != NFS3_OK, "LINK of a directory is refused");
	v3c_lookup(&c, &d1, "a2");
	tap_ok(v3c_same_fh(&c.r.fh, &a), "both names have one handle");
	tap_is(v3c_rename(&c, &dir, "a", &dir, "b"), NFS3_OK, "RENAME over a file");
	tap_is(v3c_getattr(&c, &b), NFS3ERR_STALE, "the file replaced is STALE, not NOENT");
	v3c_lookup(&c, &dir, "b");
	tap_ok(v3c_same_fh(&c.r.fh, &a), "the name leads to the new file");
	tap_is(v3c_getattr(&c, &a), NFS3_OK, "its handle still works");
	tap_is(v3c_rename(&c, &dir, "b", &d2, "deep"), NFS3_OK, "RENAME across directories");
	tap_is(v3c_getattr(&c, &a), NFS3_OK, "the handle survives the move");
	tap_is(v3c_rename(&c, &dir, "absent", &d2, "x"), NFS3ERR_NOENT,
	       "RENAME of an absent name is NOENT");
	tap_is(v3c_rename(&c, &dir, "d1", &d2, "loop"), NFS3ERR_INVAL,
	       "RENAME of a directory into itself is INVAL");
	v3c_rename(&c, &d2, "deep", &dir, "d1");
	tap_ok(c.r.status != NFS3_OK, "RENAME of a file over a directory is refused");
	v3c_mkdir(&c, &dir, "d3", 0755);
	v3c_rename(&c, &dir, "d3", &dir, "d1");
	tap_ok(c.r.status == NFS3ERR_NOTEMPTY || c.r.status == NFS3ERR_EXIST,
	       "RENAME over a full directory is refused");
	v3c_rmdir(&c, &dir, "d3");
	v3c_remove(&c, &d2, "deep");
	v3c_remove(&c, &d1, "a2");
	tap_is(v3c_getattr(&c, &a), NFS3ERR_STALE, "the handle is STALE with the last name gone");
	v3c_rmdir(&c, &d1, "d2");
	v3c_rmdir(&c, &dir, "d1");
	tap_is(v3c_getattr(&c, &d2), NFS3ERR_STALE, "a removed directory is STALE");
	tap_is(v3c_lookup(&c, &d2, "x"), NFS3ERR_STALE, "and nothing is found in it");
}

static void data(void)
{
	struct v3c_fh f = make("data", 0644);
	char buf[4096], back[4096];
	char verf[8];

	for (size_t i = 0; i < sizeof buf; i++)
		buf[i] = i * 7;
	tap_is(v3c_read(&c, &f, 0, 100, back), NFS3_OK, "READ of an empty file");
	tap_ok(c.r.count == 0 && c.r.eof, "is 0 bytes and the end");
	for (int how = UNSTABLE; how <= FILE_SYNC; how++) {
		tap_is(v3c_write(&c, &f, 1000, 3000, how, buf), NFS3_OK, "WRITE");
		tap_ok(c.r.count == 3000 && (int)c.r.committed >= how,
		       "committed is at least what was asked");
		memcpy(verf, c.r.verf, 8);
		tap_is(v3c_commit(&c, &f, 0, 0), NFS3_OK, "COMMIT");
		tap_ok(!memcmp(verf, c.r.verf, 8), "the verifier is the same");
	}
	tap_is(v3c_commit(&c, &f, 1000, 10), NFS3_OK, "COMMIT of a range");
	tap_is(v3c_commit(&c, &f, UINT64_MAX, UINT32_MAX), NFS3_OK, "COMMIT of a range far out");
	tap_is(v3c_read(&c, &f, 0, 4096, back), NFS3_OK, "READ back");
	tap_ok(c.r.count == 4000 && c.r.eof, "as far as the end");
	tap_ok(!memcmp(back + 1000, buf, 3000), "what was written");
	tap_ok(!back[0] && !memcmp(back, back + 1, 999), "a hole reads as zeros");
	v3c_read(&c, &f, 3000, 1000, back);
	tap_ok(c.r.count == 1000 && c.r.eof, "a READ that ends exactly at the end says so");
	v3c_read(&c, &f, 3000, 999, back);
	tap_ok(c.r.count == 999 && !c.r.eof, "a READ one short of the end does not");
	v3c_read(&c, &f, 5000, 10, back);
	tap_ok(c.r.status == NFS3_OK && c.r.count == 0 && c.r.eof,
	       "a READ past the end is 0 bytes and the end");
	v3c_read(&c, &f, 10, 0, back);
	tap_ok(c.r.status == NFS3_OK && c.r.count == 0 && !c.r.eof,
	       "a READ of nothing in the middle is not the end");
	v3c_getattr(&c, &f);
	nfstime3 mtime = c.r.attr.mtime;

	v3c_write(&c, &f, 10, 0, FILE_SYNC, buf);
	tap_ok(c.r.status == NFS3_OK && c.r.count == 0, "a WRITE of nothing succeeds");
	v3c_getattr(&c, &f);
	tap_ok(!memcmp(&mtime, &c.r.attr.mtime, sizeof mtime), "and does not touch the time");
	v3c_write(&c, &dir, 0, 10, FILE_SYNC, buf);
	tap_ok(c.r.status == NFS3ERR_INVAL || c.r.status == NFS3ERR_ISDIR,
	       "WRITE to a directory is INVAL");
	v3c_read(&c, &dir, 0, 10, back);
	tap_ok(c.r.status == NFS3ERR_ISDIR || c.r.status == NFS3ERR_INVAL,
	       "READ of a directory is ISDIR or INVAL");
	v3c_write(&c, &f, INT64_MAX, 1, UNSTABLE, buf);
	tap_is(c.r.status, NFS3ERR_FBIG, "WRITE at 2^63-1 is FBIG");
	v3c_read(&c, &f, UINT64_MAX, 10, back);
	tap_ok(c.r.status == NFS3_OK && c.r.count == 0 && c.r.eof, "READ at 2^64-1 is the end");
	v3c_remove(&c, &dir, "data");
	tap_is(v3c_read(&c, &f, 0, 10, back), NFS3ERR_STALE, "READ after REMOVE is STALE");
	tap_is(v3c_write(&c, &f, 0, 10, UNSTABLE, buf), NFS3ERR_STALE,
	       "WRITE after REMOVE is STALE");
}

static void file_system(void)
{
	tap_is(v3c_fsinfo(&c, &c.root), NFS3_OK, "FSINFO");
	tap_ok(c.r.fsinfo.rtmax >= 65536 && c.r.fsinfo.wtmax >= 65536,
	       "transfers of 64 KiB and more");
	tap_ok(c.r.fsinfo.rtpref <= c.r.fsinfo.rtmax && c.r.fsinfo.wtpref <= c.r.fsinfo.wtmax &&
		       c.r.fsinfo.dtpref,
	       "preferences within the limits");
	tap_ok((c.r.fsinfo.properties & 0x1b) == 0x1b,
	       "links, symbolic links, one pathconf, times can be set");
	tap_is(v3c_fsstat(&c, &c.root), NFS3_OK, "FSSTAT");
	tap_ok(c.r.fsstat.tbytes && c.r.fsstat.abytes <= c.r.fsstat.tbytes, "sizes make sense");
	tap_is(v3c_pathconf(&c, &c.root), NFS3_OK, "PATHCONF");
	tap_ok(c.r.pathconf.name_max == 255 && c.r.pathconf.case_preserving &&
		       !c.r.pathconf.case_insensitive,
	       "names of 255 bytes, case kept");
	tap_is(v3c_access(&c, &c.root, 0x3f), NFS3_OK, "ACCESS");
	tap_ok((c.r.access & ACCESS3_LOOKUP) && (c.r.access & ACCESS3_MODIFY),
	       "root may look up and modify");
	tap_is(v3c_null(&c), 0, "NULL");
}

static void mounting(const char *path)
{
	char name[4200];
	struct v3c_fh root = c.root;

	tap_ok(v3c_exports(&c) >= 1, "EXPORT lists the export");
	tap_ok(v3c_dump(&c) >= 0, "DUMP answers");
	snprintf(name, sizeof name, "%s/", path);
	tap_is(v3c_mnt(&c, name), 0, "MNT with a slash behind it");
	tap_ok(v3c_same_fh(&root, &c.r.fh), "is the same root");
	snprintf(name, sizeof name, "/%s", path);
	tap_is(v3c_mnt(&c, name), 0, "MNT with a doubled slash");
	snprintf(name, sizeof name, "%s/absent", path);
	tap_is(v3c_mnt(&c, name), MNT3ERR_NOENT, "MNT of an absent directory is NOENT");
	make("plain", 0644);
	snprintf(name, sizeof name, "%s/ops/plain", path);
	tap_is(v3c_mnt(&c, name), MNT3ERR_NOTDIR, "MNT of a file is NOTDIR");
	v3c_remove(&c, &dir, "plain");
	v3c_mnt(&c, "/");
	tap_ok(c.r.status == MNT3ERR_ACCES || c.r.status == MNT3ERR_NOENT,
	       "MNT outside every export is refused");
	snprintf(name, sizeof name, "%s/../../..", path);
	v3c_mnt(&c, name);
	tap_ok(c.r.status != 0 || v3c_same_fh(&root, &c.r.fh), "MNT does not climb out by ..");
	snprintf(name, sizeof name, "%s/ops", path);
	tap_is(v3c_mnt(&c, name), 0, "MNT of a directory below the root");
	tap_ok(v3c_same_fh(&dir, &c.r.fh), "is that directory's handle");
	tap_is(v3c_umnt(&c, name), 0, "UMNT answers");
	c.root = root;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	tap_is(v3c_open(&c, argv[1], atoi(argv[2]), 0, 0, 0, NULL), 0, "connect");
	if (!tap_ok(!v3c_mnt(&c, argv[3]), "MNT"))
		return tap_done();
	v3c_rmdir(&c, &c.root, "ops");
	if (!tap_ok(!v3c_mkdir(&c, &c.root, "ops", 0777), "MKDIR in the root"))
		return tap_done();
	dir = c.r.fh;
	attributes();
	names();
	creation();
	moving();
	data();
	file_system();
	mounting(argv[3]);
	tap_is(v3c_rmdir(&c, &c.root, "ops"), NFS3_OK, "nothing is left behind");
	v3c_close(&c);
	return tap_done();
}
