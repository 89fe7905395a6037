/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "policy/dio.h"
#include "tests/lib/unit.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LIMIT ((uint64_t)INT64_MAX)

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return #cond;                                                              \
	} while (0)

static uint32_t page_of(const struct dio_facts *f)
{
	return f->page_size ? f->page_size : 4096;
}

static uint32_t read_align_of(const struct dio_facts *f)
{
	return f->read_align ? f->read_align : f->offset_align;
}

/* The part of the request a file can have. */
static uint32_t len_of(const struct dio_facts *f)
{
	if (f->offset >= LIMIT)
		return 0;
	return f->len > LIMIT - f->offset ? (uint32_t)(LIMIT - f->offset) : f->len;
}

static uint64_t end_of(const struct dio_segment *s)
{
	return s->offset + s->len;
}

/* NULL, or the property that does not hold. */
static const char *bad_segments(const struct dio_facts *f, const struct dio_plan *p)
{
	const uint32_t unit = f->op == DIO_READ ? read_align_of(f) : f->offset_align;
	unsigned ndirect = 0;

	CHECK(p->nsegs <= 3);
	CHECK((p->nsegs == 0) == (len_of(f) == 0));
	for (unsigned i = 0; i < p->nsegs; i++) {
		const struct dio_segment *s = &p->seg[i];

		CHECK(s->len > 0);
		CHECK(end_of(s) > s->offset && end_of(s) <= LIMIT);
		CHECK(i == 0 || s->offset == end_of(s - 1));
		CHECK(s->kind != DIO_DONTCACHE || f->dontcache_ok);
		if (s->kind != DIO_DIRECT)
			continue;
		CHECK(f->mode == DIO_MODE_DIRECT);
		CHECK(s->offset % unit == 0 && s->len % unit == 0);
		CHECK(f->op == DIO_READ ||
		      (f->mem_phase + s->offset - f->offset) % f->mem_align == 0);
		CHECK(f->mem_align <= page_of(f));
		ndirect++;
	}
	CHECK(ndirect <= 1);
	CHECK((ndirect == 1) ==
	      (p->why == DIO_ALIGNED || p->why == DIO_EXPANDED || p->why == DIO_SPLIT));
	return NULL;
}

static const char *bad_read(const struct dio_facts *f, const struct dio_plan *p)
{
	const struct dio_segment *s = &p->seg[0];

	CHECK(p->nsegs <= 1);
	CHECK(p->phase == 0);
	CHECK(p->why != DIO_SPLIT);
	if (!p->nsegs) {
		CHECK(p->pad == 0 && p->keep == 0);
		return NULL;
	}
	CHECK(s->offset + p->pad == f->offset);
	CHECK(p->keep > 0 && p->keep <= len_of(f));
	CHECK((uint64_t)p->pad + p->keep <= s->len);
	if (s->kind != DIO_DIRECT) {
		CHECK(p->pad == 0 && s->len == len_of(f) && p->keep == s->len);
		return NULL;
	}
	/* No block more than needed, and all that was asked unless an edge is near. */
	CHECK(p->pad < read_align_of(f));
	CHECK(s->len - p->pad - p->keep < read_align_of(f));
	CHECK(p->keep == len_of(f) || LIMIT - end_of(s) < read_align_of(f) ||
	      UINT32_MAX - s->len < read_align_of(f));
	CHECK((p->why == DIO_ALIGNED) == (p->pad == 0 && s->len == len_of(f)));
	return NULL;
}

static const char *bad_write(const struct dio_facts *f, const struct dio_plan *p)
{
	const uint32_t page = page_of(f);
	const uint32_t cut =
		f->rule == DIO_RULE_PAGE && page > f->offset_align ? page : f->offset_align;

	CHECK(p->pad == 0 && p->keep == 0);
	CHECK(p->why != DIO_EXPANDED);
	if (!p->nsegs)
		return NULL;
	CHECK(p->seg[0].offset == f->offset);
	CHECK(end_of(&p->seg[p->nsegs - 1]) == f->offset + len_of(f));
	CHECK(p->why != DIO_ALIGNED || (p->nsegs == 1 && p->seg[0].kind == DIO_DIRECT));
	CHECK(p->why != DIO_SPLIT || p->nsegs > 1);
	CHECK(p->why == DIO_SPLIT || p->nsegs == 1);
	CHECK(p->why != DIO_TOO_SMALL || len_of(f) < f->offset_align || len_of(f) < f->mem_align);
	CHECK(p->why != DIO_NO_MIDDLE || f->min_middle ||
	      (f->offset + len_of(f)) / cut <= (f->offset + cut - 1) / cut);
	for (unsigned i = 0; i < p->nsegs && p->nsegs > 1; i++) {
		CHECK(p->seg[i].kind == DIO_DIRECT || p->seg[i].len < cut);
		CHECK(p->seg[i].kind != DIO_DIRECT || p->seg[i].len >= f->min_middle);
	}
	return NULL;
}

/* Under `page` the direct middle and a cached end are never in one page. */
static const char *bad_sharing(const struct dio_facts *f, const struct dio_plan *p)
{
	if (f->rule != DIO_RULE_PAGE)
		return NULL;
	for (unsigned i = 1; i < p->nsegs; i++)
		CHECK((p->seg[i].offset - 1) / page_of(f) != p->seg[i].offset / page_of(f));
	return NULL;
}

/* A payload put where the plan says can go direct, if any can. */
static const char *bad_phase(const struct dio_facts *f, const struct dio_plan *p)
{
	struct dio_facts moved = *f;
	struct dio_plan q;

	if (f->op == DIO_READ || f->mem_align > page_of(f))
		return NULL;
	CHECK(p->phase < page_of(f));
	moved.mem_phase = p->phase;
	dio_plan(&moved, &q);
	CHECK(q.why != DIO_MEM_MISALIGNED);
	CHECK(q.phase == p->phase);
	CHECK(p->why == DIO_MEM_MISALIGNED || p->why == q.why);
	return NULL;
}

static bool plan_equal(const struct dio_plan *a, const struct dio_plan *b)
{
	if (a->why != b->why || a->nsegs != b->nsegs || a->pad != b->pad || a->keep != b->keep ||
	    a->phase != b->phase)
		return false;
	for (unsigned i = 0; i < a->nsegs; i++) {
		if (a->seg[i].offset != b->seg[i].offset || a->seg[i].len != b->seg[i].len ||
		    a->seg[i].kind != b->seg[i].kind)
			return false;
	}
	return true;
}

static const char *bad_size(const struct dio_facts *f, const struct dio_plan *p)
{
	struct dio_facts other = *f;
	struct dio_plan q;

	other.size = ~f->size;
	dio_plan(&other, &q);
	CHECK(plan_equal(p, &q));
	return NULL;
}

static void check(const struct dio_facts *f)
{
	struct dio_plan p;
	const char *bad;

	dio_plan(f, &p);
	bad = bad_segments(f, &p);
	if (!bad)
		bad = f->op == DIO_READ ? bad_read(f, &p) : bad_write(f, &p);
	if (!bad)
		bad = bad_sharing(f, &p);
	if (!bad)
		bad = bad_phase(f, &p);
	if (!bad)
		bad = bad_size(f, &p);
	if (bad)
		ck_abort_msg("%s %s %s [%llu,+%u) mem %u off %u read %u phase %u: %s -> not so: %s",
			     f->op == DIO_READ ? "READ" : "WRITE", dio_mode_name(f->mode),
			     dio_rule_name(f->rule), (unsigned long long)f->offset, f->len,
			     f->mem_align, f->offset_align, f->read_align, f->mem_phase,
			     dio_disposition_name(p.why), bad);
}

/* Every rule and mode, with and without DONTCACHE and thresholds. */
static void check_choices(struct dio_facts f)
{
	for (unsigned i = 0; i < DIO_RULE_COUNT * 3 * 4; i++) {
		f.rule = i % DIO_RULE_COUNT;
		f.mode = i / DIO_RULE_COUNT % 3;
		f.dontcache_ok = i / DIO_RULE_COUNT / 3 & 1;
		f.read_direct_min = f.min_middle = i / DIO_RULE_COUNT / 3 & 2 ? 11 : 0;
		check(&f);
	}
}

static const uint32_t aligns[] = {1, 2, 4, 8, 16};

/* Pages of 8 bytes stand for 4096, so 1, 2, 4, 8 and 16 stand for 512 up to 8192. */
START_TEST(every_small_write_tiles_aligned)
{
	struct dio_facts f = {.op = DIO_WRITE, .page_size = 8, .offset_align = aligns[_i]};

	for (unsigned m = 0; m < COUNT(aligns); m++) {
		f.mem_align = aligns[m];
		for (f.offset = 0; f.offset < 33; f.offset++)
			for (f.len = 0; f.len < 41; f.len++)
				for (f.mem_phase = 0; f.mem_phase < 8; f.mem_phase++)
					check_choices(f);
	}
}
END_TEST

START_TEST(every_small_read_covers_aligned)
{
	struct dio_facts f = {.op = DIO_READ, .page_size = 8, .offset_align = aligns[_i]};

	for (unsigned m = 0; m < COUNT(aligns) * (COUNT(aligns) + 1); m++) {
		f.mem_align = aligns[m % COUNT(aligns)];
		f.read_align = m / COUNT(aligns) ? aligns[m / COUNT(aligns) - 1] : 0;
		for (f.offset = 0; f.offset < 33; f.offset++)
			for (f.len = 0; f.len < 41; f.len++)
				check_choices(f);
	}
}
END_TEST

START_TEST(ends_near_the_limits_never_overflow)
{
	static const uint64_t edges[] = {0, 1ull << 31, 1ull << 32, 1ull << 62, 1ull << 63};
	static const uint32_t lens[] = {0,          1,          511,       512,        4096,
					47008,      32768,      1u << 20,  0x7fffffff, 0x80000000,
					0xfffff000, 0xfffffe00, UINT32_MAX};
	static const int64_t deltas[] = {-2147483648ll, -1048576, -65536, -4097, -4096, -513,
					 -512,          -511,     -2,     -1,    0,     1,
					 511,           512,      4096,   65536};
	static const uint32_t units[] = {1, 512, 4096, 65536, 1u << 31};
	struct dio_facts f = {.op = _i & 1 ? DIO_WRITE : DIO_READ, .offset_align = units[_i / 2]};

	for (unsigned e = 0; e < COUNT(edges) * COUNT(deltas) * COUNT(lens) * COUNT(units); e++) {
		f.offset = edges[e % 5] + (uint64_t)deltas[e / 5 % COUNT(deltas)];
		f.len = lens[e / 5 / COUNT(deltas) % COUNT(lens)];
		f.mem_align = units[e / 5 / COUNT(deltas) / COUNT(lens)];
		f.mem_phase = f.offset & 4095;
		check_choices(f);
	}
}
END_TEST

START_TEST(alignments_that_are_no_powers_of_two_mean_no_direct)
{
	static const uint32_t odd[][3] = {{3, 512, 512}, {512, 520, 512}, {512, 512, 1000},
					  {0, 512, 512}, {512, 0, 512},   {0, 0, 0}};
	struct dio_facts f = {.op = DIO_READ, .mode = DIO_MODE_DIRECT, .len = 65536};
	struct dio_plan p;

	f.mem_align = odd[_i][0];
	f.offset_align = odd[_i][1];
	f.read_align = odd[_i][2];
	dio_plan(&f, &p);
	ck_assert_int_eq(p.why, DIO_NO_ALIGN);
	f.op = DIO_WRITE;
	dio_plan(&f, &p);
	ck_assert_int_eq(p.why, _i == 2 ? DIO_ALIGNED : DIO_NO_ALIGN);
}
END_TEST

/* "DIRECT[512,4096) ...", a letter and the bounds a segment. */
static const char *text(const struct dio_plan *p, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s", dio_disposition_name(p->why));

	for (unsigned i = 0; i < p->nsegs; i++)
		n += snprintf(buf + n, size - (size_t)n, " %s[%llu,%llu)",
			      dio_kind_name(p->seg[i].kind), (unsigned long long)p->seg[i].offset,
			      (unsigned long long)end_of(&p->seg[i]));
	return buf;
}

/* One row of the decision tables: what each rule answers, where DONTCACHE works. */
struct row {
	const char *name;
	uint64_t offset;
	uint32_t len, mem, off, read;
	int phase; /* -1: in phase */
	const char *seed, *page, *mainline, *dontcache_ends;
};

#define SAME(s) s, s, s, s
#define CACHED_OR(s, m) s, s, m, s

static const struct row read_rows[] = {
	{"no alignment", 100, 65536, 0, 0, 0, 0,
	 CACHED_OR("NO_ALIGN buffered[100,65636)", "NO_ALIGN dontcache[100,65636)")},
	{"small, start misaligned", 100, 412, 512, 512, 512, 0,
	 CACHED_OR("TOO_SMALL buffered[100,512)", "EXPANDED direct[0,512)")},
	{"small, end misaligned", 512, 100, 512, 512, 512, 0,
	 CACHED_OR("TOO_SMALL buffered[512,612)", "EXPANDED direct[512,1024)")},
	{"one byte below the threshold", 1, 32767, 512, 512, 512, 0,
	 CACHED_OR("TOO_SMALL buffered[1,32768)", "EXPANDED direct[0,32768)")},
	{"at the threshold", 1, 32768, 512, 512, 512, 0, SAME("EXPANDED direct[0,33280)")},
	{"small but aligned", 4096, 512, 512, 512, 512, 0, SAME("ALIGNED direct[4096,4608)")},
	{"below one block", 4096, 100, 512, 4096, 4096, 0,
	 CACHED_OR("TOO_SMALL buffered[4096,4196)", "EXPANDED direct[4096,8192)")},
	{"large, both misaligned", 1000, 1048576, 512, 512, 512, 0,
	 SAME("EXPANDED direct[512,1049600)")},
	{"read alignment differs from the write one", 512, 65536, 512, 4096, 512, 0,
	 SAME("ALIGNED direct[512,66048)")},
	{"no read alignment told: the write one", 512, 65536, 512, 4096, 0, 0,
	 SAME("EXPANDED direct[0,69632)")},
	{"memory alignment beyond a page", 0, 65536, 8192, 512, 512, 0,
	 CACHED_OR("MEM_MISALIGNED buffered[0,65536)", "MEM_MISALIGNED dontcache[0,65536)")},
};

static const struct row write_rows[] = {
	{"no memory alignment", 0, 65536, 0, 512, 0, 0, SAME("NO_ALIGN dontcache[0,65536)")},
	{"no offset alignment", 0, 65536, 512, 0, 0, 0, SAME("NO_ALIGN dontcache[0,65536)")},
	{"below one block", 0, 511, 4, 512, 0, 0, SAME("TOO_SMALL dontcache[0,511)")},
	{"below the memory alignment", 0, 512, 4096, 512, 0, 0, SAME("TOO_SMALL dontcache[0,512)")},
	{"no whole block inside", 1, 1022, 512, 512, 0, 1, SAME("NO_MIDDLE dontcache[1,1023)")},
	{"a block but no page inside", 1, 4094, 512, 512, 0, 1,
	 "SPLIT buffered[1,512) direct[512,3584) buffered[3584,4095)",
	 "NO_MIDDLE dontcache[1,4095)",
	 "SPLIT dontcache[1,512) direct[512,3584) dontcache[3584,4095)",
	 "SPLIT dontcache[1,512) direct[512,3584) dontcache[3584,4095)"},
	{"payload memory misaligned", 1000, 1048576, 512, 512, 0, 1001,
	 SAME("MEM_MISALIGNED dontcache[1000,1049576)")},
	{"aligned but its memory is not", 4096, 65536, 512, 512, 0, 4,
	 SAME("MEM_MISALIGNED dontcache[4096,69632)")},
	{"memory alignment beyond a page", 0, 65536, 8192, 512, 0, 0,
	 SAME("MEM_MISALIGNED dontcache[0,65536)")},
	{"three segments", 1000, 1048576, 512, 512, 0, -1,
	 "SPLIT buffered[1000,1024) direct[1024,1049088) buffered[1049088,1049576)",
	 "SPLIT buffered[1000,4096) direct[4096,1048576) buffered[1048576,1049576)",
	 "SPLIT dontcache[1000,1024) direct[1024,1049088) dontcache[1049088,1049576)",
	 "SPLIT dontcache[1000,1024) direct[1024,1049088) dontcache[1049088,1049576)"},
	{"head only", 512, 7680, 512, 4096, 0, -1, "SPLIT buffered[512,4096) direct[4096,8192)",
	 "SPLIT buffered[512,4096) direct[4096,8192)",
	 "SPLIT dontcache[512,4096) direct[4096,8192)",
	 "SPLIT dontcache[512,4096) direct[4096,8192)"},
	{"tail only: the first record of an IOR-hard stream", 0, 47008, 512, 512, 0, -1,
	 "SPLIT direct[0,46592) buffered[46592,47008)",
	 "SPLIT direct[0,45056) buffered[45056,47008)",
	 "SPLIT direct[0,46592) dontcache[46592,47008)",
	 "SPLIT direct[0,46592) dontcache[46592,47008)"},
	{"fully aligned", 4096, 65536, 512, 512, 0, -1, SAME("ALIGNED direct[4096,69632)")},
	{"aligned to blocks but not to pages needs no ends", 512, 1024, 512, 512, 0, -1,
	 SAME("ALIGNED direct[512,1536)")},
	{"four-byte memory alignment", 1000, 1048576, 4, 512, 0, 100,
	 "SPLIT buffered[1000,1024) direct[1024,1049088) buffered[1049088,1049576)",
	 "SPLIT buffered[1000,4096) direct[4096,1048576) buffered[1048576,1049576)",
	 "SPLIT dontcache[1000,1024) direct[1024,1049088) dontcache[1049088,1049576)",
	 "SPLIT dontcache[1000,1024) direct[1024,1049088) dontcache[1049088,1049576)"},
	{"blocks larger than a page", 1, 200000, 4096, 65536, 0, -1,
	 "SPLIT buffered[1,65536) direct[65536,196608) buffered[196608,200001)",
	 "SPLIT buffered[1,65536) direct[65536,196608) buffered[196608,200001)",
	 "SPLIT dontcache[1,65536) direct[65536,196608) dontcache[196608,200001)",
	 "SPLIT dontcache[1,65536) direct[65536,196608) dontcache[196608,200001)"},
};

static struct dio_facts row_facts(const struct row *r, enum dio_op op)
{
	return (struct dio_facts){.op = op,
				  .mode = DIO_MODE_DIRECT,
				  .offset = r->offset,
				  .len = r->len,
				  .mem_align = r->mem,
				  .offset_align = r->off,
				  .read_align = r->read,
				  .mem_phase = r->phase < 0 ? r->offset & 4095 : (uint32_t)r->phase,
				  .dontcache_ok = true,
				  .read_direct_min = 32768};
}

/* Where DONTCACHE does not work, the same plan with plain buffered segments. */
static void without_dontcache(char *s)
{
	static const char from[] = "dontcache", to[] = "buffered";
	char *at;

	while ((at = strstr(s, from))) {
		memcpy(at, to, sizeof(to) - 1);
		memmove(at + sizeof(to) - 1, at + sizeof(from) - 1,
			strlen(at + sizeof(from) - 1) + 1);
	}
}

static void check_row(const struct row *r, enum dio_op op)
{
	const char *const want[DIO_RULE_COUNT] = {r->seed, r->page, r->mainline, r->dontcache_ends};
	struct dio_facts f = row_facts(r, op);
	char got[200], plain[200];
	struct dio_plan p;

	for (f.rule = 0; f.rule < DIO_RULE_COUNT; f.rule++) {
		f.dontcache_ok = true;
		dio_plan(&f, &p);
		text(&p, got, sizeof(got));
		ck_assert_msg(!strcmp(got, want[f.rule]), "%s, rule %s: %s, not %s", r->name,
			      dio_rule_name(f.rule), got, want[f.rule]);
		f.dontcache_ok = false;
		dio_plan(&f, &p);
		text(&p, plain, sizeof(plain));
		without_dontcache(got);
		ck_assert_msg(!strcmp(got, plain), "%s, rule %s: %s, not %s", r->name,
			      dio_rule_name(f.rule), plain, got);
	}
}

START_TEST(row_of_the_read_table)
{
	check_row(&read_rows[_i], DIO_READ);
}
END_TEST

START_TEST(row_of_the_write_table)
{
	check_row(&write_rows[_i], DIO_WRITE);
}
END_TEST

START_TEST(other_modes_are_one_segment_of_their_kind)
{
	static const char *const want[2][2] = {
		{"MODE buffered[1,65537)", "MODE buffered[1,65537)"},
		{"MODE buffered[1,65537)", "MODE dontcache[1,65537)"}};
	struct dio_facts f = {.op = _i & 1 ? DIO_WRITE : DIO_READ,
			      .mode = _i & 2 ? DIO_MODE_DONTCACHE : DIO_MODE_BUFFERED,
			      .dontcache_ok = _i & 4,
			      .offset = 1,
			      .len = 65536,
			      .mem_align = 512,
			      .offset_align = 512};
	struct dio_plan p;
	char got[200];

	for (f.rule = 0; f.rule < DIO_RULE_COUNT; f.rule++) {
		dio_plan(&f, &p);
		ck_assert_str_eq(text(&p, got, sizeof(got)), want[f.mode][f.dontcache_ok]);
	}
}
END_TEST

START_TEST(a_middle_below_min_middle_is_no_middle)
{
	struct dio_facts f = {.op = DIO_WRITE,
			      .mode = DIO_MODE_DIRECT,
			      .rule = DIO_RULE_PAGE,
			      .offset = 1,
			      .len = 12287,
			      .mem_align = 512,
			      .offset_align = 512,
			      .mem_phase = 1,
			      .min_middle = 8192};
	struct dio_plan p;

	dio_plan(&f, &p);
	ck_assert_int_eq(p.why, DIO_SPLIT);
	f.min_middle = 8193;
	dio_plan(&f, &p);
	ck_assert_int_eq(p.why, DIO_NO_MIDDLE);
	/* Without ends nothing is saved by going buffered. */
	f.offset = f.mem_phase = 0;
	f.len = 4096;
	dio_plan(&f, &p);
	ck_assert_int_eq(p.why, DIO_ALIGNED);
}
END_TEST

START_TEST(expanded_read_says_what_to_drop_and_keep)
{
	struct dio_facts f = {.op = DIO_READ,
			      .mode = DIO_MODE_DIRECT,
			      .offset = 1000,
			      .len = 1048576,
			      .mem_align = 512,
			      .offset_align = 512};
	struct dio_plan p;

	dio_plan(&f, &p);
	ck_assert_uint_eq(p.pad, 488);
	ck_assert_uint_eq(p.keep, 1048576);
}
END_TEST

START_TEST(payload_in_phase_with_the_file_suits_any_page_cut)
{
	struct dio_facts f = {.op = DIO_WRITE,
			      .mode = DIO_MODE_DIRECT,
			      .rule = DIO_RULE_PAGE,
			      .offset = 47008,
			      .len = 47008,
			      .mem_align = 4096,
			      .offset_align = 512};
	struct dio_plan p;

	dio_plan(&f, &p);
	ck_assert_int_eq(p.why, DIO_MEM_MISALIGNED);
	ck_assert_uint_eq(p.phase, 47008 % 4096);
	/* The seed's finer cut starts its middle at 47104, which wants other memory. */
	f.rule = DIO_RULE_SEED;
	dio_plan(&f, &p);
	ck_assert_uint_eq(p.phase, 4096 - 96);
}
END_TEST

START_TEST(the_last_block_before_2_63_is_read_buffered)
{
	struct dio_facts f = {.op = DIO_READ,
			      .mode = DIO_MODE_DIRECT,
			      .offset = LIMIT - 100,
			      .len = 65536,
			      .mem_align = 512,
			      .offset_align = 512};
	struct dio_plan p;
	char got[200];

	dio_plan(&f, &p);
	ck_assert_str_eq(text(&p, got, sizeof(got)),
			 "NO_MIDDLE buffered[9223372036854775707,9223372036854775807)");
	ck_assert_uint_eq(p.keep, 100);
}
END_TEST

START_TEST(names_and_parsing_agree)
{
	enum dio_rule r;
	enum dio_mode m;

	for (unsigned i = 0; i < DIO_RULE_COUNT; i++)
		ck_assert(dio_rule_parse(dio_rule_name(i), &r) && r == i);
	for (unsigned i = 0; i <= DIO_MODE_DIRECT; i++) {
		const char digit[] = {(char)('0' + i), 0};

		ck_assert(dio_mode_parse(dio_mode_name(i), &m) && m == i);
		ck_assert(dio_mode_parse(digit, &m) && m == i);
	}
	for (unsigned i = 0; i < DIO_KIND_COUNT; i++)
		ck_assert_ptr_nonnull(dio_kind_name(i));
	for (unsigned i = 0; i < DIO_DISPOSITION_COUNT; i++)
		ck_assert_ptr_nonnull(dio_disposition_name(i));
	ck_assert(!dio_rule_parse("", &r) && !dio_rule_parse("Page", &r));
	ck_assert(!dio_mode_parse("", &m) && !dio_mode_parse("3", &m) &&
		  !dio_mode_parse("directly", &m));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("dio");
	TCase *all = tcase_create("exhaustive"), *t = tcase_create("tables");

	tcase_set_timeout(all, 300);
	tcase_add_loop_test(all, every_small_write_tiles_aligned, 0, COUNT(aligns));
	tcase_add_loop_test(all, every_small_read_covers_aligned, 0, COUNT(aligns));
	tcase_add_loop_test(all, ends_near_the_limits_never_overflow, 0, 10);
	suite_add_tcase(s, all);
	tcase_add_loop_test(t, alignments_that_are_no_powers_of_two_mean_no_direct, 0, 6);
	tcase_add_loop_test(t, row_of_the_read_table, 0, COUNT(read_rows));
	tcase_add_loop_test(t, row_of_the_write_table, 0, COUNT(write_rows));
	tcase_add_loop_test(t, other_modes_are_one_segment_of_their_kind, 0, 8);
	tcase_add_test(t, a_middle_below_min_middle_is_no_middle);
	tcase_add_test(t, expanded_read_says_what_to_drop_and_keep);
	tcase_add_test(t, payload_in_phase_with_the_file_suits_any_page_cut);
	tcase_add_test(t, the_last_block_before_2_63_is_read_buffered);
	tcase_add_test(t, names_and_parsing_agree);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
