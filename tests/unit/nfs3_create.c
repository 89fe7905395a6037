/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CREATE, MKDIR, SYMLINK, MKNOD, LOOKUP, READLINK. */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/lib/loopfs.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"
#include "tests/lib/v3play.h"

static struct v3play p;
static struct fh root_fh, fh;
static nfs_fh3 root;

static void setup_in(const char *base)
{
	v3play_start(&p, scratch_dir(base));
	umask(0);
	root = v3play_root(&p, &root_fh);
}

static void setup(void)
{
	setup_in(NULL);
}

static void teardown(void)
{
	v3play_stop(&p);
	scratch_remove(p.dir);
}

static struct stat stat_of(const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", p.dir, name);
	ck_assert_msg(!lstat(path, &st), "%s", path);
	return st;
}

static nfsstat3 exclusive(const char *name, const char verf[8], struct fh *out)
{
	CREATE3args a = {.where = {.dir = root, .name = (char *)name}, .how = {.mode = EXCLUSIVE}};
	CREATE3res res;
	nfsstat3 st;

	memcpy(a.how.createhow3_u.verf, verf, 8);
	ck_assert_uint_eq(v3play_do(&p, CREATE, &a, &res), 0);
	st = res.status;
	if (st == NFS3_OK) {
		ck_assert(res.CREATE3res_u.resok.obj.handle_follows);
		ck_assert(res.CREATE3res_u.resok.obj_attributes.attributes_follow);
		out->len = (uint8_t)res.CREATE3res_u.resok.obj.post_op_fh3_u.handle.data.data_len;
		memcpy(out->data, res.CREATE3res_u.resok.obj.post_op_fh3_u.handle.data.data_val,
		       out->len);
	}
	codec_free(V3PLAY_RES(CREATE), &res);
	return st;
}

static nfsstat3 unchecked(const char *name, int64_t size, struct fh *out)
{
	CREATE3args a = {.where = {.dir = root, .name = (char *)name}, .how = {.mode = UNCHECKED}};
	sattr3 *s = &a.how.createhow3_u.obj_attributes;
	CREATE3res res;
	nfsstat3 st;

	s->mode.set_it = TRUE;
	s->mode.set_mode3_u.mode = 0640;
	s->size.set_it = size >= 0;
	s->size.set_size3_u.size = (uint64_t)size;
	ck_assert_uint_eq(v3play_do(&p, CREATE, &a, &res), 0);
	st = res.status;
	if (st == NFS3_OK) {
		out->len = (uint8_t)res.CREATE3res_u.resok.obj.post_op_fh3_u.handle.data.data_len;
		memcpy(out->data, res.CREATE3res_u.resok.obj.post_op_fh3_u.handle.data.data_val,
		       out->len);
	} else {
		ck_assert(res.CREATE3res_u.resfail.dir_wcc.after.attributes_follow);
	}
	codec_free(V3PLAY_RES(CREATE), &res);
	return st;
}

static bool same(const struct fh *a, const struct fh *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

START_TEST(a_new_file_has_the_mode_asked_for)
{
	ck_assert_int_eq(v3play_create(&p, &root, "f", 06755, &fh), NFS3_OK);
	ck_assert_uint_eq(stat_of("f").st_mode, S_IFREG | 06755);
	ck_assert_int_eq(v3play_create(&p, &root, "g", 0666, &fh), NFS3_OK);
	ck_assert_uint_eq(stat_of("g").st_mode, S_IFREG | 0666);
}
END_TEST

START_TEST(guarded_refuses_what_is_there)
{
	ck_assert_int_eq(v3play_create(&p, &root, "f", 0644, &fh), NFS3_OK);
	ck_assert_int_eq(v3play_create(&p, &root, "f", 0644, &fh), NFS3ERR_EXIST);
	ck_assert_int_eq(v3play_create(&p, &root, ".", 0644, &fh), NFS3ERR_EXIST);
	ck_assert_int_eq(v3play_create(&p, &root, "..", 0644, &fh), NFS3ERR_EXIST);
}
END_TEST

START_TEST(unchecked_opens_what_is_there_and_truncates_only_when_asked)
{
	struct fh again;

	ck_assert_int_eq(unchecked("f", 100, &fh), NFS3_OK);
	ck_assert_int_eq(stat_of("f").st_size, 100);
	ck_assert_int_eq(unchecked("f", -1, &again), NFS3_OK);
	ck_assert(same(&fh, &again));
	ck_assert_int_eq(stat_of("f").st_size, 100);
	ck_assert_int_eq(unchecked("f", 0, &again), NFS3_OK);
	ck_assert_int_eq(stat_of("f").st_size, 0);
	ck_assert_int_eq(v3play_mkdir(&p, &root, "d", 0755, &again), NFS3_OK);
	ck_assert_int_eq(unchecked("d", -1, &again), NFS3ERR_EXIST);
}
END_TEST

START_TEST(names_are_bytes_and_bad_ones_are_refused)
{
	char longest[257];
	struct fh a, b, c, found;

	memset(longest, 'n', 256);
	longest[256] = '\0';
	ck_assert_int_eq(v3play_create(&p, &root, longest, 0644, &fh), NFS3ERR_NAMETOOLONG);
	ck_assert_int_eq(v3play_lookup(&p, &root, longest, &fh), NFS3ERR_NAMETOOLONG);
	longest[255] = '\0';
	ck_assert_int_eq(v3play_create(&p, &root, longest, 0644, &fh), NFS3_OK);
	ck_assert_int_eq(v3play_create(&p, &root, "", 0644, &fh), NFS3ERR_ACCES);
	ck_assert_int_ne(v3play_create(&p, &root, "a/b", 0644, &fh), NFS3_OK);
	ck_assert_int_eq(v3play_create(&p, &root, "caf\xe9", 0644, &a), NFS3_OK);
	ck_assert_int_eq(v3play_create(&p, &root, "caf\xc3\xa9", 0644, &b), NFS3_OK);
	ck_assert_int_eq(v3play_create(&p, &root, "cafe\xcc\x81", 0644, &c), NFS3_OK);
	ck_assert_int_eq(v3play_lookup(&p, &root, "caf\xe9", &found), NFS3_OK);
	ck_assert(same(&found, &a) && !same(&found, &b) && !same(&found, &c));
}
END_TEST

START_TEST(the_creator_owns_what_it_makes)
{
	struct stat st;

	if (!cred_switchable())
		return;
	p.uid = 1000;
	p.gid = 1001;
	ck_assert_int_eq(v3play_create(&p, &root, "f", 0644, &fh), NFS3_OK);
	st = stat_of("f");
	ck_assert(st.st_uid == 1000 && st.st_gid == 1001);
	ck_assert_int_eq(v3play_mkdir(&p, &root, "d", 0700, &fh), NFS3_OK);
	st = stat_of("d");
	ck_assert(st.st_uid == 1000 && st.st_gid == 1001 && (st.st_mode & 07777) == 0700);
	ck_assert_int_eq(exclusive("x", "verifier", &fh), NFS3_OK);
	ck_assert_uint_eq(stat_of("x").st_uid, 1000);
	ck_assert_int_eq(chmod(p.dir, 0755), 0);
	ck_assert_int_eq(v3play_create(&p, &root, "no", 0644, &fh), NFS3ERR_ACCES);
	ck_assert_int_eq(exclusive("no", "verifier", &fh), NFS3ERR_ACCES);
	ck_assert_int_eq(v3play_mkdir(&p, &root, "no", 0755, &fh), NFS3ERR_ACCES);
}
END_TEST

START_TEST(giving_a_new_file_away_is_for_root)
{
	CREATE3args a = {.where = {.dir = root, .name = (char *)"f"}, .how = {.mode = GUARDED}};
	sattr3 *s = &a.how.createhow3_u.obj_attributes;
	CREATE3res res;

	if (!cred_switchable())
		return;
	s->mode.set_it = s->uid.set_it = TRUE;
	s->mode.set_mode3_u.mode = 04755;
	s->uid.set_uid3_u.uid = 1234;
	ck_assert_uint_eq(v3play_do(&p, CREATE, &a, &res), 0);
	ck_assert_int_eq(res.status, NFS3_OK);
	codec_free(V3PLAY_RES(CREATE), &res);
	ck_assert_uint_eq(stat_of("f").st_uid, 1234);
	ck_assert_uint_eq(stat_of("f").st_mode, S_IFREG | 04755);
	a.where.name = (char *)"g";
	p.uid = 1000;
	ck_assert_uint_eq(v3play_do(&p, CREATE, &a, &res), 0);
	ck_assert_int_eq(res.status, NFS3_OK);
	codec_free(V3PLAY_RES(CREATE), &res);
	ck_assert_uint_eq(stat_of("g").st_uid, 1000);
}
END_TEST

/* --- exclusive --- */

static const char *const verifiers[] = {
	"\0\0\0\0\0\0\0\0",
	"\xff\xff\xff\xff\xff\xff\xff\xff",
	"\1\2\3\4\x3b\x9a\xca\x00",
	"abcdefgh",
};

static void check_exclusive(void)
{
	for (unsigned i = 0; i < 4; i++) {
		struct fh first, again;
		char name[8] = {'f', (char)('0' + i), 0}, other[8];

		ck_assert_int_eq(exclusive(name, verifiers[i], &first), NFS3_OK);
		ck_assert_int_eq(exclusive(name, verifiers[i], &again), NFS3_OK);
		ck_assert(same(&first, &again));
		/* All 64 bits count. */
		for (unsigned b = 0; b < 64; b++) {
			memcpy(other, verifiers[i], 8);
			other[b / 8] = (char)(other[b / 8] ^ 1 << b % 8);
			ck_assert_int_eq(exclusive(name, other, &again), NFS3ERR_EXIST);
		}
		v3play_restart(&p);
		ck_assert_int_eq(exclusive(name, verifiers[i], &again), NFS3_OK);
		ck_assert(same(&first, &again));
	}
}

static void check_first_setattr_ends_it(void)
{
	SETATTR3args a = {0};
	SETATTR3res res;
	struct stat st;

	ck_assert_int_eq(exclusive("s", "abcdefgh", &fh), NFS3_OK);
	a.object = v3play_fh(&fh);
	a.new_attributes.mode.set_it = TRUE;
	a.new_attributes.mode.set_mode3_u.mode = 0644;
	a.new_attributes.atime.set_it = a.new_attributes.mtime.set_it = SET_TO_SERVER_TIME;
	ck_assert_uint_eq(v3play_do(&p, SETATTR, &a, &res), 0);
	ck_assert_int_eq(res.status, NFS3_OK);
	ck_assert_int_eq(exclusive("s", "abcdefgh", &fh), NFS3ERR_EXIST);
	st = stat_of("s");
	ck_assert_int_gt(st.st_mtim.tv_sec, 1500000000);
	ck_assert_int_gt(st.st_atim.tv_sec, 1500000000);
}

START_TEST(exclusive_create_is_exclusive_and_survives_restart)
{
	check_exclusive();
}
END_TEST

START_TEST(the_first_setattr_ends_the_verifier)
{
	check_first_setattr_ends_it();
}
END_TEST

START_TEST(exclusive_refuses_what_was_there_before)
{
	ck_assert_int_eq(v3play_create(&p, &root, "f", 0644, &fh), NFS3_OK);
	ck_assert_int_eq(exclusive("f", "\0\0\0\0\0\0\0\0", &fh), NFS3ERR_EXIST);
	ck_assert_int_eq(v3play_mkdir(&p, &root, "d", 0755, &fh), NFS3_OK);
	ck_assert_int_eq(exclusive("d", "\0\0\0\0\0\0\0\0", &fh), NFS3ERR_EXIST);
}
END_TEST

static const char *const fstypes[] = {"ext4", "xfs", "btrfs", "tmpfs"};

START_TEST(exclusive_create_works_on_every_file_system)
{
	struct loopfs l;
	const char *why;

	if (!loopfs_able(&why) || loopfs_up(&l, fstypes[_i]))
		return;
	setup_in(l.dir);
	check_exclusive();
	check_first_setattr_ends_it();
	teardown();
	loopfs_down(&l);
}
END_TEST

/* --- the other kinds --- */

START_TEST(a_symlink_is_made_read_and_never_followed)
{
	SYMLINK3args a = {.where = {.dir = root, .name = (char *)"l"},
			  .symlink = {.symlink_data = (char *)"/etc/passwd"}};
	SYMLINK3res res;
	READLINK3args ra;
	READLINK3res rres;
	fattr3 at;

	ck_assert_uint_eq(v3play_do(&p, SYMLINK, &a, &res), 0);
	ck_assert_int_eq(res.status, NFS3_OK);
	codec_free(V3PLAY_RES(SYMLINK), &res);
	ck_assert_int_eq(v3play_lookup(&p, &root, "l", &fh), NFS3_OK);
	ra.symlink = v3play_fh(&fh);
	ck_assert_int_eq(v3play_getattr(&p, &ra.symlink, &at), NFS3_OK);
	ck_assert_int_eq(at.type, NF3LNK);
	ck_assert_uint_eq(v3play_do(&p, READLINK, &ra, &rres), 0);
	ck_assert_int_eq(rres.status, NFS3_OK);
	ck_assert_str_eq(rres.READLINK3res_u.resok.data, "/etc/passwd");
	codec_free(V3PLAY_RES(READLINK), &rres);
	ck_assert_int_eq(unchecked("l", -1, &fh), NFS3ERR_EXIST);
	ra.symlink = root;
	ck_assert_uint_eq(v3play_do(&p, READLINK, &ra, &rres), 0);
	ck_assert_int_eq(rres.status, NFS3ERR_INVAL);
	ck_assert_int_eq(v3play_lookup(&p, &root, "l", &fh), NFS3_OK);
	root = v3play_fh(&fh);
	ck_assert_int_eq(v3play_lookup(&p, &root, "x", &fh), NFS3ERR_NOTDIR);
}
END_TEST

START_TEST(the_longest_symlink_comes_back_whole)
{
	char text[4096];
	SYMLINK3args a = {.where = {.dir = root, .name = (char *)"l"},
			  .symlink = {.symlink_data = text}};
	SYMLINK3res res;
	READLINK3args ra;
	READLINK3res rres;

	memset(text, 'x', sizeof(text));
	text[4000] = '\0'; /* ext4 has 4095, XFS 1024 */
	ck_assert_uint_eq(v3play_do(&p, SYMLINK, &a, &res), 0);
	if (res.status == NFS3ERR_NAMETOOLONG)
		return;
	ck_assert_int_eq(res.status, NFS3_OK);
	codec_free(V3PLAY_RES(SYMLINK), &res);
	ck_assert_int_eq(v3play_lookup(&p, &root, "l", &fh), NFS3_OK);
	ra.symlink = v3play_fh(&fh);
	ck_assert_uint_eq(v3play_do(&p, READLINK, &ra, &rres), 0);
	ck_assert_str_eq(rres.READLINK3res_u.resok.data, text);
	codec_free(V3PLAY_RES(READLINK), &rres);
}
END_TEST

static nfsstat3 mknod_of(const char *name, ftype3 type)
{
	MKNOD3args a = {.where = {.dir = root, .name = (char *)name}, .what = {.type = type}};
	MKNOD3res res;

	if (type == NF3CHR || type == NF3BLK)
		a.what.mknoddata3_u.device.spec = (specdata3){1, 3};
	ck_assert_uint_eq(v3play_do(&p, MKNOD, &a, &res), 0);
	codec_free(V3PLAY_RES(MKNOD), &res);
	return res.status;
}

START_TEST(special_files_are_made_devices_by_root_only)
{
	fattr3 a;
	nfs_fh3 f;

	ck_assert_int_eq(mknod_of("fifo", NF3FIFO), NFS3_OK);
	ck_assert(S_ISFIFO(stat_of("fifo").st_mode));
	ck_assert_int_eq(mknod_of("sock", NF3SOCK), NFS3_OK);
	ck_assert(S_ISSOCK(stat_of("sock").st_mode));
	ck_assert_int_eq(mknod_of("reg", NF3REG), NFS3ERR_BADTYPE);
	ck_assert_int_eq(mknod_of("fifo", NF3FIFO), NFS3ERR_EXIST);
	ck_assert_int_eq(v3play_lookup(&p, &root, "fifo", &fh), NFS3_OK);
	if (!cred_switchable())
		return;
	if (mknod_of("null", NF3CHR) == NFS3_OK) { /* CAP_MKNOD may be missing */
		ck_assert_int_eq(v3play_lookup(&p, &root, "null", &fh), NFS3_OK);
		f = v3play_fh(&fh);
		ck_assert_int_eq(v3play_getattr(&p, &f, &a), NFS3_OK);
		ck_assert_uint_eq(a.rdev.specdata1, 1);
		ck_assert_uint_eq(a.rdev.specdata2, 3);
	}
	p.uid = 1000;
	ck_assert_int_eq(mknod_of("mine", NF3CHR), NFS3ERR_ACCES);
	p.uid = 0;
	p.client.opts.root_squash = true;
	p.table.generation++;
	ck_assert_int_eq(mknod_of("mine", NF3BLK), NFS3ERR_ACCES);
}
END_TEST

START_TEST(dot_and_dotdot_are_found_but_never_above_the_root)
{
	struct fh sub, up;
	nfs_fh3 d;

	ck_assert_int_eq(v3play_mkdir(&p, &root, "d", 0755, &sub), NFS3_OK);
	d = v3play_fh(&sub);
	ck_assert_int_eq(v3play_lookup(&p, &d, ".", &up), NFS3_OK);
	ck_assert(same(&up, &sub));
	ck_assert_int_eq(v3play_lookup(&p, &d, "..", &up), NFS3_OK);
	ck_assert(same(&up, &root_fh));
	ck_assert_int_eq(v3play_lookup(&p, &root, "..", &up), NFS3_OK);
	ck_assert(same(&up, &root_fh));
	ck_assert_int_eq(v3play_lookup(&p, &root, "none", &up), NFS3ERR_NOENT);
}
END_TEST

START_TEST(a_directory_keeps_setgid_and_its_own_special_bits)
{
	struct fh sub;
	nfs_fh3 d;

	ck_assert_int_eq(v3play_mkdir(&p, &root, "d", 02775, &sub), NFS3_OK);
	ck_assert_uint_eq(stat_of("d").st_mode, S_IFDIR | 02775);
	d = v3play_fh(&sub);
	ck_assert_int_eq(v3play_mkdir(&p, &d, "e", 0755, &fh), NFS3_OK);
	ck_assert_uint_eq(stat_of("d/e").st_mode, S_IFDIR | 02755);
}
END_TEST

START_TEST(a_repeated_create_is_answered_not_repeated)
{
	CREATE3args a = {.where = {.dir = root, .name = (char *)"f"}, .how = {.mode = GUARDED}};
	CREATE3res res;

	for (unsigned i = 0; i < 2; i++) {
		p.xid = 5000;
		ck_assert_uint_eq(v3play_do(&p, CREATE, &a, &res), 0);
		ck_assert_int_eq(res.status, NFS3_OK);
		codec_free(V3PLAY_RES(CREATE), &res);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfs3_create");
	TCase *t = tcase_create("create"), *f = tcase_create("file systems");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_new_file_has_the_mode_asked_for);
	tcase_add_test(t, guarded_refuses_what_is_there);
	tcase_add_test(t, unchecked_opens_what_is_there_and_truncates_only_when_asked);
	tcase_add_test(t, names_are_bytes_and_bad_ones_are_refused);
	tcase_add_test(t, the_creator_owns_what_it_makes);
	tcase_add_test(t, giving_a_new_file_away_is_for_root);
	tcase_add_test(t, exclusive_create_is_exclusive_and_survives_restart);
	tcase_add_test(t, the_first_setattr_ends_the_verifier);
	tcase_add_test(t, exclusive_refuses_what_was_there_before);
	tcase_add_test(t, a_symlink_is_made_read_and_never_followed);
	tcase_add_test(t, the_longest_symlink_comes_back_whole);
	tcase_add_test(t, special_files_are_made_devices_by_root_only);
	tcase_add_test(t, dot_and_dotdot_are_found_but_never_above_the_root);
	tcase_add_test(t, a_directory_keeps_setgid_and_its_own_special_bits);
	tcase_add_test(t, a_repeated_create_is_answered_not_repeated);
	suite_add_tcase(s, t);
	tcase_set_timeout(f, 60);
	tcase_add_loop_test(f, exclusive_create_works_on_every_file_system, 0, 4);
	suite_add_tcase(s, f);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
