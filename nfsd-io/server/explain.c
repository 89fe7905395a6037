/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "nfsd-io/server/explain.h"

#define TEXT_MAX 256

static uint32_t page_of(const struct dio_facts *f)
{
	return f->page_size ? f->page_size : 4096;
}

/* What a request must be a multiple of to go direct as it is. */
static uint32_t unit_of(const struct dio_facts *f)
{
	return f->op == DIO_READ && f->read_align ? f->read_align : f->offset_align;
}

/* Where a misaligned WRITE is cut. */
static uint32_t cut_of(const struct dio_facts *f)
{
	uint32_t page = page_of(f);

	return f->rule == DIO_RULE_PAGE && page > f->offset_align ? page : f->offset_align;
}

static bool small_reads_buffered(const struct dio_facts *f)
{
	return f->op == DIO_READ && f->rule != DIO_RULE_MAINLINE && f->read_direct_min;
}

/* The reason, a clause. */
static void because(const struct dio_facts *f, const struct dio_plan *p, char *s)
{
	switch (p->why) {
	case DIO_ALIGNED:
		snprintf(s, TEXT_MAX, "offset and length are multiples of %u", unit_of(f));
		break;
	case DIO_EXPANDED:
		snprintf(s, TEXT_MAX,
			 "widened to multiples of %u: %u bytes in front and %u behind are dropped",
			 unit_of(f), p->pad, p->seg[0].len - p->pad - p->keep);
		break;
	case DIO_SPLIT:
		snprintf(s, TEXT_MAX,
			 "cut at multiples of %u: the middle is direct, the ends are %s", cut_of(f),
			 dio_kind_name(p->seg[p->seg[0].kind == DIO_DIRECT ? 1 : 0].kind));
		break;
	case DIO_TOO_SMALL:
		if (!p->nsegs)
			snprintf(s, TEXT_MAX, "there is nothing to do");
		else if (f->op == DIO_READ)
			snprintf(s, TEXT_MAX, "a misaligned READ below %u bytes is better cached",
				 f->read_direct_min);
		else
			snprintf(s, TEXT_MAX, "shorter than one block of %u",
				 f->mem_align > f->offset_align ? f->mem_align : f->offset_align);
		break;
	case DIO_NO_MIDDLE:
		snprintf(s, TEXT_MAX, "no %s between multiples of %u",
			 f->min_middle ? "large enough middle" : "whole block",
			 f->op == DIO_READ ? unit_of(f) : cut_of(f));
		break;
	case DIO_NO_ALIGN:
		snprintf(s, TEXT_MAX, "the file system reports no direct I/O alignment");
		break;
	case DIO_MEM_MISALIGNED:
		snprintf(s, TEXT_MAX,
			 "the payload's memory is not aligned to %u where the middle begins",
			 f->mem_align);
		break;
	case DIO_MODE:
		snprintf(s, TEXT_MAX, "the %s mode is %s", f->op == DIO_READ ? "read" : "write",
			 dio_mode_name(f->mode));
		break;
	case DIO_FALLBACK:
	case DIO_DISPOSITION_COUNT:
		break;
	}
}

static void changes_small(const struct dio_facts *f, char *s)
{
	if (f->op == DIO_READ)
		snprintf(s, TEXT_MAX,
			 "%u bytes or more, or an offset and length in multiples of %u, would be "
			 "direct",
			 f->read_direct_min, unit_of(f));
	else
		snprintf(s, TEXT_MAX, "a longer WRITE would be split or direct");
}

/* What would change the answer, a clause. */
static void changes(const struct dio_facts *f, const struct dio_plan *p, char *s)
{
	switch (p->why) {
	case DIO_ALIGNED:
		snprintf(s, TEXT_MAX, "any other offset or length would be %s",
			 f->op == DIO_WRITE        ? "split or buffered"
			 : small_reads_buffered(f) ? "widened, or buffered when small"
						   : "widened");
		break;
	case DIO_EXPANDED:
		if (small_reads_buffered(f))
			snprintf(s, TEXT_MAX,
				 "below %u bytes it would be buffered; in multiples of %u nothing "
				 "is dropped",
				 f->read_direct_min, unit_of(f));
		else
			snprintf(s, TEXT_MAX, "in multiples of %u nothing is dropped", unit_of(f));
		break;
	case DIO_SPLIT:
		snprintf(s, TEXT_MAX,
			 "an offset and length in multiples of %u would be one direct segment",
			 unit_of(f));
		break;
	case DIO_TOO_SMALL:
		changes_small(f, s);
		break;
	case DIO_NO_MIDDLE:
		if (f->op == DIO_READ)
			snprintf(s, TEXT_MAX,
				 "an offset further from the end of the 63-bit range would be "
				 "direct");
		else
			snprintf(s, TEXT_MAX,
				 "a WRITE that holds %u bytes between multiples of %u would be "
				 "split",
				 f->min_middle > cut_of(f) ? f->min_middle : cut_of(f), cut_of(f));
		break;
	case DIO_NO_ALIGN:
		snprintf(s, TEXT_MAX,
			 "a file system whose statx() answers STATX_DIOALIGN would be direct");
		break;
	case DIO_MEM_MISALIGNED:
		if (f->mem_align > page_of(f))
			snprintf(s, TEXT_MAX,
				 "a device that takes memory aligned to a page of %u would be "
				 "direct",
				 page_of(f));
		else
			snprintf(s, TEXT_MAX,
				 "a payload that starts at byte %u of a page would be direct",
				 p->phase);
		break;
	case DIO_MODE:
		snprintf(s, TEXT_MAX, "mode direct");
		break;
	case DIO_FALLBACK:
	case DIO_DISPOSITION_COUNT:
		break;
	}
}

static void print_facts(FILE *out, const struct dio_facts *f)
{
	fprintf(out, "%s of %u bytes at %" PRIu64 ", mode %s\n",
		f->op == DIO_READ ? "READ" : "WRITE", f->len, f->offset, dio_mode_name(f->mode));
	fprintf(out, "alignment: memory %u, offset %u, read %u; DONTCACHE %s\n", f->mem_align,
		f->offset_align, f->read_align ? f->read_align : f->offset_align,
		f->dontcache_ok ? "works" : "does not work");
}

static void print_plan(FILE *out, const struct dio_facts *f)
{
	char why[TEXT_MAX] = "", other[TEXT_MAX] = "";
	struct dio_plan p;

	dio_plan(f, &p);
	because(f, &p, why);
	changes(f, &p, other);
	fprintf(out, "rule %s: %s\n", dio_rule_name(f->rule), dio_disposition_name(p.why));
	for (unsigned i = 0; i < p.nsegs; i++)
		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ") %s", i ? " | " : "  ", p.seg[i].offset,
			p.seg[i].offset + p.seg[i].len, dio_kind_name(p.seg[i].kind));
	fprintf(out, "%s  because %s\n  otherwise: %s\n", p.nsegs ? "\n" : "", why, other);
}

static int print_json(FILE *out, const struct dio_facts *f)
{
	char why[TEXT_MAX] = "", other[TEXT_MAX] = "";
	json_t *segs = json_array(), *o;
	struct dio_plan p;
	int rc;

	dio_plan(f, &p);
	because(f, &p, why);
	changes(f, &p, other);
	for (unsigned i = 0; i < p.nsegs; i++)
		json_array_append_new(segs, json_pack("{s:I, s:I, s:s}", "offset",
						      (json_int_t)p.seg[i].offset, "length",
						      (json_int_t)p.seg[i].len, "kind",
						      dio_kind_name(p.seg[i].kind)));
	o = json_pack(
		"{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:s, s:o, s:I, s:I, s:I, s:s, s:s}",
		"op", f->op == DIO_READ ? "read" : "write", "mode", dio_mode_name(f->mode), "rule",
		dio_rule_name(f->rule), "offset", (json_int_t)f->offset, "length",
		(json_int_t)f->len, "mem_align", (json_int_t)f->mem_align, "offset_align",
		(json_int_t)f->offset_align, "read_align", (json_int_t)unit_of(f), "dontcache",
		f->dontcache_ok, "disposition", dio_disposition_name(p.why), "segments", segs,
		"pad", (json_int_t)p.pad, "keep", (json_int_t)p.keep, "phase", (json_int_t)p.phase,
		"because", why, "otherwise", other);
	rc = o && json_dumpf(o, out, JSON_COMPACT) == 0 && fputc('\n', out) != EOF ? 0 : -EIO;
	json_decref(o);
	return rc;
}

static int output_status(FILE *out)
{
	return fflush(out) || ferror(out) ? -EIO : 0;
}

int explain_plan(FILE *out, const struct dio_facts *f, bool json)
{
	if (json)
		return print_json(out, f) ? -EIO : output_status(out);
	print_facts(out, f);
	print_plan(out, f);
	return output_status(out);
}

int explain_all_rules(FILE *out, const struct dio_facts *f, bool json)
{
	struct dio_facts each = *f;

	if (!json)
		print_facts(out, f);
	for (each.rule = 0; each.rule < DIO_RULE_COUNT; each.rule++) {
		if (!json)
			print_plan(out, &each);
		else if (print_json(out, &each))
			return -EIO;
	}
	return output_status(out);
}
