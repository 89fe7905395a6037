/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * v42 HOST PORT DIR OTHER FS: SEEK, ALLOCATE, DEALLOCATE, COPY, CLONE and extended attributes in
 * the exports DIR/e, DIR/ro (read-only, with `file`) and OTHER, another file system.  FS says what
 * DIR is.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/xattr.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"

#define BIG 100000
#define TOP ((uint64_t)INT64_MAX)

static struct v4c c;
static struct v4c_fh root, other, ro, file, dir, link_fh, copy_fh, far, ro_file;
static char path[PATH_MAX];
static const char *top;

#define IS(got, want, ...)                                                                         \
	do {                                                                                       \
		uint32_t is_got = (got), is_want = (want);                                         \
		if (!tap_ok(is_got == is_want, __VA_ARGS__))                                       \
			printf("# got %u, wanted %u\n", is_got, is_want);                          \
	} while (0)

static const char *local(const char *name)
{
	snprintf(path, sizeof(path), "%s/e/%s", top, name);
	return path;
}

static void fill(const char *name, uint32_t len, uint8_t seed)
{
	int fd = open(local(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	uint8_t *b = malloc(len);

	for (uint32_t i = 0; i < len; i++)
		b[i] = (uint8_t)(i * 7 + i / 251 + seed);
	tap_ok(fd >= 0 && write(fd, b, len) == (ssize_t)len && !fsync(fd), "%s is written", name);
	close(fd);
	free(b);
}

/* `n` bytes at `a` of one file are those at `b` of the other; b < 0: zeros. */
static bool same(const char *one, off_t a, const char *two, off_t b, uint32_t n)
{
	int f = open(local(one), O_RDONLY), g = open(local(two), O_RDONLY);
	uint8_t *x = calloc(1, n), *y = calloc(1, n);
	bool good = pread(f, x, n, a) == (ssize_t)n && (b < 0 || pread(g, y, n, b) == (ssize_t)n) &&
		    !memcmp(x, y, n);

	close(f);
	close(g);
	free(x);
	free(y);
	return good;
}

/* --- room and holes --- */

static uint32_t seek(const struct v4c_fh *fh, uint64_t offset, uint32_t what)
{
	SEEK4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, fh);
	a = &v4c_op(&c, OP_SEEK)->nfs_argop4_u.opseek;
	a->sa_stateid = v4c_anonymous;
	a->sa_offset = offset;
	a->sa_what = (data_content4)what;
	return v4c_run(&c);
}

static void seek_is(uint64_t offset, uint32_t what, uint64_t at, bool eof, const char *name)
{
	uint32_t status = seek(&file, offset, what);
	const seek_res4 *res =
		status ? NULL : &v4c_res(&c, OP_SEEK)->nfs_resop4_u.opseek.SEEK4res_u.resok4;

	if (!tap_ok(res && res->sr_offset == at && res->sr_eof == eof, "SEEK: %s", name))
		printf("# status %u, at %llu, eof %d\n", status,
		       res ? (unsigned long long)res->sr_offset : 0, res ? res->sr_eof : 0);
}

static uint32_t space(const struct v4c_fh *fh, nfs_opnum4 op, uint64_t offset, uint64_t len)
{
	ALLOCATE4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, fh);
	/* The arguments of both are the same. */
	a = &v4c_op(&c, op)->nfs_argop4_u.opallocate;
	a->aa_stateid = v4c_anonymous;
	a->aa_offset = offset;
	a->aa_length = len;
	return v4c_run(&c);
}

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(local(name), &st) ? -1 : st.st_size;
}

static void holes(void)
{
	static const uint64_t edges[] = {TOP - 2, TOP - 1,        TOP,       TOP + 1,
					 TOP + 2, UINT64_MAX - 1, UINT64_MAX};
	uint32_t status;

	IS(space(&file, OP_DEALLOCATE, 16384, 32768), 0, "DEALLOCATE");
	tap_ok(same("file", 16384, "file", -1, 32768) && same("file", 0, "twin", 0, 16384) &&
		       same("file", 49152, "twin", 49152, BIG - 49152) && size_of("file") == BIG,
	       "DEALLOCATE zeroes its range and nothing else");
	seek_is(0, NFS4_CONTENT_DATA, 0, false, "data at the start");
	seek_is(0, NFS4_CONTENT_HOLE, 16384, false, "the hole");
	seek_is(20000, NFS4_CONTENT_HOLE, 20000, false, "within the hole");
	seek_is(16384, NFS4_CONTENT_DATA, 49152, false, "data behind the hole");
	seek_is(60000, NFS4_CONTENT_HOLE, BIG, true, "the hole at the end");
	IS(seek(&file, BIG, NFS4_CONTENT_DATA), NFS4ERR_NXIO, "SEEK from the end");
	IS(seek(&file, BIG, NFS4_CONTENT_HOLE), NFS4ERR_NXIO, "SEEK for a hole from the end");
	for (unsigned i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		IS(seek(&file, edges[i], NFS4_CONTENT_DATA), NFS4ERR_NXIO, "SEEK from %llu",
		   (unsigned long long)edges[i]);
		status = space(&file, OP_ALLOCATE, edges[i], 100);
		tap_ok(status == NFS4ERR_FBIG || status == NFS4ERR_INVAL, "ALLOCATE at %llu",
		       (unsigned long long)edges[i]);
		status = space(&file, OP_DEALLOCATE, 100, edges[i]);
		tap_ok(status == NFS4ERR_FBIG || status == NFS4ERR_INVAL, "DEALLOCATE of %llu",
		       (unsigned long long)edges[i]);
	}
	IS(seek(&file, 0, 2), NFS4ERR_UNION_NOTSUPP, "SEEK for what is neither");
	IS(seek(&dir, 0, 0), NFS4ERR_ISDIR, "SEEK in a directory");
	IS(seek(&link_fh, 0, 0), NFS4ERR_WRONG_TYPE, "SEEK in a symlink");
	IS(space(&file, OP_ALLOCATE, 0, 0), NFS4ERR_INVAL, "ALLOCATE of nothing");
	IS(space(&file, OP_ALLOCATE, BIG, 50000), 0, "ALLOCATE behind the end");
	tap_ok(size_of("file") == BIG + 50000 && same("file", BIG, "file", -1, 50000),
	       "ALLOCATE makes the file longer");
	IS(space(&dir, OP_ALLOCATE, 0, 1), NFS4ERR_ISDIR, "ALLOCATE in a directory");
	IS(space(&ro_file, OP_DEALLOCATE, 0, 1), NFS4ERR_ROFS, "DEALLOCATE on a read-only export");
	tap_ok(!truncate(local("file"), BIG), "the file has its size again");
}

/* --- COPY, CLONE --- */

static uint32_t copy(const struct v4c_fh *from, const struct v4c_fh *to, uint64_t src, uint64_t dst,
		     uint64_t count)
{
	COPY4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, from);
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, to);
	a = &v4c_op(&c, OP_COPY)->nfs_argop4_u.opcopy;
	a->ca_src_offset = src;
	a->ca_dst_offset = dst;
	a->ca_count = count;
	a->ca_consecutive = true;
	a->ca_synchronous = true;
	return v4c_run(&c);
}

static uint64_t copied(void)
{
	nfs_resop4 *r = v4c_res(&c, OP_COPY);

	return r ? r->nfs_resop4_u.opcopy.COPY4res_u.cr_resok4.cr_response.wr_count : 0;
}

static uint32_t clone_file(const struct v4c_fh *from, const struct v4c_fh *to, uint64_t src,
			   uint64_t dst, uint64_t count)
{
	CLONE4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, from);
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, to);
	a = &v4c_op(&c, OP_CLONE)->nfs_argop4_u.opclone;
	a->cl_src_offset = src;
	a->cl_dst_offset = dst;
	a->cl_count = count;
	return v4c_run(&c);
}

static void copies(bool reflinks)
{
	uint32_t want = reflinks ? NFS4_OK : NFS4ERR_NOTSUPP;

	IS(copy(&file, &copy_fh, 0, 0, 0), 0, "COPY to the end of the source");
	tap_ok(copied() == BIG && same("file", 0, "copy", 0, BIG),
	       "COPY tells how much, and that is there");
	IS(copy(&file, &copy_fh, 777, 200001, 5000), 0, "COPY of a part");
	tap_ok(copied() == 5000 && same("file", 777, "copy", 200001, 5000),
	       "which is where it should be");
	IS(copy(&file, &file, 0, 200000, 5000), 0, "COPY within a file");
	IS(copy(&file, &file, 0, 4000, 5000), NFS4ERR_INVAL, "COPY of a range onto itself");
	tap_ok(!truncate(local("file"), BIG), "the file has its size again");
	IS(copy(&file, &copy_fh, BIG, 0, 1), NFS4ERR_INVAL, "COPY of what is not there");
	IS(copy(&file, &copy_fh, UINT64_MAX, 0, 1), NFS4ERR_INVAL, "COPY from far beyond");
	IS(copy(&file, &copy_fh, 0, UINT64_MAX - 5, 10), NFS4ERR_INVAL, "COPY to no place");
	IS(copy(&file, &copy_fh, 0, TOP - 5, 10), NFS4ERR_FBIG, "COPY to where no file reaches");
	IS(copy(&dir, &copy_fh, 0, 0, 1), NFS4ERR_ISDIR, "COPY of a directory");
	IS(copy(&file, &dir, 0, 0, 1), NFS4ERR_ISDIR, "COPY onto a directory");
	IS(copy(&file, &ro_file, 0, 0, 1), NFS4ERR_ROFS, "COPY onto a read-only export");
	IS(copy(&ro_file, &copy_fh, 0, 0, 0), 0, "COPY from a read-only export");
	/* A source that ends within a block can only be the end of its target. */
	tap_ok(!truncate(local("copy"), 10), "a short target");
	IS(clone_file(&file, &copy_fh, 0, 0, 0), want, "CLONE of a file");
	if (reflinks)
		tap_ok(same("file", 0, "copy", 0, BIG), "CLONE makes the same");
	IS(clone_file(&file, &copy_fh, 0, 4096, 8192), want, "CLONE of two blocks");
	if (reflinks)
		tap_ok(same("file", 0, "copy", 4096, 8192), "they are the same");
	IS(clone_file(&file, &copy_fh, 0, 1, 8192), reflinks ? NFS4ERR_INVAL : want,
	   "CLONE to no block's start");
	IS(clone_file(&file, &file, 0, 4096, 8192), NFS4ERR_INVAL, "CLONE of a range onto itself");
	IS(clone_file(&file, &far, 0, 0, 0), NFS4ERR_XDEV, "CLONE to another file system");
	IS(clone_file(&file, &ro_file, 0, 0, 0), NFS4ERR_ROFS, "CLONE onto a read-only export");
	v4c_begin(&c);
	v4c_putfh(&c, &copy_fh);
	v4c_op(&c, OP_COPY);
	IS(v4c_run(&c), NFS4ERR_NOFILEHANDLE, "COPY without a saved filehandle");
}

/* Stateids of nothing: no part of COPY takes them, and no copy runs on to be asked about. */
static void copies_by_strangers(void)
{
	static const nfs_opnum4 ops[] = {OP_OFFLOAD_STATUS, OP_OFFLOAD_CANCEL};
	static const stateid4 wrong = {1, "\xde\xad\xbe\xef\xde\xad\xbe\xef\xde\xad\xbe\xef"};
	COPY4args *a;

	for (int side = 0; side < 2; side++) {
		v4c_begin(&c);
		v4c_putfh(&c, &file);
		v4c_op(&c, OP_SAVEFH);
		v4c_putfh(&c, &copy_fh);
		a = &v4c_op(&c, OP_COPY)->nfs_argop4_u.opcopy;
		*(side ? &a->ca_src_stateid : &a->ca_dst_stateid) = wrong;
		a->ca_count = 1;
		IS(v4c_run(&c), NFS4ERR_BAD_STATEID, "COPY by a stateid nobody gave, %s",
		   side ? "from" : "to");
	}
	for (unsigned i = 0; i < 2; i++) {
		v4c_begin(&c);
		v4c_putfh(&c, &copy_fh);
		/* The arguments of both are a stateid and no more. */
		v4c_op(&c, ops[i])->nfs_argop4_u.opoffload_status.osa_stateid =
			i ? v4c_anonymous : wrong;
		IS(v4c_run(&c), NFS4ERR_BAD_STATEID, "operation %u: there is no such copy", ops[i]);
	}
}

/* --- what writes takes set-id bits off --- */

static mode_t mode_after(uint32_t (*act)(void))
{
	struct stat st;

	chown(local("suid"), 0, 0);
	chmod(local("suid"), 06777);
	act();
	return stat(local("suid"), &st) ? 0 : st.st_mode & 07777;
}

static struct v4c_fh suid;

static uint32_t by_allocate(void) { return space(&suid, OP_ALLOCATE, 0, 8192); }
static uint32_t by_deallocate(void) { return space(&suid, OP_DEALLOCATE, 0, 4096); }
static uint32_t by_copy(void) { return copy(&file, &suid, 0, 0, 4096); }
static uint32_t by_clone(void) { return clone_file(&file, &suid, 0, 0, 4096); }

static void set_ids(bool reflinks)
{
	fill("suid", 8192, 9);
	v4f_lookup(&c, &root, "suid", &suid);
	c.raw.uid = c.raw.gid = 1000;
	IS(mode_after(by_allocate), 0777, "ALLOCATE by another takes set-id bits off");
	IS(mode_after(by_deallocate), 0777, "DEALLOCATE does");
	IS(mode_after(by_copy), 0777, "COPY does");
	if (reflinks)
		IS(mode_after(by_clone), 0777, "CLONE does");
	chmod(local("file"), 0600);
	IS(seek(&file, 0, NFS4_CONTENT_DATA), NFS4ERR_ACCESS, "SEEK needs the right to read");
	IS(copy(&file, &suid, 0, 0, 1), NFS4ERR_ACCESS, "COPY too");
	chmod(local("file"), 0644);
	IS(space(&file, OP_ALLOCATE, 0, 1), NFS4ERR_ACCESS, "ALLOCATE needs the right to write");
	IS(copy(&copy_fh, &file, 0, 0, 1), NFS4ERR_ACCESS, "COPY too");
	/* The file is open, so that the answer is there at once. */
	v4c_begin(&c);
	v4c_putfh(&c, &file);
	v4c_write(&c, &v4c_anonymous, 0, UNSTABLE4, "x", 1);
	v4c_getfh(&c);
	IS(v4c_run(&c), NFS4ERR_ACCESS, "WRITE too, in the middle of a COMPOUND");
	c.raw.uid = c.raw.gid = 0;
}

/* --- extended attributes --- */

static component4 sized(const char *s, uint32_t len)
{
	return (component4){.component4_len = len, .component4_val = (char *)(uintptr_t)s};
}

static uint32_t set(const struct v4c_fh *fh, setxattr_option4 how, component4 name,
		    const void *value, uint32_t len)
{
	SETXATTR4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, fh);
	a = &v4c_op(&c, OP_SETXATTR)->nfs_argop4_u.opsetxattr;
	a->sxa_option = how;
	a->sxa_key = name;
	a->sxa_value.xattrvalue4_len = len;
	a->sxa_value.xattrvalue4_val = (char *)(uintptr_t)value;
	return v4c_run(&c);
}

static uint32_t get(const struct v4c_fh *fh, component4 name)
{
	v4c_begin(&c);
	v4c_putfh(&c, fh);
	v4c_op(&c, OP_GETXATTR)->nfs_argop4_u.opgetxattr.gxa_name = name;
	return v4c_run(&c);
}

static bool value_is(const char *name, const void *want, uint32_t len)
{
	const xattrvalue4 *v;

	if (get(&file, v4c_name(name)))
		return false;
	v = &v4c_res(&c, OP_GETXATTR)->nfs_resop4_u.opgetxattr.GETXATTR4res_u.gxr_value;
	return v->xattrvalue4_len == len && !memcmp(v->xattrvalue4_val, want, len);
}

static uint32_t rid(const struct v4c_fh *fh, const char *name)
{
	v4c_begin(&c);
	v4c_putfh(&c, fh);
	v4c_op(&c, OP_REMOVEXATTR)->nfs_argop4_u.opremovexattr.rxa_name = v4c_name(name);
	return v4c_run(&c);
}

static uint32_t list(const struct v4c_fh *fh, uint64_t cookie, uint32_t max, LISTXATTRS4resok *out)
{
	LISTXATTRS4args *a;
	uint32_t status;

	v4c_begin(&c);
	v4c_putfh(&c, fh);
	a = &v4c_op(&c, OP_LISTXATTRS)->nfs_argop4_u.oplistxattrs;
	a->lxa_cookie = cookie;
	a->lxa_maxcount = max;
	status = v4c_run(&c);
	*out = status ? (LISTXATTRS4resok){.lxr_eof = false}
		      : v4c_res(&c, OP_LISTXATTRS)
				->nfs_resop4_u.oplistxattrs.LISTXATTRS4res_u.lxr_value;
	return status;
}

static void listed(void)
{
	LISTXATTRS4resok l = {.lxr_eof = false};
	unsigned seen = 0, calls = 0;
	uint64_t cookie = 0;
	char name[16];

	IS(list(&file, 0, 8192, &l), 0, "LISTXATTRS of none");
	tap_ok(l.lxr_eof && !l.lxr_names.lxr_names_len, "there are none");
	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "attr%02u", i);
		set(&file, SETXATTR4_CREATE, v4c_name(name), "v", 1);
	}
	do {
		if (list(&file, cookie, 64, &l))
			break;
		for (u_int i = 0; i < l.lxr_names.lxr_names_len; i++)
			seen += l.lxr_names.lxr_names_val[i].component4_len == 6 &&
				!memcmp(l.lxr_names.lxr_names_val[i].component4_val, "attr", 4);
		cookie = l.lxr_cookie;
	} while (!l.lxr_eof && ++calls < 100);
	tap_ok(seen == 20 && l.lxr_eof, "twenty names by several calls: %u", seen);
	IS(list(&file, 0, 17, &l), NFS4ERR_TOOSMALL, "LISTXATTRS into too little room");
	IS(list(&file, 21, 8192, &l), NFS4ERR_BAD_COOKIE, "LISTXATTRS from beyond the end");
	IS(list(&file, 20, 8192, &l), 0, "LISTXATTRS from the end");
	setxattr(local("file"), "trusted.secret", "x", 1, 0);
	IS(list(&file, 0, UINT32_MAX, &l), 0, "LISTXATTRS into all the room there is");
	tap_ok(l.lxr_names.lxr_names_len == 20, "other name spaces are not told");
}

static void xattrs(void)
{
	static char much[65537], longest[256];
	ssize_t n;

	listed();
	IS(get(&file, v4c_name("none")), NFS4ERR_NOXATTR, "GETXATTR of what is not there");
	IS(set(&file, SETXATTR4_REPLACE, v4c_name("a"), "1", 1), NFS4ERR_NOXATTR,
	   "SETXATTR replaces only what is there");
	IS(set(&file, SETXATTR4_CREATE, v4c_name("a"), "1", 1), 0, "SETXATTR of a new one");
	IS(set(&file, SETXATTR4_CREATE, v4c_name("a"), "2", 1), NFS4ERR_EXIST,
	   "SETXATTR makes only what is not there");
	tap_ok(value_is("a", "1", 1), "GETXATTR tells what was set");
	IS(set(&file, SETXATTR4_REPLACE, v4c_name("a"), "33", 2), 0, "SETXATTR replaces");
	tap_ok(value_is("a", "33", 2), "and GETXATTR tells that");
	IS(set(&file, SETXATTR4_EITHER, v4c_name("a"), "", 0), 0, "SETXATTR of an empty value");
	tap_ok(value_is("a", "", 0), "it is empty");
	n = getxattr(local("file"), "user.a", much, sizeof(much));
	tap_ok(n == 0, "its name on the server is user.a");
	IS(set(&file, SETXATTR4_EITHER, v4c_name("b\303\244"), "x", 1), 0, "a name in UTF-8");
	IS(set(&file, SETXATTR4_EITHER, sized("b\377", 2), "x", 1), NFS4ERR_INVAL,
	   "a name not in UTF-8");
	IS(set(&file, SETXATTR4_EITHER, sized("b\0c", 3), "x", 1), NFS4ERR_INVAL,
	   "a name with a NUL");
	IS(set(&file, SETXATTR4_EITHER, sized("", 0), "x", 1), NFS4ERR_INVAL, "no name");
	memset(longest, 'n', 255);
	IS(set(&file, SETXATTR4_EITHER, sized(longest, 251), "x", 1), NFS4ERR_NAMETOOLONG,
	   "a name too long");
	IS(set(&file, SETXATTR4_EITHER, sized(longest, 250), "x", 1), 0, "the longest name");
	IS(rid(&file, "a"), 0, "REMOVEXATTR");
	IS(rid(&file, "a"), NFS4ERR_NOXATTR, "REMOVEXATTR of what is gone");
	IS(set(&dir, SETXATTR4_EITHER, v4c_name("d"), "x", 1), 0, "a directory has some, too");
	tap_ok(set(&link_fh, SETXATTR4_EITHER, v4c_name("d"), "x", 1) != 0, "a symlink cannot");
	IS(set(&ro_file, SETXATTR4_EITHER, v4c_name("d"), "x", 1), NFS4ERR_ROFS,
	   "SETXATTR on a read-only export");
	IS(rid(&ro_file, "d"), NFS4ERR_ROFS, "REMOVEXATTR there");
	IS(get(&file, v4c_name("nfsdio.verifier")), NFS4ERR_NOXATTR,
	   "the server's own is not told");
	IS(set(&file, SETXATTR4_EITHER, v4c_name("nfsdio.verifier"), "12345678", 8), NFS4ERR_ACCESS,
	   "nor to be set");
	c.raw.uid = c.raw.gid = 1000;
	IS(set(&file, SETXATTR4_EITHER, v4c_name("e"), "x", 1), NFS4ERR_ACCESS,
	   "SETXATTR needs the right to write");
	c.raw.uid = c.raw.gid = 0;
}

static void unknown(void)
{
	static const nfs_opnum4 ops[] = {OP_IO_ADVISE, OP_COPY_NOTIFY};
	nfs_argop4 *a;

	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		v4c_begin(&c);
		v4c_putfh(&c, &file);
		a = v4c_op(&c, ops[i]);
		if (ops[i] == OP_COPY_NOTIFY)
			a->nfs_argop4_u.opoffload_notify.cna_destination_server.nl_type = NL4_NAME;
		IS(v4c_run(&c), NFS4ERR_NOTSUPP, "operation %u is not there, and says so", ops[i]);
	}
}

int main(int argc, char **argv)
{
	char export[PATH_MAX];
	bool reflinks;

	if (argc != 6 || v4c_open(&c, argv[1], atoi(argv[2]), 2) || v4c_hello(&c, argv[5]))
		return 1;
	top = argv[3];
	reflinks = strcmp(argv[5], "ext4") != 0;
	snprintf(export, sizeof(export), "%s/ro", top);
	IS(v4c_mount(&c, local(""), &root) || v4c_mount(&c, export, &ro) ||
		   v4c_mount(&c, argv[4], &other),
	   0, "exports");
	fill("file", BIG, 1);
	fill("twin", BIG, 1);
	fill("copy", 10, 2);
	snprintf(export, sizeof(export), "%s/far", argv[4]);
	close(open(export, O_WRONLY | O_CREAT, 0644));
	tap_ok(!mkdir(local("dir"), 0755) && !symlink("there", local("link")),
	       "objects of other types");
	IS(v4f_lookup(&c, &root, "file", &file) || v4f_lookup(&c, &root, "dir", &dir) ||
		   v4f_lookup(&c, &root, "link", &link_fh) ||
		   v4f_lookup(&c, &root, "copy", &copy_fh) || v4f_lookup(&c, &other, "far", &far) ||
		   v4f_lookup(&c, &ro, "file", &ro_file),
	   0, "they are found");
	holes();
	copies(reflinks);
	copies_by_strangers();
	set_ids(reflinks);
	xattrs();
	unknown();
	v4c_close(&c);
	return tap_done();
}
