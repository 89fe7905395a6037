/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "rpc/record.h"
#include "tests/lib/unit.h"

#define MAX 4096

/* What came out: body bytes as they are, '|' for the end of a record, '!' for a refusal. */
struct out {
	size_t n;
	bool bad;
	char text[1100];
};

struct stream {
	uint8_t byte[8192];
	size_t n;
};

static void emit(struct out *o, const void *p, size_t n)
{
	if (o->n + n >= sizeof(o->text))
		ck_abort_msg("more comes out than went in");
	memcpy(o->text + o->n, p, n);
	o->n += n;
	o->text[o->n] = '\0';
}

static void add_mark(struct stream *s, uint32_t mark)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		s->byte[s->n++] = (uint8_t)(mark >> shift);
}

static void add_fragment(struct stream *s, const char *body, bool last)
{
	size_t n = strlen(body);

	add_mark(s, (uint32_t)n | (last ? RECORD_LAST : 0));
	memcpy(s->byte + s->n, body, n);
	s->n += n;
}

static void feed(struct record *r, const uint8_t *in, size_t len, struct out *o)
{
	enum record_event ev = RECORD_BODY;
	const uint8_t *body;
	size_t used, n;

	while (!o->bad && ev != RECORD_MORE) {
		ev = record_next(r, in, len, &used, &body, &n);
		if (used > len)
			ck_abort_msg("ate %zu of %zu", used, len);
		in += used;
		len -= used;
		if (ev == RECORD_BODY)
			emit(o, body, n);
		else if (ev == RECORD_END)
			emit(o, "|", 1);
		else if (ev == RECORD_BAD)
			emit(o, "!", 1);
		o->bad = ev == RECORD_BAD;
	}
	if (!o->bad && len)
		ck_abort_msg("%zu bytes left over", len);
}

/* As a connection does that receives body bytes straight to where they belong. */
static void feed_direct(struct record *r, const uint8_t *in, size_t len, struct out *o)
{
	uint32_t n;

	while (len && !o->bad) {
		n = record_direct(r);
		if (n == 0) {
			feed(r, in++, 1, o);
			len--;
			continue;
		}
		if (n > len)
			n = (uint32_t)len;
		record_advance(r, n);
		emit(o, in, n);
		if (record_ended(r))
			emit(o, "|", 1);
		in += n;
		len -= n;
	}
}

typedef void feeder(struct record *r, const uint8_t *in, size_t len, struct out *o);

/* Bit i of `cuts`: the stream is cut behind byte i. */
static void check_split(const struct stream *s, uint32_t cuts, feeder *f, const char *want)
{
	struct out o;
	struct record r;
	size_t from = 0;

	o.n = 0;
	o.text[0] = 0;
	o.bad = false;
	record_init(&r, MAX);
	for (size_t i = 0; i < s->n; i++) {
		if (i + 1 < s->n && !(cuts >> i & 1))
			continue;
		f(&r, s->byte + from, i + 1 - from, &o);
		from = i + 1;
	}
	if (strcmp(o.text, want))
		ck_abort_msg("cuts %x: got %s, want %s", cuts, o.text, want);
}

static void check_every_split(const struct stream *s, const char *want)
{
	ck_assert_uint_le(s->n, 16);
	for (uint32_t cuts = 0; cuts < 1u << (s->n - 1); cuts++) {
		check_split(s, cuts, feed, want);
		check_split(s, cuts, feed_direct, want);
	}
}

START_TEST(one_fragment_record_survives_every_split)
{
	struct stream s = {0};

	add_fragment(&s, "0123456789", true);
	check_every_split(&s, "0123456789|");
}
END_TEST

START_TEST(fragments_join_at_every_split)
{
	struct stream s = {0};

	add_fragment(&s, "a", false);
	add_fragment(&s, "b", false);
	add_fragment(&s, "cd", true);
	check_every_split(&s, "abcd|");
}
END_TEST

START_TEST(records_stay_apart_at_every_split)
{
	struct stream s = {0};

	add_fragment(&s, "ab", true);
	add_fragment(&s, "", true);
	add_fragment(&s, "cd", true);
	check_every_split(&s, "ab||cd|");
}
END_TEST

START_TEST(empty_last_fragment_ends_a_record_at_every_split)
{
	struct stream s = {0};

	add_fragment(&s, "", false);
	add_fragment(&s, "xyz", false);
	add_fragment(&s, "", true);
	check_every_split(&s, "xyz|");
}
END_TEST

START_TEST(long_stream_survives_each_pair_of_cuts)
{
	struct stream s = {0};
	const char *want = "The quick|brown fox jumps||over|";

	add_fragment(&s, "The qu", false);
	add_fragment(&s, "ick", true);
	add_fragment(&s, "b", false);
	add_fragment(&s, "rown fox jumps", true);
	add_fragment(&s, "", true);
	add_fragment(&s, "over", false);
	add_fragment(&s, "", true);
	for (size_t a = 0; a <= s.n; a++)
		for (size_t b = a; b <= s.n; b++) {
			struct out o = {0};
			struct record r;

			record_init(&r, MAX);
			feed(&r, s.byte, a, &o);
			feed_direct(&r, s.byte + a, b - a, &o);
			feed(&r, s.byte + b, s.n - b, &o);
			ck_assert_str_eq(o.text, want);
		}
}
END_TEST

START_TEST(one_byte_fragments_are_legal)
{
	struct stream s = {0};
	struct out o = {0};
	struct record r;
	char want[1002];

	for (int i = 0; i < 1000; i++)
		add_fragment(&s, "x", i == 999);
	memset(want, 'x', 1000);
	strcpy(want + 1000, "|");
	record_init(&r, 1000);
	feed(&r, s.byte, s.n, &o);
	ck_assert_str_eq(o.text, want);
	ck_assert_uint_eq(r.len, 1000);
}
END_TEST

static struct out with_empty_fragments(unsigned n)
{
	struct stream s = {0};
	struct out o = {0};
	struct record r;

	while (n--)
		add_fragment(&s, "", false);
	add_fragment(&s, "x", true);
	record_init(&r, MAX);
	feed(&r, s.byte, s.n, &o);
	return o;
}

START_TEST(empty_fragments_are_bounded)
{
	ck_assert_str_eq(with_empty_fragments(RECORD_EMPTY_MAX).text, "x|");
	ck_assert_str_eq(with_empty_fragments(RECORD_EMPTY_MAX + 1).text, "!");
}
END_TEST

START_TEST(empty_fragments_are_counted_by_the_record)
{
	struct stream s = {0};
	struct out o = {0};
	struct record r;

	record_init(&r, MAX);
	for (int i = 0; i < 2 * RECORD_EMPTY_MAX; i++) {
		add_fragment(&s, "", false);
		add_fragment(&s, "", true);
	}
	feed(&r, s.byte, s.n, &o);
	ck_assert(!o.bad);
	ck_assert_uint_eq(o.n, 2 * RECORD_EMPTY_MAX);
}
END_TEST

START_TEST(fragments_are_bounded)
{
	static const uint8_t one[] = {0, 0, 0, 1, 'x'};
	struct record r;
	struct out o = {0};
	uint32_t n;

	record_init(&r, UINT32_MAX);
	for (n = 0; n <= RECORD_FRAGMENTS_MAX && !o.bad; n++) {
		o.n = 0;
		feed(&r, one, sizeof(one), &o);
	}
	ck_assert(o.bad);
	ck_assert_uint_eq(n, RECORD_FRAGMENTS_MAX + 1);
}
END_TEST

START_TEST(claim_of_two_gib_is_refused_at_the_mark)
{
	struct stream s = {0};
	struct out o = {0};
	struct record r;

	add_mark(&s, 0xffffffff);
	record_init(&r, MAX);
	feed(&r, s.byte, 3, &o);
	ck_assert_str_eq(o.text, "");
	feed(&r, s.byte + 3, 1, &o);
	ck_assert_str_eq(o.text, "!");
	ck_assert_uint_eq(record_direct(&r), 0);
}
END_TEST

START_TEST(http_is_refused_at_its_fourth_byte)
{
	struct out o = {0};
	struct record r;

	record_init(&r, 1 << 20);
	feed(&r, (const uint8_t *)"GET / HTTP/1.1\r\n", 16, &o);
	ck_assert_str_eq(o.text, "!");
}
END_TEST

START_TEST(limit_counts_the_whole_record)
{
	struct stream s = {0};
	struct out o = {0};
	struct record r;

	add_fragment(&s, "12345678", false);
	add_fragment(&s, "12345678", true);
	record_init(&r, 16);
	feed(&r, s.byte, s.n, &o);
	feed(&r, s.byte, s.n, &o); /* each record anew */
	ck_assert_str_eq(o.text, "1234567812345678|1234567812345678|");

	memset(&o, 0, sizeof(o));
	record_init(&r, 15);
	feed(&r, s.byte, s.n, &o);
	ck_assert_str_eq(o.text, "12345678!");
}
END_TEST

START_TEST(length_is_known_until_the_next_record_begins)
{
	struct stream s = {0};
	struct out o = {0};
	struct record r;

	add_fragment(&s, "abc", false);
	add_fragment(&s, "defg", true);
	record_init(&r, MAX);
	feed(&r, s.byte, s.n, &o);
	ck_assert_uint_eq(r.len, 7);
	feed(&r, s.byte, 3, &o);
	ck_assert_uint_eq(r.len, 7);
	feed(&r, s.byte + 3, 1, &o);
	ck_assert_uint_eq(r.len, 0);
}
END_TEST

START_TEST(direct_bytes_stop_at_the_fragment)
{
	struct stream s = {0};
	struct out o = {0};
	struct record r;

	add_fragment(&s, "abcde", false);
	add_fragment(&s, "fg", true);
	record_init(&r, MAX);
	ck_assert_uint_eq(record_direct(&r), 0);
	feed(&r, s.byte, 6, &o);
	ck_assert_uint_eq(record_direct(&r), 3);
	record_advance(&r, 3);
	ck_assert_uint_eq(record_direct(&r), 0);
	ck_assert(!record_ended(&r));
	feed(&r, s.byte + 9, 4, &o);
	ck_assert_uint_eq(record_direct(&r), 2);
	record_advance(&r, 2);
	ck_assert(record_ended(&r));
	ck_assert(!record_ended(&r));
	ck_assert_uint_eq(r.len, 7);
}
END_TEST

START_TEST(reply_mark_is_one_last_fragment)
{
	uint8_t mark[4];

	record_mark(mark, 0x012345);
	ck_assert_mem_eq(mark, "\x80\x01\x23\x45", 4);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("record");
	TCase *t = tcase_create("record");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, one_fragment_record_survives_every_split);
	tcase_add_test(t, fragments_join_at_every_split);
	tcase_add_test(t, records_stay_apart_at_every_split);
	tcase_add_test(t, empty_last_fragment_ends_a_record_at_every_split);
	tcase_add_test(t, long_stream_survives_each_pair_of_cuts);
	tcase_add_test(t, one_byte_fragments_are_legal);
	tcase_add_test(t, empty_fragments_are_bounded);
	tcase_add_test(t, empty_fragments_are_counted_by_the_record);
	tcase_add_test(t, fragments_are_bounded);
	tcase_add_test(t, claim_of_two_gib_is_refused_at_the_mark);
	tcase_add_test(t, http_is_refused_at_its_fourth_byte);
	tcase_add_test(t, limit_counts_the_whole_record);
	tcase_add_test(t, length_is_known_until_the_next_record_begins);
	tcase_add_test(t, direct_bytes_stop_at_the_fragment);
	tcase_add_test(t, reply_mark_is_one_last_fragment);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
