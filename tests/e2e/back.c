/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * back HOST PORT: backchannels over the wire: what the server calls, what it makes of the answers,
 * and what SEQUENCE says of it.  The server waits a second for an answer (lease-time=10).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

#define PROGRAM 0x40000123
#define DOWN (SEQ4_STATUS_CB_PATH_DOWN | SEQ4_STATUS_CB_PATH_DOWN_SESSION)
#define WAIT_MS 8000

static const char *host;
static int port;

/* A call of the server's. */
struct called {
	uint32_t xid, prog, vers, proc, flavor, uid;
	uint8_t session[16];
	uint32_t seqid, slot, minor;
};

static bool read_all(int fd, void *to, size_t len)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, (uint8_t *)to + got, len - got);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

static void take_cred(struct cursor *c, struct called *out)
{
	uint32_t len;
	const uint8_t *body;
	struct cursor sys;

	out->flavor = cursor_get_u32(c);
	body = cursor_get_opaque(c, 400, &len);
	cursor_init_const(&sys, body, len);
	cursor_skip(&sys, 4);
	cursor_get_opaque(&sys, 255, &len);
	out->uid = cursor_get_u32(&sys);
	cursor_get_u32(c);
	cursor_get_opaque(c, 400, &len);
}

/* The next record, which must be a call, within WAIT_MS. */
static bool take_call(struct v4c *v, struct called *out)
{
	uint8_t mark[4], rec[2048];
	struct cursor c;
	uint32_t len;

	memset(out, 0, sizeof(*out));
	if (!rawnfs_readable(&v->raw, WAIT_MS) || !read_all(v->raw.fd, mark, 4))
		return false;
	len = (uint32_t)(mark[0] & 0x7f) << 24 | (uint32_t)mark[1] << 16 | (uint32_t)mark[2] << 8 |
	      mark[3];
	if (len > sizeof(rec) || !read_all(v->raw.fd, rec, len))
		return false;
	cursor_init_const(&c, rec, len);
	out->xid = cursor_get_u32(&c);
	if (cursor_get_u32(&c) != 0 || cursor_get_u32(&c) != 2)
		return false;
	out->prog = cursor_get_u32(&c);
	out->vers = cursor_get_u32(&c);
	out->proc = cursor_get_u32(&c);
	take_cred(&c, out);
	if (out->proc == CB_NULL)
		return cursor_ok(&c) && !cursor_left(&c);
	cursor_get_opaque(&c, 100, &len);
	out->minor = cursor_get_u32(&c);
	cursor_skip(&c, 4);
	if (cursor_get_u32(&c) != 1 || cursor_get_u32(&c) != OP_CB_SEQUENCE)
		return false;
	memcpy(out->session, cursor_get_fixed(&c, 16), 16);
	out->seqid = cursor_get_u32(&c);
	out->slot = cursor_get_u32(&c);
	cursor_skip(&c, 12);
	return cursor_ok(&c) && !cursor_left(&c);
}

static void send_record(struct v4c *v, const uint8_t *rec, size_t len)
{
	uint8_t mark[4] = {0x80, 0, (uint8_t)(len >> 8), (uint8_t)len};

	rawnfs_send_bytes(&v->raw, mark, 4);
	rawnfs_send_bytes(&v->raw, rec, len);
}

/* accept_stat, and for SUCCESS of CB_SEQUENCE its status. */
static void answer_as(struct v4c *v, const struct called *call, uint32_t xid, uint32_t accept,
		      uint32_t status)
{
	uint8_t rec[256];
	struct cursor c;

	cursor_init(&c, rec, sizeof(rec));
	cursor_put_u32(&c, xid);
	cursor_put_u32(&c, 1);
	cursor_put_u32(&c, 0);
	cursor_put_u32(&c, 0);
	cursor_put_u32(&c, 0);
	cursor_put_u32(&c, accept);
	if (!accept && call->proc == CB_COMPOUND) {
		cursor_put_u32(&c, status);
		cursor_put_u32(&c, 0);
		cursor_put_u32(&c, 1);
		cursor_put_u32(&c, OP_CB_SEQUENCE);
		cursor_put_u32(&c, status);
		if (!status) {
			cursor_put_fixed(&c, call->session, 16);
			cursor_put_u32(&c, call->seqid);
			cursor_put_u32(&c, 0);
			cursor_put_u32(&c, 0);
			cursor_put_u32(&c, 0);
		}
	}
	send_record(v, rec, cursor_pos(&c));
}

static void answer(struct v4c *v, const struct called *call)
{
	answer_as(v, call, call->xid, 0, NFS4_OK);
}

/* A new client with a session, its flags as asked and as granted. */
static uint32_t hello(struct v4c *v, const char *owner, uint32_t flags)
{
	channel_attrs4 ch = {.ca_maxrequestsize = 8192,
			     .ca_maxresponsesize = 8192,
			     .ca_maxresponsesize_cached = 8192,
			     .ca_maxoperations = 16,
			     .ca_maxrequests = 8};
	callback_sec_parms4 sec = {.cb_secflavor = 1};
	CREATE_SESSION4args a = {.csa_sequence = 0, .csa_flags = flags, .csa_cb_program = PROGRAM,
				 .csa_fore_chan_attrs = ch, .csa_back_chan_attrs = ch};
	const CREATE_SESSION4resok *ok;

	sec.callback_sec_parms4_u.cbsp_sys_cred.uid = 4711;
	a.csa_sec_parms.csa_sec_parms_len = 1;
	a.csa_sec_parms.csa_sec_parms_val = &sec;
	v4c_open(v, host, port, 1);
	v4c_exchange_id(v, owner, "verifier", 0, &a.csa_sequence);
	a.csa_clientid = v->clientid;
	v4c_begin_bare(v);
	v4c_op(v, OP_CREATE_SESSION)->nfs_argop4_u.opcreate_session = a;
	if (v4c_run(v))
		return UINT32_MAX;
	ok = &v4c_res(v, OP_CREATE_SESSION)
		      ->nfs_resop4_u.opcreate_session.CREATE_SESSION4res_u.csr_resok4;
	memcpy(v->sessionid, ok->csr_sessionid, 16);
	memset(v->seqid, 0, sizeof(v->seqid));
	v->session = true;
	return ok->csr_flags;
}

/* SEQUENCE alone: its flags. */
static uint32_t status_flags(struct v4c *v)
{
	v4c_begin(v);
	if (v4c_run(v))
		return UINT32_MAX;
	return v4c_res(v, OP_SEQUENCE)
		->nfs_resop4_u.opsequence.SEQUENCE4res_u.sr_resok4.sr_status_flags;
}

/* Until they are these: no answer moves them at a time we could know. */
static bool flags_become(struct v4c *v, uint32_t want)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	unsigned i;

	for (i = 0; i < WAIT_MS / 20; i++) {
		if (status_flags(v) == want)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static uint32_t bind_dir(struct v4c *v, channel_dir_from_client4 dir)
{
	BIND_CONN_TO_SESSION4args *a;

	v4c_begin_bare(v);
	a = &v4c_op(v, OP_BIND_CONN_TO_SESSION)->nfs_argop4_u.opbind_conn_to_session;
	memcpy(a->bctsa_sessid, v->sessionid, 16);
	a->bctsa_dir = dir;
	if (v4c_run(v))
		return UINT32_MAX;
	return v4c_res(v, OP_BIND_CONN_TO_SESSION)
		->nfs_resop4_u.opbind_conn_to_session.BIND_CONN_TO_SESSION4res_u.bctsr_resok4
		.bctsr_dir;
}

/* Both calls of a session that begins. */
static bool greet(struct v4c *v)
{
	struct called call;

	if (!take_call(v, &call))
		return false;
	answer(v, &call);
	if (status_flags(v))
		return false;
	if (!take_call(v, &call) || call.proc != CB_COMPOUND)
		return false;
	answer(v, &call);
	return true;
}

static void who_does_not_ask_is_not_called(void)
{
	struct v4c v;

	tap_is(hello(&v, "does not ask", 0), 0, "no backchannel is granted to who wants none");
	tap_is(status_flags(&v), 0, "and none is missed");
	tap_ok(!rawnfs_readable(&v.raw, 100), "it is not called");
	v4c_close(&v);
}

static void who_asks_is_called(void)
{
	BACKCHANNEL_CTL4args *a;
	struct called call;
	struct v4c v;

	tap_is(hello(&v, "asks", CREATE_SESSION4_FLAG_CONN_BACK_CHAN),
	       CREATE_SESSION4_FLAG_CONN_BACK_CHAN, "a backchannel is granted");
	tap_ok(take_call(&v, &call) && call.proc == CB_NULL, "CB_NULL comes behind the reply");
	tap_is(call.prog, PROGRAM, "to the client's program");
	tap_is(call.vers, 1, "version 1");
	tap_ok(call.flavor == 1 && call.uid == 4711, "with the credentials it named");
	answer(&v, &call);
	tap_ok(!rawnfs_readable(&v.raw, 50), "the session is not named before the client has");
	tap_is(status_flags(&v), 0, "SEQUENCE: all is well");
	tap_ok(take_call(&v, &call) && call.proc == CB_COMPOUND, "CB_SEQUENCE comes");
	tap_ok(!memcmp(call.session, v.sessionid, 16) && call.seqid == 1 && call.slot == 0 &&
		       call.minor == 1,
	       "of that session, the first on its slot");
	answer(&v, &call);
	tap_is(status_flags(&v), 0, "all is still well");
	tap_ok(!rawnfs_readable(&v.raw, 100), "and nothing more is asked");
	v4c_begin(&v);
	a = &v4c_op(&v, OP_BACKCHANNEL_CTL)->nfs_argop4_u.opbackchannel_ctl;
	a->bca_cb_program = PROGRAM + 1;
	tap_is(v4c_run(&v), NFS4_OK, "BACKCHANNEL_CTL");
	tap_ok(take_call(&v, &call) && call.proc == CB_NULL && call.prog == PROGRAM + 1 &&
		       call.flavor == 0,
	       "the other program is called, with the other flavor");
	answer(&v, &call);
	tap_ok(take_call(&v, &call) && call.proc == CB_COMPOUND && call.seqid == 2,
	       "its slot goes on");
	answer(&v, &call);
	v4c_close(&v);
}

static void no_answer_is_told_and_may_be_healed(void)
{
	struct called call, null;
	struct v4c v;

	hello(&v, "does not answer", CREATE_SESSION4_FLAG_CONN_BACK_CHAN);
	take_call(&v, &null);
	answer_as(&v, &null, null.xid + 77, 0, 0);
	tap_is(status_flags(&v), 0, "an answer to another call is none, and there is time yet");
	tap_ok(flags_become(&v, DOWN), "without an answer the path is down");
	answer(&v, &null);
	tap_is(status_flags(&v), DOWN, "too late");
	tap_is(bind_dir(&v, CDFC4_FORE_OR_BOTH), CDFS4_BOTH, "bound anew");
	tap_ok(take_call(&v, &call) && call.proc == CB_NULL, "called anew");
	tap_is(status_flags(&v), 0, "the benefit of the doubt");
	answer(&v, &call);
	take_call(&v, &call);
	tap_ok(flags_become(&v, DOWN), "nor is CB_SEQUENCE answered in time");
	bind_dir(&v, CDFC4_BACK_OR_BOTH);
	take_call(&v, &call);
	answer(&v, &call);
	tap_ok(take_call(&v, &call) && call.proc == CB_COMPOUND && call.seqid == 1,
	       "the same CB_SEQUENCE again");
	answer_as(&v, &call, call.xid, 0, NFS4ERR_RETRY_UNCACHED_REP);
	tap_is(status_flags(&v), 0, "the client had it already: well");
	v4c_close(&v);
}

static void refusals(void)
{
	struct called call;
	struct v4c v;

	hello(&v, "refuses", CREATE_SESSION4_FLAG_CONN_BACK_CHAN);
	take_call(&v, &call);
	answer_as(&v, &call, call.xid, 1 /* PROG_UNAVAIL */, 0);
	tap_ok(flags_become(&v, DOWN), "a program that is not there: the path is down");
	v4c_close(&v);
	hello(&v, "knows nothing", CREATE_SESSION4_FLAG_CONN_BACK_CHAN);
	take_call(&v, &call);
	answer(&v, &call);
	status_flags(&v);
	take_call(&v, &call);
	answer_as(&v, &call, call.xid, 0, NFS4ERR_BADSESSION);
	tap_ok(flags_become(&v, SEQ4_STATUS_BACKCHANNEL_FAULT),
	       "a session it does not know: a fault");
	v4c_close(&v);
}

static void connections_come_and_go(void)
{
	struct called call;
	struct v4c v, other;

	hello(&v, "connections", 0);
	v4c_join(&other, &v, host, port, 1);
	tap_is(bind_dir(&other, CDFC4_FORE), CDFS4_FORE, "fore alone");
	tap_is(bind_dir(&other, CDFC4_FORE_OR_BOTH), CDFS4_BOTH, "both");
	tap_ok(take_call(&other, &call), "called on that connection");
	answer(&other, &call);
	tap_is(status_flags(&v), 0, "SEQUENCE on the first");
	tap_ok(take_call(&other, &call) && call.proc == CB_COMPOUND,
	       "makes CB_SEQUENCE come on the second");
	v4c_close(&other); /* with the call unanswered */
	tap_ok(flags_become(&v, DOWN), "the only bound connection is gone: down");
	tap_is(bind_dir(&v, CDFC4_BACK), CDFS4_BACK, "the first is bound");
	tap_ok(take_call(&v, &call), "and called");
	answer(&v, &call);
	tap_ok(take_call(&v, &call) && call.proc == CB_COMPOUND && call.seqid == 1,
	       "CB_SEQUENCE too");
	answer(&v, &call);
	tap_is(status_flags(&v), 0, "up");
	v4c_close(&v);
}

/* A session goes while its client is called; another's flags are its own. */
static void sessions_go(void)
{
	struct called call;
	struct v4c v;

	hello(&v, "goes", CREATE_SESSION4_FLAG_CONN_BACK_CHAN);
	take_call(&v, &call);
	v4c_begin_bare(&v);
	memcpy(v4c_op(&v, OP_DESTROY_SESSION)->nfs_argop4_u.opdestroy_session.dsa_sessionid,
	       v.sessionid, 16);
	tap_is(v4c_run(&v), NFS4_OK, "DESTROY_SESSION with a call outstanding");
	answer(&v, &call);
	tap_ok(rawnfs_alive(&v.raw), "its answer hurts nobody");
	v4c_close(&v);
}

static void replies_nobody_asked_for(void)
{
	uint8_t rec[40] = {0};
	struct called none = {0};
	struct v4c v;
	unsigned i;

	hello(&v, "bogus", CREATE_SESSION4_FLAG_CONN_BACK_CHAN);
	tap_ok(greet(&v), "a session with a backchannel");
	for (i = 0; i < 1000; i++)
		answer_as(&v, &none, i, i % 3, 0);
	rec[7] = 1; /* a reply cut short, at every byte */
	for (i = 8; i <= sizeof(rec); i++)
		send_record(&v, rec, i);
	tap_is(status_flags(&v), 0, "1000 replies that answer nothing are dropped");
	v4c_close(&v);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	host = argv[1];
	port = atoi(argv[2]);
	who_does_not_ask_is_not_called();
	who_asks_is_called();
	no_answer_is_told_and_may_be_healed();
	refusals();
	connections_come_and_go();
	sessions_go();
	replies_nobody_asked_for();
	return tap_done();
}
