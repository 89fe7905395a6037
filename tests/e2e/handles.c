/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Handles kept outside the server's life:
 *
 *	handles save HOST PORT PATH FILE	create a file and a directory, write their
 *						handles to FILE
 *	handles check HOST PORT PATH FILE	the same handles name the same objects, with
 *						the data
 *	handles stale HOST PORT PATH FILE	they are STALE, or no longer allowed
 *	handles replaced HOST PORT PATH FILE	the file is another of the same number
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

struct saved {
	struct v3c_fh root, dir, file;
	uint64_t root_id, dir_id, file_id;
};

static struct v3c c;
static struct saved s;

static void save(void)
{
	sattr3 mode = v3c_mode(0644);

	s.root = c.root;
	tap_is(v3c_getattr(&c, &s.root), NFS3_OK, "root");
	s.root_id = c.r.attr.fileid;
	tap_is(v3c_mkdir(&c, &c.root, "kept", 0755), NFS3_OK, "directory");
	s.dir = c.r.fh;
	s.dir_id = c.r.attr.fileid;
	tap_is(v3c_create(&c, &s.dir, "file", GUARDED, &mode, NULL), NFS3_OK, "file");
	s.file = c.r.fh;
	s.file_id = c.r.attr.fileid;
	tap_is(v3c_write(&c, &s.file, 3, 5, FILE_SYNC, "hello"), NFS3_OK, "data");
}

static void check(void)
{
	char buf[8] = "";

	tap_ok(!v3c_getattr(&c, &s.root) && c.r.attr.fileid == s.root_id,
	       "the root's handle (status %d)", c.r.status);
	tap_ok(!v3c_getattr(&c, &s.dir) && c.r.attr.fileid == s.dir_id,
	       "a directory's handle (status %d)", c.r.status);
	tap_ok(!v3c_getattr(&c, &s.file) && c.r.attr.fileid == s.file_id,
	       "a file's handle (status %d)", c.r.status);
	tap_ok(!v3c_read(&c, &s.file, 0, 8, buf) && c.r.count == 8 && !memcmp(buf + 3, "hello", 5),
	       "READ by it");
	tap_is(v3c_write(&c, &s.file, 3, 5, FILE_SYNC, "hello"), NFS3_OK, "WRITE by it");
	tap_ok(!v3c_lookup(&c, &s.dir, "file") && v3c_same_fh(&c.r.fh, &s.file),
	       "LOOKUP gives it again");
}

static void stale(void)
{
	char buf[8];

	v3c_getattr(&c, &s.file);
	tap_ok(c.r.status == NFS3ERR_STALE || c.r.status == NFS3ERR_ACCES,
	       "GETATTR is refused (status %d)", c.r.status);
	v3c_read(&c, &s.file, 0, 8, buf);
	tap_ok(c.r.status == NFS3ERR_STALE || c.r.status == NFS3ERR_ACCES,
	       "READ is refused (status %d)", c.r.status);
	v3c_lookup(&c, &s.dir, "file");
	tap_ok(c.r.status == NFS3ERR_STALE || c.r.status == NFS3ERR_ACCES,
	       "LOOKUP is refused (status %d)", c.r.status);
}

static void replaced(void)
{
	v3c_getattr(&c, &s.file);
	tap_is(c.r.status, NFS3ERR_STALE, "the file's handle is STALE");
	tap_ok(!v3c_lookup(&c, &s.dir, "file") && !v3c_same_fh(&c.r.fh, &s.file),
	       "LOOKUP gives another");
	tap_is(c.r.attr.fileid, s.file_id, "of the same number");
}

int main(int argc, char **argv)
{
	FILE *f;
	bool saving, mounted;

	if (argc != 6)
		return 2;
	saving = !strcmp(argv[1], "save");
	mounted = !v3c_open(&c, argv[2], atoi(argv[3]), 0, 0, 0, NULL) && !v3c_mnt(&c, argv[4]);
	tap_ok(mounted || !strcmp(argv[1], "stale"), "connect and mount");
	f = fopen(argv[5], saving ? "w" : "r");
	if (!f || (!saving && fread(&s, sizeof s, 1, f) != 1))
		return 2;
	if (saving) {
		save();
		fwrite(&s, sizeof s, 1, f);
	} else if (!strcmp(argv[1], "check")) {
		tap_ok(v3c_same_fh(&c.root, &s.root), "MNT gives the same root");
		check();
	} else if (!strcmp(argv[1], "replaced")) {
		replaced();
	} else {
		stale();
	}
	fclose(f);
	v3c_close(&c);
	return tap_done();
}
