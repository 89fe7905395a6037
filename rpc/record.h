/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Record marking (RFC 5531 s.11): takes the bytes of a TCP stream apart into
 * records, whatever the fragments and wherever the stream is cut.  Knows no
 * sockets: it is fed bytes and says what they are, and how many bytes of the
 * record may next be received straight to where they belong.
 */
#ifndef RPC_RECORD_H
#define RPC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_LAST 0x80000000u
/* More empty fragments than this in one record is an attack, not a client. */
#define RECORD_EMPTY_MAX 64
#define RECORD_FRAGMENTS_MAX (1u << 21)

struct record {
	uint32_t max;	    /* bytes allowed in one record */
	uint32_t len;	    /* body bytes of this record so far */
	uint32_t frag_left; /* body bytes left in this fragment */
	bool last;	    /* this fragment is the record's last */
	uint8_t mark[4];    /* a mark cut by the end of the input */
	unsigned nmark;
	unsigned empty;	    /* empty fragments in this record */
	unsigned nfrags;
	bool in_fragment;   /* a mark was read and its body is not yet over */
};

enum record_event {
	RECORD_MORE, /* input used up */
	RECORD_BODY, /* *body, *body_len: body bytes of the current record inside the input */
	RECORD_END,  /* the record is complete; the next byte starts another */
	RECORD_BAD,  /* too long, or too many empty fragments: close the connection */
};

void record_init(struct record *r, uint32_t max);

/*
 * Look at in[0..len): returns one event and in *used how many bytes it ate.
 * Call again with the rest until RECORD_MORE or RECORD_BAD.
 */
enum record_event record_next(struct record *r, const uint8_t *in, size_t len, size_t *used,
			      const uint8_t **body, size_t *body_len);

/*
 * Body bytes that come next in the stream without a mark
 * between: may be received in place.  0: a mark is due.
 */
uint32_t record_direct(const struct record *r);
/*
 * `n` <= record_direct() body bytes were received in place.  Then
 * record_ended() tells if that was the record.
 */
void record_advance(struct record *r, uint32_t n);
/* True once when the current record's last byte has been taken by record_advance(). */
bool record_ended(struct record *r);

/* The mark of a one-fragment reply of `len` bytes, big-endian. */
void record_mark(uint8_t out[4], uint32_t len);

#endif
