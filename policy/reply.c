/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/reply.h"

/*
 * Measured on two CPUs, Linux 6.18, loopback, ext4 with direct READs, `nfsload -r -s SIZE -d DEPTH` in turn on
 * servers with `-o io.reply=sendmsg` and `=splice`; medians of five, seconds of server CPU for a GiB:
 *
 *			1 call at a time	2		4
 *	1 MiB		0.60  0.41		0.55  0.65	0.58  0.86
 *	256 KiB		1.17  1.72		1.08  1.20	0.77  1.25
 *
 * A splice reaches the socket in pieces of 64 KiB, each of which may wake the receiver; what is
 * sent from buffers goes out together when several replies are ready.
 */
static bool may_splice(const struct reply_facts *f)
{
	return f->can_splice && !f->integrity && (f->direct || f->splice_buffered);
}

static enum reply_way automatic(const struct reply_facts *f)
{
	/* Cached data: the copy is cheap, waking the receiver for each 64 KiB of pipe is not. */
	if (f->direct && f->len >= REPLY_SPLICE_MIN && f->calls <= REPLY_SPLICE_CALLS &&
	    may_splice(f))
		return REPLY_SPLICE;
	if (f->len >= REPLY_ZEROCOPY_MIN && f->can_zerocopy)
		return REPLY_ZEROCOPY;
	return REPLY_SENDMSG;
}

enum reply_way reply_choose(const struct reply_facts *f)
{
	if (f->want == REPLY_AUTO)
		return automatic(f);
	if (f->len < REPLY_FORCED_MIN)
		return REPLY_SENDMSG;
	if (f->want == REPLY_SPLICE && may_splice(f))
		return REPLY_SPLICE;
	if (f->want == REPLY_ZEROCOPY && f->can_zerocopy)
		return REPLY_ZEROCOPY;
	return REPLY_SENDMSG;
}

const char *reply_name(enum reply_way w)
{
	static const char *const names[REPLY_WAYS] = {"auto", "sendmsg", "splice", "zerocopy"};

	return names[w];
}
