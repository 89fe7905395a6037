/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * owners HOST PORT DIR MINOR [SOCKET]: who owns files of the export DIR, as a server with
 * idmap = names and domain = example.org tells it.  With SOCKET, where the server's libc looks for
 * nscd: what happens while a look-up takes its time.
 */
#include <poll.h>
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"

#define OWNERS (1u << (FATTR4_OWNER - 32) | 1u << (FATTR4_OWNER_GROUP - 32))
#define NOBODY 424242 /* no user here */

static struct v4c c;
static struct v4c_fh root, file;

static bool next_is(struct cursor *vals, const char *want)
{
	uint32_t len;
	const char *got = (const char *)cursor_get_opaque(vals, 1024, &len);

	if (got && len == strlen(want) && !memcmp(got, want, len))
		return true;
	printf("# got %.*s\n", got ? (int)len : 0, got ? got : "");
	return false;
}

static void ask(struct v4c *from, const struct v4c_fh *fh)
{
	v4c_begin(from);
	if (fh)
		v4c_putfh(from, fh);
	else
		v4c_putrootfh(from);
	v4c_getattr(from, 0, OWNERS, 0);
}

static bool owned(const struct v4c_fh *fh, const char *user, const char *group)
{
	struct cursor vals;

	ask(&c, fh);
	return !v4c_run(&c) && v4f_got(&c, &vals) && next_is(&vals, user) && next_is(&vals, group);
}

static uint32_t setattr(const char *user, const char *group)
{
	SETATTR4args *a;
	struct v4f s;

	v4f_begin(&s);
	cursor_put_opaque(v4f_add(&s, FATTR4_OWNER), user, (uint32_t)strlen(user));
	cursor_put_opaque(v4f_add(&s, FATTR4_OWNER_GROUP), group, (uint32_t)strlen(group));
	v4c_begin(&c);
	v4c_putfh(&c, &file);
	a = &v4c_op(&c, OP_SETATTR)->nfs_argop4_u.opsetattr;
	a->obj_attributes = v4f_end(&s);
	return v4c_run(&c);
}

static uint32_t verify(const char *user)
{
	struct v4f s;

	v4f_begin(&s);
	cursor_put_opaque(v4f_add(&s, FATTR4_OWNER), user, (uint32_t)strlen(user));
	v4c_begin(&c);
	v4c_putfh(&c, &file);
	v4c_op(&c, OP_VERIFY)->nfs_argop4_u.opverify.obj_attributes = v4f_end(&s);
	return v4c_run(&c);
}

static void listed(void)
{
	READDIR4args *a;
	const entry4 *e;
	struct cursor vals;

	v4c_begin(&c);
	v4c_putfh(&c, &root);
	a = &v4c_op(&c, OP_READDIR)->nfs_argop4_u.opreaddir;
	a->dircount = a->maxcount = 8192;
	a->attr_request.bitmap4_len = 2;
	a->attr_request.bitmap4_val[1] = OWNERS;
	tap_is(v4c_run(&c), NFS4_OK, "READDIR");
	e = v4c_res(&c, OP_READDIR)->nfs_resop4_u.opreaddir.READDIR4res_u.resok4.reply.entries;
	if (!e)
		return;
	cursor_init_const(&vals, e->attrs.attr_vals.attrlist4_val,
			  e->attrs.attr_vals.attrlist4_len);
	tap_ok(next_is(&vals, "daemon@example.org") && next_is(&vals, "bin@example.org"),
	       "tells names, too");
}

static void told(const char *path)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", NOBODY);
	tap_ok(owned(NULL, "root@example.org", "root@example.org"),
	       "the root of all exports is root's");
	tap_ok(!chown(path, 1, 2) && owned(&file, "daemon@example.org", "bin@example.org"),
	       "names");
	tap_ok(owned(&file, "daemon@example.org", "bin@example.org"), "and again");
	listed();
	tap_is(verify("daemon@example.org"), NFS4_OK, "VERIFY compares them");
	tap_is(verify("bin@example.org"), NFS4ERR_NOT_SAME, "and sees another");
	tap_is(verify("1"), NFS4_OK, "a number is the user's");
	tap_is(verify("daemon@EXAMPLE.ORG"), NFS4_OK, "in whatever case the domain is told");
	tap_is(verify("2"), NFS4ERR_NOT_SAME, "another number is not");
	tap_is(verify("nobody-we-know@example.org"), NFS4ERR_NOT_SAME, "nor is nobody");
	tap_is(verify(""), NFS4ERR_NOT_SAME, "nor is nothing");
	tap_ok(!chown(path, NOBODY, NOBODY) && owned(&file, text, text),
	       "whom nobody knows has a number");
}

static void set(const char *path)
{
	struct stat st = {.st_uid = 99};

	tap_is(setattr("bin@example.org", "daemon@EXAMPLE.ORG"), NFS4_OK, "names are set");
	tap_ok(!stat(path, &st) && st.st_uid == 2 && st.st_gid == 1, "to whom they mean");
	tap_is(setattr("1234", "5678"), NFS4_OK, "numbers are set");
	tap_ok(!stat(path, &st) && st.st_uid == 1234 && st.st_gid == 5678, "as they are");
	tap_is(setattr("nobody-we-know@example.org", "1"), NFS4ERR_BADOWNER,
	       "an unknown user is BADOWNER");
	tap_is(setattr("1", "daemon@example.com"), NFS4ERR_BADOWNER, "and so is another domain");
	tap_is(setattr("daemon", "1"), NFS4ERR_BADOWNER, "and none");
	tap_ok(!stat(path, &st) && st.st_uid == 1234 && st.st_gid == 5678,
	       "and nothing is changed");
}

static int listen_at(const char *path)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || strlen(path) >= sizeof(un.sun_path))
		return -1;
	strcpy(un.sun_path, path);
	return bind(fd, (struct sockaddr *)&un, sizeof(un)) || listen(fd, 8) ? -1 : fd;
}

/* There is one worker, and it is theirs both. */
static void slow(const char *host, int port, const char *path, int nscd)
{
	struct pollfd p = {.fd = nscd, .events = POLLIN};
	struct rawnfs_reply reply;
	struct rawnfs_call call;
	struct v4c other;

	tap_ok(!v4c_open(&other, host, port, c.minor), "two connections");
	tap_is(chown(path, 4711, 1), 0, "a file of somebody never heard of");
	ask(&other, &file);
	v4c_encode(&other, &call);
	tap_is(rawnfs_send(&other.raw, &call, 0), 0, "its owner is asked for");
	tap_is(poll(&p, 1, RAWNFS_WAIT_MS), 1, "and looked up");
	tap_is(v4f_number(&c, &file, FATTR4_SIZE), 0, "others are answered meanwhile");
	tap_ok(!rawnfs_readable(&other.raw, 0), "he is not");
	tap_is(close(nscd), 0, "the name service gives up");
	other.err = rawnfs_recv(&other.raw, &reply);
	tap_is(v4c_take(&other, &reply), NFS4_OK, "then he is");
	rawnfs_call_end(&call);
	v4c_close(&other);
	tap_ok(owned(&file, "late@example.org", "daemon@example.org"),
	       "with the name that the next one has");
}

int main(int argc, char **argv)
{
	char path[4096];
	int nscd = argc > 5 ? listen_at(argv[5]) : -1;

	if (argc < 5 || v4c_open(&c, argv[1], atoi(argv[2]), (uint32_t)atoi(argv[4])))
		return 1;
	tap_ok(!v4c_mount(&c, argv[3], &root), "the export's root");
	if (c.minor)
		tap_ok(!v4c_hello(&c, "owners"), "a session");
	snprintf(path, sizeof(path), "%s/file", argv[3]);
	tap_ok(!v4f_make(argv[3], V4F_FILE) && !v4f_lookup(&c, &root, "file", &file), "a file");
	if (argc > 5) {
		slow(argv[1], atoi(argv[2]), path, nscd);
	} else {
		told(path);
		set(path);
	}
	v4c_close(&c);
	return tap_done();
}
