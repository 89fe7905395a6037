/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>
#include <string.h>

#include "policy/dio.h"

#define OFFSET_LIMIT INT64_MAX /* first byte a file cannot have (loff_t) */

static bool is_pow2(uint32_t v)
{
	return v && !(v & (v - 1));
}

static uint64_t round_down(uint64_t v, uint32_t align)
{
	return v & ~((uint64_t)align - 1);
}

/* v stays below 2^63 and align below 2^32, so this cannot wrap. */
static uint64_t round_up(uint64_t v, uint32_t align)
{
	return round_down(v + align - 1, align);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t page_of(const struct dio_facts *f)
{
	return is_pow2(f->page_size) ? f->page_size : 4096;
}

static enum dio_kind dontcache_if(const struct dio_facts *f, bool wanted)
{
	return wanted && f->dontcache_ok ? DIO_DONTCACHE : DIO_BUFFERED;
}

/* What carries a direct request that cannot be direct at all. */
static enum dio_kind whole_kind(const struct dio_facts *f)
{
	return dontcache_if(f, f->op == DIO_WRITE || f->rule == DIO_RULE_MAINLINE);
}

/* What carries the ends of a split WRITE: the point on which the rules differ most. */
static enum dio_kind end_kind(const struct dio_facts *f)
{
	return dontcache_if(f, f->rule == DIO_RULE_MAINLINE || f->rule == DIO_RULE_DONTCACHE_ENDS);
}

static void plan_add(struct dio_plan *p, uint64_t offset, uint64_t len, enum dio_kind kind)
{
	if (len)
		p->seg[p->nsegs++] = (struct dio_segment){offset, (uint32_t)len, kind};
}

/* One segment, as asked. */
static void plan_whole(struct dio_plan *p, enum dio_disposition why, const struct dio_facts *f,
		       uint32_t len, enum dio_kind kind)
{
	p->why = why;
	plan_add(p, f->offset, len, kind);
	p->keep = f->op == DIO_READ ? len : 0;
}

/*
 * Buffers are page-aligned and `mem_phase` is known within a page only: a
 * coarser memory alignment can be had by luck, not by plan.
 */
static bool mem_hopeless(const struct dio_facts *f)
{
	return f->mem_align > page_of(f);
}

static bool has_direct(const struct dio_facts *f)
{
	if (!is_pow2(f->mem_align) || !is_pow2(f->offset_align))
		return false;
	return f->op == DIO_WRITE || !f->read_align || is_pow2(f->read_align);
}

static void plan_read(const struct dio_facts *f, uint32_t len, struct dio_plan *p)
{
	uint32_t align = f->read_align ? f->read_align : f->offset_align;
	uint64_t end = f->offset + len;
	uint64_t start = round_down(f->offset, align);
	uint64_t stop = min_u64(round_up(end, align), round_down(OFFSET_LIMIT, align));
	bool aligned = start == f->offset && stop == end;

	if (len < f->read_direct_min && !aligned && f->rule != DIO_RULE_MAINLINE) {
		plan_whole(p, DIO_TOO_SMALL, f, len, whole_kind(f));
		return;
	}
	if (stop <= f->offset) { /* in the last block, which has no aligned end */
		plan_whole(p, DIO_NO_MIDDLE, f, len, whole_kind(f));
		return;
	}
	stop = min_u64(stop, start + round_down(UINT32_MAX, align));
	p->why = aligned ? DIO_ALIGNED : DIO_EXPANDED;
	plan_add(p, start, stop - start, DIO_DIRECT);
	p->pad = (uint32_t)(f->offset - start);
	p->keep = (uint32_t)(min_u64(stop, end) - f->offset);
}

/* In-phase with the file, unless the cut is finer than the memory alignment and wants another. */
static uint32_t write_phase(const struct dio_facts *f, uint64_t head)
{
	uint32_t phase = (uint32_t)(f->offset & (page_of(f) - 1));

	if ((phase + head) & (f->mem_align - 1))
		phase = (uint32_t)(-head & (f->mem_align - 1));
	return phase;
}

static void plan_write(const struct dio_facts *f, uint32_t len, struct dio_plan *p)
{
	uint32_t oa = f->offset_align;
	uint64_t end = f->offset + len;
	bool aligned = !((f->offset | len) & (oa - 1));
	uint32_t cut = f->rule == DIO_RULE_PAGE && !aligned ? max_u32(oa, page_of(f)) : oa;
	uint64_t start = round_up(f->offset, cut);
	uint64_t stop = round_down(end, cut);
	uint64_t head = start - f->offset;

	if (len < max_u32(oa, f->mem_align)) {
		plan_whole(p, DIO_TOO_SMALL, f, len, whole_kind(f));
		return;
	}
	if (stop <= start || (!aligned && stop - start < f->min_middle)) {
		plan_whole(p, DIO_NO_MIDDLE, f, len, whole_kind(f));
		return;
	}
	if (!mem_hopeless(f))
		p->phase = write_phase(f, head);
	if (mem_hopeless(f) || (f->mem_phase + head) & (f->mem_align - 1)) {
		plan_whole(p, DIO_MEM_MISALIGNED, f, len, whole_kind(f));
		return;
	}
	p->why = aligned ? DIO_ALIGNED : DIO_SPLIT;
	plan_add(p, f->offset, head, end_kind(f));
	plan_add(p, start, stop - start, DIO_DIRECT);
	plan_add(p, stop, end - stop, end_kind(f));
}

void dio_plan(const struct dio_facts *f, struct dio_plan *out)
{
	uint64_t room = f->offset < OFFSET_LIMIT ? OFFSET_LIMIT - f->offset : 0;
	uint32_t len = (uint32_t)min_u64(f->len, room);

	*out = (struct dio_plan){0};
	if (f->op == DIO_WRITE)
		out->phase = (uint32_t)(f->offset & (page_of(f) - 1));
	if (f->mode != DIO_MODE_DIRECT)
		plan_whole(out, DIO_MODE, f, len, dontcache_if(f, f->mode == DIO_MODE_DONTCACHE));
	else if (!has_direct(f))
		plan_whole(out, DIO_NO_ALIGN, f, len, whole_kind(f));
	else if (!len)
		out->why = DIO_TOO_SMALL;
	else if (f->op == DIO_WRITE)
		plan_write(f, len, out);
	else if (mem_hopeless(f))
		plan_whole(out, DIO_MEM_MISALIGNED, f, len, whole_kind(f));
	else
		plan_read(f, len, out);
}

static const char *const rule_names[DIO_RULE_COUNT] = {
	[DIO_RULE_SEED] = "seed",
	[DIO_RULE_PAGE] = "page",
	[DIO_RULE_MAINLINE] = "mainline",
	[DIO_RULE_DONTCACHE_ENDS] = "dontcache-ends",
};

static const char *const kind_names[DIO_KIND_COUNT] = {
	[DIO_BUFFERED] = "buffered",
	[DIO_DONTCACHE] = "dontcache",
	[DIO_DIRECT] = "direct",
};

static const char *const mode_names[] = {
	[DIO_MODE_BUFFERED] = "buffered",
	[DIO_MODE_DONTCACHE] = "dontcache",
	[DIO_MODE_DIRECT] = "direct",
};

static const char *const disposition_names[DIO_DISPOSITION_COUNT] = {
	[DIO_ALIGNED] = "ALIGNED",
	[DIO_EXPANDED] = "EXPANDED",
	[DIO_SPLIT] = "SPLIT",
	[DIO_TOO_SMALL] = "TOO_SMALL",
	[DIO_NO_MIDDLE] = "NO_MIDDLE",
	[DIO_NO_ALIGN] = "NO_ALIGN",
	[DIO_MEM_MISALIGNED] = "MEM_MISALIGNED",
	[DIO_MODE] = "MODE",
	[DIO_FALLBACK] = "FALLBACK",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *name_of(const char *const *names, size_t n, unsigned value)
{
	return value < n ? names[value] : NULL;
}

static bool find_name(const char *const *names, size_t n, const char *s, unsigned *out)
{
	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(s, names[i])) {
			*out = i;
			return true;
		}
	}
	return false;
}

const char *dio_rule_name(enum dio_rule r)
{
	return name_of(rule_names, COUNT(rule_names), r);
}

const char *dio_mode_name(enum dio_mode m)
{
	return name_of(mode_names, COUNT(mode_names), m);
}

const char *dio_kind_name(enum dio_kind k)
{
	return name_of(kind_names, COUNT(kind_names), k);
}

const char *dio_disposition_name(enum dio_disposition d)
{
	return name_of(disposition_names, COUNT(disposition_names), d);
}

bool dio_rule_parse(const char *s, enum dio_rule *out)
{
	unsigned v;

	if (!find_name(rule_names, COUNT(rule_names), s, &v))
		return false;
	*out = v;
	return true;
}

bool dio_mode_parse(const char *s, enum dio_mode *out)
{
	static const char *const numbers[] = {"0", "1", "2"};
	unsigned v;

	if (!find_name(mode_names, COUNT(mode_names), s, &v) &&
	    !find_name(numbers, COUNT(numbers), s, &v))
		return false;
	*out = v;
	return true;
}
