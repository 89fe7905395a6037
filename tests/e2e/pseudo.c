/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pseudo HOST PORT DIR MINOR KEEP: the pseudo file system over the exports DIR/a, DIR/a/in/deep,
 * DIR/ro (read-only) and DIR/hidden (somebody else's).  Handles go into the file KEEP; when it is
 * there already, they must be those in it.
 * pseudo --root HOST PORT MINOR: DIR/a has fsid=0.
 */
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"

static struct v4c c;
static struct v4c_fh top, above, a, in, deep, ro;

struct seen {
	uint64_t major, minor, fileid, mounted_on;
	uint32_t type;
};

#define SEEN0 (1u << 1 | 1u << 8 | 1u << 20)
#define SEEN1 (1u << 23)

static struct seen take(const fattr4 *f)
{
	struct cursor v;
	struct seen s;

	cursor_init_const(&v, f->attr_vals.attrlist4_val, f->attr_vals.attrlist4_len);
	s.type = cursor_get_u32(&v);
	s.major = cursor_get_u64(&v);
	s.minor = cursor_get_u64(&v);
	s.fileid = cursor_get_u64(&v);
	s.mounted_on = cursor_get_u64(&v);
	if (!cursor_ok(&v) || cursor_left(&v))
		memset(&s, 0xff, sizeof(s));
	return s;
}

static struct seen look(const struct v4c_fh *fh)
{
	struct seen s;
	struct cursor v;
	const fattr4 *f;

	memset(&s, 0xff, sizeof(s));
	v4c_begin(&c);
	v4c_putfh(&c, fh);
	v4c_getattr(&c, SEEN0, SEEN1, 0);
	if (v4c_run(&c))
		return s;
	f = v4f_got(&c, &v);
	return f ? take(f) : s;
}

static bool same_fh(const struct v4c_fh *x, const struct v4c_fh *y)
{
	return x->len == y->len && !memcmp(x->data, y->data, x->len);
}

static uint32_t up(const struct v4c_fh *from, struct v4c_fh *to)
{
	uint32_t status;

	v4c_begin(&c);
	v4c_putfh(&c, from);
	v4c_op(&c, OP_LOOKUPP);
	v4c_getfh(&c);
	status = v4c_run(&c);
	if (!status)
		v4c_keep_fh(&c, to);
	return status;
}

static uint32_t root_fh(struct v4c_fh *fh)
{
	uint32_t status;

	v4c_begin(&c);
	v4c_putrootfh(&c);
	v4c_getfh(&c);
	status = v4c_run(&c);
	v4c_keep_fh(&c, fh);
	return status;
}

/* The entry `name` of the directory, as READDIR tells of it. */
static bool listed(const struct v4c_fh *fh, const char *name, struct seen *s)
{
	READDIR4args *args;

	v4c_begin(&c);
	v4c_putfh(&c, fh);
	args = &v4c_op(&c, OP_READDIR)->nfs_argop4_u.opreaddir;
	args->maxcount = 64 << 10;
	args->attr_request.bitmap4_len = 2;
	args->attr_request.bitmap4_val[0] = SEEN0;
	args->attr_request.bitmap4_val[1] = SEEN1;
	if (v4c_run(&c))
		return false;
	for (const entry4 *e = v4c_res(&c, OP_READDIR)
				       ->nfs_resop4_u.opreaddir.READDIR4res_u.resok4.reply.entries;
	     e; e = e->nextentry) {
		if (e->name.component4_len != strlen(name) ||
		    memcmp(e->name.component4_val, name, strlen(name)))
			continue;
		*s = take(&e->attrs);
		return true;
	}
	return false;
}

/* From the root down the components of `dir`, each listed in the one above. */
static void walk(const char *dir)
{
	char path[4096], *p = path, *name;
	struct v4c_fh at, next, back;
	bool good = true, up_again = true;
	struct seen s;

	tap_is(root_fh(&top), NFS4_OK, "PUTROOTFH");
	s = look(&top);
	tap_ok(s.type == NF4DIR && !s.major && !s.minor, "a directory of the file system 0");
	tap_is(up(&top, &back), NFS4ERR_NOENT, "nothing is above it");
	snprintf(path, sizeof(path), "%s", dir);
	for (at = top; (name = strtok_r(p, "/", &p)); at = next) {
		good = good && listed(&at, name, &s) && !v4f_lookup(&c, &at, name, &next) &&
		       s.major == 0 && s.fileid == look(&next).fileid;
		up_again = up_again && !up(&next, &back) && same_fh(&at, &back);
	}
	tap_ok(good, "each component is listed and found");
	tap_ok(up_again, "and leads up again");
	above = at;
}

static void exports(void)
{
	struct v4c_fh back;
	struct seen s, t;

	tap_is(v4f_lookup(&c, &above, "a", &a), NFS4_OK, "an export is entered");
	s = look(&a);
	tap_ok(s.major || s.minor, "it is a file system of its own");
	tap_ok(s.fileid != s.mounted_on, "its root has another number from above");
	tap_ok(listed(&above, "a", &t) && !memcmp(&s, &t, sizeof(s)),
	       "listed above as it looks inside");
	tap_ok(!up(&a, &back) && same_fh(&back, &above), "LOOKUPP leads out of it");
	tap_is(v4f_lookup(&c, &above, "hidden", &back), NFS4ERR_NOENT,
	       "somebody else's export is not found");
	tap_ok(!listed(&above, "hidden", &t), "nor listed");
	tap_is(v4f_lookup(&c, &above, "ro", &ro), NFS4_OK, "another export");
	t = look(&ro);
	tap_ok(t.major != s.major, "is another file system");
}

static void nested(void)
{
	struct v4c_fh back;
	struct seen s, t;

	tap_is(v4f_lookup(&c, &a, "in", &in), NFS4_OK, "a directory of the export");
	tap_ok(look(&in).major == look(&a).major, "of the same file system");
	tap_is(v4f_lookup(&c, &in, "deep", &deep), NFS4_OK, "an export in it");
	s = look(&deep);
	tap_ok(s.major != look(&a).major, "is another file system");
	tap_ok(listed(&in, "deep", &t) && !memcmp(&s, &t, sizeof(s)), "listed as it looks inside");
	tap_ok(!up(&deep, &back) && same_fh(&back, &in),
	       "LOOKUPP leads to the directory around it");
}

/* Nothing can be done to it. */
static void read_only(void)
{
	static const nfs_opnum4 ops[] = {OP_CREATE, OP_REMOVE, OP_RENAME, OP_LINK, OP_SETATTR};
	struct v4c_fh fh = above;
	struct v4f s;
	nfs_argop4 *o;
	bool good = true;

	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		v4c_begin(&c);
		v4c_putfh(&c, &above);
		v4c_op(&c, OP_SAVEFH);
		o = v4c_op(&c, ops[i]);
		if (ops[i] == OP_CREATE) {
			o->nfs_argop4_u.opcreate.objtype.type = NF4DIR;
			o->nfs_argop4_u.opcreate.objname = v4c_name("new");
		} else if (ops[i] == OP_SETATTR) {
			o->nfs_argop4_u.opsetattr.obj_attributes = v4f_u32(&s, FATTR4_MODE, 0777);
		} else if (ops[i] == OP_RENAME) {
			o->nfs_argop4_u.oprename = (RENAME4args){v4c_name("a"), v4c_name("b")};
		} else {
			o->nfs_argop4_u.opremove.target = v4c_name("a");
		}
		good = good && tap_is(v4c_run(&c), NFS4ERR_ROFS, "what changes is ROFS");
	}
	v4c_begin(&c);
	v4c_putfh(&c, &above);
	v4c_access(&c, 63);
	tap_is(v4c_run(&c), NFS4_OK, "ACCESS");
	tap_is(v4c_res(&c, OP_ACCESS)->nfs_resop4_u.opaccess.ACCESS4res_u.resok4.access,
	       ACCESS4_READ | ACCESS4_LOOKUP, "read and search, no more");
	v4c_begin(&c);
	v4c_putfh(&c, &above);
	v4c_op(&c, OP_READLINK);
	tap_is(v4c_run(&c), NFS4ERR_INVAL, "READLINK");
	v4c_begin(&c);
	v4c_putfh(&c, &above);
	v4c_op(&c, OP_SECINFO)->nfs_argop4_u.opsecinfo.name = v4c_name("a");
	tap_is(v4c_run(&c), NFS4_OK, "SECINFO of an export");
	fh.data[fh.len - 1] ^= 1;
	v4c_begin(&c);
	v4c_putfh(&c, &fh);
	tap_is(v4c_run(&c), NFS4ERR_STALE, "an altered handle is stale");
}

static void handles(const char *keep)
{
	struct v4c_fh old[4] = {top, above, a, deep}, now[4] = {top, above, a, deep};
	FILE *f = fopen(keep, "r");
	bool good;

	if (!f) {
		f = fopen(keep, "w");
		tap_ok(f && fwrite(now, sizeof(now), 1, f) == 1 && !fclose(f), "handles are kept");
		return;
	}
	good = fread(old, sizeof(old), 1, f) == 1;
	for (int i = 0; i < 4; i++)
		good = good && same_fh(&old[i], &now[i]);
	tap_ok(good, "handles are those of before");
	fclose(f);
}

static int fsid_root(char **argv)
{
	struct v4c_fh back;

	if (v4c_open(&c, argv[2], atoi(argv[3]), (uint32_t)atoi(argv[4])))
		return 1;
	if (c.minor)
		tap_is(v4c_hello(&c, c.minor == 1 ? "pseudo 4.1" : "pseudo 4.2"), 0, "a session");
	tap_is(root_fh(&top), NFS4_OK, "PUTROOTFH");
	tap_ok(look(&top).major != 0, "is the export with fsid=0");
	tap_is(v4f_lookup(&c, &top, "in", &in), NFS4_OK, "its directories are found from there");
	tap_is(v4f_lookup(&c, &in, "deep", &deep), NFS4_OK, "and the exports in them");
	tap_ok(look(&deep).major != look(&top).major, "which are other file systems");
	tap_is(up(&top, &back), NFS4ERR_NOENT, "nothing is above it");
	v4c_close(&c);
	return tap_done();
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "--root"))
		return fsid_root(argv);
	if (argc != 6 || v4c_open(&c, argv[1], atoi(argv[2]), (uint32_t)atoi(argv[4])))
		return 1;
	if (c.minor)
		tap_is(v4c_hello(&c, c.minor == 1 ? "pseudo 4.1" : "pseudo 4.2"), 0, "a session");
	walk(argv[3]);
	exports();
	nested();
	read_only();
	handles(argv[5]);
	v4c_close(&c);
	return tap_done();
}
