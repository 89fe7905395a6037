/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/record.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

void record_init(struct record *r, uint32_t max)
{
	memset(r, 0, sizeof(*r));
	r->max = max;
}

/*
 * r->mark is complete: open the fragment it announces.  False: this stream is not worth reading on.
 */
static bool open_fragment(struct record *r)
{
	uint32_t mark, len;

	memcpy(&mark, r->mark, sizeof(mark));
	mark = be32toh(mark);
	len = mark & ~RECORD_LAST;
	r->nmark = 0;
	if (r->nfrags == 0)
		r->len = 0;
	r->nfrags++;
	if (len == 0)
		r->empty++;
	if (len > r->max - r->len || r->nfrags > RECORD_FRAGMENTS_MAX ||
	    r->empty > RECORD_EMPTY_MAX)
		return false;
	r->last = mark & RECORD_LAST;
	r->frag_left = len;
	r->in_fragment = true;
	return true;
}

/* The fragment's bytes are all taken: close it; true when the record ends with it. */
static bool close_fragment(struct record *r)
{
	r->in_fragment = false;
	if (!r->last)
		return false;
	r->last = false;
	r->nfrags = r->empty = 0;
	return true;
}

/* Collects the four bytes of a mark, which may come one by one; returns the bytes eaten. */
static size_t fill_mark(struct record *r, const uint8_t *in, size_t len)
{
	size_t n = sizeof(r->mark) - r->nmark;

	if (n > len)
		n = len;
	if (n)
		memcpy(r->mark + r->nmark, in, n);
	r->nmark += n;
	return n;
}

enum record_event record_next(struct record *r, const uint8_t *in, size_t len, size_t *used,
			      const uint8_t **body, size_t *body_len)
{
	size_t at = 0, n;

	*used = *body_len = 0;
	*body = NULL;
	/* Turns once a fragment whose body is over or empty, so input bounds it. */
	while (!r->in_fragment || r->frag_left == 0) {
		if (r->in_fragment && close_fragment(r))
			return RECORD_END;
		at += fill_mark(r, in + at, len - at);
		*used = at;
		if (r->nmark < sizeof(r->mark))
			return RECORD_MORE;
		if (!open_fragment(r))
			return RECORD_BAD;
	}
	n = len - at < r->frag_left ? len - at : r->frag_left;
	if (n == 0)
		return RECORD_MORE;
	*body = in + at;
	*body_len = n;
	*used = at + n;
	r->frag_left -= n;
	r->len += n;
	return RECORD_BODY;
}

uint32_t record_direct(const struct record *r)
{
	return r->in_fragment ? r->frag_left : 0;
}

void record_advance(struct record *r, uint32_t n)
{
	assert(n <= record_direct(r));
	r->frag_left -= n;
	r->len += n;
}

bool record_ended(struct record *r)
{
	return r->in_fragment && r->frag_left == 0 && close_fragment(r);
}

void record_mark(uint8_t out[4], uint32_t len)
{
	uint32_t mark = htobe32(len | RECORD_LAST);

	memcpy(out, &mark, sizeof(mark));
}
