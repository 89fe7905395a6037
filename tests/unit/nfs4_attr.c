/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fattr4: which attributes there are, how they are told, what may be set. */
#include "nfsd-io/proto/nfs4_attr.h"

#include <errno.h>
#include <string.h>

#include "tests/lib/unit.h"

static struct proto_env env;
static struct req req;
static struct root root;
static struct fh fh = {.len = HANDLE_MAX};
static struct v4_object object;
static uint8_t buf[4096];

static void setup(void)
{
	memset(&req, 0, sizeof(req));
	env.max_read = env.max_write = 1 << 20;
	req.env = &env;
	v4(&req)->minor = 2;
	root.probe.ctime_moves = true;
	object = (struct v4_object){
		.root = &root,
		.fh = &fh,
		.have_btime = true,
		.st = {.st_mode = S_IFREG | 0644},
		.owner = {.len = IDMAP_MAX},
		.group = {.len = IDMAP_MAX},
	};
}

static struct v4_attrs readable(uint32_t minor)
{
	struct v4_attrs all;

	v4_attr_supported(minor, &all);
	for (unsigned a = 0; a < 32 * V4_ATTR_WORDS; a++) {
		struct v4_attrs one = {{0}};

		v4_attr_add(&one, a);
		if (v4_attr_writeonly(minor, &one))
			all.word[a / 32] &= ~one.word[a / 32];
	}
	return all;
}

/*
 * Bytes of fattr4; checks that its length word is that of
 * what follows and that it is within the room.
 */
static uint32_t put(const struct v4_attrs *asked)
{
	struct cursor c;
	struct v4_attrs told;
	uint32_t len, total;

	cursor_init(&c, buf, sizeof(buf));
	v4_attr_put(&c, &req, asked, &object, 0);
	ck_assert(cursor_ok(&c));
	total = (uint32_t)cursor_pos(&c);
	cursor_init_const(&c, buf, total);
	ck_assert_uint_eq(v4_get_attrs(&c, &told), NFS4_OK);
	ck_assert(!memcmp(&told, asked, sizeof(told)));
	ck_assert_ptr_nonnull(cursor_get_opaque(&c, sizeof(buf), &len));
	ck_assert_uint_eq(cursor_left(&c), 0);
	ck_assert_uint_le(total, v4_attr_room(asked, &object));
	return len;
}

START_TEST(each_attribute_alone_and_all_together_fit_their_room)
{
	struct v4_attrs all = readable(2);
	uint32_t sum = 0;

	for (unsigned a = 0; a < 32 * V4_ATTR_WORDS; a++) {
		struct v4_attrs one = {{0}};

		if (!v4_attr_has(&all, a))
			continue;
		v4_attr_add(&one, a);
		ck_assert_msg(put(&one) >= 4, "attribute %u has no value", a);
		sum += put(&one);
	}
	ck_assert_uint_eq(put(&all), sum);
}
END_TEST

START_TEST(each_version_has_what_it_must)
{
	static const uint8_t required[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 19};
	struct v4_attrs all;

	for (uint32_t minor = 0; minor <= 2; minor++) {
		v4_attr_supported(minor, &all);
		for (unsigned i = 0; i < sizeof(required); i++)
			ck_assert(v4_attr_has(&all, required[i]));
		ck_assert_int_eq(v4_attr_has(&all, FATTR4_SUPPATTR_EXCLCREAT), minor >= 1);
		ck_assert_int_eq(v4_attr_has(&all, FATTR4_MODE_UMASK), minor >= 2);
		ck_assert(!v4_attr_has(&all, FATTR4_ACL) && !v4_attr_has(&all, FATTR4_SEC_LABEL));
	}
}
END_TEST

START_TEST(a_bitmap_of_any_length_is_read)
{
	struct v4_attrs a;
	struct cursor c;
	bool beyond;

	cursor_init(&c, buf, sizeof(buf));
	cursor_put_u32(&c, 5);
	for (uint32_t i = 1; i <= 5; i++)
		cursor_put_u32(&c, i);
	cursor_init_const(&c, buf, 24);
	ck_assert_uint_eq(v4_attr_get(&c, &a, &beyond), NFS4_OK);
	ck_assert(beyond && a.word[0] == 1 && a.word[2] == 3 && !cursor_left(&c));
	cursor_init_const(&c, buf, 20);
	ck_assert_uint_eq(v4_attr_get(&c, &a, &beyond), NFS4ERR_BADXDR);
	cursor_init(&c, buf, sizeof(buf));
	cursor_put_u32(&c, UINT32_MAX);
	cursor_init_const(&c, buf, sizeof(buf));
	ck_assert_uint_eq(v4_attr_get(&c, &a, &beyond), NFS4ERR_BADXDR);
}
END_TEST

START_TEST(the_change_attribute_never_stays_where_times_are_coarse)
{
	struct stat st = {0};
	uint64_t a, b;

	clock_gettime(CLOCK_REALTIME, &st.st_ctim);
	ck_assert_uint_eq(v4_change(&root, &st), v4_change(&root, &st));
	root.probe.ctime_moves = false;
	a = v4_change(&root, &st);
	b = v4_change(&root, &st);
	ck_assert_uint_ne(a, b);
	st.st_ctim.tv_sec -= 10;
	ck_assert_uint_eq(v4_change(&root, &st), v4_change(&root, &st));
	ck_assert_uint_lt(v4_change(&root, &st), a);
}
END_TEST

/* --- what may be set --- */

static uint32_t decode(const struct v4_attrs *a, const void *vals, uint32_t len,
		       enum v4_sattr_use use, struct v4_sattr *out)
{
	struct cursor c;
	size_t n;

	cursor_init(&c, buf, sizeof(buf));
	v4_put_attrs(&c, a);
	cursor_put_opaque(&c, vals, len);
	n = cursor_pos(&c);
	cursor_init_const(&c, buf, n);
	return v4_sattr_get(&req, &c, use, out);
}

static uint32_t one(unsigned attr, const char *vals, uint32_t len, struct v4_sattr *out)
{
	struct v4_attrs a = {{0}};

	v4_attr_add(&a, attr);
	return decode(&a, vals, len, V4_SATTR_SET, out);
}

START_TEST(settable_attributes_are_taken)
{
	struct v4_sattr a;

	ck_assert_uint_eq(one(FATTR4_MODE, "\0\0\x81\xe4", 4, &a), NFS4_OK);
	ck_assert(a.s.set_mode && a.s.mode == 0744 && v4_attr_has(&a.asked, FATTR4_MODE));
	ck_assert_uint_eq(one(FATTR4_SIZE, "\0\0\0\0\0\0\1\0", 8, &a), NFS4_OK);
	ck_assert(a.s.set_size && a.s.size == 256);
	ck_assert_uint_eq(one(FATTR4_OWNER, "\0\0\0\4" "1000", 8, &a), NFS4_OK);
	ck_assert(a.s.set_uid && a.s.uid == 1000);
	ck_assert_uint_eq(one(FATTR4_TIME_MODIFY_SET, "\0\0\0\0", 4, &a), NFS4_OK);
	ck_assert_int_eq(a.s.set_mtime, SATTR_SERVER);
	ck_assert_uint_eq(one(FATTR4_TIME_ACCESS_SET, "\0\0\0\1\0\0\0\0\0\0\0\7\0\0\0\5", 16, &a),
			  NFS4_OK);
	ck_assert(a.s.set_atime == SATTR_CLIENT && a.s.atime.tv_sec == 7 && a.s.atime.tv_nsec == 5);
}
END_TEST

START_TEST(values_cut_or_followed_by_garbage_are_bad_xdr)
{
	struct v4_sattr a;

	for (uint32_t len = 0; len < 4; len++)
		ck_assert_uint_eq(one(FATTR4_MODE, "\0\0\1\0", len, &a), NFS4ERR_BADXDR);
	ck_assert_uint_eq(one(FATTR4_MODE, "\0\0\1\0more", 8, &a), NFS4ERR_BADXDR);
	ck_assert_uint_eq(one(FATTR4_OWNER, "\xff\xff\xff\xff" "1000", 8, &a), NFS4ERR_BADXDR);
	ck_assert_uint_eq(one(FATTR4_TIME_ACCESS_SET, "\0\0\0\2", 4, &a), NFS4ERR_BADXDR);
}
END_TEST

START_TEST(what_cannot_be_set_is_told_by_kind)
{
	struct v4_attrs beyond = {{0}};
	struct v4_sattr a;
	struct cursor c;

	ck_assert_uint_eq(one(FATTR4_LINK_SUPPORT, "\0\0\0\1", 4, &a), NFS4ERR_INVAL);
	ck_assert_uint_eq(one(FATTR4_ACL, "\0\0\0\0", 4, &a), NFS4ERR_ATTRNOTSUPP);
	ck_assert_uint_eq(one(FATTR4_HIDDEN, "\0\0\0\0", 4, &a), NFS4ERR_ATTRNOTSUPP);
	ck_assert_uint_eq(one(FATTR4_SIZE, "\x80\0\0\0\0\0\0\0", 8, &a), NFS4ERR_FBIG);
	ck_assert_uint_eq(
		one(FATTR4_TIME_MODIFY_SET, "\0\0\0\1\0\0\0\0\0\0\0\7\x3b\x9a\xca\0", 16, &a),
		NFS4ERR_INVAL);
	ck_assert_uint_eq(one(FATTR4_OWNER, "\0\0\0\0", 4, &a), NFS4ERR_INVAL);
	ck_assert_uint_eq(one(FATTR4_OWNER, "\0\0\0\x0bno\xffsuch@user\0", 16, &a),
			  NFS4ERR_BADOWNER);
	ck_assert_uint_eq(one(FATTR4_OWNER,
			      "\0\0\0\x0a"
			      "4294967295\0\0",
			      16, &a),
			  NFS4ERR_BADOWNER);
	cursor_init(&c, buf, sizeof(buf));
	cursor_put_u32(&c, 4);
	for (int i = 0; i < 4; i++)
		cursor_put_u32(&c, i == 3);
	cursor_put_u32(&c, 0);
	cursor_init_const(&c, buf, 24);
	ck_assert_uint_eq(v4_sattr_get(&req, &c, V4_SATTR_SET, &a), NFS4ERR_ATTRNOTSUPP);
	ck_assert_uint_eq(decode(&beyond, "", 0, V4_SATTR_SET, &a), NFS4_OK);
}
END_TEST

START_TEST(mode_umask_is_for_what_is_new)
{
	struct v4_attrs m = {{0}};
	struct v4_sattr a;

	v4_attr_add(&m, FATTR4_MODE_UMASK);
	ck_assert_uint_eq(decode(&m, "\0\0\1\xff\0\0\0\x12", 8, V4_SATTR_SET, &a), NFS4ERR_INVAL);
	ck_assert_uint_eq(decode(&m, "\0\0\1\xff\0\0\0\x12", 8, V4_SATTR_NEW, &a), NFS4_OK);
	ck_assert(a.s.have_umask && a.s.mode == 0777 && a.s.umask == 022);
	v4_attr_add(&m, FATTR4_MODE);
	ck_assert_uint_eq(decode(&m, "\0\0\1\xff\0\0\1\xff\0\0\0\x12", 12, V4_SATTR_NEW, &a),
			  NFS4ERR_INVAL);
	v4(&req)->minor = 1;
	m.word[1] = 0;
	ck_assert_uint_eq(decode(&m, "\0\0\1\xff\0\0\0\x12", 8, V4_SATTR_NEW, &a),
			  NFS4ERR_ATTRNOTSUPP);
}
END_TEST

START_TEST(names_are_checked_before_anything_is_done)
{
	static const struct {
		const char *name;
		uint32_t len, status;
	} t[] = {
		{"a", 1, NFS4_OK},
		{"", 0, NFS4ERR_INVAL},
		{".", 1, NFS4ERR_BADNAME},
		{"..", 2, NFS4ERR_BADNAME},
		{"...", 3, NFS4_OK},
		{"a/b", 3, NFS4ERR_BADNAME},
		{"a\0b", 3, NFS4ERR_BADNAME},
		{"\xc3\xa4", 2, NFS4_OK},
		{"\xc3", 1, NFS4_OK}, /* the host may have it */
		{"\xed\xa0\x80", 3, NFS4_OK},
	};
	char name[300], out[NAME_MAX + 1];
	struct cursor c;
	size_t n;

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		component4 comp = {t[i].len, (char *)(uintptr_t)t[i].name};

		ck_assert_uint_eq(v4_name_check(&comp), t[i].status);
	}
	cursor_init(&c, buf, sizeof(buf));
	cursor_put_opaque(&c, "\xc3", 1);
	n = cursor_pos(&c);
	cursor_init_const(&c, buf, n);
	ck_assert_uint_eq(v4_get_name(&c, out), NFS4ERR_INVAL); /* but nobody makes it */
	memset(name, 'x', sizeof(name));
	for (uint32_t len = 254; len <= 257; len++) {
		cursor_init(&c, buf, sizeof(buf));
		cursor_put_opaque(&c, name, len);
		n = cursor_pos(&c);
		cursor_init_const(&c, buf, n);
		ck_assert_uint_eq(v4_get_name(&c, out), len > 255 ? NFS4ERR_NAMETOOLONG : NFS4_OK);
		cursor_init_const(&c, buf, n - 1);
		ck_assert_uint_eq(v4_get_name(&c, out), NFS4ERR_BADXDR);
	}
	ck_assert_uint_eq(strlen(out), 255);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nfs4_attr");
	TCase *t = tcase_create("attributes");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, each_attribute_alone_and_all_together_fit_their_room);
	tcase_add_test(t, each_version_has_what_it_must);
	tcase_add_test(t, a_bitmap_of_any_length_is_read);
	tcase_add_test(t, the_change_attribute_never_stays_where_times_are_coarse);
	tcase_add_test(t, settable_attributes_are_taken);
	tcase_add_test(t, values_cut_or_followed_by_garbage_are_bad_xdr);
	tcase_add_test(t, what_cannot_be_set_is_told_by_kind);
	tcase_add_test(t, mode_umask_is_for_what_is_new);
	tcase_add_test(t, names_are_checked_before_anything_is_done);
	suite_add_tcase(s, t);
	return unit_run(s);
}
