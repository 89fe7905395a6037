/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/conn.h"

static const uint8_t zeros[4];

/* One part of a reply, unless all of it was sent before. */
static void put(struct send *s, unsigned *n, size_t *skip, const void *p, size_t len)
{
	if (*skip >= len) {
		*skip -= len;
		return;
	}
	s->iov[*n].iov_base = (uint8_t *)p + *skip;
	s->iov[*n].iov_len = len - *skip;
	*skip = 0;
	++*n;
}

/* Does the data leave by itself?  What a zero-copy send left over is copied. */
static bool apart(const struct req *r)
{
	const struct send_part *part = &((const struct worker_req *)r)->send;

	return r->data_pipe || (part->way == REPLY_ZEROCOPY && !part->zc_tried);
}

unsigned send_gather(struct send *s)
{
	size_t skip = s->skip;
	unsigned n = 0, i = 0;
	struct req *r;

	s->stop = NULL;
	for (r = s->head; r && i < SEND_REPLIES; r = r->next, i++) {
		record_mark(s->mark[i], req_reply_len(r));
		put(s, &n, &skip, s->mark[i], sizeof(s->mark[i]));
		put(s, &n, &skip, r->reply.base, cursor_pos(&r->reply));
		if (!r->data_len)
			continue;
		if (apart(r) && skip < r->data_len) {
			s->stop = r;
			s->from = (uint32_t)skip;
			break;
		}
		put(s, &n, &skip, r->data, r->data_len);
		put(s, &n, &skip, zeros, -r->data_len & 3);
	}
	return n;
}
