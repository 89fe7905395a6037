/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * types4 HOST PORT DIR MINOR: every operation on an object of each type, in a table: what stands
 * in a row is the whole of what may be answered.
 */
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"

static struct v4c c;
static struct v4c_fh root, of[V4F_TYPES], home;
static const char *dir;
static unsigned serial;
static char fresh_name[32];

static const char *fresh(void)
{
	snprintf(fresh_name, sizeof(fresh_name), "new%u.%u", c.minor, serial++);
	return fresh_name;
}

static void at(int t)
{
	v4c_begin(&c);
	v4c_putfh(&c, &of[t]);
}

/* --- one COMPOUND each ---------------------------------------------------------------- */

static uint32_t do_access(int t)
{
	at(t);
	v4c_access(&c, ACCESS4_READ);
	return v4c_run(&c);
}

static uint32_t do_commit(int t)
{
	at(t);
	v4c_commit(&c, 0, 0);
	return v4c_run(&c);
}

static uint32_t do_create_below(int t)
{
	CREATE4args *a;

	at(t);
	a = &v4c_op(&c, OP_CREATE)->nfs_argop4_u.opcreate;
	a->objtype.type = NF4DIR;
	a->objname = v4c_name(fresh());
	return v4c_run(&c);
}

static uint32_t do_getattr(int t)
{
	at(t);
	v4c_getattr(&c, 0x0fffffff, 0x00ffffff & ~(1u << (FATTR4_TIME_ACCESS_SET - 32) | 1u << (FATTR4_TIME_MODIFY_SET - 32)),
		    0);
	return v4c_run(&c);
}

static uint32_t do_getattr_nothing(int t)
{
	struct cursor vals;
	const fattr4 *f;
	uint32_t st;

	at(t);
	v4c_getattr(&c, 0, 0, 0);
	st = v4c_run(&c);
	f = st ? NULL : v4f_got(&c, &vals);
	return st ? st : f && !f->attrmask.bitmap4_len && !f->attr_vals.attrlist4_len ? NFS4_OK : V4C_BROKEN;
}

/* Number 1000, which nothing has, and never will have here. */
static uint32_t do_getattr_unknown(int t)
{
	nfs_argop4 *a;

	at(t);
	a = v4c_op(&c, OP_GETATTR);
	a->nfs_argop4_u.opgetattr.attr_request.bitmap4_len = 3;
	a->nfs_argop4_u.opgetattr.attr_request.bitmap4_val[2] = 1u << 31;
	return v4c_run(&c);
}

static uint32_t do_getattr_atime_set(int t)
{
	at(t);
	v4c_getattr(&c, 1u << FATTR4_SIZE, 1u << (FATTR4_TIME_ACCESS_SET - 32), 0);
	return v4c_run(&c);
}

static uint32_t do_getattr_mtime_set(int t)
{
	at(t);
	v4c_getattr(&c, 1u << FATTR4_SIZE, 1u << (FATTR4_TIME_MODIFY_SET - 32), 0);
	return v4c_run(&c);
}

/* The handle that PUTFH takes is the one GETFH gives. */
static uint32_t do_getfh(int t)
{
	struct v4c_fh fh;
	uint32_t st;

	at(t);
	v4c_getfh(&c);
	st = v4c_run(&c);
	if (st)
		return st;
	return v4c_keep_fh(&c, &fh) && fh.len == of[t].len && !memcmp(fh.data, of[t].data, fh.len) ? NFS4_OK : V4C_BROKEN;
}

static uint32_t do_link_below(int t)
{
	v4c_begin(&c);
	v4c_putfh(&c, &of[V4F_FILE]);
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, &of[t]);
	v4c_op(&c, OP_LINK)->nfs_argop4_u.oplink.newname = v4c_name(fresh());
	return v4c_run(&c);
}

/* Another name: the object counts it. */
static uint32_t do_link(int t)
{
	uint64_t links = v4f_number(&c, &of[t], FATTR4_NUMLINKS);
	uint32_t st;

	v4c_begin(&c);
	v4c_putfh(&c, &of[t]);
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, &home);
	v4c_op(&c, OP_LINK)->nfs_argop4_u.oplink.newname = v4c_name(fresh());
	st = v4c_run(&c);
	return st ? st : v4f_number(&c, &of[t], FATTR4_NUMLINKS) == links + 1 ? NFS4_OK : V4C_BROKEN;
}

static uint32_t do_lockt(int t)
{
	at(t);
	v4c_op(&c, OP_LOCKT)->nfs_argop4_u.oplockt =
		(LOCKT4args){WRITE_LT, 0, UINT64_MAX, {c.clientid, {6, (char *)(uintptr_t)"tester"}}};
	return v4c_run(&c);
}

static uint32_t do_lookup_below(int t)
{
	at(t);
	v4c_lookup(&c, "nothing");
	return v4c_run(&c);
}

static uint32_t do_lookupp(int t)
{
	at(t);
	v4c_op(&c, OP_LOOKUPP);
	return v4c_run(&c);
}

static void open_args(const char *name)
{
	const char *owner = fresh();

	v4c_opens(&c, owner, (uint32_t)strlen(owner), 0, name, OPEN4_SHARE_ACCESS_READ, OPEN4_SHARE_DENY_NONE, false);
}

static uint32_t do_open(int t)
{
	v4c_begin(&c);
	v4c_putfh(&c, &home);
	open_args(v4f_types[t].name);
	return v4c_run(&c);
}

static uint32_t do_open_below(int t)
{
	at(t);
	open_args("nothing");
	return v4c_run(&c);
}

static uint32_t do_openattr(int t)
{
	at(t);
	v4c_op(&c, OP_OPENATTR);
	return v4c_run(&c);
}

static uint32_t do_read(int t)
{
	at(t);
	v4c_read(&c, &v4c_anonymous, 0, 100);
	return v4c_run(&c);
}

static uint32_t do_read_bypass(int t)
{
	at(t);
	v4c_read(&c, &v4c_bypass, 2, 2);
	return v4c_run(&c);
}

static uint32_t do_readdir(int t)
{
	at(t);
	v4c_op(&c, OP_READDIR)->nfs_argop4_u.opreaddir.maxcount = 4096;
	return v4c_run(&c);
}

static uint32_t do_readlink(int t)
{
	at(t);
	v4c_op(&c, OP_READLINK);
	return v4c_run(&c);
}

static uint32_t do_remove_below(int t)
{
	at(t);
	v4c_op(&c, OP_REMOVE)->nfs_argop4_u.opremove.target = v4c_name("nothing");
	return v4c_run(&c);
}

static uint32_t rename_in(const struct v4c_fh *from, const char *name, const struct v4c_fh *to, const char *newname)
{
	v4c_begin(&c);
	v4c_putfh(&c, from);
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, to);
	v4c_op(&c, OP_RENAME)->nfs_argop4_u.oprename = (RENAME4args){v4c_name(name), v4c_name(newname)};
	return v4c_run(&c);
}

static uint32_t do_rename_from(int t)
{
	return rename_in(&of[t], "nothing", &home, "else");
}

static uint32_t do_rename_to(int t)
{
	return rename_in(&home, "nothing", &of[t], "else");
}

/* There and back. */
static uint32_t do_rename(int t)
{
	uint32_t st = rename_in(&home, v4f_types[t].name, &home, "moved");

	return st ? st : rename_in(&home, "moved", &home, v4f_types[t].name);
}

/* Onto itself: nothing happens, and the directory tells so. */
static uint32_t do_rename_same(int t)
{
	const RENAME4resok *ok;
	uint32_t st = rename_in(&home, v4f_types[t].name, &home, v4f_types[t].name);

	if (st)
		return st;
	ok = &v4c_res(&c, OP_RENAME)->nfs_resop4_u.oprename.RENAME4res_u.resok4;
	return ok->source_cinfo.before == ok->source_cinfo.after && ok->target_cinfo.before == ok->target_cinfo.after
		       ? NFS4_OK
		       : V4C_BROKEN;
}

static uint32_t do_secinfo_below(int t)
{
	at(t);
	v4c_op(&c, OP_SECINFO)->nfs_argop4_u.opsecinfo.name = v4c_name("nothing");
	return v4c_run(&c);
}

static uint32_t set(int t, fattr4 f, const stateid4 *id)
{
	at(t);
	v4c_op(&c, OP_SETATTR)->nfs_argop4_u.opsetattr = (SETATTR4args){*id, f};
	return v4c_run(&c);
}

static uint32_t do_setattr_mode(int t)
{
	struct v4f s;

	return set(t, v4f_u32(&s, FATTR4_MODE, 0754), &v4c_anonymous);
}

static uint32_t do_setattr_mode_bypass(int t)
{
	struct v4f s;

	return set(t, v4f_u32(&s, FATTR4_MODE, 0755), &v4c_bypass);
}

static uint32_t do_setattr_size(int t)
{
	struct v4f s;

	return set(t, v4f_u64(&s, FATTR4_SIZE, 10), &v4c_anonymous);
}

static uint32_t do_setattr_readonly(int t)
{
	struct v4f s;

	return set(t, v4f_u64(&s, FATTR4_FILEID, 10), &v4c_anonymous);
}

static uint32_t do_setattr_unsupported(int t)
{
	struct v4f s;

	return set(t, v4f_u32(&s, FATTR4_HIDDEN, 0), &v4c_anonymous);
}

/* The mode without its value, and with more than that. */
static uint32_t do_setattr_short(int t)
{
	struct v4f s;
	fattr4 f = v4f_u32(&s, FATTR4_MODE, 0755);

	f.attr_vals.attrlist4_len = 0;
	return set(t, f, &v4c_anonymous);
}

static uint32_t do_setattr_long(int t)
{
	struct v4f s;
	fattr4 f = v4f_u32(&s, FATTR4_MODE, 0755);

	f.attr_vals.attrlist4_len = 16;
	return set(t, f, &v4c_anonymous);
}

static uint32_t compare(int t, nfs_opnum4 op, unsigned attr, uint64_t v, bool wide)
{
	struct v4f s;
	fattr4 f = wide ? v4f_u64(&s, attr, v) : v4f_u32(&s, attr, (uint32_t)v);

	at(t);
	/* Both have an fattr4, in the same place. */
	v4c_op(&c, op)->nfs_argop4_u.opverify.obj_attributes = f;
	v4c_getfh(&c);
	return v4c_run(&c);
}

static uint32_t do_verify_type(int t)
{
	return compare(t, OP_VERIFY, FATTR4_TYPE, v4f_types[t].type, false);
}

static uint32_t do_verify_size(int t)
{
	return compare(t, OP_VERIFY, FATTR4_SIZE, v4f_number(&c, &of[t], FATTR4_SIZE) + 1, true);
}

static uint32_t do_verify_unsupported(int t)
{
	return compare(t, OP_VERIFY, FATTR4_HIDDEN, 0, false);
}

static uint32_t do_verify_rdattr_error(int t)
{
	return compare(t, OP_VERIFY, FATTR4_RDATTR_ERROR, 0, false);
}

static uint32_t do_verify_mtime_set(int t)
{
	return compare(t, OP_VERIFY, FATTR4_TIME_MODIFY_SET, 0, false);
}

static uint32_t do_nverify_type(int t)
{
	return compare(t, OP_NVERIFY, FATTR4_TYPE, v4f_types[t].type, false);
}

static uint32_t do_nverify_size(int t)
{
	return compare(t, OP_NVERIFY, FATTR4_SIZE, v4f_number(&c, &of[t], FATTR4_SIZE) + 1, true);
}

static uint32_t do_nverify_unsupported(int t)
{
	return compare(t, OP_NVERIFY, FATTR4_HIDDEN, 0, false);
}

static uint32_t do_nverify_rdattr_error(int t)
{
	return compare(t, OP_NVERIFY, FATTR4_RDATTR_ERROR, 0, false);
}

static uint32_t do_write(int t)
{
	at(t);
	v4c_write(&c, &v4c_anonymous, 0, UNSTABLE4, "text", 4);
	return v4c_run(&c);
}

/* --- the table ---------------------------------------------------------------------------- */

#define OK NFS4_OK
#define DIR_ NFS4ERR_ISDIR
#define NOTDIR NFS4ERR_NOTDIR
#define NOENT NFS4ERR_NOENT
#define INVAL NFS4ERR_INVAL
#define LNK NFS4ERR_SYMLINK
#define NOTSUPP NFS4ERR_NOTSUPP
#define ATTR NFS4ERR_ATTRNOTSUPP
#define XDR NFS4ERR_BADXDR
#define SAME NFS4ERR_SAME
#define NOT_SAME NFS4ERR_NOT_SAME
/* "The wrong type" had no status of its own before 4.1. */
#define TYPE 0x10000u	   /* INVAL, then WRONG_TYPE */
#define OTYPE 0x10001u	   /* SYMLINK, then WRONG_TYPE */

static const struct row {
	const char *what;
	uint32_t (*run)(int t);
	uint32_t file, dir, link, other;
} table[] = {
	/*                                                        file      directory  link      device, FIFO, socket */
	{"ACCESS", do_access,                                     OK,       OK,        OK,       OK},
	{"COMMIT", do_commit,                                     OK,       DIR_,      LNK,      TYPE},
	{"CREATE below it", do_create_below,                      NOTDIR,   OK,        NOTDIR,   NOTDIR},
	{"GETATTR of all", do_getattr,                            OK,       OK,        OK,       OK},
	{"GETATTR of nothing", do_getattr_nothing,                OK,       OK,        OK,       OK},
	{"GETATTR of an unknown attribute", do_getattr_unknown,   OK,       OK,        OK,       OK},
	{"GETATTR of time_access_set", do_getattr_atime_set,      INVAL,    INVAL,     INVAL,    INVAL},
	{"GETATTR of time_modify_set", do_getattr_mtime_set,      INVAL,    INVAL,     INVAL,    INVAL},
	{"PUTFH, GETFH", do_getfh,                                OK,       OK,        OK,       OK},
	{"LINK below it", do_link_below,                          NOTDIR,   OK,        NOTDIR,   NOTDIR},
	{"LINK of it", do_link,                                   OK,       DIR_,      OK,       OK},
	{"LOCKT", do_lockt,                                       OK,       DIR_,      LNK,      TYPE},
	{"LOOKUP below it", do_lookup_below,                      NOTDIR,   NOENT,     LNK,      NOTDIR},
	{"LOOKUPP", do_lookupp,                                   NOTDIR,   OK,        LNK,      NOTDIR},
	{"OPEN", do_open,                                         OK,       DIR_,      LNK,      OTYPE},
	{"OPEN below it", do_open_below,                          NOTDIR,   NOENT,     NOTDIR,   NOTDIR},
	{"OPENATTR", do_openattr,                                 NOTSUPP,  NOTSUPP,   NOTSUPP,  NOTSUPP},
	{"READ", do_read,                                         OK,       DIR_,      LNK,      TYPE},
	{"READ, the other special stateid", do_read_bypass,       OK,       DIR_,      LNK,      TYPE},
	{"READDIR", do_readdir,                                   NOTDIR,   OK,        NOTDIR,   NOTDIR},
	{"READLINK", do_readlink,                                 INVAL,    INVAL,     OK,       INVAL},
	{"REMOVE below it", do_remove_below,                      NOTDIR,   NOENT,     NOTDIR,   NOTDIR},
	{"RENAME from it", do_rename_from,                        NOTDIR,   NOENT,     NOTDIR,   NOTDIR},
	{"RENAME to it", do_rename_to,                            NOTDIR,   NOENT,     NOTDIR,   NOTDIR},
	{"RENAME of it", do_rename,                               OK,       OK,        OK,       OK},
	{"RENAME onto itself", do_rename_same,                    OK,       OK,        OK,       OK},
	{"SECINFO below it", do_secinfo_below,                    NOTDIR,   NOENT,     NOTDIR,   NOTDIR},
	{"SETATTR of the mode", do_setattr_mode,                  OK,       OK,        OK,       OK},
	{"SETATTR, the other special stateid",
		do_setattr_mode_bypass,                           OK,       OK,        OK,       OK},
	{"SETATTR of the size", do_setattr_size,                  OK,       DIR_,      INVAL,    INVAL},
	{"SETATTR of a read-only attribute", do_setattr_readonly, INVAL,    INVAL,     INVAL,    INVAL},
	{"SETATTR of one not supported", do_setattr_unsupported,  ATTR,     ATTR,      ATTR,     ATTR},
	{"SETATTR without a value", do_setattr_short,             XDR,      XDR,       XDR,      XDR},
	{"SETATTR with too much", do_setattr_long,                XDR,      XDR,       XDR,      XDR},
	{"VERIFY of the type", do_verify_type,                    OK,       OK,        OK,       OK},
	{"VERIFY of another size", do_verify_size,                NOT_SAME, NOT_SAME,  NOT_SAME, NOT_SAME},
	{"VERIFY of one not supported", do_verify_unsupported,    ATTR,     ATTR,      ATTR,     ATTR},
	{"VERIFY of rdattr_error", do_verify_rdattr_error,        INVAL,    INVAL,     INVAL,    INVAL},
	{"VERIFY of time_modify_set", do_verify_mtime_set,        INVAL,    INVAL,     INVAL,    INVAL},
	{"NVERIFY of the type", do_nverify_type,                  SAME,     SAME,      SAME,     SAME},
	{"NVERIFY of another size", do_nverify_size,              OK,       OK,        OK,       OK},
	{"NVERIFY of one not supported", do_nverify_unsupported,  ATTR,     ATTR,      ATTR,     ATTR},
	{"NVERIFY of rdattr_error", do_nverify_rdattr_error,      INVAL,    INVAL,     INVAL,    INVAL},
	{"WRITE", do_write,                                       OK,       DIR_,      LNK,      TYPE},
};

static uint32_t wanted(const struct row *w, int t)
{
	uint32_t want = t == V4F_FILE ? w->file : t == V4F_DIR ? w->dir : t == V4F_LINK ? w->link : w->other;

	if (want == TYPE)
		return c.minor ? NFS4ERR_WRONG_TYPE : NFS4ERR_INVAL;
	if (want == OTYPE)
		return c.minor ? NFS4ERR_WRONG_TYPE : NFS4ERR_SYMLINK;
	return want;
}

static void row(const struct row *w)
{
	bool good = true;

	for (int t = 0; t < V4F_TYPES; t++) {
		uint32_t got = w->run(t), want = wanted(w, t);

		if (got == want)
			continue;
		good = false;
		printf("# %s: got %u, wanted %u\n", v4f_types[t].name, got, want);
	}
	tap_ok(good, "%s", w->what);
}

/* --- the same without a filehandle --------------------------------------------------------- */

static void without(void)
{
	static const nfs_opnum4 ops[] = {
		OP_ACCESS, OP_CLOSE,   OP_COMMIT,  OP_CREATE,  OP_GETATTR,  OP_GETFH,   OP_LINK,   OP_LOCK,
		OP_LOCKT,  OP_LOCKU,   OP_LOOKUP,  OP_LOOKUPP, OP_NVERIFY,  OP_OPEN,    OP_READ,   OP_READDIR,
		OP_READLINK, OP_REMOVE, OP_RENAME, OP_SAVEFH,  OP_SECINFO,  OP_SETATTR, OP_VERIFY, OP_WRITE,
		OP_OPEN_DOWNGRADE,
	};
	bool good = true;

	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		nfs_argop4 *a;

		v4c_begin(&c);
		a = v4c_op(&c, ops[i]);
		if (ops[i] == OP_LOCK || ops[i] == OP_LOCKT || ops[i] == OP_LOCKU)
			a->nfs_argop4_u.oplock.locktype = READ_LT;
		if (ops[i] == OP_LOCK)
			a->nfs_argop4_u.oplock.locker.new_lock_owner = TRUE;
		if (v4c_run(&c) != NFS4ERR_NOFILEHANDLE || v4c_last(&c) != ops[i]) {
			good = false;
			printf("# operation %d: %u\n", ops[i], v4c_res(&c, ops[i]) ? v4c_status(&c, ops[i]) : V4C_BROKEN);
		}
	}
	tap_ok(good, "operations on objects need a filehandle");
	v4c_begin(&c);
	v4c_op(&c, OP_RESTOREFH);
	tap_is(v4c_run(&c), NFS4ERR_RESTOREFH, "RESTOREFH without SAVEFH");
	v4c_begin(&c);
	v4c_putfh(&c, &home);
	v4c_op(&c, OP_LINK)->nfs_argop4_u.oplink.newname = v4c_name("n");
	tap_is(v4c_run(&c), NFS4ERR_NOFILEHANDLE, "LINK without a saved one");
	v4c_begin(&c);
	v4c_putfh(&c, &home);
	v4c_op(&c, OP_RENAME)->nfs_argop4_u.oprename = (RENAME4args){v4c_name("o"), v4c_name("n")};
	tap_is(v4c_run(&c), NFS4ERR_NOFILEHANDLE, "RENAME without a saved one");
}

/* Every combination of the rights there are: granted within supported, within what was asked. */
static void rights(void)
{
	for (int t = 0; t < V4F_TYPES; t++) {
		uint32_t never = t == V4F_DIR ? ACCESS4_EXECUTE : ACCESS4_LOOKUP | ACCESS4_DELETE;
		bool good = true;

		for (uint32_t asked = 0; asked < 64; asked++) {
			const ACCESS4resok *ok;

			at(t);
			v4c_access(&c, asked);
			if (v4c_run(&c)) {
				good = false;
				continue;
			}
			ok = &v4c_res(&c, OP_ACCESS)->nfs_resop4_u.opaccess.ACCESS4res_u.resok4;
			good = good && !(ok->supported & ~asked) && !(ok->access & ~ok->supported) &&
			       !(ok->supported & never);
		}
		tap_ok(good, "%s: ACCESS tells what was asked and makes sense", v4f_types[t].name);
	}
}

int main(int argc, char **argv)
{
	struct v4c_fh mine;
	char owner[32], sub[1024];
	uint32_t st;

	if (argc < 5)
		return 2;
	dir = argv[3];
	if (v4c_open(&c, argv[1], atoi(argv[2]), (uint32_t)atoi(argv[4])))
		return 1;
	snprintf(owner, sizeof(owner), "types4.%s", argv[4]);
	st = c.minor ? v4c_hello(&c, owner) : v4c_setclientid(&c, owner, "verifier");
	if (!tap_ok(!st && !v4c_mount(&c, dir, &root), "there is a client id and an export"))
		return 1;
	snprintf(sub, sizeof(sub), "%s/tree", dir);
	if (mkdir(sub, 0755) || v4f_lookup(&c, &root, "tree", &home))
		return 1;
	for (int t = 0; t < V4F_TYPES; t++)
		if (v4f_make(sub, t) || v4f_lookup(&c, &home, v4f_types[t].name, &of[t])) {
			tap_ok(false, "%s is there", v4f_types[t].name);
			return 1;
		}
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		row(&table[i]);
	without();
	rights();
	tap_is(v4f_lookup(&c, &root, "tree", &mine), NFS4_OK, "all is where it was");
	v4c_close(&c);
	return tap_done();
}
