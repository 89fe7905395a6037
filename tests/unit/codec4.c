/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arguments of every NFSv4 operation.  Values come from a stream of random
 * but plausible words, which the generated codecs themselves "decode"; the
 * oracle of the encoding is the hand-written bytes of the last tests.
 */
#include <limits.h>
#include <string.h>

#include "rpc/codec.h"
#include "rpc/nfs4.h"
#include "tests/lib/unit.h"

#define XDR_OP ((xdrproc_t)xdr_nfs_argop4)
#define FIRST OP_ACCESS
#define LAST OP_REMOVEXATTR
#define ROUNDS 50
#define TRIES 10000

static uint8_t first[1 << 18], second[1 << 18];
static uint32_t random_state;
static long op_number; /* the next word, once */

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
	if (op_number) {
		*v = op_number;
		op_number = 0;
		return TRUE;
	}
	*v = r & 3 ? (long)(r >> 4 & 1) : (long)(r >> 4 & 7);
	return TRUE;
}

static bool_t random_getbytes(XDR *x, char *p, u_int n)
{
	(void)x;
	while (n--)
		*p++ = (char)(random_word() % 256);
	return TRUE;
}

static int32_t *random_inline(XDR *x, u_int n)
{
	(void)x;
	(void)n;
	return NULL;
}

static void random_op(int number, nfs_argop4 *v)
{
	static const struct xdr_ops ops = {
		.x_getlong = random_getlong,
		.x_getbytes = random_getbytes,
		.x_inline = random_inline,
	};
	unsigned tries = 0;
	bool_t ok;

	do {
		XDR x = {.x_op = XDR_DECODE, .x_ops = &ops, .x_handy = INT_MAX};

		ck_assert_uint_lt(tries++, TRIES);
		memset(v, 0, sizeof(*v));
		op_number = number;
		ok = xdr_nfs_argop4(&x, v);
		if (!ok)
			codec_free(XDR_OP, v);
	} while (!ok);
}

static size_t encode(const nfs_argop4 *v, uint8_t *buf, size_t size)
{
	struct cursor c;

	cursor_init(&c, buf, size);
	ck_assert(codec_encode(&c, XDR_OP, v));
	return cursor_pos(&c);
}

static void check_round_trip(int op)
{
	nfs_argop4 v, again;
	struct cursor c;
	size_t n;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		random_state = round;
		random_op(op, &v);
		n = encode(&v, first, sizeof(first));
		memset(&again, 0, sizeof(again));
		cursor_init(&c, first, n + 4);
		ck_assert(codec_decode(&c, XDR_OP, &again));
		ck_assert_uint_eq(cursor_pos(&c), n);
		ck_assert_int_eq(again.argop, op);
		ck_assert_uint_eq(encode(&again, second, n), n);
		ck_assert_mem_eq(first, second, n);
		codec_free(XDR_OP, &v);
		codec_free(XDR_OP, &again);
		codec_free(XDR_OP, &again);
	}
}

START_TEST(operation_survives_encoding_and_decoding)
{
	for (int op = FIRST; op <= LAST; op++)
		check_round_trip(op);
}
END_TEST

static void check_cuts(int op)
{
	nfs_argop4 v, cut;
	struct cursor c;
	size_t n;

	for (uint32_t round = 0; round < 5; round++) {
		random_state = round;
		random_op(op, &v);
		n = encode(&v, first, sizeof(first));
		codec_free(XDR_OP, &v);
		for (size_t len = 0; len < n; len++) {
			uint8_t *copy = malloc(len + 1);

			memcpy(copy, first, len);
			memset(&cut, 0, sizeof(cut));
			cursor_init(&c, copy, len);
			ck_assert_msg(!codec_decode(&c, XDR_OP, &cut), "operation %d cut at %zu",
				      op, len);
			ck_assert(!cursor_ok(&c));
			free(copy);
		}
	}
}

START_TEST(operation_cut_at_any_byte_is_refused_and_leaves_nothing)
{
	for (int op = FIRST; op <= LAST; op++)
		check_cuts(op);
}
END_TEST

static void check_no_room(int op)
{
	nfs_argop4 v;
	struct cursor c;
	size_t n;

	random_state = 5;
	random_op(op, &v);
	n = encode(&v, first, sizeof(first));
	for (size_t len = 0; len < n; len++) {
		cursor_init(&c, second, len + 4);
		cursor_put_u32(&c, 1);
		ck_assert(!codec_encode(&c, XDR_OP, &v));
		ck_assert_uint_eq(cursor_pos(&c), 4);
	}
	codec_free(XDR_OP, &v);
}

START_TEST(operation_that_does_not_fit_does_not_move)
{
	for (int op = FIRST; op <= LAST; op++)
		check_no_room(op);
}
END_TEST

static void begin(struct cursor *c, uint32_t op)
{
	memset(first, 0, sizeof(first));
	cursor_init(c, first, sizeof(first));
	cursor_put_u32(c, op);
}

/* Whether the operation decodes, all of what was put and no more. */
static bool decodes(const struct cursor *put, nfs_argop4 *v)
{
	struct cursor c;

	memset(v, 0, sizeof(*v));
	cursor_init_const(&c, first, cursor_pos(put));
	return codec_decode(&c, XDR_OP, v) && !cursor_left(&c);
}

START_TEST(unknown_operation_is_refused)
{
	static const uint32_t ops[] = {0, 1, 2, 76, 10043, 10045, UINT32_MAX};
	nfs_argop4 v;
	struct cursor c;

	begin(&c, ops[_i]);
	ck_assert(!decodes(&c, &v));
}
END_TEST

START_TEST(lengths_are_bounded)
{
	static const struct {
		uint32_t op, max;
	} bound[] = {{OP_PUTFH, NFS4_FHSIZE}, {OP_LOOKUP, NFS4_NAME_WIRE_MAX}};
	static char x[NFS4_NAME_WIRE_MAX + 1];
	nfs_argop4 v;
	struct cursor c;

	for (unsigned i = 0; i < 2; i++) {
		begin(&c, bound[i].op);
		cursor_put_opaque(&c, x, bound[i].max);
		ck_assert(decodes(&c, &v));
		codec_free(XDR_OP, &v);
		begin(&c, bound[i].op);
		cursor_put_opaque(&c, x, bound[i].max + 1);
		ck_assert(!decodes(&c, &v));
	}
}
END_TEST

START_TEST(bits_of_a_set_beyond_the_words_kept_show_in_the_last)
{
	nfs_argop4 v;
	struct cursor c;

	begin(&c, OP_GETATTR);
	cursor_put_u32(&c, NFS4_BITMAP_WORDS + 2);
	for (uint32_t i = 0; i < NFS4_BITMAP_WORDS + 2; i++)
		cursor_put_u32(&c, i);
	ck_assert(decodes(&c, &v));
	ck_assert_uint_eq(v.nfs_argop4_u.opgetattr.attr_request.bitmap4_len, NFS4_BITMAP_WORDS);
	ck_assert_uint_eq(v.nfs_argop4_u.opgetattr.attr_request.bitmap4_val[7], 7 | 8 | 9);
	begin(&c, OP_GETATTR);
	cursor_put_u32(&c, UINT32_MAX);
	ck_assert(!decodes(&c, &v));
}
END_TEST

START_TEST(write_is_in_the_rfc_s_order)
{
	const WRITE4args *w;
	nfs_argop4 v;
	struct cursor c;

	begin(&c, OP_WRITE);
	cursor_put_u32(&c, 7);
	cursor_put_fixed(&c, "twelve bytes", 12);
	cursor_put_u64(&c, 1ull << 40);
	cursor_put_u32(&c, 2);
	cursor_put_opaque(&c, "hello", 5);
	ck_assert(decodes(&c, &v));
	w = &v.nfs_argop4_u.opwrite;
	ck_assert_uint_eq(w->stateid.seqid, 7);
	ck_assert_mem_eq(w->stateid.other, "twelve bytes", 12);
	ck_assert_uint_eq(w->offset, 1ull << 40);
	ck_assert_int_eq(w->stable, FILE_SYNC4);
	ck_assert_uint_eq(w->data.data_len, 5);
	ck_assert_mem_eq(w->data.data_val, "hello", 5);
	codec_free(XDR_OP, &v);
}
END_TEST

START_TEST(open_is_in_the_rfc_s_order)
{
	const OPEN4args *o;
	nfs_argop4 v;
	struct cursor c;

	begin(&c, OP_OPEN);
	cursor_put_u32(&c, 1); /* seqid, access, deny */
	cursor_put_u32(&c, 3);
	cursor_put_u32(&c, 2);
	cursor_put_u64(&c, 0x1122334455667788);
	cursor_put_opaque(&c, "owner", 5);
	cursor_put_u32(&c, 1); /* create, exclusive */
	cursor_put_u32(&c, 2);
	cursor_put_fixed(&c, "verifier", 8);
	cursor_put_u32(&c, 0);
	cursor_put_opaque(&c, "name", 4);
	ck_assert(decodes(&c, &v));
	o = &v.nfs_argop4_u.opopen;
	ck_assert_uint_eq(o->share_access, 3);
	ck_assert_uint_eq(o->share_deny, 2);
	ck_assert_uint_eq(o->owner.clientid, 0x1122334455667788);
	ck_assert_uint_eq(o->owner.owner.owner_len, 5);
	ck_assert_int_eq(o->openhow.openflag4_u.how.mode, EXCLUSIVE4);
	ck_assert_mem_eq(o->openhow.openflag4_u.how.createhow4_u.createverf, "verifier", 8);
	ck_assert_mem_eq(o->claim.open_claim4_u.file.component4_val, "name", 4);
	codec_free(XDR_OP, &v);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("codec4");
	TCase *t = tcase_create("codec4");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, operation_survives_encoding_and_decoding);
	tcase_add_test(t, operation_cut_at_any_byte_is_refused_and_leaves_nothing);
	tcase_add_test(t, operation_that_does_not_fit_does_not_move);
	tcase_add_loop_test(t, unknown_operation_is_refused, 0, 7);
	tcase_add_test(t, lengths_are_bounded);
	tcase_add_test(t, bits_of_a_set_beyond_the_words_kept_show_in_the_last);
	tcase_add_test(t, write_is_in_the_rfc_s_order);
	tcase_add_test(t, open_is_in_the_rfc_s_order);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
