/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include <rpc/types.h>
#include <rpc/xdr.h>
#include <rpc/auth.h>
#include <rpc/auth_unix.h>
#include <rpc/clnt.h>
#include <rpc/rpc_msg.h>

#include "rpc/msg.h"
#include "tests/lib/unit.h"

#define XID 0x12345678
#define HEADER 24 /* xid, type, RPC version, program, version, procedure */

struct call {
	uint8_t byte[1200];
	size_t cred_end, len;
};

/*
 * A call's words as they are, right or wrong; credential and
 * verifier of the lengths given, in zeros.
 */
static struct call make_call(uint32_t type, uint32_t rpcvers, uint32_t flavor, uint32_t cred_len,
			     uint32_t verf_flavor, uint32_t verf_len)
{
	static const uint8_t zeros[512];
	struct call call;
	struct cursor c;

	cursor_init(&c, call.byte, sizeof(call.byte));
	cursor_put_u32(&c, XID);
	cursor_put_u32(&c, type);
	cursor_put_u32(&c, rpcvers);
	cursor_put_u32(&c, 100003);
	cursor_put_u32(&c, 3);
	cursor_put_u32(&c, 7);
	cursor_put_u32(&c, flavor);
	cursor_put_opaque(&c, zeros, cred_len);
	call.cred_end = cursor_pos(&c);
	cursor_put_u32(&c, verf_flavor);
	cursor_put_opaque(&c, zeros, verf_len);
	call.len = cursor_pos(&c);
	ck_assert(cursor_ok(&c));
	return call;
}

/* 20 zeros are a well-formed authsys_parms: no name, root, no groups. */
static struct call good_call(void)
{
	return make_call(0, 2, RPCCRED_AUTH_SYS, 20, RPCCRED_AUTH_NONE, 0);
}

static enum msg_verdict decode(const struct call *call, struct msg_error *err)
{
	struct cursor c;
	struct msg_call out;

	cursor_init_const(&c, call->byte, call->len);
	return msg_call_decode(&c, &out, err);
}

static void check_auth_error(struct call call, uint32_t auth_stat)
{
	struct msg_error err;

	ck_assert_int_eq(decode(&call, &err), MSG_CALL_REJECT);
	ck_assert_int_eq(err.kind, MSG_ERR_AUTH);
	ck_assert_uint_eq(err.auth_stat, auth_stat);
}

START_TEST(call_of_libtirpc_is_understood)
{
	char machine[] = "client.example";
	gid_t gids[] = {10, 20};
	struct authunix_parms p = {.aup_machname = machine, .aup_uid = 1000, .aup_gid = 100,
				   .aup_len = 2, .aup_gids = gids};
	struct rpc_msg m = {.rm_xid = XID, .rm_direction = CALL};
	uint8_t body[400], buf[1000];
	struct msg_call call;
	struct msg_error err;
	struct cursor c;
	size_t args = 0;
	XDR x;

	xdrmem_create(&x, (char *)body, sizeof(body), XDR_ENCODE);
	ck_assert(xdr_authunix_parms(&x, &p));
	m.rm_call.cb_rpcvers = 2;
	m.rm_call.cb_prog = 100003;
	m.rm_call.cb_vers = 3;
	m.rm_call.cb_proc = 6;
	m.rm_call.cb_cred = (struct opaque_auth){AUTH_SYS, (char *)body, xdr_getpos(&x)};
	xdrmem_create(&x, (char *)buf, sizeof(buf), XDR_ENCODE);
	ck_assert(xdr_callmsg(&x, &m));
	cursor_init(&c, buf, xdr_getpos(&x) + 8);
	ck_assert_int_eq(msg_call_decode(&c, &call, &err), MSG_CALL_OK);
	ck_assert_uint_eq(cursor_left(&c), 8);
	ck_assert_uint_eq(call.xid, XID);
	ck_assert_uint_eq(call.prog, 100003);
	ck_assert_uint_eq(call.vers, 3);
	ck_assert_uint_eq(call.proc, 6);
	ck_assert_uint_eq(call.cred.uid, 1000);
	ck_assert_uint_eq(call.cred.gids[1], 20);
	ck_assert_str_eq(call.cred.machine, machine);
	ck_assert_int_eq(msg_peek(buf, xdr_getpos(&x), &call, &args), MSG_CALL_OK);
	ck_assert_uint_eq(args, xdr_getpos(&x));
}
END_TEST

START_TEST(call_cut_at_any_byte_is_dropped_or_answered_by_how_far_it_came)
{
	struct call whole = good_call();
	struct msg_error err;

	for (size_t n = 0; n < whole.len; n++) {
		struct call call = whole;

		call.len = n;
		if (n < 8) {
			ck_assert_int_eq(decode(&call, &err), MSG_CALL_DROP);
		} else if (n < HEADER) {
			ck_assert_int_eq(decode(&call, &err), MSG_CALL_REJECT);
			ck_assert_int_eq(err.kind, MSG_ERR_ACCEPTED);
			ck_assert_int_eq(err.accept, MSG_GARBAGE_ARGS);
		} else {
			check_auth_error(call, n < whole.cred_end ? AUTH_BADCRED : AUTH_BADVERF);
		}
	}
	ck_assert_int_eq(decode(&whole, &err), MSG_CALL_OK);
}
END_TEST

START_TEST(reply_is_dropped)
{
	struct call call = make_call(1, 2, 0, 0, 0, 0);
	struct msg_error err;

	ck_assert_int_eq(decode(&call, &err), MSG_CALL_DROP);
}
END_TEST

START_TEST(other_rpc_versions_are_rejected_even_when_the_rest_is_missing)
{
	static const uint32_t versions[] = {0, 1, 3, UINT32_MAX};
	struct msg_error err;

	for (int i = 0; i < 4; i++) {
		struct call call = make_call(0, versions[i], 0, 0, 0, 0);

		for (size_t n = 12; n <= call.len; n++) {
			struct call cut = call;

			cut.len = n;
			ck_assert_int_eq(decode(&cut, &err), MSG_CALL_REJECT);
			ck_assert_int_eq(err.kind, MSG_ERR_RPCVERS);
			ck_assert_uint_eq(err.low, 2);
			ck_assert_uint_eq(err.high, 2);
		}
	}
}
END_TEST

START_TEST(authentication_is_rejected_with_its_reason)
{
	struct msg_error err;
	struct call call;

	check_auth_error(make_call(0, 2, RPCCRED_AUTH_SYS, 8, 0, 0), AUTH_BADCRED);
	check_auth_error(make_call(0, 2, RPCCRED_AUTH_NONE, 401, 0, 0), AUTH_BADCRED);
	check_auth_error(make_call(0, 2, 6, 20, 6, 28), AUTH_REJECTEDCRED);
	check_auth_error(make_call(0, 2, RPCCRED_AUTH_SYS, 20, RPCCRED_AUTH_SYS, 20), AUTH_BADVERF);
	check_auth_error(make_call(0, 2, RPCCRED_AUTH_SYS, 20, 0, 401), AUTH_BADVERF);
	call = make_call(0, 2, RPCCRED_AUTH_NONE, 400, RPCCRED_AUTH_NONE, 400);
	ck_assert_int_eq(decode(&call, &err), MSG_CALL_OK);
}
END_TEST

static void check_reject(const struct msg_error *err, const void *want, size_t len)
{
	uint8_t buf[64];
	struct cursor c;

	cursor_init(&c, buf, sizeof(buf));
	msg_reject(&c, XID, err);
	ck_assert_uint_eq(cursor_pos(&c), len);
	ck_assert_mem_eq(buf, want, len);
}

#define W(n) "\0\0\0" n
#define XID_BYTES "\x12\x34\x56\x78"
/* xid, REPLY, MSG_ACCEPTED, AUTH_NONE of no bytes */
#define ACCEPTED XID_BYTES W("\1") W("\0") W("\0") W("\0")

START_TEST(answers_are_rfc_5531_to_the_byte)
{
	struct msg_error e = {.kind = MSG_ERR_ACCEPTED};
	uint8_t buf[64];
	struct cursor c;

	cursor_init(&c, buf, sizeof(buf));
	msg_reply_ok(&c, XID);
	ck_assert_uint_eq(cursor_pos(&c), MSG_REPLY_OK_LEN);
	ck_assert_mem_eq(buf, ACCEPTED W("\0"), MSG_REPLY_OK_LEN);

	e.accept = MSG_PROG_UNAVAIL;
	check_reject(&e, ACCEPTED W("\1"), 24);
	e.accept = MSG_PROG_MISMATCH;
	e.low = 3;
	e.high = 4;
	check_reject(&e, ACCEPTED W("\2") W("\3") W("\4"), 32);
	e.accept = MSG_PROC_UNAVAIL;
	check_reject(&e, ACCEPTED W("\3"), 24);
	e.accept = MSG_GARBAGE_ARGS;
	check_reject(&e, ACCEPTED W("\4"), 24);
	e.accept = MSG_SYSTEM_ERR;
	check_reject(&e, ACCEPTED W("\5"), 24);

	e = (struct msg_error){.kind = MSG_ERR_RPCVERS, .low = 2, .high = 2};
	check_reject(&e, XID_BYTES W("\1") W("\1") W("\0") W("\2") W("\2"), 24);
	e = (struct msg_error){.kind = MSG_ERR_AUTH, .auth_stat = 5};
	check_reject(&e, XID_BYTES W("\1") W("\1") W("\1") W("\5"), 20);
}
END_TEST

static struct rpc_msg libtirpc_reads(const struct msg_error *err)
{
	static char verf[400];
	struct rpc_msg m = {0};
	uint8_t buf[64];
	struct cursor c;
	XDR x;

	cursor_init(&c, buf, sizeof(buf));
	msg_reject(&c, XID, err);
	m.acpted_rply.ar_verf.oa_base = verf;
	m.acpted_rply.ar_results.proc = (xdrproc_t)(void (*)(void))xdr_void;
	xdrmem_create(&x, (char *)buf, (u_int)cursor_pos(&c), XDR_DECODE);
	ck_assert(xdr_replymsg(&x, &m));
	ck_assert_uint_eq(xdr_getpos(&x), cursor_pos(&c));
	ck_assert_uint_eq(m.rm_xid, XID);
	return m;
}

START_TEST(libtirpc_reads_every_rejection)
{
	struct msg_error e = {.kind = MSG_ERR_ACCEPTED, .low = 3, .high = 4};
	struct rpc_msg m;

	for (unsigned a = MSG_PROG_UNAVAIL; a <= MSG_SYSTEM_ERR; a++) {
		e.accept = a;
		m = libtirpc_reads(&e);
		ck_assert_int_eq(m.rm_reply.rp_stat, MSG_ACCEPTED);
		ck_assert_int_eq(m.acpted_rply.ar_stat, a);
		if (a != MSG_PROG_MISMATCH)
			continue;
		ck_assert_uint_eq(m.acpted_rply.ar_vers.low, 3);
		ck_assert_uint_eq(m.acpted_rply.ar_vers.high, 4);
	}
	e.kind = MSG_ERR_RPCVERS;
	m = libtirpc_reads(&e);
	ck_assert_int_eq(m.rm_reply.rp_stat, MSG_DENIED);
	ck_assert_int_eq(m.rjcted_rply.rj_stat, RPC_MISMATCH);
	for (uint32_t stat = 1; stat <= 5; stat++) {
		e.kind = MSG_ERR_AUTH;
		e.auth_stat = stat;
		m = libtirpc_reads(&e);
		ck_assert_int_eq(m.rjcted_rply.rj_stat, AUTH_ERROR);
		ck_assert_int_eq(m.rjcted_rply.rj_why, stat);
	}
}
END_TEST

START_TEST(peek_wants_more_until_the_verifier_is_complete)
{
	struct call call = good_call();
	struct msg_call out;
	size_t args = 0;

	for (size_t n = 0; n < call.len; n++)
		ck_assert_int_eq(msg_peek(call.byte, n, &out, &args), MSG_CALL_MORE);
	ck_assert_int_eq(msg_peek(call.byte, call.len, &out, &args), MSG_CALL_OK);
	ck_assert_uint_eq(args, call.len);
	ck_assert_uint_eq(out.xid, XID);
	ck_assert_uint_eq(out.proc, 7);
	/* what follows changes nothing */
	ck_assert_int_eq(msg_peek(call.byte, call.len + 9, &out, &args), MSG_CALL_OK);
	ck_assert_uint_eq(args, call.len);
}
END_TEST

static void check_peek_drops_at(struct call call, size_t known)
{
	struct msg_call out;
	size_t args = 0;

	ck_assert_int_eq(msg_peek(call.byte, known - 1, &out, &args), MSG_CALL_MORE);
	for (size_t n = known; n <= call.len; n++)
		ck_assert_int_eq(msg_peek(call.byte, n, &out, &args), MSG_CALL_DROP);
}

START_TEST(peek_gives_up_as_soon_as_it_is_known)
{
	check_peek_drops_at(make_call(1, 2, 0, 0, 0, 0), 8);
	check_peek_drops_at(make_call(0, 3, 0, 0, 0, 0), 12);
	check_peek_drops_at(make_call(0, 2, 1, 401, 0, 0), HEADER + 8);
	check_peek_drops_at(make_call(0, 2, 1, 20, 0, 401), HEADER + 28 + 8);
}
END_TEST

START_TEST(a_call_of_ours_is_rfc_5531)
{
	static const uint8_t cred[] = {0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 9, 0, 0,
				       0, 0, 0, 0, 0, 5, 0, 0,  0, 6, 0, 0, 0, 0};
	uint8_t buf[256];
	struct cursor c, in;
	struct msg_call got;
	struct msg_error err;

	cursor_init(&c, buf, sizeof(buf));
	msg_call_put(&c, 0x40000000, 1, 1, cred, sizeof(cred));
	cursor_put_u32(&c, 4711);
	ck_assert(cursor_ok(&c));
	cursor_init_const(&in, buf, cursor_pos(&c));
	ck_assert_int_eq(msg_call_decode(&in, &got, &err), MSG_CALL_OK);
	ck_assert_uint_eq(got.prog, 0x40000000);
	ck_assert_uint_eq(got.vers, 1);
	ck_assert_uint_eq(got.proc, 1);
	ck_assert_uint_eq(got.cred.uid, 5);
	ck_assert_uint_eq(cursor_get_u32(&in), 4711);
}
END_TEST

START_TEST(an_answer_is_accepted_only_when_it_is_whole_and_says_so)
{
	struct msg_error err = {.kind = MSG_ERR_ACCEPTED, .accept = MSG_PROG_UNAVAIL};
	uint8_t buf[64];
	struct cursor c, in;
	uint32_t xid;
	size_t n;

	cursor_init(&c, buf, sizeof(buf));
	msg_reply_ok(&c, 77);
	for (n = 0; n < MSG_REPLY_OK_LEN; n++) {
		cursor_init_const(&in, buf, n);
		ck_assert(!msg_reply_accepted(&in));
		ck_assert_int_eq(msg_is_reply(buf, n, &xid), n >= 8);
	}
	ck_assert_uint_eq(xid, 77);
	cursor_init_const(&in, buf, n);
	ck_assert(msg_reply_accepted(&in));
	cursor_init(&c, buf, sizeof(buf));
	msg_reject(&c, 77, &err);
	cursor_init_const(&in, buf, cursor_pos(&c));
	ck_assert(!msg_reply_accepted(&in));
	err.kind = MSG_ERR_AUTH;
	cursor_init(&c, buf, sizeof(buf));
	msg_reject(&c, 77, &err);
	cursor_init_const(&in, buf, cursor_pos(&c));
	ck_assert(!msg_reply_accepted(&in));
	ck_assert(!msg_is_reply((const uint8_t[8]){0}, 8, &xid));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("msg");
	TCase *t = tcase_create("msg");

	tcase_add_test(t, call_of_libtirpc_is_understood);
	tcase_add_test(t, call_cut_at_any_byte_is_dropped_or_answered_by_how_far_it_came);
	tcase_add_test(t, reply_is_dropped);
	tcase_add_test(t, other_rpc_versions_are_rejected_even_when_the_rest_is_missing);
	tcase_add_test(t, authentication_is_rejected_with_its_reason);
	tcase_add_test(t, answers_are_rfc_5531_to_the_byte);
	tcase_add_test(t, libtirpc_reads_every_rejection);
	tcase_add_test(t, peek_wants_more_until_the_verifier_is_complete);
	tcase_add_test(t, peek_gives_up_as_soon_as_it_is_known);
	tcase_add_test(t, a_call_of_ours_is_rfc_5531);
	tcase_add_test(t, an_answer_is_accepted_only_when_it_is_whole_and_says_so);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
