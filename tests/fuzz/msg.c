/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Call headers: msg_peek() on any prefix agrees with
 * msg_call_decode() of the whole, and every answer fits.
 */
#include "rpc/dispatch.h"
#include "rpc/msg.h"
#include "tests/lib/fuzz.h"

static const char procs[22];
static const struct dispatch_program programs[] = {
	{100003, 3, 22, procs, 1},
	{100005, 1, 6, procs, 1},
	{100005, 3, 6, procs, 1},
};

/* Longest answer: PROG_MISMATCH, header and two words. */
#define REJECT_MAX (MSG_REPLY_OK_LEN + 8)

static void answer(const struct msg_call *call, const struct msg_error *err)
{
	uint8_t buf[REJECT_MAX];
	struct cursor c;

	cursor_init(&c, buf, sizeof(buf));
	msg_reject(&c, call->xid, err);
	FUZZ_CHECK(cursor_ok(&c) && cursor_pos(&c) >= 20);
}

static void check_peek(const uint8_t *data, size_t size, enum msg_verdict v,
		       const struct msg_call *call, size_t args)
{
	struct msg_call peeked = {0};
	size_t at = 0, step = size > 600 ? 7 : 1;
	enum msg_verdict p, before = MSG_CALL_MORE;

	for (size_t n = 0; n <= size; n += step) {
		p = msg_peek(data, n, &peeked, &at);
		FUZZ_CHECK(p != MSG_CALL_REJECT);
		/* Once sure, it stays. */
		FUZZ_CHECK(before == MSG_CALL_MORE || p == before);
		FUZZ_CHECK(p != MSG_CALL_OK || at <= n);
		before = p;
	}
	if (v != MSG_CALL_OK)
		return;
	FUZZ_CHECK(msg_peek(data, size, &peeked, &at) == MSG_CALL_OK && at == args);
	FUZZ_CHECK(peeked.xid == call->xid && peeked.prog == call->prog &&
		   peeked.vers == call->vers && peeked.proc == call->proc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c;
	struct msg_call call;
	struct msg_error err;
	enum msg_verdict v;

	if (size > 4096)
		size = 4096;
	cursor_init_const(&c, data, size);
	v = msg_call_decode(&c, &call, &err);
	FUZZ_CHECK(v != MSG_CALL_MORE);
	FUZZ_CHECK(call.cred.ngids <= RPCCRED_GIDS_MAX && call.cred.machine[255] == '\0');
	check_peek(data, size, v, &call, cursor_pos(&c));
	if (v == MSG_CALL_REJECT)
		answer(&call, &err);
	if (v == MSG_CALL_OK && !dispatch_find(programs, 3, &call, &err))
		answer(&call, &err);
	return 0;
}
