/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/reply.h"

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
