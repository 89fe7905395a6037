/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MOUNT's six procedures, and FSSTAT, FSINFO, PATHCONF that follow a mount. */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"
#include "tests/lib/v3play.h"

static struct v3play p;
static struct fh got;
static unsigned nflavors;
static int flavor[4];

static void setup(void)
{
	v3play_start(&p, scratch_dir(NULL));
	umask(0);
}

static void teardown(void)
{
	v3play_stop(&p);
	scratch_remove(p.dir);
}

static mountstat3 mnt_raw(const char *path)
{
	dirpath arg = (char *)path;
	mountres3 res;

	ck_assert_uint_eq(v3play_mount(&p, MOUNTPROC3_MNT, (xdrproc_t)xdr_dirpath, &arg,
				       (xdrproc_t)xdr_mountres3, &res, sizeof(res)),
			  0);
	if (res.fhs_status == MNT3_OK) {
		mountres3_ok *ok = &res.mountres3_u.mountinfo;

		got.len = (uint8_t)ok->fhandle.fhandle3_len;
		memcpy(got.data, ok->fhandle.fhandle3_val, got.len);
		nflavors = ok->auth_flavors.auth_flavors_len;
		ck_assert_uint_le(nflavors, 4);
		memcpy(flavor, ok->auth_flavors.auth_flavors_val, nflavors * sizeof(int));
	}
	codec_free((xdrproc_t)xdr_mountres3, &res);
	return res.fhs_status;
}

/* `fmt` with the export's path in front. */
static mountstat3 mnt(const char *before, const char *behind)
{
	char path[600];

	snprintf(path, sizeof(path), "%s%s%s", before, p.dir, behind);
	return mnt_raw(path);
}

static void make_dir(const char *name, mode_t mode)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", p.dir, name);
	ck_assert_int_eq(mkdir(path, mode), 0);
}

START_TEST(the_export_and_what_lies_below_can_be_mounted)
{
	struct fh root, sub;
	nfs_fh3 wire;
	fattr3 a;

	make_dir("a", 0750);
	make_dir("a/b", 0755);
	ck_assert_int_eq(mnt("", ""), MNT3_OK);
	root = got;
	ck_assert_int_eq(mnt("/", "//"), MNT3_OK);
	ck_assert(got.len == root.len && !memcmp(got.data, root.data, root.len));
	p.uid = p.gid = 1000; /* may not search a/: the walk is the server's */
	ck_assert_int_eq(mnt("", "/a//b/"), MNT3_OK);
	sub = got;
	wire = v3play_fh(&sub);
	ck_assert_int_eq(v3play_getattr(&p, &wire, &a), NFS3_OK);
	ck_assert_int_eq(a.type, NF3DIR);
	ck_assert_uint_eq(nflavors, 1);
	ck_assert_int_eq(flavor[0], 1);
	ck_assert_ptr_nonnull(strstr(p.log, "authenticated mount request from 127.0.0.1:700 for "));
}
END_TEST

START_TEST(what_cannot_be_mounted_says_why)
{
	char file[600];

	snprintf(file, sizeof(file), "%s/f", p.dir);
	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	snprintf(file, sizeof(file), "%s/l", p.dir);
	ck_assert_int_eq(symlink("/etc", file), 0);
	ck_assert_int_eq(mnt("", "/f"), MNT3ERR_NOTDIR);
	ck_assert_int_eq(mnt("", "/l"), MNT3ERR_NOTDIR);
	ck_assert_int_eq(mnt("", "/none"), MNT3ERR_NOENT);
	ck_assert_int_eq(mnt_raw("/etc"), MNT3ERR_ACCES);
	ck_assert_int_eq(mnt_raw("/no/such/path"), MNT3ERR_NOENT);
	ck_assert_int_eq(mnt_raw(""), MNT3ERR_NOENT);
	p.client.match = EXPORT_HOST;
	p.table.generation++;
	ck_assert_int_eq(mnt("", ""), MNT3ERR_ACCES);
	ck_assert_ptr_nonnull(strstr(p.log, "refused mount request from 127.0.0.1:700 for "));
	p.client.match = EXPORT_ANY;
	p.client.opts.secure = true;
	p.owner.peer.secure_port = false;
	p.table.generation++;
	ck_assert_int_eq(mnt("", ""), MNT3ERR_ACCES);
}
END_TEST

START_TEST(dump_lists_mounts_and_umount_takes_them_off)
{
	mountlist list;
	dirpath arg = p.dir;

	ck_assert_int_eq(mnt("", ""), MNT3_OK);
	ck_assert_uint_eq(v3play_mount(&p, MOUNTPROC3_DUMP, NULL, NULL, (xdrproc_t)xdr_mountlist,
				       &list, sizeof(list)),
			  0);
	ck_assert_ptr_nonnull(list);
	ck_assert_str_eq(list->ml_hostname, "127.0.0.1");
	ck_assert_str_eq(list->ml_directory, p.dir);
	ck_assert_ptr_null(list->ml_next);
	codec_free((xdrproc_t)xdr_mountlist, &list);
	ck_assert_uint_eq(v3play_mount(&p, MOUNTPROC3_UMNT, (xdrproc_t)xdr_dirpath, &arg, NULL,
				       &list, sizeof(list)),
			  0);
	ck_assert_uint_eq(v3play_mount(&p, MOUNTPROC3_DUMP, NULL, NULL, (xdrproc_t)xdr_mountlist,
				       &list, sizeof(list)),
			  0);
	ck_assert_ptr_null(list);
	ck_assert_int_eq(mnt("", ""), MNT3_OK);
	ck_assert_uint_eq(
		v3play_mount(&p, MOUNTPROC3_UMNTALL, NULL, NULL, NULL, &list, sizeof(list)), 0);
	ck_assert_uint_eq(v3play_mount(&p, MOUNTPROC3_DUMP, NULL, NULL, (xdrproc_t)xdr_mountlist,
				       &list, sizeof(list)),
			  0);
	ck_assert_ptr_null(list);
}
END_TEST

START_TEST(export_lists_paths_and_who_may)
{
	exportlist list;

	ck_assert_uint_eq(v3play_mount(&p, MOUNTPROC3_EXPORT, NULL, NULL, (xdrproc_t)xdr_exportlist,
				       &list, sizeof(list)),
			  0);
	ck_assert_ptr_nonnull(list);
	ck_assert_str_eq(list->ex_dir, p.dir);
	ck_assert_ptr_nonnull(list->ex_groups);
	ck_assert_str_eq(list->ex_groups->gr_name, "*");
	ck_assert_ptr_null(list->ex_groups->gr_next);
	ck_assert_ptr_null(list->ex_next);
	codec_free((xdrproc_t)xdr_exportlist, &list);
}
END_TEST

START_TEST(the_file_systems_facts_are_true)
{
	FSSTAT3args sa;
	FSINFO3args ia;
	PATHCONF3args pa;
	FSSTAT3res s;
	FSINFO3res i;
	PATHCONF3res c;
	struct statvfs vfs;
	struct fh fh;
	nfs_fh3 root = v3play_root(&p, &fh);

	sa.fsroot = ia.fsroot = pa.object = root;
	ck_assert_int_eq(statvfs(p.dir, &vfs), 0);
	ck_assert_uint_eq(v3play_do(&p, FSSTAT, &sa, &s), 0);
	ck_assert_int_eq(s.status, NFS3_OK);
	ck_assert_uint_eq(s.FSSTAT3res_u.resok.tbytes, (uint64_t)vfs.f_blocks * vfs.f_frsize);
	ck_assert_uint_eq(s.FSSTAT3res_u.resok.tfiles, vfs.f_files);
	ck_assert_uint_le(s.FSSTAT3res_u.resok.abytes, s.FSSTAT3res_u.resok.fbytes);
	ck_assert_uint_eq(v3play_do(&p, FSINFO, &ia, &i), 0);
	ck_assert_int_eq(i.status, NFS3_OK);
	ck_assert_uint_eq(i.FSINFO3res_u.resok.rtmax, 1 << 20);
	ck_assert_uint_eq(i.FSINFO3res_u.resok.wtmax, 1 << 20);
	ck_assert_uint_ge(i.FSINFO3res_u.resok.dtpref, 65536);
	ck_assert_uint_eq(i.FSINFO3res_u.resok.time_delta.nseconds, 1);
	ck_assert_uint_eq(i.FSINFO3res_u.resok.properties, 0x1b);
	ck_assert_uint_eq(v3play_do(&p, PATHCONF, &pa, &c), 0);
	ck_assert_int_eq(c.status, NFS3_OK);
	ck_assert_uint_eq(c.PATHCONF3res_u.resok.name_max, vfs.f_namemax);
	ck_assert_uint_gt(c.PATHCONF3res_u.resok.linkmax, 1);
	ck_assert(c.PATHCONF3res_u.resok.case_preserving &&
		  !c.PATHCONF3res_u.resok.case_insensitive);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("mount3");
	TCase *t = tcase_create("mount");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, the_export_and_what_lies_below_can_be_mounted);
	tcase_add_test(t, what_cannot_be_mounted_says_why);
	tcase_add_test(t, dump_lists_mounts_and_umount_takes_them_off);
	tcase_add_test(t, export_lists_paths_and_who_may);
	tcase_add_test(t, the_file_systems_facts_are_true);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
