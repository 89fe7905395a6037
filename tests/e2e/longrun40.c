/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * longrun40 HOST PORT DIR CLIENTS: a 4.0 client that does everything in one run, introduces itself anew
 * before each part as the same one, and closes nothing it need not: what one part leaves open,
 * locked or half done must not reach the next.  The server's lease is short.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"
#include "tests/lib/v4owner.h"

#define R OPEN4_SHARE_ACCESS_READ
#define W OPEN4_SHARE_ACCESS_WRITE
#define RW OPEN4_SHARE_ACCESS_BOTH
#define ALL UINT64_MAX

static struct v4c c, d; /* root's and another user's */
static struct v4c_fh root, home;
static const char *host;
static int port;
static char part[32]; /* the name of the part: of its files and owners, too */

static void begin_part(const char *name)
{
	snprintf(part, sizeof(part), "%s", name);
	if (v4c_setclientid(&c, "the one", "verifier"))
		tap_ok(false, "%s: the client introduces itself", part);
}

static void is(uint32_t got, uint32_t want, const char *what)
{
	char text[200];

	snprintf(text, sizeof(text), "%s: %s", part, what);
	tap_is(got, want, text);
}

static struct v4owner owner(const char *name)
{
	return (struct v4owner){name, 0};
}

/* A file of the part's, created and left open. */
static struct v4open made(struct v4c *v, struct v4owner *w, uint32_t access, uint32_t deny)
{
	struct v4open o = {.access = access, .deny = deny, .create = true, .how = GUARDED4, .set_mode = true, .mode = 0666};

	is(v4owner_open(v, w, &home, part, &o), NFS4_OK, "a file");
	return o;
}

static struct v4lock range(nfs_lock_type4 type, uint64_t offset, uint64_t length)
{
	return (struct v4lock){.type = type, .offset = offset, .length = length};
}

static uint32_t make(const struct v4c_fh *in, const char *name, uint32_t type)
{
	CREATE4args *a;
	struct v4f s;

	v4c_begin(&c);
	v4c_putfh(&c, in);
	a = &v4c_op(&c, OP_CREATE)->nfs_argop4_u.opcreate;
	a->objtype.type = type;
	if (type == NF4LNK)
		a->objtype.createtype4_u.linkdata = (linktext4){8, (char *)(uintptr_t)"/etc/X11"};
	else if (type == NF4BLK || type == NF4CHR)
		a->objtype.createtype4_u.devdata = (specdata4){1, 2};
	a->objname = v4c_name(name);
	a->createattrs = v4f_u32(&s, FATTR4_MODE, 0755);
	return v4c_run(&c);
}

/* --- sent again with the same xid ---------------------------------------------------------- */

/* Twice more, byte by byte: the same answer, and nothing is done again. */
static void thrice(uint32_t want, const char *what)
{
	struct rawnfs_call call;

	v4c_encode(&c, &call);
	is(v4c_send(&c, &call), want, what);
	is(v4c_send(&c, &call), want, "the same call again");
	is(v4c_send(&c, &call), want, "and again");
	rawnfs_call_end(&call);
}

static void at_home(void)
{
	v4c_begin(&c);
	v4c_putfh(&c, &home);
}

static void locks_again(const char *name, const char *lock1, const char *lock2)
{
	struct v4owner w = owner(name), k = owner(lock1), m = owner(lock2);
	struct v4lock l = range(WRITE_LT, 20, 100), n = range(WRITE_LT, 0, 10);
	struct v4open o;

	o = made(&c, &w, RW, W);
	is(v4lock_new(&c, &w, &o.fh, &o.id, &k, &l), NFS4_OK, "locked");
	is(v4lock_new(&c, &w, &o.fh, &o.id, &m, &n), NFS4_OK, "by another");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_LOCK)->nfs_argop4_u.oplock =
		(LOCK4args){WRITE_LT, FALSE, 200, 10, {FALSE, {.lock_owner = {l.id, k.seqid}}}};
	thrice(NFS4_OK, "LOCK");
	k.seqid++;
	l.id.seqid++;
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_LOCK)->nfs_argop4_u.oplock =
		(LOCK4args){WRITE_LT, FALSE, 0, 10, {FALSE, {.lock_owner = {l.id, k.seqid}}}};
	thrice(NFS4ERR_DENIED, "LOCK of what is locked");
	k.seqid++;
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_LOCKU)->nfs_argop4_u.oplocku = (LOCKU4args){READ_LT, k.seqid, l.id, 0, ALL};
	thrice(NFS4_OK, "LOCKU");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_CLOSE)->nfs_argop4_u.opclose = (CLOSE4args){w.seqid + 1, o.id};
	thrice(NFS4ERR_BAD_SEQID, "CLOSE out of sequence");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_CLOSE)->nfs_argop4_u.opclose = (CLOSE4args){w.seqid, o.id};
	thrice(NFS4_OK, "CLOSE");
}

static void again(const char *name)
{
	char lock1[16], lock2[16];
	struct v4open o;
	CREATE4args *a;

	begin_part(name);
	snprintf(lock1, sizeof(lock1), "%s.1", name);
	snprintf(lock2, sizeof(lock2), "%s.2", name);
	locks_again(name, lock1, lock2);
	at_home();
	v4c_opens(&c, "vapor", 5, 0, "vapor", R, 0, false);
	v4c_getfh(&c);
	thrice(NFS4ERR_NOENT, "OPEN of nothing");
	at_home();
	v4c_opens(&c, lock1, (uint32_t)strlen(lock1), 0, lock1, RW, 0, true);
	v4c_getfh(&c);
	thrice(NFS4_OK, "OPEN");
	o.id = v4c_res(&c, OP_OPEN)->nfs_resop4_u.opopen.OPEN4res_u.resok4.stateid;
	v4c_keep_fh(&c, &o.fh);
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_OPEN_CONFIRM)->nfs_argop4_u.opopen_confirm = (OPEN_CONFIRM4args){o.id, 2};
	thrice(NFS4ERR_BAD_SEQID, "OPEN_CONFIRM out of sequence");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_OPEN_CONFIRM)->nfs_argop4_u.opopen_confirm = (OPEN_CONFIRM4args){o.id, 1};
	thrice(NFS4_OK, "OPEN_CONFIRM");
	at_home();
	a = &v4c_op(&c, OP_CREATE)->nfs_argop4_u.opcreate;
	a->objtype.type = NF4DIR;
	a->objname = v4c_name(lock2);
	thrice(NFS4_OK, "CREATE");
}

/* A program that counts its calls from 1 is run twice: the second run's are other calls. */
static void rerun(void)
{
	struct v4c_fh fh;
	struct v4c e;

	begin_part("rerun");
	for (unsigned i = 0; i < 2; i++) {
		if (v4c_open(&e, host, port, 0))
			return;
		e.raw.xid = 1000;
		v4c_begin(&e);
		v4c_putfh(&e, &home);
		v4c_op(&e, OP_CREATE)->nfs_argop4_u.opcreate =
			(CREATE4args){.objtype.type = NF4DIR, .objname = v4c_name("rerun")};
		is(v4c_run(&e), NFS4_OK, "CREATE");
		v4c_close(&e);
		is(v4f_lookup(&c, &home, "rerun", &fh), NFS4_OK, "makes a directory");
		at_home();
		v4c_op(&c, OP_REMOVE)->nfs_argop4_u.opremove.target = v4c_name("rerun");
		is(v4c_run(&c), NFS4_OK, "which is removed");
	}
}

/* --- other people --------------------------------------------------------------------------- */

static void stolen(void)
{
	struct v4owner w = owner("stolen"), v = owner("theirs");
	struct v4open o = {.access = RW, .create = true, .set_mode = true, .mode = 0600}, p = {.access = R};
	struct v4lock l = range(WRITE_LT, 0, ALL);
	struct v4owner k = owner("stolen lock");
	struct v4f s;

	begin_part("stolen");
	is(v4owner_open(&c, &w, &home, part, &o), NFS4_OK, "a file of mode 0600");
	is(v4owner_open(&d, &v, &home, part, &p), NFS4ERR_ACCESS, "others do not open it");
	is(v4lock_new(&c, &w, &o.fh, &o.id, &k, &l), NFS4_OK, "its owner locks it");
	c.raw.uid = c.raw.gid = 3912;
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_write(&c, &o.id, 0, UNSTABLE4, "stolen", 6);
	is(v4c_run(&c), NFS4ERR_ACCESS, "WRITE by another user with the stateid");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_write(&c, &l.id, 0, UNSTABLE4, "stolen", 6);
	is(v4c_run(&c), NFS4ERR_ACCESS, "with that of the lock");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_read(&c, &o.id, 0, 6);
	is(v4c_run(&c), NFS4ERR_ACCESS, "READ");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_SETATTR)->nfs_argop4_u.opsetattr = (SETATTR4args){o.id, v4f_u64(&s, FATTR4_SIZE, 3)};
	is(v4c_run(&c), NFS4ERR_ACCESS, "SETATTR of the size");
	c.raw.uid = c.raw.gid = 0;
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_write(&c, &l.id, 0, UNSTABLE4, "mine", 4);
	is(v4c_run(&c), NFS4_OK, "WRITE by whoever opened it");
	is(v4lock_free(&c, &k, &o.fh, &l.id, 0, ALL), NFS4_OK, "LOCKU");
	is(v4owner_close(&c, &w, &o.fh, &o.id), NFS4_OK, "CLOSE");
}

/* An open outlives a change of mode for whoever has it, be it not the file's owner. */
static void kept(void)
{
	struct v4owner w = owner("kept"), v = owner("kept");
	struct v4open o, p = {.access = RW};
	struct v4f s;

	begin_part("kept");
	o = made(&c, &w, RW, 0);
	is(v4owner_open(&d, &v, &home, part, &p), NFS4_OK, "opened by another user");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_op(&c, OP_SETATTR)->nfs_argop4_u.opsetattr = (SETATTR4args){v4c_anonymous, v4f_u32(&s, FATTR4_MODE, 0600)};
	is(v4c_run(&c), NFS4_OK, "then mode 0600");
	v4c_begin(&d);
	v4c_putfh(&d, &p.fh);
	v4c_write(&d, &p.id, 0, UNSTABLE4, "kept", 4);
	v4c_read(&d, &p.id, 0, 4);
	is(v4c_run(&d), NFS4_OK, "who has it open writes and reads on");
	v4c_begin(&d);
	v4c_putfh(&d, &p.fh);
	v4c_read(&d, &v4c_anonymous, 0, 4);
	is(v4c_run(&d), NFS4ERR_ACCESS, "but not without the open");
}

/* --- SETCLIENTID --------------------------------------------------------------------------- */

/* SETCLIENTID alone: its status; what is to be confirmed. */
static uint32_t set(struct v4c *v, const char *id, const char *verf, SETCLIENTID4resok *out)
{
	SETCLIENTID4args *a;
	uint32_t st;

	v4c_begin(v);
	a = &v4c_op(v, OP_SETCLIENTID)->nfs_argop4_u.opsetclientid;
	snprintf(a->client.verifier, sizeof(a->client.verifier), "%s", verf);
	a->client.id.id_len = (uint32_t)strlen(id);
	a->client.id.id_val = (char *)(uintptr_t)id;
	a->callback.cb_location.na_r_netid = (utf8string){3, (char *)(uintptr_t)"tcp"};
	a->callback.cb_location.na_r_addr = (utf8string){11, (char *)(uintptr_t)"0.0.0.0.0.0"};
	st = v4c_run(v);
	if (!st)
		*out = v4c_res(v, OP_SETCLIENTID)->nfs_resop4_u.opsetclientid.SETCLIENTID4res_u.resok4;
	return st;
}

static uint32_t confirm(struct v4c *v, const SETCLIENTID4resok *s)
{
	SETCLIENTID_CONFIRM4args *a;
	uint32_t st;

	v4c_begin(v);
	a = &v4c_op(v, OP_SETCLIENTID_CONFIRM)->nfs_argop4_u.opsetclientid_confirm;
	a->clientid = s->clientid;
	memcpy(a->setclientid_confirm, s->setclientid_confirm, sizeof(s->setclientid_confirm));
	st = v4c_run(v);
	if (!st)
		v->clientid = s->clientid;
	return st;
}

static bool differ(const SETCLIENTID4resok *a, const SETCLIENTID4resok *b)
{
	return memcmp(a->setclientid_confirm, b->setclientid_confirm, sizeof(a->setclientid_confirm)) != 0;
}

static void identities(void)
{
	SETCLIENTID4resok s, t, u;
	struct v4owner w = owner("ids");
	struct v4open o;

	begin_part("ids");
	is(confirm(&c, &(SETCLIENTID4resok){0}), NFS4ERR_STALE_CLIENTID, "a confirmation of nothing");
	is(set(&c, "id one", "a", &s), NFS4_OK, "SETCLIENTID");
	is(set(&c, "id one", "b", &t), NFS4_OK, "another verifier before it is confirmed");
	is(confirm(&c, &s), NFS4ERR_STALE_CLIENTID, "the first is gone");
	is(s.clientid != t.clientid && differ(&s, &t), true, "they differ");
	is(confirm(&c, &t), NFS4_OK, "the second is there");
	is(confirm(&c, &t), NFS4_OK, "confirmed again");
	is(set(&d, "id one", "b", &u), NFS4_OK, "another user may have the name of one that holds nothing");
	o = made(&c, &w, RW, 0);
	is(set(&d, "id one", "b", &u), NFS4ERR_CLID_INUSE, "but not of one that holds something");
	is(set(&c, "id one", "b", &s), NFS4_OK, "another callback");
	is(s.clientid == t.clientid && differ(&s, &t), true, "the same id, to be confirmed anew");
	is(confirm(&c, &s), NFS4_OK, "confirmed");
	is(v4owner_close(&c, &w, &o.fh, &o.id), NFS4_OK, "what was open is, and is closed");
	is(v4owner_open(&c, &w, &home, part, &(struct v4open){.access = R}), NFS4_OK, "opened");
	is(set(&c, "id one", "c", &u), NFS4_OK, "a restart");
	is(u.clientid != s.clientid, true, "is somebody else");
	is(set(&c, "id one", "d", &t), NFS4_OK, "and another one");
	is(confirm(&c, &u), NFS4ERR_STALE_CLIENTID, "replaces it");
	at_home();
	v4c_op(&c, OP_RENEW)->nfs_argop4_u.oprenew.clientid = s.clientid;
	is(v4c_run(&c), NFS4_OK, "the old one lives until then");
	c.clientid = t.clientid;
	at_home();
	v4c_opens(&c, "ids2", 4, 0, "ids2", RW, 0, true);
	is(v4c_run(&c), NFS4ERR_EXPIRED, "OPEN by the one not confirmed");
	is(confirm(&c, &t), NFS4_OK, "the restarted one is confirmed");
	is(v4owner_close(&c, &w, &o.fh, &o.id), NFS4ERR_EXPIRED, "what the old one had is gone");
}

/* Many clients, each with a file open for good. */
static void many(unsigned n)
{
	SETCLIENTID4resok s;
	struct v4owner w;
	unsigned good = 0;
	uint32_t st;
	char id[32];

	begin_part("many");
	for (unsigned i = 0; i < n; i++) {
		struct v4open o = {.access = RW, .deny = W, .create = true, .how = GUARDED4};

		snprintf(id, sizeof(id), "many.%u", i);
		w = owner("many");
		st = set(&c, id, "many", &s);
		if (!st)
			st = confirm(&c, &s);
		if (!st)
			st = v4owner_open(&c, &w, &home, id, &o);
		if (st)
			printf("# client %u: operation %u: %u\n", i, v4c_last(&c), st);
		good += !st;
	}
	is(good, n, "clients with a file open each");
}

/* --- lock owners ---------------------------------------------------------------------------- */

static uint32_t release(const char *name)
{
	v4c_begin(&c);
	v4c_op(&c, OP_RELEASE_LOCKOWNER)->nfs_argop4_u.oprelease_lockowner.lock_owner =
		(lock_owner4){c.clientid, {(uint32_t)strlen(name), (char *)(uintptr_t)name}};
	return v4c_run(&c);
}

static void lock_owners(void)
{
	struct v4owner w = owner("lo"), v = owner("lo2"), k = owner("lo lock"), m = owner("lo lock 2");
	struct v4lock l = range(READ_LT, 0, ALL), n = range(READ_LT, 0, ALL);
	struct v4open o, p = {.access = RW};

	begin_part("lo");
	o = made(&c, &w, RW, 0);
	is(v4owner_open(&c, &v, &home, part, &p), NFS4_OK, "opened by another owner");
	is(v4lock_new(&c, &w, &o.fh, &o.id, &k, &l), NFS4_OK, "a read lock");
	is(v4lock_new(&c, &v, &o.fh, &p.id, &m, &n), NFS4_OK, "and another's");
	is(release("lo lock"), NFS4ERR_LOCKS_HELD, "RELEASE_LOCKOWNER of one who has locks");
	is(v4lock_free(&c, &k, &o.fh, &l.id, 0, ALL), NFS4_OK, "LOCKU");
	l.type = WRITE_LT;
	is(v4lock_more(&c, &k, &o.fh, &l.id, &l), NFS4ERR_DENIED, "a write lock against it");
	at_home();
	v4c_op(&c, OP_REMOVE)->nfs_argop4_u.opremove.target = v4c_name(part);
	is(v4c_run(&c), NFS4_OK, "the file loses its name");
	is(release("lo lock"), NFS4_OK, "RELEASE_LOCKOWNER of one who has none");
	is(v4lock_free(&c, &k, &o.fh, &l.id, 0, ALL), NFS4ERR_BAD_STATEID, "whose stateid is gone");
	is(release("nobody"), NFS4_OK, "RELEASE_LOCKOWNER of nobody");
	is(v4owner_close(&c, &w, &o.fh, &o.id), NFS4_OK, "CLOSE of a file without a name");
}

/* --- data ------------------------------------------------------------------------------------ */

static uint64_t change_at(unsigned i)
{
	const fattr4 *f = &c.res.resarray.resarray_val[i].nfs_resop4_u.opgetattr.GETATTR4res_u.resok4.obj_attributes;
	struct cursor v;

	cursor_init_const(&v, f->attr_vals.attrlist4_val, f->attr_vals.attrlist4_len);
	return cursor_get_u64(&v);
}

static void data(void)
{
	static char big[17 << 16], back[sizeof(big)];
	struct v4owner w = owner("data");
	struct v4open o;
	uint32_t len = 0, got = 0;
	bool good = true;

	begin_part("data");
	o = made(&c, &w, RW, W);
	for (uint32_t i = 0; i < sizeof(big); i++)
		big[i] = (char)('a' + i % 17);
	/* More than a WRITE may have: some of it is written, and told. */
	while (len < sizeof(big)) {
		v4c_begin(&c);
		v4c_putfh(&c, &o.fh);
		v4c_write(&c, &o.id, len, FILE_SYNC4, big + len, (uint32_t)sizeof(big) - len);
		if (v4c_run(&c))
			break;
		len += v4c_res(&c, OP_WRITE)->nfs_resop4_u.opwrite.WRITE4res_u.resok4.count;
	}
	is(len, sizeof(big), "more than maxwrite, in as many WRITEs as it takes");
	while (got < sizeof(back)) {
		const READ4resok *ok;

		v4c_begin(&c);
		v4c_putfh(&c, &o.fh);
		v4c_read(&c, &o.id, got, (uint32_t)sizeof(back) - got);
		if (v4c_run(&c))
			break;
		ok = &v4c_res(&c, OP_READ)->nfs_resop4_u.opread.READ4res_u.resok4;
		memcpy(back + got, ok->data.data_val, ok->data.data_len);
		got += ok->data.data_len;
		if (ok->eof)
			break;
	}
	is(got == sizeof(back) && !memcmp(big, back, sizeof(big)), true, "is read back");
	for (uint32_t n = 0; n < 600 && good; n++) {
		v4c_begin(&c);
		v4c_putfh(&c, &o.fh);
		v4c_write(&c, &o.id, 0, UNSTABLE4, big, n < 300 ? n : n * 13);
		v4c_getattr(&c, 1u << FATTR4_SIZE, 0, 0);
		v4c_getattr(&c, 1u << FATTR4_SIZE, 0, 0);
		good = v4c_run(&c) == NFS4_OK;
	}
	is(good, true, "WRITEs of all lengths with two GETATTRs behind");
	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	for (unsigned i = 0; i < 4; i++) {
		v4c_getattr(&c, 1u << FATTR4_CHANGE, 0, 0);
		v4c_write(&c, &o.id, 10 * i, UNSTABLE4, "write data", 10);
	}
	v4c_getattr(&c, 1u << FATTR4_CHANGE, 0, 0);
	is(v4c_run(&c), NFS4_OK, "WRITEs in a row");
	for (unsigned i = 1; i < 9 && good; i += 2)
		good = change_at(i) != change_at(i + 2);
	is(good, true, "each moves the change attribute");
}

/* --- time ------------------------------------------------------------------------------------ */

static uint32_t renew(struct v4c *v)
{
	v4c_begin(v);
	v4c_op(v, OP_RENEW)->nfs_argop4_u.oprenew.clientid = v->clientid;
	return v4c_run(v);
}

/* Opens until the other one's lease is over, ten times as long at most. */
static uint32_t open_at_last(const char *name, struct v4owner *w, struct v4open *o)
{
	uint32_t st = NFS4ERR_SHARE_DENIED;

	for (int i = 0; i < 300 && st == NFS4ERR_SHARE_DENIED; i++) {
		st = v4owner_open(&d, w, &home, name, o);
		if (st)
			poll(NULL, 0, 100);
		renew(&d);
	}
	return st;
}

static void expired(void)
{
	struct v4owner w = owner("late"), k = owner("late lock"), v = owner("early");
	struct v4lock l = range(WRITE_LT, 0, ALL);
	struct v4open o, p = {.access = W};

	begin_part("late");
	is(v4c_setclientid(&d, "the other", "verifier"), NFS4_OK, "the other client");
	o = made(&c, &w, RW, W);
	is(v4lock_new(&c, &w, &o.fh, &o.id, &k, &l), NFS4_OK, "a lock");
	is(open_at_last(part, &v, &p), NFS4_OK, "another has the file when the lease is over");
	is(renew(&c), NFS4ERR_EXPIRED, "RENEW");
	is(v4lock_free(&c, &k, &o.fh, &l.id, 0, ALL), NFS4ERR_EXPIRED, "LOCKU");
	is(v4owner_close(&c, &w, &o.fh, &o.id), NFS4ERR_EXPIRED, "CLOSE");
	begin_part("late2");
	w = owner("late2");
	o = made(&c, &w, RW, RW);
	is(v4owner_close(&c, &w, &o.fh, &o.id), NFS4_OK, "the same client goes on as a new one");
}

/* --- all of it goes --------------------------------------------------------------------------- */

static unsigned removed;

/* As cleaning clients do: made writable, removed; a directory when it is empty. */
static bool clean(const struct v4c_fh *at, unsigned depth)
{
	struct v4f s;

	for (;;) {
		const entry4 *e;
		struct v4c_fh below;
		char name[256];
		uint32_t st;

		v4c_begin(&c);
		v4c_putfh(&c, at);
		v4c_op(&c, OP_READDIR)->nfs_argop4_u.opreaddir.maxcount = 4096;
		if (v4c_run(&c))
			return false;
		e = v4c_res(&c, OP_READDIR)->nfs_resop4_u.opreaddir.READDIR4res_u.resok4.reply.entries;
		if (!e)
			return true;
		snprintf(name, sizeof(name), "%.*s", (int)e->name.component4_len, e->name.component4_val);
		v4c_begin(&c);
		v4c_putfh(&c, at);
		v4c_lookup(&c, name);
		v4c_op(&c, OP_SETATTR)->nfs_argop4_u.opsetattr =
			(SETATTR4args){v4c_anonymous, v4f_u32(&s, FATTR4_MODE, 0755)};
		if (v4c_run(&c))
			return false;
		v4c_begin(&c);
		v4c_putfh(&c, at);
		v4c_op(&c, OP_REMOVE)->nfs_argop4_u.opremove.target = v4c_name(name);
		st = v4c_run(&c);
		if (st == NFS4ERR_NOTEMPTY && depth < 8) {
			if (v4f_lookup(&c, at, name, &below) || !clean(&below, depth + 1))
				return false;
			continue;
		}
		if (st)
			return false;
		removed++;
	}
}

static void cleaned(unsigned n)
{
	static const uint32_t types[] = {NF4DIR, NF4LNK, NF4BLK, NF4CHR, NF4SOCK, NF4FIFO};
	struct v4c_fh tree;
	char name[16];

	begin_part("clean");
	is(make(&home, "clean", NF4DIR) || v4f_lookup(&c, &home, "clean", &tree), false, "a directory");
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		snprintf(name, sizeof(name), "t%u", types[i]);
		is(make(&tree, name, types[i]), NFS4_OK, "one object of each type");
		is(make(&tree, name, types[i]), NFS4ERR_EXIST, "once");
	}
	is(clean(&home, 0), true, "everything is removed");
	is(removed > n, true, "and that was much");
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	host = argv[1];
	port = atoi(argv[2]);
	if (v4c_open(&c, host, port, 0) || v4c_open(&d, host, port, 0) || v4c_mount(&c, argv[3], &root))
		return 1;
	d.raw.uid = d.raw.gid = 1;
	begin_part("start");
	is(v4c_setclientid(&d, "the other", "verifier"), NFS4_OK, "another client");
	is(make(&root, "home", NF4DIR) || v4f_lookup(&c, &root, "home", &home), false, "a place to be");
	again("again");
	rerun();
	stolen();
	kept();
	lock_owners();
	data();
	identities();
	many((unsigned)atoi(argv[4]));
	again("anew");
	expired();
	cleaned((unsigned)atoi(argv[4]));
	v4c_close(&c);
	v4c_close(&d);
	return tap_done();
}
