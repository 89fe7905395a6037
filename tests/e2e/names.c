/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * names HOST PORT DIR MINOR: LOOKUP, LOOKUPP, READLINK, CREATE, REMOVE, RENAME, LINK and SECINFO in
 * the export DIR, which is empty at first.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"

static struct v4c c;
static struct v4c_fh root, of[V4F_TYPES], work;
static const char *dir;

#define IS(got, want, ...)                                                                         \
	do {                                                                                       \
		char is_name[200];                                                                 \
		snprintf(is_name, sizeof(is_name), __VA_ARGS__);                                   \
		tap_is((long long)(got), (long long)(want), is_name);                              \
	} while (0)

/* Names that may not be, and what is said. */
static const struct {
	const char *name, *words;
	uint32_t len, status;
} bad[] = {
	{"", "an empty name", 0, NFS4ERR_INVAL},
	{".", "\".\"", 1, NFS4ERR_BADNAME},
	{"..", "\"..\"", 2, NFS4ERR_BADNAME},
	{"a/b", "a name with a slash", 3, NFS4ERR_BADNAME},
	{"a\0b", "a name with a NUL", 3, NFS4ERR_BADNAME},
	{"\xc3(", "a name that is not UTF-8", 2, NFS4ERR_INVAL},
	{NULL, "a long name", 300, NFS4ERR_NAMETOOLONG},
};
#define NBAD (sizeof(bad) / sizeof(bad[0]))

static component4 bad_name(unsigned i)
{
	static char xs[300];

	memset(xs, 'x', sizeof(xs));
	return (component4){bad[i].len, bad[i].name ? (char *)(uintptr_t)bad[i].name : xs};
}

/* --- operations --- */

static uint32_t create_as(const struct v4c_fh *in, component4 n, uint32_t type, fattr4 f,
			  const char *target)
{
	CREATE4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, in);
	a = &v4c_op(&c, OP_CREATE)->nfs_argop4_u.opcreate;
	a->objtype.type = type;
	if (type == NF4LNK) {
		a->objtype.createtype4_u.linkdata.linktext4_len = (uint32_t)strlen(target);
		a->objtype.createtype4_u.linkdata.linktext4_val = (char *)(uintptr_t)target;
	} else {
		a->objtype.createtype4_u.devdata = (specdata4){1, 2};
	}
	a->objname = n;
	a->createattrs = f;
	v4c_getfh(&c);
	v4c_getattr(&c, 1 << 1, 1 << 1, 0);
	return v4c_run(&c);
}

static uint32_t create(const struct v4c_fh *in, component4 n, uint32_t type)
{
	struct v4f s;

	return create_as(in, n, type, v4f_u32(&s, FATTR4_MODE, 0755), "/etc/X11");
}

static uint32_t mk(const struct v4c_fh *in, const char *n, uint32_t type, struct v4c_fh *out)
{
	uint32_t status = create(in, v4c_name(n), type);

	if (out && !status)
		v4c_keep_fh(&c, out);
	return status;
}

static uint32_t lookup(const struct v4c_fh *in, component4 n)
{
	v4c_begin(&c);
	v4c_putfh(&c, in);
	v4c_op(&c, OP_LOOKUP)->nfs_argop4_u.oplookup.objname = n;
	return v4c_run(&c);
}

static uint32_t remove_as(const struct v4c_fh *in, component4 n)
{
	v4c_begin(&c);
	v4c_putfh(&c, in);
	v4c_op(&c, OP_REMOVE)->nfs_argop4_u.opremove.target = n;
	return v4c_run(&c);
}

static uint32_t rename_as(const struct v4c_fh *from, component4 old, const struct v4c_fh *to,
			  component4 new)
{
	RENAME4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, from);
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, to);
	a = &v4c_op(&c, OP_RENAME)->nfs_argop4_u.oprename;
	a->oldname = old;
	a->newname = new;
	return v4c_run(&c);
}

static uint32_t mv(const char *old, const char *new)
{
	return rename_as(&work, v4c_name(old), &work, v4c_name(new));
}

static uint32_t link_as(const struct v4c_fh *what, const struct v4c_fh *in, component4 n)
{
	v4c_begin(&c);
	v4c_putfh(&c, what);
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, in);
	v4c_op(&c, OP_LINK)->nfs_argop4_u.oplink.newname = n;
	return v4c_run(&c);
}

/* A regular file on the server's side. */
static void touch(const char *sub)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, sub);
	fd = open(path, O_CREAT | O_WRONLY, 0644);
	if (fd >= 0)
		close(fd);
}

/* --- LOOKUP, LOOKUPP, READLINK --- */

static void looked_up(void)
{
	struct v4c_fh up;

	for (unsigned i = 0; i < NBAD; i++)
		IS(lookup(&root, bad_name(i)), bad[i].status, "LOOKUP of %s", bad[i].words);
	IS(lookup(&root, v4c_name("nothing")), NFS4ERR_NOENT, "LOOKUP of nothing");
	for (int t = 0; t < V4F_TYPES; t++) {
		if (t == V4F_DIR)
			continue;
		IS(lookup(&of[t], v4c_name("x")), t == V4F_LINK ? NFS4ERR_SYMLINK : NFS4ERR_NOTDIR,
		   "LOOKUP in a %s", v4f_types[t].name);
		v4c_begin(&c);
		v4c_putfh(&c, &of[t]);
		v4c_op(&c, OP_LOOKUPP);
		IS(v4c_run(&c), t == V4F_LINK ? NFS4ERR_SYMLINK : NFS4ERR_NOTDIR,
		   "LOOKUPP from a %s", v4f_types[t].name);
	}
	v4c_begin(&c);
	v4c_putfh(&c, &of[V4F_DIR]);
	v4c_op(&c, OP_LOOKUPP);
	v4c_getfh(&c);
	IS(v4c_run(&c), NFS4_OK, "LOOKUPP from a directory");
	tap_ok(v4c_keep_fh(&c, &up) && up.len == root.len && !memcmp(up.data, root.data, up.len),
	       "leads to the handle it was found by");
}

static void links_read(void)
{
	const linktext4 *text;

	for (int t = 0; t < V4F_TYPES; t++) {
		v4c_begin(&c);
		v4c_putfh(&c, &of[t]);
		v4c_op(&c, OP_READLINK);
		IS(v4c_run(&c), t == V4F_LINK ? NFS4_OK : NFS4ERR_INVAL, "READLINK of a %s",
		   v4f_types[t].name);
		if (t != V4F_LINK)
			continue;
		text = &v4c_res(&c, OP_READLINK)
				->nfs_resop4_u.opreadlink.READLINK4res_u.resok4.link;
		tap_ok(text->linktext4_len == 15 &&
			       !memcmp(text->linktext4_val, "/where/it/leads", 15),
		       "where the link leads");
	}
}

/* --- CREATE --- */

static void created(void)
{
	static const uint32_t types[] = {NF4DIR, NF4LNK, NF4BLK, NF4CHR, NF4SOCK, NF4FIFO};
	struct v4f s;
	struct cursor vals;
	const CREATE4resok *ok;
	char n[32];

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		snprintf(n, sizeof(n), "new%u", types[i]);
		IS(create(&work, v4c_name(n), types[i]), NFS4_OK, "CREATE of type %u", types[i]);
		ok = &v4c_res(&c, OP_CREATE)->nfs_resop4_u.opcreate.CREATE4res_u.resok4;
		tap_ok(ok->cinfo.before != ok->cinfo.after, "the directory changed");
		tap_ok(v4f_got(&c, &vals) && cursor_get_u32(&vals) == types[i] &&
			       (types[i] == NF4LNK || cursor_get_u32(&vals) == 0755),
		       "it is the current object, with its mode");
		IS(create(&work, v4c_name(n), types[i]), NFS4ERR_EXIST, "CREATE of what exists");
	}
	for (unsigned i = 0; i < NBAD; i++)
		IS(create(&work, bad_name(i), NF4DIR), bad[i].status, "CREATE of %s", bad[i].words);
	for (int t = 0; t < V4F_TYPES; t++)
		if (t != V4F_DIR)
			IS(create(&of[t], v4c_name("x"), NF4DIR), NFS4ERR_NOTDIR, "CREATE in a %s",
			   v4f_types[t].name);
	IS(create(&work, v4c_name("reg"), NF4REG), NFS4ERR_BADTYPE, "CREATE of a regular file");
	IS(create_as(&work, v4c_name("l"), NF4LNK, v4f_u32(&s, FATTR4_MODE, 0777), ""),
	   NFS4ERR_INVAL, "CREATE of a link to nowhere");
	IS(create_as(&work, v4c_name("d"), NF4DIR, v4f_u32(&s, FATTR4_LINK_SUPPORT, 1), ""),
	   NFS4ERR_INVAL, "CREATE with an attribute that is only to be read");
	IS(create_as(&work, v4c_name("d"), NF4DIR, v4f_u32(&s, FATTR4_HIDDEN, 1), ""),
	   NFS4ERR_ATTRNOTSUPP, "CREATE with one that is not served");
	if (c.minor < 2)
		return;
	IS(create_as(&work, v4c_name("umasked"), NF4DIR,
		     v4f_u64(&s, FATTR4_MODE_UMASK, UINT64_C(0x1ff00000012)), ""),
	   NFS4_OK, "CREATE with mode_umask");
	tap_ok(v4f_got(&c, &vals) && cursor_get_u32(&vals) == NF4DIR &&
		       cursor_get_u32(&vals) == 0755,
	       "the umask is taken off");
}

/* --- REMOVE --- */

static void removed(void)
{
	static const char *const gone[] = {"new2", "new5", "new3", "new4", "new6", "new7", "gone"};
	char path[4096];

	touch("work/gone");
	for (unsigned i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		IS(remove_as(&work, v4c_name(gone[i])), NFS4_OK, "REMOVE of %s", gone[i]);
		IS(lookup(&work, v4c_name(gone[i])), NFS4ERR_NOENT, "it is gone");
	}
	for (unsigned i = 0; i < NBAD; i++)
		IS(remove_as(&work, bad_name(i)), bad[i].status, "REMOVE of %s", bad[i].words);
	for (int t = 0; t < V4F_TYPES; t++)
		if (t != V4F_DIR)
			IS(remove_as(&of[t], v4c_name("x")), NFS4ERR_NOTDIR, "REMOVE in a %s",
			   v4f_types[t].name);
	IS(remove_as(&work, v4c_name("nothing")), NFS4ERR_NOENT, "REMOVE of nothing");
	mk(&work, "full", NF4DIR, NULL);
	snprintf(path, sizeof(path), "%s/work/full/in", dir);
	mkdir(path, 0755);
	IS(remove_as(&work, v4c_name("full")), NFS4ERR_NOTEMPTY,
	   "REMOVE of a directory that is not empty");
}

/* --- names of old, that NFSv3 and processes here may make --- */

static uint32_t open_as(const char *n, bool make)
{
	v4c_begin(&c);
	v4c_putfh(&c, &work);
	v4c_opens(&c, "old", 3, 0, n, OPEN4_SHARE_ACCESS_READ, 0, make);
	return v4c_run(&c);
}

static void not_utf8(void)
{
	static const char old[] = "caf\xe9", none[] = "th\xe9";

	touch("work/caf\xe9");
	IS(lookup(&work, v4c_name(old)), NFS4_OK, "LOOKUP of a file whose name is not UTF-8");
	if (c.minor) {
		IS(open_as(old, false), NFS4_OK, "OPEN of it");
		IS(open_as(old, true), NFS4_OK, "OPEN of it that may create");
		IS(open_as(none, false), NFS4ERR_INVAL, "OPEN of none of such a name");
		IS(open_as(none, true), NFS4ERR_INVAL, "OPEN that would create one");
	}
	IS(rename_as(&work, v4c_name(old), &work, v4c_name("coffee")), NFS4_OK,
	   "RENAME to a better name");
	IS(lookup(&work, v4c_name(old)), NFS4ERR_INVAL, "LOOKUP of it now");
	touch("work/caf\xe9");
	IS(remove_as(&work, v4c_name(old)), NFS4_OK, "REMOVE of such a name");
	IS(remove_as(&work, v4c_name("coffee")), NFS4_OK, "REMOVE of the other");
}

/* --- RENAME --- */

static bool nothing_changed(void)
{
	const RENAME4resok *ok = &v4c_res(&c, OP_RENAME)->nfs_resop4_u.oprename.RENAME4res_u.resok4;

	return ok->source_cinfo.before == ok->source_cinfo.after &&
	       ok->target_cinfo.before == ok->target_cinfo.after;
}

static void renamed(void)
{
	struct v4c_fh a, b, in;

	mk(&work, "a", NF4DIR, &a);
	mk(&work, "b", NF4DIR, &b);
	for (int t = 0; t < V4F_TYPES; t++) {
		IS(rename_as(&root, v4c_name(v4f_types[t].name), &b, v4c_name("moved")), NFS4_OK,
		   "RENAME of a %s", v4f_types[t].name);
		IS(rename_as(&b, v4c_name("moved"), &root, v4c_name(v4f_types[t].name)), NFS4_OK,
		   "and back");
		if (t == V4F_DIR)
			continue;
		IS(rename_as(&of[t], v4c_name("x"), &work, v4c_name("y")), NFS4ERR_NOTDIR,
		   "RENAME from a %s", v4f_types[t].name);
		IS(rename_as(&work, v4c_name("a"), &of[t], v4c_name("y")), NFS4ERR_NOTDIR,
		   "RENAME into a %s", v4f_types[t].name);
	}
	for (unsigned i = 0; i < NBAD; i++) {
		IS(rename_as(&work, bad_name(i), &work, v4c_name("y")), bad[i].status,
		   "RENAME from %s", bad[i].words);
		IS(rename_as(&work, v4c_name("a"), &work, bad_name(i)), bad[i].status,
		   "RENAME to %s", bad[i].words);
	}
	touch("work/f");
	touch("work/g");
	IS(mv("nothing", "y"), NFS4ERR_NOENT, "RENAME of nothing");
	IS(mv("a", "f"), NFS4ERR_NOTDIR, "a directory over a file");
	IS(mv("f", "a"), NFS4ERR_ISDIR, "a file over a directory");
	IS(mv("f", "full"), NFS4ERR_ISDIR, "a file over a full directory");
	IS(mv("a", "full"), NFS4ERR_NOTEMPTY, "a directory over a full one");
	IS(rename_as(&work, v4c_name("a"), &a, v4c_name("a")), NFS4ERR_INVAL,
	   "a directory into itself");
	IS(mv("f", "g"), NFS4_OK, "a file over a file");
	IS(mv("a", "b"), NFS4_OK, "a directory over an empty one");
	IS(mv("b", "b"), NFS4_OK, "a directory to its own name");
	tap_ok(nothing_changed(), "nothing changed");
	IS(mv("g", "g"), NFS4_OK, "a file to its own name");
	tap_ok(nothing_changed(), "nothing changed");
	v4f_lookup(&c, &work, "g", &in);
	IS(link_as(&in, &work, v4c_name("h")), NFS4_OK, "a second name");
	IS(mv("g", "h"), NFS4_OK, "a file to its other name");
	tap_ok(nothing_changed() && lookup(&work, v4c_name("g")) == NFS4_OK, "nothing changed");
	v4c_begin(&c);
	v4c_putfh(&c, &work);
	v4c_op(&c, OP_RENAME)->nfs_argop4_u.oprename = (RENAME4args){v4c_name("x"), v4c_name("y")};
	IS(v4c_run(&c), NFS4ERR_NOFILEHANDLE, "RENAME without a saved filehandle");
}

/* --- LINK --- */

static void linked(void)
{
	char n[32];

	for (int t = 0; t < V4F_TYPES; t++) {
		uint64_t before = v4f_number(&c, &of[t], FATTR4_NUMLINKS);

		snprintf(n, sizeof(n), "link%d", t);
		IS(link_as(&of[t], &work, v4c_name(n)), t == V4F_DIR ? NFS4ERR_ISDIR : NFS4_OK,
		   "LINK to a %s", v4f_types[t].name);
		if (t == V4F_DIR)
			continue;
		IS(v4f_number(&c, &of[t], FATTR4_NUMLINKS), before + 1, "one more link");
		IS(link_as(&of[t], &work, v4c_name(n)), NFS4ERR_EXIST,
		   "LINK of a name that is taken");
		IS(link_as(&of[V4F_FILE], &of[t], v4c_name("x")), NFS4ERR_NOTDIR, "LINK in a %s",
		   v4f_types[t].name);
	}
	for (unsigned i = 0; i < NBAD; i++)
		IS(link_as(&of[V4F_FILE], &work, bad_name(i)), bad[i].status, "LINK of %s",
		   bad[i].words);
	v4c_begin(&c);
	v4c_putfh(&c, &work);
	v4c_op(&c, OP_LINK)->nfs_argop4_u.oplink.newname = v4c_name("x");
	IS(v4c_run(&c), NFS4ERR_NOFILEHANDLE, "LINK without a saved filehandle");
}

/* --- SECINFO --- */

static uint32_t secinfo(const struct v4c_fh *in, component4 n)
{
	v4c_begin(&c);
	v4c_putfh(&c, in);
	v4c_op(&c, OP_SECINFO)->nfs_argop4_u.opsecinfo.name = n;
	return v4c_run(&c);
}

static void secured(void)
{
	const SECINFO4resok *ok;

	IS(secinfo(&root, v4c_name("file")), NFS4_OK, "SECINFO of a file");
	ok = &v4c_res(&c, OP_SECINFO)->nfs_resop4_u.opsecinfo.SECINFO4res_u.resok4;
	tap_ok(ok->SECINFO4resok_len == 1 && ok->SECINFO4resok_val[0].flavor == 1,
	       "AUTH_SYS it is");
	IS(secinfo(&of[V4F_FILE], v4c_name("x")), NFS4ERR_NOTDIR, "SECINFO in a file");
	IS(secinfo(&root, v4c_name("nothing")), NFS4ERR_NOENT, "SECINFO of nothing");
	IS(secinfo(&root, bad_name(0)), NFS4ERR_INVAL, "SECINFO of an empty name");
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4c_op(&c, OP_SECINFO)->nfs_argop4_u.opsecinfo.name = v4c_name("file");
	v4c_getfh(&c);
	IS(v4c_run(&c), c.minor ? NFS4ERR_NOFILEHANDLE : NFS4_OK,
	   "SECINFO eats the filehandle from 4.1 on");
	for (uint32_t style = 0; c.minor && style < 2; style++) {
		v4c_begin(&c);
		v4c_putfh(&c, &root);
		v4c_op(&c, OP_SECINFO_NO_NAME)->nfs_argop4_u.opsecinfo_no_name =
			(secinfo_style4)style;
		IS(v4c_run(&c), NFS4_OK, "SECINFO_NO_NAME of style %u", style);
	}
}

int main(int argc, char **argv)
{
	if (argc != 5 || v4c_open(&c, argv[1], atoi(argv[2]), (uint32_t)atoi(argv[4])))
		return 1;
	dir = argv[3];
	IS(v4c_mount(&c, dir, &root), 0, "the export's root");
	if (c.minor)
		IS(v4c_hello(&c, c.minor == 1 ? "names 4.1" : "names 4.2"), 0, "a session");
	for (int t = 0; t < V4F_TYPES; t++)
		if (v4f_make(dir, t) || v4f_lookup(&c, &root, v4f_types[t].name, &of[t]))
			tap_ok(false, "a %s was not found", v4f_types[t].name);
	IS(mk(&root, "work", NF4DIR, &work), NFS4_OK, "a directory to work in");
	looked_up();
	links_read();
	created();
	removed();
	not_utf8();
	renamed();
	linked();
	secured();
	v4c_close(&c);
	return tap_done();
}
