/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every type of our .x files.  Values come from a stream of random but
 * plausible words, which the generated codecs themselves "decode"; the oracle of
 * the encoding is the hand-written bytes of the last tests (and libnfs, end to end).
 */
#include <limits.h>
#include <malloc.h>
#include <string.h>

#include "rpc/bounded.h"
#include "tests/lib/nfs3types.h"
#include "tests/lib/unit.h"

static const struct nfs3_type types[] = {
	NFS3_EACH(NFS3_ARGS),
	NFS3_EACH(NFS3_RES),
	{"dirpath", (xdrproc_t)xdr_dirpath},
	{"mountres3", (xdrproc_t)xdr_mountres3},
	{"mountlist", (xdrproc_t)xdr_mountlist},
	{"exportlist", (xdrproc_t)xdr_exportlist},
};
#define NTYPES ((int)(sizeof(types) / sizeof(types[0])))
#define ROUNDS 200

static uint32_t random_state;

static uint32_t random_word(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return random_state >> 8;
}

/* Mostly 0 or 1, so that flags, enums and statuses are often valid and lists end. */
static bool_t random_getlong(XDR *x, long *v)
{
	uint32_t r = random_word();

	(void)x;
	*v = r & 3 ? (long)(r >> 4 & 1) : (long)(r >> 4 & 0x3f);
	return TRUE;
}

static bool_t random_getbytes(XDR *x, char *p, u_int n)
{
	(void)x;
	while (n--)
		*p++ = (char)(1 + random_word() % 255);
	return TRUE;
}

static int32_t *random_inline(XDR *x, u_int n)
{
	(void)x;
	(void)n;
	return NULL;
}

static void random_value(xdrproc_t xdr, union nfs3_any *v)
{
	static const struct xdr_ops ops = {
		.x_getlong = random_getlong,
		.x_getbytes = random_getbytes,
		.x_inline = random_inline,
	};
	bool_t ok;

	do {
		XDR x = {.x_op = XDR_DECODE, .x_ops = &ops, .x_handy = INT_MAX};

		memset(v, 0, sizeof(*v));
		ok = xdr(&x, v);
		if (!ok)
			codec_free(xdr, v);
	} while (!ok);
}

static uint8_t first[65536], second[65536];

static size_t encode(xdrproc_t xdr, const union nfs3_any *v, uint8_t *buf, size_t size)
{
	struct cursor c;

	cursor_init(&c, buf, size);
	ck_assert(codec_encode(&c, xdr, v));
	ck_assert(cursor_ok(&c));
	return cursor_pos(&c);
}

START_TEST(value_survives_encoding_and_decoding)
{
	const struct nfs3_type *t = &types[_i];
	union nfs3_any v, again;
	struct cursor c;
	size_t n;

	for (random_state = 0; random_state < ROUNDS;) {
		uint32_t round = random_state;

		random_value(t->xdr, &v);
		n = encode(t->xdr, &v, first, sizeof(first));
		memset(&again, 0, sizeof(again));
		cursor_init(&c, first, n + 4);
		ck_assert_msg(codec_decode(&c, t->xdr, &again), "%s", t->name);
		ck_assert_uint_eq(cursor_pos(&c), n);
		ck_assert_uint_eq(encode(t->xdr, &again, second, n), n);
		ck_assert_msg(!memcmp(first, second, n), "%s", t->name);
		codec_free(t->xdr, &v);
		codec_free(t->xdr, &again);
		codec_free(t->xdr, &again);
		random_state = round + 1;
	}
}
END_TEST

START_TEST(encoding_cut_at_any_byte_is_refused_and_leaves_nothing)
{
	const struct nfs3_type *t = &types[_i];
	union nfs3_any v, cut;
	struct cursor c;
	size_t n;

	for (random_state = 0; random_state < 20;) {
		uint32_t round = random_state;

		random_value(t->xdr, &v);
		n = encode(t->xdr, &v, first, sizeof(first));
		for (size_t len = 0; len < n; len++) {
			uint8_t *copy = malloc(len + 1);

			memcpy(copy, first, len);
			memset(&cut, 0, sizeof(cut));
			cursor_init(&c, copy, len);
			ck_assert_msg(!codec_decode(&c, t->xdr, &cut), "%s cut at %zu", t->name,
				      len);
			ck_assert(!cursor_ok(&c));
			free(copy);
		}
		codec_free(t->xdr, &v);
		random_state = round + 1;
	}
}
END_TEST

START_TEST(encoding_that_does_not_fit_does_not_move)
{
	const struct nfs3_type *t = &types[_i];
	union nfs3_any v;
	struct cursor c;
	size_t n;

	random_state = 5;
	random_value(t->xdr, &v);
	n = encode(t->xdr, &v, first, sizeof(first));
	for (size_t len = 0; len < n; len++) {
		cursor_init(&c, second, len + 4);
		cursor_put_u32(&c, 1);
		ck_assert(!codec_encode(&c, t->xdr, &v));
		ck_assert(!cursor_ok(&c));
		ck_assert_uint_eq(cursor_pos(&c), 4);
	}
	codec_free(t->xdr, &v);
}
END_TEST

START_TEST(bad_cursor_stays_bad)
{
	GETATTR3args a = {0};
	struct cursor c;

	cursor_init(&c, first, 4);
	memset(first, 0, 4);
	cursor_skip(&c, 5);
	ck_assert(!codec_decode(&c, (xdrproc_t)xdr_GETATTR3args, &a));
	ck_assert(!codec_encode(&c, (xdrproc_t)xdr_GETATTR3args, &a));
	ck_assert_uint_eq(cursor_pos(&c), 0);
}
END_TEST

START_TEST(odd_addresses_work)
{
	FSINFO3args in = {0}, out;
	struct cursor c;

	in.fsroot.data.data_val = (char *)"handle";
	in.fsroot.data.data_len = 6;
	for (size_t shift = 0; shift < 8; shift++) {
		memset(&out, 0, sizeof(out));
		cursor_init(&c, first + shift, 12);
		ck_assert(codec_encode(&c, (xdrproc_t)xdr_FSINFO3args, &in));
		cursor_seek(&c, 0);
		ck_assert(codec_decode(&c, (xdrproc_t)xdr_FSINFO3args, &out));
		ck_assert_mem_eq(out.fsroot.data.data_val, "handle", 6);
		codec_free((xdrproc_t)xdr_FSINFO3args, &out);
	}
}
END_TEST

/* fh and name of the lengths given, in 'x' */
static size_t put_diropargs(uint32_t fh, uint32_t name)
{
	static char x[5000];
	struct cursor c;

	memset(x, 'x', sizeof(x));
	cursor_init(&c, first, sizeof(first));
	cursor_put_opaque(&c, x, fh);
	cursor_put_opaque(&c, x, name);
	return cursor_pos(&c);
}

static bool lookup_decodes(size_t len)
{
	LOOKUP3args a = {0};
	struct cursor c;
	bool ok;

	cursor_init(&c, first, len);
	ok = codec_decode(&c, (xdrproc_t)xdr_LOOKUP3args, &a);
	codec_free((xdrproc_t)xdr_LOOKUP3args, &a);
	return ok;
}

START_TEST(lengths_are_bounded)
{
	ck_assert(lookup_decodes(put_diropargs(64, 255)));
	ck_assert(lookup_decodes(put_diropargs(0, 0)));
	ck_assert(!lookup_decodes(put_diropargs(65, 1)));
	ck_assert(lookup_decodes(put_diropargs(1, NFS3_NAME_WIRE_MAX)));
	ck_assert(!lookup_decodes(put_diropargs(1, NFS3_NAME_WIRE_MAX + 1)));
}
END_TEST

START_TEST(opaque_of_no_bytes_is_no_null_pointer)
{
	XDR x;
	char *val = NULL;
	u_int len = 7;

	memset(first, 0, 4);
	xdrmem_create(&x, (char *)first, 4, XDR_DECODE);
	ck_assert(bounded_bytes(&x, &val, &len, 8));
	ck_assert_uint_eq(len, 0);
	ck_assert_ptr_nonnull(val);
	x.x_op = XDR_FREE;
	ck_assert(bounded_bytes(&x, &val, &len, 8));
	ck_assert_ptr_null(val);
}
END_TEST

START_TEST(nul_inside_a_name_is_refused)
{
	size_t len = put_diropargs(4, 5);

	ck_assert(lookup_decodes(len));
	first[4 + 4 + 4 + 2] = '\0';
	ck_assert(!lookup_decodes(len));
}
END_TEST

START_TEST(claimed_length_allocates_nothing)
{
	WRITE3args a = {0};
	struct mallinfo2 before, after;
	struct cursor c;

	cursor_init(&c, first, sizeof(first));
	cursor_put_opaque(&c, "fh", 2);
	cursor_put_u64(&c, 0);
	cursor_put_u32(&c, NFS3_DATA_MAX);
	cursor_put_u32(&c, FILE_SYNC);
	cursor_put_u32(&c, NFS3_DATA_MAX);
	before = mallinfo2();
	cursor_init(&c, first, 64);
	ck_assert(!codec_decode(&c, (xdrproc_t)xdr_WRITE3args, &a));
	after = mallinfo2();
	/* more than the heap had, or a mapping of its own: would show that it was tried */
	ck_assert_uint_lt(after.arena + after.hblkhd, before.arena + before.hblkhd + (1 << 20));
}
END_TEST

START_TEST(file_attributes_are_84_bytes_in_the_rfc_s_order)
{
	static const uint8_t want[84] = {
		0, 0, 0, 2, 0, 0, 1, 0xed, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, /* to gid */
		0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9,
		0, 0, 0, 10, 0, 0, 0, 11, 0, 0, 0, 12, 0, 0, 0, 13, /* fsid, fileid */
		0, 0, 0, 14, 0, 0, 0, 15, 0, 0, 0, 16, 0, 0, 0, 17, 0, 0, 0, 18, 0, 0, 0, 19,
	};
	fattr3 a = {.type = NF3DIR,
		    .mode = 0755,
		    .nlink = 3,
		    .uid = 4,
		    .gid = 5,
		    .size = 6,
		    .used = 7,
		    .rdev = {8, 9},
		    .fsid = 10ull << 32 | 11,
		    .fileid = 12ull << 32 | 13,
		    .atime = {14, 15},
		    .mtime = {16, 17},
		    .ctime = {18, 19}};
	struct cursor c;

	cursor_init(&c, first, sizeof(first));
	ck_assert(codec_encode(&c, (xdrproc_t)xdr_fattr3, &a));
	ck_assert_uint_eq(cursor_pos(&c), 84);
	ck_assert_mem_eq(first, want, 84);
}
END_TEST

START_TEST(setattr_arguments_are_in_the_rfc_s_order)
{
	static const uint8_t in[] = {
		0, 0, 0, 3, 'f', 'h', '1', 0,
		0, 0, 0, 1, 0, 0, 1, 0xa4, /* mode */
		0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, /* no uid, gid */
		0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, /* size */
		0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 9, /* atime server's, mtime client's */
		0, 0, 0, 1, 0, 0, 0, 10, 0, 0, 0, 11, /* guard */
	};
	SETATTR3args a = {0};
	struct cursor c;

	cursor_init_const(&c, in, sizeof(in));
	ck_assert(codec_decode(&c, (xdrproc_t)xdr_SETATTR3args, &a));
	ck_assert_uint_eq(cursor_left(&c), 0);
	ck_assert_uint_eq(a.object.data.data_len, 3);
	ck_assert_uint_eq(a.new_attributes.mode.set_mode3_u.mode, 0644);
	ck_assert(!a.new_attributes.uid.set_it);
	ck_assert_uint_eq(a.new_attributes.gid.set_gid3_u.gid, 7);
	ck_assert_uint_eq(a.new_attributes.size.set_size3_u.size, 1ull << 32);
	ck_assert_int_eq(a.new_attributes.atime.set_it, SET_TO_SERVER_TIME);
	ck_assert_uint_eq(a.new_attributes.mtime.set_mtime_u.mtime.nseconds, 9);
	ck_assert_uint_eq(a.guard.sattrguard3_u.obj_ctime.seconds, 10);
	codec_free((xdrproc_t)xdr_SETATTR3args, &a);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("codec");
	TCase *t = tcase_create("codec");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, value_survives_encoding_and_decoding, 0, NTYPES);
	tcase_add_loop_test(t, encoding_cut_at_any_byte_is_refused_and_leaves_nothing, 0, NTYPES);
	tcase_add_loop_test(t, encoding_that_does_not_fit_does_not_move, 0, NTYPES);
	tcase_add_test(t, bad_cursor_stays_bad);
	tcase_add_test(t, odd_addresses_work);
	tcase_add_test(t, lengths_are_bounded);
	tcase_add_test(t, opaque_of_no_bytes_is_no_null_pointer);
	tcase_add_test(t, nul_inside_a_name_is_refused);
	tcase_add_test(t, claimed_length_allocates_nothing);
	tcase_add_test(t, file_attributes_are_84_bytes_in_the_rfc_s_order);
	tcase_add_test(t, setattr_arguments_are_in_the_rfc_s_order);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
