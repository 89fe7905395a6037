/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/reply.h"

/*
 * auto splices out of the page cache, where that is allowed, and nothing else.  From the cache it
 * saves both copies: 256 KiB and more took 0.5 to 0.7 of sendmsg's CPU at any depth, 128 KiB 0.65
 * to 1.1, 64 KiB 0.9 to 1.3.  A direct READ was not copied to begin with, and a splice reaches the
 * socket in pieces of 64 KiB, each of which may wake the receiver: an interrupt to another CPU,
 * which costs most when that CPU is idle.  1 MiB, direct, one at a time took 0.14 s of server CPU a
 * GiB against 0.08 by sendmsg, with 16 under way 0.22 against 0.08: docs/PERFORMANCE.md.
 */
static bool may_splice(const struct reply_facts *f)
{
	bool pages = f->direct || (f->splice_buffered && !f->dontcache);

	return f->can_splice && !f->integrity && pages;
}

static enum reply_way automatic(const struct reply_facts *f)
{
	if (f->len >= REPLY_SPLICE_MIN && !f->direct && may_splice(f))
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
