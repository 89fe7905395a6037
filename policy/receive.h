/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the payload of a WRITE arrives: copied into a buffer in phase with the
 * file, or spliced into a pipe and from there, after all checks, to the file.
 * Asked when the call's header is in but its file not looked up: whether the
 * WRITE will be one cached piece is guessed from the connection's last.  Pure.
 */
#ifndef POLICY_RECEIVE_H
#define POLICY_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

/* What `receive =` asks for, and the answer. */
enum receive_way { RECEIVE_RECV, RECEIVE_SPLICE, RECEIVE_WAYS };

/*
 * Bytes: a shorter payload spares too little copying to be sure of a
 * gain (docs/PERFORMANCE.md, "Buffered WRITEs by splice").
 */
#define RECEIVE_SPLICE_MIN 524288

struct receive_facts {
	enum receive_way want; /* of the export that the last WRITE went to */
	uint32_t len;	       /* bytes of payload */
	bool plain;	       /* ... and it was one piece for the page cache */
	bool more;	       /* arguments may follow the payload */
	/* the ring has what it needs, and no pipe overflowed on this connection */
	bool can_splice;
};

enum receive_way receive_choose(const struct receive_facts *f);

/* Words as in the config; never NULL for valid values. */
const char *receive_name(enum receive_way w);

#endif
