/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * longrun41 HOST PORT DIR MINOR: clients of 4.1 or 4.2 one after the other on one connection, with
 * small sessions, that leave behind what they have.  The server's lease is short.
 */
#include <poll.h>
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"
#include "tests/lib/v4owner.h"

#define R OPEN4_SHARE_ACCESS_READ
#define W OPEN4_SHARE_ACCESS_WRITE
#define RW OPEN4_SHARE_ACCESS_BOTH
#define ALL UINT64_MAX

static struct v4c c;
static struct v4c_fh root, home;
static char part[32];

/* A client of the connection: what v4c keeps for it. */
struct who {
	clientid4 id;
	uint32_t next; /* of CREATE_SESSION */
	uint8_t session[NFS4_SESSIONID_SIZE];
	uint32_t seqid[V4C_SLOTS];
};

static void is(uint32_t got, uint32_t want, const char *what)
{
	char text[200];

	snprintf(text, sizeof(text), "%s: %s", part, what);
	tap_is(got, want, text);
}

static void leave(struct who *w)
{
	memcpy(w->session, c.sessionid, sizeof(w->session));
	memcpy(w->seqid, c.seqid, sizeof(w->seqid));
}

static void be(const struct who *w)
{
	c.clientid = w->id;
	memcpy(c.sessionid, w->session, sizeof(w->session));
	memcpy(c.seqid, w->seqid, sizeof(w->seqid));
	c.session = true;
}

/* EXCHANGE_ID alone. */
static uint32_t introduced(struct who *w, const char *name, const char *verf, uint32_t flags)
{
	char full[64];
	uint32_t st;

	snprintf(full, sizeof(full), "%s 4.%u", name, c.minor);
	st = v4c_exchange_id(&c, full, verf, flags, &w->next);
	w->id = c.clientid;
	return st;
}

static void session_args(const struct who *w, uint32_t seqid, uint32_t fore_max, uint32_t cached)
{
	const channel_attrs4 fore = {0, 8192, fore_max, cached, 128, 8, {0, NULL}},
			     back = {0, 8192, 8192, 8192, 128, 8, {0, NULL}};

	v4c_op(&c, OP_CREATE_SESSION)->nfs_argop4_u.opcreate_session = (CREATE_SESSION4args){
		.csa_clientid = w->id,
		.csa_sequence = seqid,
		.csa_fore_chan_attrs = fore,
		.csa_back_chan_attrs = back,
		.csa_cb_program = 0x40000000,
	};
}

static uint32_t take_session(struct who *w, uint32_t st)
{
	if (!st) {
		memcpy(w->session,
		       v4c_res(&c, OP_CREATE_SESSION)
			       ->nfs_resop4_u.opcreate_session.CREATE_SESSION4res_u.csr_resok4
			       .csr_sessionid,
		       sizeof(w->session));
		memset(w->seqid, 0, sizeof(w->seqid));
	}
	return st;
}

static uint32_t session(struct who *w, uint32_t fore_max, uint32_t cached)
{
	v4c_begin_bare(&c);
	session_args(w, w->next++, fore_max, cached);
	return take_session(w, v4c_run(&c));
}

static struct who met(const char *name)
{
	struct who w = {0};

	is(introduced(&w, name, "verifier", 0) || session(&w, 8192, 8192), 0,
	   "a client and its session");
	be(&w);
	v4c_begin(&c);
	v4c_op(&c, OP_RECLAIM_COMPLETE);
	is(v4c_run(&c), NFS4_OK, "RECLAIM_COMPLETE");
	leave(&w);
	return w;
}

static void begin_part(const char *name)
{
	snprintf(part, sizeof(part), "%s", name);
}

static struct v4open made(struct v4owner *w, const char *name, uint32_t access, uint32_t deny)
{
	struct v4open o = {.access = access,
			   .deny = deny,
			   .create = true,
			   .how = GUARDED4,
			   .set_mode = true,
			   .mode = 0644};

	is(v4owner_open(&c, w, &home, name, &o), NFS4_OK, "a file");
	return o;
}

static uint32_t empty(const struct who *w)
{
	be(w);
	v4c_begin(&c);
	return v4c_run(&c);
}

/* --- sessions ------------------------------------------------------------------------------- */

static void sessions(void)
{
	struct who a, b = {0}, more;
	uint8_t first[NFS4_SESSIONID_SIZE];

	begin_part("sessions");
	a = met("sessions a");
	is(introduced(&b, "sessions b", "verifier", 0), NFS4_OK, "another client");
	be(&a);
	v4c_begin(&c);
	session_args(&b, b.next, 8192, 8192);
	is(take_session(&b, v4c_run(&c)), NFS4_OK,
	   "CREATE_SESSION for it behind the first one's SEQUENCE");
	leave(&a);
	is(empty(&b), NFS4_OK, "works");
	be(&a);
	v4c_begin(&c);
	session_args(&a, a.next, 8192, 8192);
	more = a;
	is(take_session(&more, v4c_run(&c)), NFS4_OK, "one for itself");
	leave(&a);
	memcpy(first, more.session, sizeof(first));
	is(session(&a, 8192, 8192) || memcmp(first, a.session, sizeof(first)), 0,
	   "replayed without SEQUENCE it is the same");
	is(empty(&more), NFS4_OK, "it works");
	leave(&more);
	is(introduced(&a, "sessions a", "verifier", 0), NFS4_OK, "EXCHANGE_ID without a session");
	be(&more);
	v4c_begin(&c);
	v4c_op(&c, OP_DESTROY_CLIENTID)->nfs_argop4_u.opdestroy_clientid.dca_clientid = 0;
	is(v4c_run(&c), NFS4ERR_STALE_CLIENTID, "DESTROY_CLIENTID of nobody");
	v4c_begin(&c);
	v4c_op(&c, OP_DESTROY_CLIENTID)->nfs_argop4_u.opdestroy_clientid.dca_clientid = a.id;
	is(v4c_run(&c), NFS4ERR_CLIENTID_BUSY, "of itself");
	is(introduced(&b, "sessions c", "verifier", 0), NFS4_OK, "one more client");
	v4c_begin(&c);
	v4c_op(&c, OP_DESTROY_CLIENTID)->nfs_argop4_u.opdestroy_clientid.dca_clientid = b.id;
	is(v4c_run(&c), NFS4_OK, "is destroyed by another");
}

static void sizes(void)
{
	struct who a = {0};
	uint32_t st;

	begin_part("sizes");
	is(introduced(&a, "sizes", "verifier", 0), NFS4_OK, "a client");
	is(session(&a, 400, 400), NFS4_OK, "replies of 400 bytes");
	be(&a);
	v4c_begin(&c);
	v4c_putrootfh(&c);
	for (unsigned i = 0; i < 4; i++)
		v4c_getattr(&c, 0x8f7ff, 0, 0);
	is(v4c_run(&c), NFS4ERR_REP_TOO_BIG, "more than that");
	v4c_begin(&c);
	v4c_putrootfh(&c);
	v4c_getattr(&c, 1u << FATTR4_SIZE, 0, 0);
	is(v4c_run(&c), NFS4_OK, "less");
	is(session(&a, 8192, 10), NFS4_OK, "10 bytes to be kept");
	be(&a);
	c.cachethis = true;
	v4c_begin(&c);
	is(v4c_run(&c), NFS4ERR_REP_TOO_BIG_TO_CACHE, "nothing can be");
	c.cachethis = false;
	for (unsigned i = 0; i < 200; i++) {
		v4c_begin_bare(&c);
		session_args(&a, a.next, 8192, 8192);
		c.op[0].nfs_argop4_u.opcreate_session.csa_back_chan_attrs.ca_maxrequestsize = 10;
		st = v4c_run(&c);
		if (st != NFS4ERR_TOOSMALL)
			break;
	}
	is(st, NFS4ERR_TOOSMALL, "a back channel of nothing");
	is(session(&a, 8192, 8192), NFS4_OK, "does not use up the sequence");
}

/* --- the current stateid ---------------------------------------------------------------------- */

static void op_close(const stateid4 *id)
{
	v4c_op(&c, OP_CLOSE)->nfs_argop4_u.opclose = (CLOSE4args){0, *id};
}

static void op_open(struct v4owner *w, const char *name)
{
	static uint8_t buf[12];
	const struct v4open o = {.access = RW, .create = true, .set_mode = true, .mode = 0644};

	v4c_begin(&c);
	v4c_putfh(&c, &home);
	v4owner_op_open(&c, w, name, &o, buf);
}

static void op_lock(const struct v4open *o)
{
	LOCK4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, &o->fh);
	a = &v4c_op(&c, OP_LOCK)->nfs_argop4_u.oplock;
	*a = (LOCK4args){.locktype = WRITE_LT, .length = ALL};
	a->locker.new_lock_owner = TRUE;
	a->locker.locker4_u.open_owner.open_stateid = o->id;
	a->locker.locker4_u.open_owner.lock_owner.owner.owner_len = 5;
	a->locker.locker4_u.open_owner.lock_owner.owner.owner_val = (char *)(uintptr_t)"lock1";
}

static void op_locku(void)
{
	v4c_op(&c, OP_LOCKU)->nfs_argop4_u.oplocku = (LOCKU4args){WRITE_LT, 0, v4c_current, 0, ALL};
}

static void current(void)
{
	struct v4owner w = {"current", 0};
	struct v4open o;
	struct v4f s;

	begin_part("current");
	met("current");
	op_open(&w, "cur1");
	op_close(&v4c_current);
	is(v4c_run(&c), NFS4_OK, "OPEN, CLOSE");
	op_open(&w, "cur2");
	v4c_getfh(&c);
	v4c_write(&c, &v4c_current, 5, FILE_SYNC4, "test data", 9);
	op_close(&v4c_current);
	is(v4c_run(&c), NFS4_OK, "OPEN, GETFH, WRITE, CLOSE");
	o = made(&w, "cur3", RW, 0);
	op_lock(&o);
	op_locku();
	is(v4c_run(&c), NFS4_OK, "LOCK, LOCKU");
	op_lock(&o);
	v4c_write(&c, &v4c_current, 5, FILE_SYNC4, "test data", 9);
	op_locku();
	op_close(&o.id);
	is(v4c_run(&c), NFS4_OK, "LOCK, WRITE, LOCKU, CLOSE");
	op_open(&w, "cur4");
	v4c_putfh(&c, &home);
	v4c_lookup(&c, "cur4");
	op_close(&v4c_current);
	is(v4c_run(&c), NFS4ERR_BAD_STATEID, "OPEN, LOOKUP, CLOSE");
	op_open(&w, "cur5");
	v4c_getfh(&c);
	v4c_op(&c, OP_SETATTR)->nfs_argop4_u.opsetattr =
		(SETATTR4args){v4c_current, v4f_u64(&s, FATTR4_SIZE, 8)};
	is(v4c_run(&c), NFS4_OK, "OPEN, GETFH, SETATTR of the size");
	op_open(&w, "cur6");
	v4c_op(&c, OP_FREE_STATEID)->nfs_argop4_u.opfree_stateid.fsa_stateid = v4c_current;
	is(v4c_run(&c), NFS4ERR_LOCKS_HELD, "OPEN, FREE_STATEID");
	op_open(&w, "cur7");
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, &home);
	v4c_op(&c, OP_RESTOREFH);
	op_close(&v4c_current);
	is(v4c_run(&c), NFS4_OK, "OPEN, SAVEFH, PUTFH, RESTOREFH, CLOSE");
}

/* --- opens ------------------------------------------------------------------------------------ */

static void opens(void)
{
	struct v4owner w = {"opens", 0}, v = {"opens other", 0};
	struct v4open o, p = {.access = R};
	stateid4 id;
	struct who a;

	begin_part("opens");
	a = met("opens");
	o = made(&w, "opens", W, 0);
	is(o.id.seqid, 1, "the first seqid");
	is(v4owner_open(&c, &w, &home, "opens", &p), NFS4_OK, "for reading, too");
	is(p.id.seqid, 2, "the second");
	id = p.id;
	id.seqid = 0;
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_write(&c, &id, 5, FILE_SYNC4, "test data", 9);
	v4c_read(&c, &id, 0, 1000);
	is(v4c_run(&c), NFS4_OK, "WRITE, READ by whatever is the newest");
	is(v4owner_close(&c, &w, &o.fh, &id), NFS4_OK, "and CLOSE");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_write(&c, &v4c_anonymous, 5, FILE_SYNC4, "test data", 9);
	v4c_read(&c, &v4c_anonymous, 0, 1000);
	is(v4c_run(&c), NFS4_OK, "without an open");
	p = (struct v4open){.access = RW | OPEN4_SHARE_ACCESS_WANT_NO_DELEG, .claim = CLAIM_FH};
	is(v4owner_open(&c, &v, &o.fh, NULL, &p), NFS4_OK, "CLAIM_FH");
	is(p.ok.delegation.delegation_type, OPEN_DELEGATE_NONE_EXT, "no delegation is wanted");
	is(v4owner_close(&c, &v, &p.fh, &p.id), NFS4_OK, "CLOSE");
	p = (struct v4open){.access = RW, .claim = CLAIM_PREVIOUS};
	is(v4owner_open(&c, &v, &o.fh, NULL, &p), NFS4ERR_NO_GRACE,
	   "a reclaim after RECLAIM_COMPLETE");
	is(introduced(&a, "opens new", "verifier", 0) || session(&a, 8192, 8192), 0,
	   "a new client");
	be(&a);
	v4c_begin(&c);
	v4c_putrootfh(&c);
	v4c_op(&c, OP_RECLAIM_COMPLETE)->nfs_argop4_u.opreclaim_complete.rca_one_fs = TRUE;
	is(v4c_run(&c), NFS4_OK, "RECLAIM_COMPLETE of one file system");
	p = (struct v4open){.access = RW, .create = true};
	is(v4owner_open(&c, &v, &home, "opens3", &p), NFS4ERR_GRACE,
	   "OPEN before RECLAIM_COMPLETE");
}

static void names(void)
{
	begin_part("names");
	met("names");
	v4c_begin(&c);
	v4c_putrootfh(&c);
	v4c_op(&c, OP_SECINFO_NO_NAME)->nfs_argop4_u.opsecinfo_no_name = SECINFO_STYLE4_CURRENT_FH;
	is(v4c_run(&c), NFS4_OK, "SECINFO_NO_NAME of the root");
	v4c_begin(&c);
	v4c_putrootfh(&c);
	v4c_op(&c, OP_SECINFO_NO_NAME)->nfs_argop4_u.opsecinfo_no_name = SECINFO_STYLE4_CURRENT_FH;
	v4c_getfh(&c);
	is(v4c_run(&c), NFS4ERR_NOFILEHANDLE, "uses up the filehandle");
	v4c_begin(&c);
	v4c_putrootfh(&c);
	v4c_op(&c, OP_SECINFO_NO_NAME)->nfs_argop4_u.opsecinfo_no_name = SECINFO_STYLE4_PARENT;
	is(v4c_run(&c), NFS4ERR_NOENT, "of what is above the root");
	v4c_begin(&c);
	v4c_putfh(&c, &home);
	v4c_op(&c, OP_SECINFO_NO_NAME)->nfs_argop4_u.opsecinfo_no_name = SECINFO_STYLE4_PARENT;
	is(v4c_run(&c), NFS4_OK, "of what is above a directory");
}

/* 4.2 on the root of all, and on files with special stateids. */
static void second(void)
{
	struct v4owner w = {"second", 0};
	const stateid4 *ids[] = {&v4c_anonymous, &v4c_bypass, NULL};
	struct cursor vals;
	const fattr4 *f;
	struct v4open o;
	COPY4args *a;

	begin_part("second");
	met("second");
	v4c_begin(&c);
	v4c_putrootfh(&c);
	v4c_getattr(&c, 1, 0, 1u << (FATTR4_XATTR_SUPPORT - 64));
	is(v4c_run(&c), NFS4_OK, "GETATTR of xattr_support");
	f = v4f_got(&c, &vals);
	is(f && v4f_has(f, FATTR4_XATTR_SUPPORT), true, "is told of the root, too");
	o = made(&w, "second", RW, 0);
	ids[2] = &o.id;
	for (unsigned i = 0; i < 3; i++) {
		v4c_begin(&c);
		v4c_putfh(&c, &o.fh);
		v4c_op(&c, OP_ALLOCATE)->nfs_argop4_u.opallocate = (ALLOCATE4args){*ids[i], 0, 15};
		is(v4c_run(&c), NFS4_OK, "ALLOCATE");
	}
	op_open(&w, "second copy");
	v4c_getfh(&c);
	is(v4c_run(&c), NFS4_OK, "a target");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_SAVEFH);
	v4c_putfh(&c, &home);
	v4c_lookup(&c, "second copy");
	a = &v4c_op(&c, OP_COPY)->nfs_argop4_u.opcopy;
	a->ca_src_stateid = o.id;
	a->ca_synchronous = TRUE;
	is(v4c_run(&c), NFS4_OK, "COPY of nothing is of all");
	is((uint32_t)v4c_res(&c, OP_COPY)
		   ->nfs_resop4_u.opcopy.COPY4res_u.cr_resok4.cr_response.wr_count,
	   15, "all");
}

/* --- time ------------------------------------------------------------------------------------- */

/* As `w`, whose lease `keep` does not renew, until the answer is another one. */
static uint32_t open_at_last(struct v4owner *w, const char *name, struct v4open *o)
{
	uint32_t st = NFS4ERR_SHARE_DENIED;

	for (int i = 0; i < 300 && st == NFS4ERR_SHARE_DENIED; i++) {
		st = v4owner_open(&c, w, &home, name, o);
		if (st)
			poll(NULL, 0, 100);
	}
	return st;
}

static void courtesy(void)
{
	static const struct {
		uint32_t access, deny, then_access, then_deny;
	} rows[] = {{RW, W, W, 0}, {W, 0, R, W}, {W, R, R, 0}};
	struct v4owner w = {"courtesy", 0}, v = {"courtesy v", 0}, k = {"courtesy k", 0},
		       l = {"courtesy l", 0};
	struct v4lock one = {.type = WRITE_LT, .length = ALL}, two = one;
	struct who late = {0};
	struct v4open o[4], p;
	char name[32];
	uint32_t st;

	begin_part("courtesy");
	is(introduced(&late, "courtesy unconfirmed", "verifier", 0), NFS4_OK,
	   "one that is never confirmed");
	met("courtesy a");
	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "courtesy%u", i);
		o[i] = made(&w, name, rows[i].access, rows[i].deny);
	}
	p = (struct v4open){.access = RW, .claim = CLAIM_FH};
	is(v4owner_open(&c, &v, &o[0].fh, NULL, &p), NFS4ERR_SHARE_DENIED,
	   "denied to another of the same client");
	o[3] = made(&w, "courtesy3", RW, 0);
	is(v4lock_new(&c, &w, &o[3].fh, &o[3].id, &k, &one), NFS4_OK, "a lock");
	met("courtesy b");
	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "courtesy%u", i);
		p = (struct v4open){.access = rows[i].then_access, .deny = rows[i].then_deny};
		is(open_at_last(&w, name, &p), NFS4_OK, "a silent client's open gives way");
	}
	p = (struct v4open){.access = RW};
	is(v4owner_open(&c, &w, &home, "courtesy3", &p), NFS4_OK, "where it had a lock");
	is(v4lock_new(&c, &w, &p.fh, &p.id, &l, &two), NFS4_OK, "that one, too");
	st = session(&late, 8192, 8192);
	is(st, NFS4ERR_STALE_CLIENTID, "and the one that was never confirmed is gone");
}

int main(int argc, char **argv)
{
	CREATE4args *a;
	struct v4f s;

	if (argc < 5)
		return 2;
	if (v4c_open(&c, argv[1], atoi(argv[2]), (uint32_t)atoi(argv[4])) ||
	    v4c_mount(&c, argv[3], &root))
		return 1;
	begin_part("start");
	met("start");
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	a = &v4c_op(&c, OP_CREATE)->nfs_argop4_u.opcreate;
	a->objtype.type = NF4DIR;
	a->objname = v4c_name(argv[4]);
	a->createattrs = v4f_u32(&s, FATTR4_MODE, 0755);
	v4c_getfh(&c);
	is(v4c_run(&c), NFS4_OK, "a place to be");
	v4c_keep_fh(&c, &home);
	sessions();
	sizes();
	current();
	opens();
	names();
	if (c.minor >= 2)
		second();
	courtesy();
	v4c_close(&c);
	return tap_done();
}
