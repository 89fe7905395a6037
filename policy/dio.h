/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one decision this project exists for: a READ or WRITE and the facts
 * about its file become a plan of at most three segments, each buffered,
 * dontcache or direct.  Pure arithmetic: knows no files, clocks or errno.
 * Any thread may call it.
 */
#ifndef POLICY_DIO_H
#define POLICY_DIO_H

#include <stdbool.h>
#include <stdint.h>

enum dio_op { DIO_READ, DIO_WRITE };

/* io-mode, numbered as knfsd's debugfs io_cache_read / io_cache_write. */
enum dio_mode { DIO_MODE_BUFFERED, DIO_MODE_DONTCACHE, DIO_MODE_DIRECT };

enum dio_rule {
	DIO_RULE_SEED,		 /* knfsd patch of Nov 2025: cut at offset_align, ends cached */
	DIO_RULE_PAGE,		 /* seed, cut at max(offset_align, page): the default */
	DIO_RULE_MAINLINE,	 /* Linux v6.19: DONTCACHE everywhere, no small-READ rule */
	DIO_RULE_DONTCACHE_ENDS, /* what the seed replaced: ends DONTCACHE, small-READ rule kept */
	DIO_RULE_COUNT
};

/* How a segment is carried out; also the cost class counted in stats. */
enum dio_kind { DIO_BUFFERED, DIO_DONTCACHE, DIO_DIRECT, DIO_KIND_COUNT };

/* Why the plan is what it is; one counter each, per export and per op. */
enum dio_disposition {
	DIO_ALIGNED,	    /* direct as it came */
	DIO_EXPANDED,	    /* READ widened to aligned blocks */
	DIO_SPLIT,	    /* WRITE cut into head, middle, tail */
	DIO_TOO_SMALL,	    /* misaligned READ below read_direct_min, or WRITE below one block */
	DIO_NO_MIDDLE,	    /* no aligned middle (or one below min_middle) */
	DIO_NO_ALIGN,	    /* the file system reports no direct I/O alignment */
	DIO_MEM_MISALIGNED, /* payload memory cannot be direct */
	DIO_MODE,	    /* the mode asked is not direct */
	DIO_FALLBACK,	    /* set by execution: direct was refused (EINVAL), done buffered */
	DIO_DISPOSITION_COUNT
};

struct dio_facts {
	enum dio_op op;
	enum dio_mode mode;
	enum dio_rule rule;
	uint64_t offset;	  /* bytes */
	uint32_t len;		  /* bytes asked */
	uint64_t size;		  /* file size in bytes (informative) */
	uint32_t mem_align;	  /* stx_dio_mem_align, bytes; 0 = none */
	uint32_t offset_align;	  /* stx_dio_offset_align, bytes; 0 = no direct I/O */
	uint32_t read_align;	  /* stx_dio_read_offset_align, bytes; 0 = offset_align */
	uint32_t page_size;	  /* bytes, power of two; 0 = 4096 */
	uint32_t mem_phase;	  /* WRITE: payload address mod page_size */
	bool dontcache_ok;	  /* RWF_DONTCACHE works on this file system */
	/* bytes; misaligned READs below it go buffered (seed, page, dontcache-ends) */
	uint32_t read_direct_min;
	uint32_t min_middle;	  /* bytes; a smaller middle is NO_MIDDLE; 0 = any */
};

struct dio_segment {
	uint64_t offset; /* bytes in the file */
	uint32_t len;	 /* bytes */
	enum dio_kind kind;
};

struct dio_plan {
	enum dio_disposition why;
	/*
	 * 0 for a zero-length request, else 1..3, ascending, tiling the request (READ: a superset)
	 */
	unsigned nsegs;
	struct dio_segment seg[3];
	uint32_t pad;	/* READ: bytes in front to drop */
	uint32_t keep;	/* READ: bytes asked that may be kept after pad */
	/* WRITE: where in a page the payload must start so that the middle is memory-aligned */
	uint32_t phase;
};

/*
 * Make a plan.  Total: never fails, never overflows; a request whose end
 * passes 2^63-1 is clipped there (callers answer FBIG/EOF before planning).
 * Alignments that are not powers of two count as "no direct I/O".
 */
void dio_plan(const struct dio_facts *f, struct dio_plan *out);

/*
 * Config and report words ("page", "dontcache-ends",
 * "direct", "SPLIT"); never NULL for valid values.
 */
const char *dio_rule_name(enum dio_rule r);
const char *dio_mode_name(enum dio_mode m);
const char *dio_kind_name(enum dio_kind k);
const char *dio_disposition_name(enum dio_disposition d);

/* Parse a name (modes also "0", "1", "2"); false when unknown. */
bool dio_rule_parse(const char *s, enum dio_rule *out);
bool dio_mode_parse(const char *s, enum dio_mode *out);

#endif
