/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sessions HOST PORT: CREATE_SESSION, SEQUENCE and what goes with them over the
 * wire.  The table of slot states is in tests/unit/state4_session.c; here is
 * that replies come back byte for byte, limits hold before anything is done,
 * and no slot is lost on any way out.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

static struct v4c c;
static const char *host;
static int port;

/* --- CREATE_SESSION ------------------------------------------------------------ */

static CREATE_SESSION4args create_args(uint32_t seqid)
{
	channel_attrs4 ch = {.ca_maxrequestsize = 8192,
			     .ca_maxresponsesize = 8192,
			     .ca_maxresponsesize_cached = 8192,
			     .ca_maxoperations = 128,
			     .ca_maxrequests = 8};
	CREATE_SESSION4args a = {.csa_clientid = c.clientid,
				 .csa_sequence = seqid,
				 .csa_cb_program = 123,
				 .csa_fore_chan_attrs = ch,
				 .csa_back_chan_attrs = ch};

	return a;
}

static uint32_t create(const CREATE_SESSION4args *a)
{
	v4c_begin_bare(&c);
	v4c_op(&c, OP_CREATE_SESSION)->nfs_argop4_u.opcreate_session = *a;
	return v4c_run(&c);
}

static CREATE_SESSION4resok created(void)
{
	return v4c_res(&c, OP_CREATE_SESSION)
		->nfs_resop4_u.opcreate_session.CREATE_SESSION4res_u.csr_resok4;
}

/* A session with these limits; its client is new. */
static void session(const char *owner, const CREATE_SESSION4args *limits)
{
	CREATE_SESSION4args a;
	uint32_t seqid;

	c.session = false;
	v4c_exchange_id(&c, owner, "verifier", 0, &seqid);
	a = *limits;
	a.csa_clientid = c.clientid;
	a.csa_sequence = seqid;
	tap_is(create(&a), NFS4_OK, owner);
	memcpy(c.sessionid, created().csr_sessionid, sizeof(c.sessionid));
	memset(c.seqid, 0, sizeof(c.seqid));
	c.session = true;
	c.slot = 0;
}

static void what_create_session_refuses(void)
{
	CREATE_SESSION4args a;
	callback_sec_parms4 gss = {.cb_secflavor = 6};
	uint32_t seqid;

	v4c_exchange_id(&c, "refuses", "verifier", 0, &seqid);
	a = create_args(1);
	a.csa_flags = 0xf;
	tap_is(create(&a), NFS4ERR_INVAL, "an undefined flag");
	a = create_args(1);
	a.csa_fore_chan_attrs.ca_maxresponsesize = 0;
	tap_is(create(&a), NFS4ERR_TOOSMALL, "no room for any reply");
	a = create_args(1);
	a.csa_fore_chan_attrs.ca_maxrequestsize = 20;
	tap_is(create(&a), NFS4ERR_TOOSMALL, "no room for any request");
	a = create_args(1);
	a.csa_back_chan_attrs.ca_maxrequestsize = 10;
	a.csa_back_chan_attrs.ca_maxoperations = 1;
	tap_is(create(&a), NFS4ERR_TOOSMALL, "a back channel for nothing");
	a = create_args(1);
	a.csa_sec_parms.csa_sec_parms_len = 1;
	a.csa_sec_parms.csa_sec_parms_val = &gss;
	tap_is(create(&a), NFS4ERR_ENCR_ALG_UNSUPP, "callbacks by GSS alone");
	a = create_args(0);
	tap_is(create(&a), NFS4ERR_SEQ_MISORDERED, "the contrived replay");
	a = create_args(1);
	a.csa_clientid ^= 0x12345;
	tap_is(create(&a), NFS4ERR_STALE_CLIENTID, "nobody's session");
	a = create_args(1);
	tap_is(create(&a), NFS4_OK, "none of these used up the sequence");
}

static void what_create_session_grants(void)
{
	CREATE_SESSION4args a;
	CREATE_SESSION4resok first, again;
	uint32_t seqid;

	v4c_exchange_id(&c, "grants", "verifier", 0, &seqid);
	a = create_args(1);
	a.csa_fore_chan_attrs.ca_maxrequests = 500;
	a.csa_fore_chan_attrs.ca_maxrequestsize = UINT32_MAX;
	a.csa_flags = CREATE_SESSION4_FLAG_PERSIST;
	tap_is(create(&a), NFS4_OK, "CREATE_SESSION");
	first = created();
	tap_is(first.csr_sequence, 1, "csr_sequence is csa_sequence");
	tap_ok(first.csr_fore_chan_attrs.ca_maxrequests <= 64, "slots are bounded");
	tap_ok(first.csr_fore_chan_attrs.ca_maxrequestsize < (2 << 20), "requests are bounded");
	tap_ok(first.csr_fore_chan_attrs.ca_maxoperations <= 64, "operations are bounded");
	tap_is(first.csr_flags & CREATE_SESSION4_FLAG_PERSIST, 0, "sessions are not persistent");
	tap_is(create(&a), NFS4_OK, "replayed");
	again = created();
	tap_ok(!memcmp(first.csr_sessionid, again.csr_sessionid, sizeof(first.csr_sessionid)),
	       "the same session");
	a.csa_sequence = 3;
	tap_is(create(&a), NFS4ERR_SEQ_MISORDERED, "a step too far");
	c.raw.uid = 4711;
	a.csa_sequence = 2;
	tap_is(create(&a), NFS4_OK, "another user may add a session once it is confirmed");
	c.raw.uid = 0;
}

static void only_its_principal_confirms(void)
{
	CREATE_SESSION4args a;
	uint32_t seqid;

	v4c_exchange_id(&c, "principal", "verifier", 0, &seqid);
	a = create_args(seqid);
	c.raw.uid = 4711;
	tap_is(create(&a), NFS4ERR_CLID_INUSE, "another user does not confirm");
	tap_is(create(&a), NFS4ERR_CLID_INUSE, "and that is replayed");
	c.raw.uid = 0;
}

/* --- SEQUENCE -------------------------------------------------------------------- */

static uint32_t sequence(uint32_t slot, uint32_t seqid)
{
	v4c_begin_bare(&c);
	v4c_sequence(&c, slot, seqid, false);
	return v4c_run(&c);
}

static SEQUENCE4resok sequenced(void)
{
	return v4c_res(&c, OP_SEQUENCE)->nfs_resop4_u.opsequence.SEQUENCE4res_u.sr_resok4;
}

static void slots(void)
{
	CREATE_SESSION4args limits = create_args(0);
	uint8_t id[16];
	SEQUENCE4resok ok;

	session("slots", &limits);
	tap_is(sequence(2, 1), NFS4_OK, "a lone SEQUENCE");
	ok = sequenced();
	tap_ok(!memcmp(ok.sr_sessionid, c.sessionid, 16) && ok.sr_sequenceid == 1 &&
		       ok.sr_slotid == 2,
	       "session, sequence and slot come back");
	tap_is(ok.sr_highest_slotid, 7, "so does the highest slot");
	tap_is(sequence(2, 3), NFS4ERR_SEQ_MISORDERED, "two steps forward");
	tap_is(sequence(2, 0), NFS4ERR_SEQ_MISORDERED, "one step back");
	tap_is(sequence(2, 1), NFS4_OK, "a lone SEQUENCE again");
	tap_is(sequence(8, 1), NFS4ERR_BADSLOT, "a slot there is not");
	v4c_begin_bare(&c);
	v4c_sequence(&c, 0, 1, false);
	v4c_sequence(&c, 1, 1, false);
	tap_is(v4c_run(&c), NFS4ERR_SEQUENCE_POS, "SEQUENCE in second place");
	memcpy(id, c.sessionid, sizeof(id));
	c.sessionid[0] ^= 1;
	tap_is(sequence(0, 2), NFS4ERR_BADSESSION, "a session there is not");
	memcpy(c.sessionid, id, sizeof(id));
}

/* The same COMPOUND sent twice: SEQUENCE, then `op`s; *same: the replies are equal. */
static uint32_t twice(uint32_t seqid, bool cachethis, const nfs_opnum4 *ops, unsigned n, bool *same,
		      uint32_t *first)
{
	struct rawnfs_call call;
	uint32_t status[2], len[2];
	unsigned i, j;

	for (i = 0; i < 2; i++) {
		v4c_begin_bare(&c);
		c.tag = i ? "second" : "first time";
		c.tag_len = 0;
		v4c_sequence(&c, 5, seqid, cachethis);
		/* A hint of the moment, as Linux encodes it anew. */
		c.op[0].nfs_argop4_u.opsequence.sa_highest_slotid = 5 + i;
		for (j = 0; j < n; j++)
			v4c_op(&c, ops[j]);
		v4c_encode(&c, &call);
		status[i] = v4c_send(&c, &call);
		rawnfs_call_end(&call);
		len[i] = c.res.resarray.resarray_len;
	}
	c.tag = NULL;
	*first = status[0];
	*same = status[0] == status[1] && len[0] == len[1];
	return status[1];
}

static void replays(void)
{
	static const nfs_opnum4 good[] = {OP_PUTROOTFH, OP_GETFH},
				bad[] = {OP_PUTROOTFH, OP_RESTOREFH}, illegal[] = {OP_ILLEGAL};
	uint32_t first;
	bool same;

	tap_is(twice(1, true, good, 2, &same, &first), NFS4_OK, "a kept reply comes back");
	tap_ok(same, "it is the same");
	twice(2, true, bad, 2, &same, &first);
	tap_ok(first == NFS4ERR_RESTOREFH && same, "so does that of a failure");
	twice(3, true, illegal, 1, &same, &first);
	tap_ok(first == NFS4ERR_OP_ILLEGAL && same, "and that of an illegal operation");
	twice(4, true, NULL, 0, &same, &first);
	tap_ok(first == NFS4_OK && same, "and that of SEQUENCE alone");
	tap_is(twice(5, false, good, 2, &same, &first), NFS4ERR_RETRY_UNCACHED_REP,
	       "what was not kept is refused");
	tap_is(c.res.resarray.resarray_len, 2, "in the second place");
	v4c_begin_bare(&c);
	v4c_sequence(&c, 5, 5, false);
	v4c_putrootfh(&c);
	tap_is(v4c_run(&c), NFS4ERR_SEQ_FALSE_RETRY, "the same sequence with another call");
	c.raw.uid = 4711;
	tap_is(twice(6, true, good, 2, &same, &first), NFS4_OK, "another user has the slot");
	c.raw.uid = 0;
	v4c_begin_bare(&c);
	v4c_sequence(&c, 5, 6, true);
	v4c_op(&c, OP_PUTROOTFH);
	v4c_op(&c, OP_GETFH);
	tap_is(v4c_run(&c), NFS4ERR_SEQ_FALSE_RETRY, "his reply is not another's");
}

/* --- limits ------------------------------------------------------------------------ */

static void limits_hold(void)
{
	CREATE_SESSION4args limits = create_args(0);
	static char name[600];
	unsigned i;

	memset(name, 'x', sizeof(name) - 1);
	limits.csa_fore_chan_attrs.ca_maxrequestsize = 512;
	session("512 bytes a request", &limits);
	v4c_begin(&c);
	v4c_putrootfh(&c);
	v4c_lookup(&c, name);
	tap_is(v4c_run(&c), NFS4ERR_REQ_TOO_BIG, "a request over the limit");
	tap_is(sequence(0, 1), NFS4_OK, "its slot did not move");

	limits = create_args(0);
	limits.csa_fore_chan_attrs.ca_maxoperations = 4;
	session("4 operations", &limits);
	v4c_begin(&c);
	for (i = 0; i < 4; i++)
		v4c_putrootfh(&c);
	tap_is(v4c_run(&c), NFS4ERR_TOO_MANY_OPS, "an operation too many");
	tap_is(sequence(0, 1), NFS4_OK, "its slot did not move either");

	limits = create_args(0);
	limits.csa_fore_chan_attrs.ca_maxresponsesize_cached = 10;
	session("nothing can be kept", &limits);
	v4c_begin_bare(&c);
	v4c_sequence(&c, 0, 1, true);
	tap_is(v4c_run(&c), NFS4ERR_REP_TOO_BIG_TO_CACHE, "what cannot be kept is not begun");

	limits = create_args(0);
	limits.csa_fore_chan_attrs.ca_maxresponsesize = 200;
	session("200 bytes a reply", &limits);
	v4c_begin(&c);
	v4c_putrootfh(&c);
	for (i = 0; i < 4; i++)
		v4c_getfh(&c);
	tap_is(v4c_run(&c), NFS4ERR_REP_TOO_BIG, "a reply over the limit");
}

static uint32_t getattr(uint32_t slot, uint32_t seqid)
{
	v4c_begin_bare(&c);
	v4c_sequence(&c, slot, seqid, false);
	v4c_putrootfh(&c);
	v4c_getattr(&c, 1u << FATTR4_TYPE | 1u << FATTR4_SIZE | 1u << FATTR4_CHANGE, 0, 0);
	return v4c_run(&c);
}

static void a_reply_may_fit_to_the_byte(void)
{
	CREATE_SESSION4args limits = create_args(0);
	uint32_t len;

	session("room for a reply", &limits);
	tap_is(getattr(0, 1), NFS4_OK, "GETATTR");
	len = c.reply_len;
	limits.csa_fore_chan_attrs.ca_maxresponsesize = len;
	session("as long as that", &limits);
	tap_is(getattr(0, 1), NFS4_OK, "it fits");
	tap_is(c.reply_len, len, "and is the same");
	limits.csa_fore_chan_attrs.ca_maxresponsesize = len - 4;
	session("a word shorter", &limits);
	tap_is(getattr(0, 1), NFS4ERR_REP_TOO_BIG, "it does not fit");
	tap_ok(c.reply_len <= len - 4, "what says so does");
}

/* Whatever is wrong behind a good SEQUENCE, its slot is free afterwards. */
static void slots_come_back(void)
{
	CREATE_SESSION4args limits = create_args(0);
	struct rawnfs_call call;
	uint32_t i, bad = 0;

	session("slots come back", &limits);
	for (i = 0; i < 8; i++) {
		v4c_begin_bare(&c);
		v4c_sequence(&c, i, 1, i % 2);
		v4c_putrootfh(&c);
		v4c_lookup(&c, "some name");
		v4c_encode(&c, &call);
		/* cut: the name is longer than the call */
		cursor_seek(&call.c, cursor_pos(&call.c) - 4);
		bad += v4c_send(&c, &call) != NFS4ERR_BADXDR;
		rawnfs_call_end(&call);
	}
	tap_is(bad, 0, "operations cut short are BADXDR");
	for (i = 0; i < 8; i++)
		bad += sequence(i, 2) != NFS4_OK;
	tap_is(bad, 0, "every slot is free again");
}

/* --- connections and the end ------------------------------------------------------- */

static uint32_t destroy(struct v4c *v, bool in_session, bool more)
{
	if (in_session)
		v4c_begin(v);
	else
		v4c_begin_bare(v);
	memcpy(v4c_op(v, OP_DESTROY_SESSION)->nfs_argop4_u.opdestroy_session.dsa_sessionid,
	       c.sessionid, 16);
	if (more)
		v4c_putrootfh(v);
	return v4c_run(v);
}

static uint32_t bind_to(struct v4c *v, channel_dir_from_client4 dir)
{
	BIND_CONN_TO_SESSION4args *a;

	v4c_begin_bare(v);
	a = &v4c_op(v, OP_BIND_CONN_TO_SESSION)->nfs_argop4_u.opbind_conn_to_session;
	memcpy(a->bctsa_sessid, c.sessionid, 16);
	a->bctsa_dir = dir;
	return v4c_run(v);
}

static void connections(void)
{
	CREATE_SESSION4args limits = create_args(0);
	struct v4c other;

	session("connections", &limits);
	if (!tap_ok(!v4c_join(&other, &c, host, port, 1), "a second connection"))
		return;
	v4c_begin(&other);
	v4c_putrootfh(&other);
	tap_is(v4c_run(&other), NFS4_OK, "it is bound by using it");
	tap_is(bind_to(&other, CDFC4_FORE), NFS4_OK, "BIND_CONN_TO_SESSION");
	tap_is(destroy(&c, true, true), NFS4ERR_NOT_ONLY_OP,
	       "DESTROY_SESSION before the end of its own COMPOUND");
	tap_is(destroy(&other, false, false), NFS4_OK, "DESTROY_SESSION from another connection");
	tap_is(destroy(&other, false, false), NFS4ERR_BADSESSION, "it is gone");
	tap_is(bind_to(&other, CDFC4_FORE), NFS4ERR_BADSESSION, "and nothing can be bound to it");
	session("from within", &limits);
	tap_is(destroy(&c, true, false), NFS4_OK, "DESTROY_SESSION at the end of its own COMPOUND");
	tap_is(sequence(0, 2), NFS4ERR_BADSESSION, "it is gone");
	v4c_close(&other);
	c.session = false;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 1;
	host = argv[1];
	port = atoi(argv[2]);
	if (v4c_open(&c, host, port, 1))
		return 1;
	what_create_session_refuses();
	what_create_session_grants();
	only_its_principal_confirms();
	slots();
	replays();
	limits_hold();
	a_reply_may_fit_to_the_byte();
	slots_come_back();
	connections();
	v4c_close(&c);
	return tap_done();
}
