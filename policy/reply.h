/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the payload of a READ leaves: copied by sendmsg from a buffer, spliced
 * from the file through a pipe, or sent from a registered buffer without a
 * copy.  Asked twice: before the read, where splice is a choice, and before
 * the sending, where it no longer is.  Pure; any thread.
 */
#ifndef POLICY_REPLY_H
#define POLICY_REPLY_H

#include <stdbool.h>
#include <stdint.h>

/* What `reply =` asks for, and the answer (never AUTO). */
enum reply_way { REPLY_AUTO, REPLY_SENDMSG, REPLY_SPLICE, REPLY_ZEROCOPY, REPLY_WAYS };

/* Bytes; see reply.c for what they were measured with. */
#define REPLY_ZEROCOPY_MIN 262144 /* auto: below it a copy costs less than the second completion */
#define REPLY_SPLICE_MIN 262144	  /* auto, cached data: below it a pipe costs what it saves */
#define REPLY_FORCED_MIN 4096	  /* a way that is asked for is still no way for less */

struct reply_facts {
	enum reply_way want;
	uint32_t len;	      /* bytes of payload */
	bool direct;	      /* read past the page cache: pages in the pipe are nobody else's */
	/* the page cache's own pages may be sent: later WRITEs show in them */
	bool splice_buffered;
	bool dontcache;	      /* is to leave nothing in the page cache; a splice would */
	/* the payload is checksummed before it is sent, so must not change after */
	bool integrity;
	bool can_splice;      /* not read yet, and the ring and the system have what it needs */
	bool can_zerocopy;    /* the kernel has it and did not copy on this connection before */
};

enum reply_way reply_choose(const struct reply_facts *f);

/* Words as in the config; never NULL for valid values. */
const char *reply_name(enum reply_way w);

#endif
