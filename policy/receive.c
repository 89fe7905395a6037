/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/receive.h"

enum receive_way receive_choose(const struct receive_facts *f)
{
	bool splice = f->want == RECEIVE_SPLICE && f->len >= RECEIVE_SPLICE_MIN && f->plain &&
		      !f->more && f->can_splice;

	return splice ? RECEIVE_SPLICE : RECEIVE_RECV;
}

const char *receive_name(enum receive_way w)
{
	static const char *const names[RECEIVE_WAYS] = {"recv", "splice"};

	return names[w];
}
