/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * opens HOST PORT DIR: OPEN and what goes with it, against the real server, as
 * a 4.0 and as a 4.1 client; DIR is exported without root squash and seen
 * locally too.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4owner.h"

#define R OPEN4_SHARE_ACCESS_READ
#define W OPEN4_SHARE_ACCESS_WRITE
#define RW OPEN4_SHARE_ACCESS_BOTH

static struct v4c c, d;	   /* two clients of one minor version */
static struct v4c_fh root;
static const char *dir;
static char path_buf[4096];
static unsigned names;

static const char *path(const char *name)
{
	snprintf(path_buf, sizeof(path_buf), "%s/%s", dir, name);
	return path_buf;
}

/* A name and an owner nobody had before; both stay good to the end of the run. */
static const char *fresh(void)
{
	static char name[512][32];
	char *n = name[names];

	assert(names < sizeof(name) / sizeof(name[0]));
	snprintf(n, sizeof(name[0]), "f%u.%u", c.minor, names++);
	return n;
}

static struct v4owner owner(void)
{
	return (struct v4owner){.name = fresh(), .seqid = 7};
}

static struct v4open make(uint32_t access, uint32_t deny)
{
	return (struct v4open){
		.access = access, .deny = deny, .create = true, .set_mode = true, .mode = 0644};
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	return stat(path(name), &st) ? 0 : st.st_mode & 07777;
}

static long long size_of(const char *name)
{
	struct stat st;

	return stat(path(name), &st) ? -1 : (long long)st.st_size;
}

/* --- creating ------------------------------------------------------------------- */

static void unchecked(void)
{
	const char *n = fresh();
	struct v4owner w = owner();
	struct v4open o = make(RW, 0);

	o.set_size = true;
	o.size = 32;
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4_OK, "UNCHECKED creates");
	tap_ok(mode_of(n) == 0644 && size_of(n) == 32, "with its mode and size");
	tap_ok(o.ok.attrset.bitmap4_val[0] == 1u << FATTR4_SIZE &&
		       o.ok.attrset.bitmap4_val[1] == 1u << 1,
	       "and tells that they are set");
	o.mode = 0600;
	o.size = 16;
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4_OK, "UNCHECKED opens what is there");
	tap_ok(mode_of(n) == 0644 && size_of(n) == 32, "and leaves its attributes");
	o.size = 0;
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4_OK, "size 0");
	tap_ok(mode_of(n) == 0644 && size_of(n) == 0, "truncates, nothing else");
	tap_is(v4owner_close(&c, &w, &o.fh, &o.id), NFS4_OK, "all of it is one CLOSE");
	truncate(path(n), 5);
	o = make(R, 0);
	o.set_size = true;
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4ERR_INVAL,
	       "no truncation without write access");
	tap_is(size_of(n), 5, "and none happens");
	o = make(RW, 0);
	o.set_size = true;
	o.size = UINT64_C(1) << 63;
	n = fresh();
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4ERR_FBIG, "a size no file can have");
	tap_is(size_of(n), -1, "makes none");
}

static void guarded(void)
{
	const char *n = fresh();
	struct v4owner w = owner();
	struct v4open o = make(RW, 0);

	o.how = GUARDED4;
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4_OK, "GUARDED creates");
	tap_ok(o.ok.cinfo.before != o.ok.cinfo.after, "the directory's change attribute moved");
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4ERR_EXIST, "GUARDED again");
}

static void exclusive(createmode4 how, const char *what)
{
	const char *n = fresh();
	struct v4owner w = owner();
	struct v4open o = make(RW, 0), other;

	o.how = how;
	o.verf = "12345678";
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4_OK, what);
	if (how == EXCLUSIVE4_1)
		tap_is(mode_of(n), 0644, "its attributes are set at once");
	other = o;
	other.verf = "87654321";
	tap_is(v4owner_open(&c, &w, &root, n, &other), NFS4ERR_EXIST, "another verifier");
	other.verf = "12345678";
	tap_is(v4owner_open(&c, &w, &root, n, &other), NFS4_OK, "the same verifier");
	tap_ok(other.fh.len == o.fh.len && !memcmp(other.fh.data, o.fh.data, o.fh.len),
	       "is the same file");
	tap_ok(o.ok.attrset.bitmap4_val[1] & 1u << (FATTR4_TIME_MODIFY - 32),
	       "the client is to set the times");
}

static void bad_attributes(void)
{
	static const struct {
		unsigned bit;
		uint32_t len, status;
		const char *what;
	} rows[] = {
		{FATTR4_LINK_SUPPORT, 4, NFS4ERR_INVAL, "an attribute that is only read"},
		{FATTR4_ACL, 4, NFS4ERR_ATTRNOTSUPP, "an attribute that is not there"},
	};

	for (unsigned i = 0; i < 2; i++) {
		const char *n = fresh();
		struct v4owner w = owner();
		struct v4open o = make(RW, 0);
		uint8_t buf[12] = {0}, zero[16] = {0};
		fattr4 *f;
		uint32_t st;

		v4c_begin(&c);
		v4c_putfh(&c, &root);
		v4owner_op_open(&c, &w, n, &o, buf);
		f = &c.op[c.nops - 1]
			     .nfs_argop4_u.opopen.openhow.openflag4_u.how.createhow4_u.createattrs;
		*f = (fattr4){.attrmask = {.bitmap4_len = 1},
			      .attr_vals = {rows[i].len, (char *)zero}};
		f->attrmask.bitmap4_val[0] = 1u << rows[i].bit;
		st = v4c_run(&c);
		v4owner_went(&c, &w, st);
		tap_is(st, rows[i].status, rows[i].what);
		tap_is(size_of(n), -1, "nothing was created");
		tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4_OK, "and the owner goes on");
	}
}

/* --- names and types --------------------------------------------------------------- */

static void names_and_types(void)
{
	static const struct {
		const char *name;
		mode_t type;
		uint32_t v40, v41;
	} rows[] = {
		{"sub", S_IFDIR, NFS4ERR_ISDIR, NFS4ERR_ISDIR},
		{"link", S_IFLNK, NFS4ERR_SYMLINK, NFS4ERR_SYMLINK},
		{"fifo", S_IFIFO, NFS4ERR_SYMLINK, NFS4ERR_WRONG_TYPE},
		{"sock", S_IFSOCK, NFS4ERR_SYMLINK, NFS4ERR_WRONG_TYPE},
		{"chr", S_IFCHR, NFS4ERR_SYMLINK, NFS4ERR_WRONG_TYPE},
		{"blk", S_IFBLK, NFS4ERR_SYMLINK, NFS4ERR_WRONG_TYPE},
	};
	struct v4open o = make(RW, 0), plain = {.access = R};
	struct v4owner w = owner();
	struct v4c_fh file;
	char long_name[512];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t want = c.minor ? rows[i].v41 : rows[i].v40;

		if (rows[i].type == S_IFDIR)
			mkdir(path(rows[i].name), 0755);
		else if (rows[i].type == S_IFLNK)
			symlink("nowhere", path(rows[i].name)) ? (void)0 : (void)0;
		else
			mknod(path(rows[i].name), rows[i].type | 0644, makedev(1, 3));
		tap_ok(v4owner_open(&c, &w, &root, rows[i].name, &plain) == want, "OPEN of %s",
		       rows[i].name);
		tap_ok(v4owner_open(&c, &w, &root, rows[i].name, &o) == want, "UNCHECKED on %s",
		       rows[i].name);
	}
	tap_is(v4owner_open(&c, &w, &root, "vapor", &plain), NFS4ERR_NOENT, "OPEN of nothing");
	tap_is(v4owner_open(&c, &w, NULL, "x", &plain), NFS4ERR_NOFILEHANDLE,
	       "OPEN without a filehandle");
	tap_is(v4owner_open(&c, &w, &root, "", &o), NFS4ERR_INVAL, "an empty name");
	tap_is(v4owner_open(&c, &w, &root, "..", &plain), NFS4ERR_BADNAME, "\"..\"");
	memset(long_name, 'x', sizeof(long_name));
	long_name[300] = '\0';
	tap_is(v4owner_open(&c, &w, &root, long_name, &o), NFS4ERR_NAMETOOLONG,
	       "a name of 300 bytes");
	tap_is(v4owner_open(&c, &w, &root, "plain", &o), NFS4_OK, "a file");
	file = o.fh;
	tap_is(v4owner_open(&c, &w, &file, "x", &plain), NFS4ERR_NOTDIR, "a name in a file");
	o.claim = CLAIM_PREVIOUS;
	tap_is(v4owner_open(&c, &w, &file, NULL, &o), NFS4ERR_INVAL, "creation by reclaim");
	o.create = false;
	tap_is(v4owner_open(&c, &w, &file, NULL, &o), NFS4ERR_NO_GRACE, "reclaim without grace");
}

/* --- rights -------------------------------------------------------------------------- */

static void rights(void)
{
	struct v4owner w = owner();
	struct v4open o = make(R, 0);
	const char *n = fresh();

	o.mode = 0700;
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4_OK, "a file of root's, 0700");
	tap_is(v4owner_close(&c, &w, &o.fh, &o.id), NFS4_OK, "closed");
	c.raw.uid = c.raw.gid = 1000;
	o = (struct v4open){.access = R};
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4ERR_ACCESS, "is not opened by others");
	chmod(path(n), 0711);
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4_OK, "what they may execute they may read");
	o.access = W;
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4ERR_ACCESS, "but not write");
	o = (struct v4open){.access = R, .deny = OPEN4_SHARE_DENY_READ};
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4ERR_ACCESS, "nor keep others from reading");
	chmod(path(n), 0);
	chown(path(n), 1000, 1000);
	o = (struct v4open){.access = RW};
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4ERR_ACCESS,
	       "the mode closes it to its owner");
	chmod(dir, 0777);
	o = make(RW, 0);
	o.mode = 0;
	n = fresh();
	tap_is(v4owner_open(&c, &w, &root, n, &o), NFS4_OK,
	       "who creates a file has it, whatever its mode");
	c.raw.uid = c.raw.gid = 0;
	chmod(dir, 0755);
}

/* --- sharing --------------------------------------------------------------------------- */

static void sharing(void)
{
	struct v4owner a = owner(), b = owner(), e = {.name = "e", .seqid = 1};
	struct v4open one = make(RW, OPEN4_SHARE_DENY_READ), two = {.access = R};
	const char *n = fresh();

	tap_is(v4owner_open(&c, &a, &root, n, &one), NFS4_OK, "reading is denied");
	tap_is(v4owner_open(&c, &b, &root, n, &two), NFS4ERR_SHARE_DENIED, "to another owner");
	tap_is(v4owner_open(&c, &a, &root, n, &two), NFS4ERR_SHARE_DENIED, "to the same owner");
	tap_is(v4owner_open(&d, &e, &root, n, &two), NFS4ERR_SHARE_DENIED, "to another client");
	two.access = W;
	tap_is(v4owner_open(&c, &b, &root, n, &two), NFS4_OK, "writing is not");
	tap_is(v4owner_close(&c, &b, &two.fh, &two.id), NFS4_OK, "closed");
	two = (struct v4open){.access = W, .deny = OPEN4_SHARE_DENY_WRITE};
	tap_is(v4owner_open(&d, &e, &root, n, &two), NFS4ERR_SHARE_DENIED,
	       "what is written cannot be denied");
	tap_is(v4owner_close(&c, &a, &one.fh, &one.id), NFS4_OK, "closed");
	two = (struct v4open){.access = R};
	tap_is(v4owner_open(&d, &e, &root, n, &two), NFS4_OK, "now the other client reads");
	two.access = W;
	v4owner_open(&d, &e, &root, n, &two);
	two.access = RW;
	tap_is(v4owner_open(&d, &e, &root, n, &two), NFS4_OK, "reads, writes, does both");
	tap_is(two.id.seqid, c.minor ? 3 : 4, "by one stateid");
	tap_is(v4owner_close(&d, &e, &two.fh, &two.id), NFS4_OK, "closed at once");
}

static void downgrade(void)
{
	struct v4owner a = owner();
	struct v4open o = make(R, 0);
	const char *n = fresh();
	stateid4 old;

	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4_OK, "opened for reading");
	o.access = RW;
	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4_OK, "then for both");
	old = o.id;
	tap_is(v4owner_downgrade(&c, &a, &o.fh, &o.id, W, 0), NFS4ERR_INVAL,
	       "never opened for writing alone");
	tap_is(v4owner_downgrade(&c, &a, &o.fh, &o.id, R, 1), NFS4ERR_INVAL,
	       "never denied anything");
	tap_is(v4owner_downgrade(&c, &a, &o.fh, &o.id, 0, 0), NFS4ERR_BADXDR, "to nothing");
	tap_is(v4owner_downgrade(&c, &a, &o.fh, &o.id, R, 0), NFS4_OK, "back to reading");
	tap_is(o.id.seqid, old.seqid + 1, "a new seqid");
	tap_is(v4owner_downgrade(&c, &a, &o.fh, &o.id, RW, 0), NFS4ERR_INVAL, "not up again");
	tap_is(v4owner_downgrade(&c, &a, &o.fh, &old, R, 0), NFS4ERR_OLD_STATEID, "an old stateid");
	tap_is(v4owner_downgrade(&c, &a, NULL, &o.id, R, 0), NFS4ERR_NOFILEHANDLE,
	       "without a filehandle");
	tap_is(v4owner_downgrade(&c, &a, &root, &o.id, R, 0), NFS4ERR_BAD_STATEID,
	       "of another file");
	old = v4owner_stale(o.id);
	tap_is(v4owner_downgrade(&c, &a, &o.fh, &old, R, 0),
	       c.minor ? NFS4ERR_BAD_STATEID : NFS4ERR_STALE_STATEID,
	       "of another start of the server");
	old = (stateid4){0};
	tap_is(v4owner_downgrade(&c, &a, &o.fh, &old, R, 0), NFS4ERR_BAD_STATEID,
	       "the anonymous one");
}

/* --- closing ------------------------------------------------------------------------------ */

static void closing(void)
{
	struct v4owner a = owner();
	struct v4open o = make(RW, 0);
	const char *n = fresh();
	stateid4 id;

	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4_OK, "opened");
	id = v4owner_stale(o.id);
	tap_is(v4owner_close(&c, &a, &o.fh, &id),
	       c.minor ? NFS4ERR_BAD_STATEID : NFS4ERR_STALE_STATEID, "CLOSE of another start's");
	id = (stateid4){0};
	tap_is(v4owner_close(&c, &a, &o.fh, &id), NFS4ERR_BAD_STATEID, "of the anonymous one");
	tap_is(v4owner_close(&c, &a, NULL, &o.id), NFS4ERR_NOFILEHANDLE, "without a filehandle");
	tap_is(v4owner_close(&c, &a, &root, &o.id), NFS4ERR_BAD_STATEID, "of another file");
	id = o.id;
	id.seqid++;
	tap_is(v4owner_close(&c, &a, &o.fh, &id), NFS4ERR_BAD_STATEID, "from the future");
	id.seqid = o.id.seqid - 1;
	if (id.seqid)
		tap_is(v4owner_close(&c, &a, &o.fh, &id), NFS4ERR_OLD_STATEID, "an old one");
	else
		tap_is(v4owner_close(&d, &a, &o.fh, &o.id), NFS4ERR_BAD_STATEID,
		       "of another client");
	tap_is(v4owner_close(&c, &a, &o.fh, &o.id), NFS4_OK, "its own");
	tap_is(v4owner_close(&c, &a, &o.fh, &o.id), NFS4ERR_BAD_STATEID, "once");
}

/* A file without a name is there for whoever has it open. */
static void unlinked(void)
{
	struct v4owner a = owner(), b = owner();
	struct v4open o = make(RW, 0), again = {.access = R, .claim = CLAIM_FH};
	const char *n = fresh();

	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4_OK, "opened");
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4c_op(&c, OP_REMOVE)->nfs_argop4_u.opremove.target = v4c_name(n);
	tap_is(v4c_run(&c), NFS4_OK, "removed");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_getattr(&c, 1u << FATTR4_SIZE, 0, 0);
	tap_is(v4c_run(&c), NFS4_OK, "GETATTR after it lost its name");
	if (c.minor)
		tap_is(v4owner_open(&c, &b, &o.fh, NULL, &again), NFS4_OK,
		       "opened once more by its handle");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_write(&c, &o.id, 0, FILE_SYNC4, "data", 4);
	v4c_read(&c, &o.id, 0, 10);
	tap_is(v4c_run(&c), NFS4_OK, "written and read");
	if (c.minor)
		tap_is(v4owner_close(&c, &b, &o.fh, &again.id), NFS4_OK, "closed");
	tap_is(v4owner_close(&c, &a, &o.fh, &o.id), NFS4_OK, "closed for good");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_getattr(&c, 1u << FATTR4_SIZE, 0, 0);
	tap_is(v4c_run(&c), NFS4ERR_STALE, "then it is gone");
}

/* READ and WRITE go by the open and by what others deny. */
static void using(void)
{
	struct v4owner a = owner();
	struct v4open o = make(R, 0);
	const char *n = fresh();

	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4_OK, "opened for reading");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_write(&c, &o.id, 0, FILE_SYNC4, "data", 4);
	tap_is(v4c_run(&c), NFS4ERR_OPENMODE, "not for writing");
	o.deny = OPEN4_SHARE_DENY_BOTH;
	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4ERR_SHARE_DENIED,
	       "its own access stands against denying it");
	tap_is(v4owner_close(&c, &a, &o.fh, &o.id), NFS4_OK, "closed");
	o.access = RW;
	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4_OK, "all denied");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_write(&c, &v4c_anonymous, 0, FILE_SYNC4, "data", 4);
	tap_is(v4c_run(&c), NFS4ERR_LOCKED, "WRITE by the anonymous stateid");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_read(&c, &v4c_anonymous, 0, 4);
	tap_is(v4c_run(&c), NFS4ERR_LOCKED, "READ by it");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_write(&c, &o.id, 0, FILE_SYNC4, "data", 4);
	v4c_read(&c, &v4c_bypass, 0, 4);
	tap_is(v4c_run(&c), NFS4_OK, "WRITE by the open, READ by all ones");
	chmod(path(n), 0);
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_read(&c, &o.id, 0, 4);
	tap_is(v4c_run(&c), NFS4_OK, "what is open stays readable after chmod 0");
	tap_is(v4owner_close(&c, &a, &o.fh, &o.id), NFS4_OK, "closed");
}

/* --- 4.0: sequences ------------------------------------------------------------------------- */

static void sequences(void)
{
	struct v4owner a = owner();
	struct v4open o = make(RW, 0), p;
	const char *n = fresh(), *m = fresh();
	uint32_t seqid;
	stateid4 id;

	o.unconfirmed = true;
	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4_OK, "a new owner");
	tap_ok(o.ok.rflags & OPEN4_RESULT_CONFIRM, "is to be confirmed");
	id = v4owner_stale(o.id);
	tap_is(v4owner_confirm(&c, &a, &o.fh, &id), NFS4ERR_STALE_STATEID,
	       "OPEN_CONFIRM of another start's");
	id = (stateid4){0};
	tap_is(v4owner_confirm(&c, &a, &o.fh, &id), NFS4ERR_BAD_STATEID, "of the anonymous one");
	a.seqid += 3;
	tap_is(v4owner_confirm(&c, &a, &o.fh, &o.id), NFS4ERR_BAD_SEQID, "out of sequence");
	a.seqid -= 3;
	id = o.id;
	tap_is(v4owner_confirm(&c, &a, &o.fh, &o.id), NFS4_OK, "in sequence");
	tap_is(v4owner_close(&c, &a, &o.fh, &id), NFS4ERR_OLD_STATEID, "the stateid of before");
	id = o.id;
	tap_is(v4owner_confirm(&c, &a, &o.fh, &id), NFS4ERR_BAD_STATEID, "confirmed twice");
	p = make(RW, OPEN4_SHARE_DENY_BOTH);
	tap_is(v4owner_open(&c, &a, &root, m, &p), NFS4_OK, "another file");
	tap_ok(!(p.ok.rflags & OPEN4_RESULT_CONFIRM), "needs no confirmation");
	a.seqid--;
	id = p.id;
	tap_is(v4owner_open(&c, &a, &root, m, &p), NFS4_OK, "sent again");
	tap_ok(p.id.seqid == id.seqid && !memcmp(p.id.other, id.other, sizeof(id.other)),
	       "is answered again");
	tap_is(v4owner_open(&c, &a, &root, m, &p), NFS4ERR_SHARE_DENIED, "sent anew it is denied");
	a.seqid += 1;
	tap_is(v4owner_open(&c, &a, &root, m, &p), NFS4ERR_BAD_SEQID, "out of sequence");
	a.seqid -= 1;
	seqid = a.seqid;
	tap_is(v4owner_close(&c, &a, &o.fh, &o.id), NFS4_OK, "closed");
	a.seqid = seqid;
	tap_is(v4owner_close(&c, &a, &o.fh, &o.id), NFS4_OK, "closed again, the same call");
	tap_is(v4owner_close(&c, &a, &p.fh, &p.id), NFS4_OK, "the other one");
	a.seqid = seqid;
	tap_is(v4owner_close(&c, &a, &o.fh, &o.id), NFS4ERR_BAD_STATEID, "too late for the first");
}

static void foreign_clientids(void)
{
	struct v4owner a = owner();
	struct v4open o = make(RW, 0);
	clientid4 own = c.clientid;
	const char *n = fresh();

	c.clientid = 0;
	tap_is(v4owner_open(&c, &a, &root, n, &o), NFS4ERR_STALE_CLIENTID,
	       "OPEN by nobody's clientid");
	c.clientid = own;
}

/* -------------------------------------------------------------------------------- */

static void both(void)
{
	unchecked();
	guarded();
	exclusive(EXCLUSIVE4, "EXCLUSIVE4 creates");
	bad_attributes();
	names_and_types();
	rights();
	sharing();
	downgrade();
	closing();
	using();
	unlinked();
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 1;
	dir = argv[3];
	if (v4c_open(&c, argv[1], atoi(argv[2]), 0) || v4c_open(&d, argv[1], atoi(argv[2]), 0))
		return 1;
	tap_is(v4c_mount(&c, dir, &root), 0, "the export's root");
	tap_is(v4c_setclientid(&c, "one", "verifier"), NFS4_OK, "a client of 4.0");
	tap_is(v4c_setclientid(&d, "two", "verifier"), NFS4_OK, "and another");
	both();
	sequences();
	foreign_clientids();
	v4c_close(&c);
	v4c_close(&d);
	if (v4c_open(&c, argv[1], atoi(argv[2]), 1) || v4c_open(&d, argv[1], atoi(argv[2]), 1))
		return 1;
	tap_is(v4c_hello(&c, "three"), NFS4_OK, "a client of 4.1");
	tap_is(v4c_hello(&d, "four"), NFS4_OK, "and another");
	both();
	exclusive(EXCLUSIVE4_1, "EXCLUSIVE4_1 creates");
	v4c_close(&c);
	v4c_close(&d);
	return tap_done();
}
