/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/handle.h"

#include "nfsd-io/core/khandle.h"
#include "tests/lib/everyfs.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"

static struct handle_key *key_of(uint8_t byte)
{
	uint8_t secret[HANDLE_KEY_LEN];
	struct handle_key *k;

	memset(secret, byte, sizeof(secret));
	ck_assert_int_eq(handle_key_new(&k, secret), 0);
	return k;
}

static struct root *root_at(const char *path, uint32_t id)
{
	struct root_params p = { .path = path, .id = id };
	const char *why;
	struct root *r;

	ck_assert_msg(root_open(&r, &p, &why) == 0, "%s: %s", path, why);
	return r;
}

static const struct handle_parts SAMPLE = {
	.kind = HANDLE_FILE, .root_id = 0x01020304, .fskey = "fskey--", .ktype = 1, .klen = 8,
	.kdata = { 1, 2, 3, 4, 5, 6, 7, 8 },
};

START_TEST(decodes_what_it_encoded_at_every_length)
{
	struct handle_key *k = key_of(1);
	struct handle_parts p = SAMPLE, q;
	struct fh fh;

	for (p.klen = 1; p.klen <= HANDLE_KERNEL_MAX; p.klen++) {
		memset(p.kdata, p.klen, p.klen);
		ck_assert_int_eq(handle_encode(k, &p, &fh), 0);
		ck_assert_uint_eq(fh.len, 24 + p.klen);
		ck_assert_int_eq(handle_decode(k, fh.data, fh.len, &q), 0);
		ck_assert_uint_eq(q.root_id, p.root_id);
		ck_assert_int_eq(q.ktype, p.ktype);
		ck_assert_uint_eq(q.klen, p.klen);
		ck_assert_mem_eq(q.kdata, p.kdata, p.klen);
		ck_assert_mem_eq(q.fskey, p.fskey, 8);
	}
	ck_assert_int_eq(handle_encode(k, &p, &fh), -EOVERFLOW);
	handle_key_free(k);
}
END_TEST

/*
 * SipHash-2-4, key 00..0f, 8 bytes out: the same text must
 * give the same MAC in every version to come.
 */
START_TEST(layout_and_signature_never_change)
{
	static const uint8_t want[] = {
		1, 1, 8, 1, 1, 2, 3, 4, 'f',  's',  'k',  'e',  'y',  '-',  '-',  0,
		1, 2, 3, 4, 5, 6, 7, 8, 0x49, 0x55, 0xd5, 0x85, 0x76, 0xfb, 0x69, 0x67,
	};
	uint8_t secret[HANDLE_KEY_LEN];
	struct handle_key *k;
	struct fh fh;

	for (int i = 0; i < HANDLE_KEY_LEN; i++)
		secret[i] = i;
	ck_assert_int_eq(handle_key_new(&k, secret), 0);
	ck_assert_int_eq(handle_encode(k, &SAMPLE, &fh), 0);
	ck_assert_uint_eq(fh.len, sizeof(want));
	ck_assert_mem_eq(fh.data, want, sizeof(want));
	handle_key_free(k);
}
END_TEST

START_TEST(any_flipped_bit_is_refused)
{
	struct handle_key *k = key_of(1);
	struct handle_parts q;
	struct fh fh, bad;

	ck_assert_int_eq(handle_encode(k, &SAMPLE, &fh), 0);
	for (unsigned bit = 0; bit < fh.len * 8u; bit++) {
		int rc;

		bad = fh;
		bad.data[bit / 8] ^= 1 << bit % 8;
		rc = handle_decode(k, bad.data, bad.len, &q);
		/* version, kind and length cannot be ours; all else is a forgery */
		ck_assert_int_eq(rc, bit < 24 ? -EBADMSG : -ESTALE);
	}
	handle_key_free(k);
}
END_TEST

START_TEST(any_other_length_is_refused)
{
	struct handle_key *k = key_of(1);
	uint8_t room[256] = { 0 };
	struct handle_parts q;
	struct fh fh;

	ck_assert_int_eq(handle_encode(k, &SAMPLE, &fh), 0);
	memcpy(room, fh.data, fh.len);
	for (unsigned len = 0; len < sizeof(room); len++)
		ck_assert_int_eq(handle_decode(k, room, len, &q), len == fh.len ? 0 : -EBADMSG);
	handle_key_free(k);
}
END_TEST

START_TEST(another_key_is_refused)
{
	struct handle_key *a = key_of(1), *b = key_of(2);
	struct handle_parts q;
	struct fh fh;

	ck_assert_int_eq(handle_encode(a, &SAMPLE, &fh), 0);
	ck_assert_int_eq(handle_decode(b, fh.data, fh.len, &q), -ESTALE);
	handle_key_free(a);
	handle_key_free(b);
}
END_TEST

START_TEST(key_file_is_made_once_private_and_read_again)
{
	const char *dir = scratch_dir(NULL);
	struct handle_key *a, *b;
	struct handle_parts q;
	struct stat st;
	char path[300];
	struct fh fh;

	snprintf(path, sizeof(path), "%s/key", dir);
	ck_assert_int_eq(handle_key_load(&a, path), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(st.st_size, 16);
	ck_assert_int_eq(handle_encode(a, &SAMPLE, &fh), 0);
	handle_key_free(a);
	ck_assert_int_eq(handle_key_load(&b, path), 0);
	ck_assert_int_eq(handle_decode(b, fh.data, fh.len, &q), 0);
	handle_key_free(b);
	scratch_remove(dir);
}
END_TEST

START_TEST(key_file_others_can_read_or_of_wrong_size_is_refused)
{
	const char *dir = scratch_dir(NULL);
	struct handle_key *k;
	char path[300];

	snprintf(path, sizeof(path), "%s/key", dir);
	scratch_write(AT_FDCWD, path, "0123456789abcdef");
	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_int_eq(handle_key_load(&k, path), -EPERM);
	ck_assert_int_eq(chmod(path, 0604), 0);
	ck_assert_int_eq(handle_key_load(&k, path), -EPERM);
	ck_assert_int_eq(chmod(path, 0600), 0);
	ck_assert_int_eq(handle_key_load(&k, path), 0);
	handle_key_free(k);
	scratch_write(AT_FDCWD, path, "0123456789abcde");
	ck_assert_int_eq(handle_key_load(&k, path), -EINVAL);
	scratch_write(AT_FDCWD, path, "");
	ck_assert_int_eq(handle_key_load(&k, path), -EINVAL);
	ck_assert_int_eq(handle_key_load(&k, dir), -EINVAL);
	scratch_remove(dir);
}
END_TEST

START_TEST(no_key_file_means_a_key_of_this_process)
{
	struct handle_key *a, *b;
	struct handle_parts q;
	struct fh fh;

	ck_assert_int_eq(handle_key_load(&a, NULL), 0);
	ck_assert_int_eq(handle_key_load(&b, NULL), 0);
	ck_assert_int_eq(handle_encode(a, &SAMPLE, &fh), 0);
	ck_assert_int_eq(handle_decode(b, fh.data, fh.len, &q), -ESTALE);
	handle_key_free(a);
	handle_key_free(b);
}
END_TEST

/* Open the handle under `r`: a descriptor or -errno. */
static int open_fh(const struct handle_key *k, struct root *r, const struct fh *fh)
{
	struct handle_parts p;
	int rc = handle_decode(k, fh->data, fh->len, &p);

	return rc < 0 ? rc : handle_open(r, &p);
}

START_TEST(every_kind_of_object_opens_by_its_handle)
{
	static const char *const names[] = { "file", "dir", "link", "fifo" };
	const char *dir = scratch_dir(everyfs_dir(_i));
	struct root *r = root_at(dir, 0);
	struct handle_key *k = key_of(1);
	struct fh fh, again;

	ck_assert(!r->path_mode);
	scratch_write(r->mount_fd, "file", "x");
	ck_assert_int_eq(mkdirat(r->mount_fd, "dir", 0755), 0);
	ck_assert_int_eq(symlinkat("nowhere", r->mount_fd, "link"), 0);
	ck_assert_int_eq(mkfifoat(r->mount_fd, "fifo", 0600), 0);
	for (int i = 0; i < 4; i++) {
		int fd = scratch_path(r->fd, names[i]), got;

		ck_assert_int_eq(handle_of(k, r, fd, &fh), 0);
		ck_assert_int_eq(handle_of_child(k, r, r->fd, names[i], fd, &again), 0);
		ck_assert_mem_eq(&fh, &again, sizeof(fh.len) + fh.len);
		ck_assert_uint_le(fh.len, HANDLE_MAX);
		got = open_fh(k, r, &fh);
		ck_assert_int_ge(got, 0);
		ck_assert(scratch_same(fd, got));
		close(fd);
		close(got);
	}
	root_put(r);
	handle_key_free(k);
	scratch_remove(dir);
}
END_TEST

START_TEST(root_handle_opens_the_root)
{
	const char *dir = scratch_dir(everyfs_dir(_i));
	struct root *r = root_at(dir, 7);
	struct handle_key *k = key_of(1);
	struct handle_parts p;
	struct fh fh;
	int fd;

	ck_assert_int_eq(handle_of(k, r, r->fd, &fh), 0);
	ck_assert_int_eq(handle_decode(k, fh.data, fh.len, &p), 0);
	ck_assert_int_eq(p.kind, HANDLE_ROOT);
	ck_assert_uint_eq(p.root_id, 7);
	fd = handle_open(r, &p);
	ck_assert(scratch_same(fd, r->fd));
	close(fd);
	root_put(r);
	handle_key_free(k);
	scratch_remove(dir);
}
END_TEST

START_TEST(renamed_file_keeps_its_handle_over_a_reopened_root)
{
	const char *dir = scratch_dir(everyfs_dir(_i));
	struct root *r = root_at(dir, 0);
	struct handle_key *k = key_of(1);
	struct fh before, after;
	int fd;

	scratch_write(r->mount_fd, "a", "x");
	ck_assert_int_eq(mkdirat(r->mount_fd, "dir", 0755), 0);
	fd = scratch_path(r->fd, "a");
	ck_assert_int_eq(handle_of(k, r, fd, &before), 0);
	ck_assert_int_eq(renameat(r->mount_fd, "a", r->mount_fd, "dir/b"), 0);
	root_put(r);
	r = root_at(dir, 0);
	ck_assert_int_eq(handle_of(k, r, fd, &after), 0);
	ck_assert_mem_eq(&before, &after, sizeof(before.len) + before.len);
	close(fd);
	fd = open_fh(k, r, &before);
	ck_assert_int_ge(fd, 0);
	close(fd);
	root_put(r);
	handle_key_free(k);
	scratch_remove(dir);
}
END_TEST

START_TEST(deleted_and_recreated_file_is_stale)
{
	const char *dir = scratch_dir(everyfs_dir(_i));
	struct root *r = root_at(dir, 0);
	struct handle_key *k = key_of(1);
	struct fh fh, next;
	int fd;

	scratch_write(r->mount_fd, "a", "x");
	fd = scratch_path(r->fd, "a");
	ck_assert_int_eq(handle_of(k, r, fd, &fh), 0);
	close(fd);
	ck_assert_int_eq(unlinkat(r->mount_fd, "a", 0), 0);
	ck_assert_int_eq(open_fh(k, r, &fh), -ESTALE);
	scratch_write(r->mount_fd, "a", "y"); /* often the same inode number */
	fd = scratch_path(r->fd, "a");
	ck_assert_int_eq(handle_of(k, r, fd, &next), 0);
	ck_assert(fh.len != next.len || memcmp(fh.data, next.data, fh.len));
	ck_assert_int_eq(open_fh(k, r, &fh), -ESTALE);
	close(fd);
	root_put(r);
	handle_key_free(k);
	scratch_remove(dir);
}
END_TEST

START_TEST(a_handle_of_another_root_is_stale)
{
	const char *dir = scratch_dir(everyfs_dir(_i));
	struct root *a = root_at(dir, 1), *b = root_at(dir, 2);
	struct handle_key *k = key_of(1);
	struct fh fh;
	int fd;

	scratch_write(a->mount_fd, "a", "x");
	fd = scratch_path(a->fd, "a");
	ck_assert_int_eq(handle_of(k, a, fd, &fh), 0);
	ck_assert_int_eq(open_fh(k, b, &fh), -ESTALE);
	close(fd);
	fd = open_fh(k, a, &fh);
	ck_assert_int_ge(fd, 0);
	close(fd);
	root_put(a);
	root_put(b);
	handle_key_free(k);
	scratch_remove(dir);
}
END_TEST

START_TEST(the_same_id_on_another_file_system_is_stale)
{
	struct root *a = root_at(everyfs_dir(_i), 1),
		    *b = root_at(everyfs_dir((_i + 1) % EVERYFS), 1);
	struct handle_key *k = key_of(1);
	struct fh fh;

	ck_assert_int_eq(handle_of(k, a, a->fd, &fh), 0);
	ck_assert_int_eq(open_fh(k, b, &fh), -ESTALE);
	root_put(a);
	root_put(b);
	handle_key_free(k);
}
END_TEST

START_TEST(remounted_on_another_device_the_handle_lives)
{
	struct handle_key *k = key_of(1);
	struct root *r = root_at(everyfs_dir(_i), 0);
	int before = everyfs[_i].loop, fd;
	struct fh fh;

	scratch_write(r->mount_fd, "moved", "x");
	fd = scratch_path(r->fd, "moved");
	ck_assert_int_eq(handle_of(k, r, fd, &fh), 0);
	close(fd);
	root_put(r);
	ck_assert_int_eq(loopfs_remount(&everyfs[_i], true), 0);
	ck_assert_int_ne(everyfs[_i].loop, before);
	r = root_at(everyfs_dir(_i), 0);
	fd = open_fh(k, r, &fh);
	ck_assert_int_ge(fd, 0);
	close(fd);
	root_put(r);
	handle_key_free(k);
}
END_TEST

START_TEST(btrfs_subvolumes_do_not_share_handles)
{
	char a[200], b[200], cmd[600];
	struct handle_key *k = key_of(1);
	struct root *ra, *rb;
	struct fh fh;
	int fd;

	snprintf(a, sizeof(a), "%s/sub-a", everyfs_dir(EVERYFS_BTRFS));
	snprintf(b, sizeof(b), "%s/sub-b", everyfs_dir(EVERYFS_BTRFS));
	snprintf(cmd, sizeof(cmd), "btrfs -q subvolume create %s && btrfs -q subvolume create %s",
		 a, b);
	ck_assert_int_eq(system(cmd), 0);
	ra = root_at(a, 1);
	rb = root_at(b, 1);
	ck_assert_mem_ne(ra->fskey, rb->fskey, 8);
	scratch_write(ra->mount_fd, "f", "x");
	scratch_write(rb->mount_fd, "f", "x");
	fd = scratch_path(ra->fd, "f");
	ck_assert_int_eq(handle_of(k, ra, fd, &fh), 0);
	close(fd);
	ck_assert_int_eq(open_fh(k, rb, &fh), -ESTALE);
	root_put(ra);
	root_put(rb);
	handle_key_free(k);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("handle");
	TCase *bytes = tcase_create("bytes"), *files = tcase_create("files");

	tcase_add_test(bytes, decodes_what_it_encoded_at_every_length);
	tcase_add_test(bytes, layout_and_signature_never_change);
	tcase_add_test(bytes, any_flipped_bit_is_refused);
	tcase_add_test(bytes, any_other_length_is_refused);
	tcase_add_test(bytes, another_key_is_refused);
	tcase_add_test(bytes, key_file_is_made_once_private_and_read_again);
	tcase_add_test(bytes, key_file_others_can_read_or_of_wrong_size_is_refused);
	tcase_add_test(bytes, no_key_file_means_a_key_of_this_process);
	suite_add_tcase(s, bytes);
	if (!everyfs_able)
		return s;
	tcase_add_unchecked_fixture(files, everyfs_up, everyfs_down);
	tcase_set_timeout(files, 60);
	tcase_add_loop_test(files, every_kind_of_object_opens_by_its_handle, 0, EVERYFS);
	tcase_add_loop_test(files, root_handle_opens_the_root, 0, EVERYFS);
	tcase_add_loop_test(files, renamed_file_keeps_its_handle_over_a_reopened_root, 0, EVERYFS);
	tcase_add_loop_test(files, deleted_and_recreated_file_is_stale, 0, EVERYFS);
	tcase_add_loop_test(files, a_handle_of_another_root_is_stale, 0, EVERYFS);
	tcase_add_loop_test(files, the_same_id_on_another_file_system_is_stale, 0, EVERYFS);
	tcase_add_test(files, btrfs_subvolumes_do_not_share_handles);
	/* Last: the others' mounts are the parent's, this one remounts in the child's place. */
	tcase_add_loop_test(files, remounted_on_another_device_the_handle_lives, 0, EVERYFS_TMPFS);
	suite_add_tcase(s, files);
	return s;
}

int main(void)
{
	everyfs_init();
	return unit_run(suite());
}
