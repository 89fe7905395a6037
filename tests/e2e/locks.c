/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * locks HOST PORT DIR: LOCK, LOCKT, LOCKU and lock owners against the real
 * server, as two clients of 4.0 and two of 4.1, and as a process of this
 * machine that locks the same files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4owner.h"

#define ALL UINT64_MAX

static struct v4c c, d; /* two clients of one minor version */
static struct v4c_fh root;
static const char *dir;
static unsigned names;

/* A file one owner has open at the first client, another at the second. */
struct world {
	char name[32], owner_name[32], locker_name[32];
	struct v4owner w, v, locker, other;
	struct v4open o, p;
	int fd; /* here */
};

static bool set_up(struct world *x)
{
	char path[4096];

	snprintf(x->name, sizeof(x->name), "l%u.%u", c.minor, names++);
	snprintf(x->owner_name, sizeof(x->owner_name), "o%u", names);
	snprintf(x->locker_name, sizeof(x->locker_name), "k%u", names);
	x->w = (struct v4owner){x->owner_name, 3};
	x->v = (struct v4owner){x->owner_name, 5};
	x->locker = (struct v4owner){x->locker_name, 0};
	/* of the same name, but of the other client */
	x->other = (struct v4owner){x->locker_name, 9};
	x->o = (struct v4open){.access = 3, .create = true, .set_mode = true, .mode = 0666};
	x->p = (struct v4open){.access = 3};
	if (v4owner_open(&c, &x->w, &root, x->name, &x->o) ||
	    v4owner_open(&d, &x->v, &root, x->name, &x->p))
		return tap_ok(false, "%s is opened twice", x->name);
	snprintf(path, sizeof(path), "%s/%s", dir, x->name);
	x->fd = open(path, O_RDWR);
	return x->fd >= 0;
}

static void tear_down(struct world *x)
{
	close(x->fd);
	v4owner_close(&c, &x->w, &x->o.fh, &x->o.id);
	v4owner_close(&d, &x->v, &x->p.fh, &x->p.id);
}

static struct v4lock range(nfs_lock_type4 type, uint64_t offset, uint64_t length)
{
	return (struct v4lock){.type = type, .offset = offset, .length = length};
}

/* What a LOCKT by somebody else says: 0, or the type and the range that stand in the way. */
static bool held(struct world *x, nfs_lock_type4 type, uint64_t offset, uint64_t length)
{
	struct v4lock l = range(WRITE_LT, 0, ALL);

	return v4lock_test(&d, &x->o.fh, "tester", &l) == NFS4ERR_DENIED &&
	       l.denied.locktype == type && l.denied.offset == offset && l.denied.length == length;
}

static bool nothing_held(struct world *x)
{
	struct v4lock l = range(WRITE_LT, 0, ALL);

	return v4lock_test(&d, &x->o.fh, "tester", &l) == NFS4_OK;
}

static short here(struct world *x, off_t start, off_t len)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = len};

	return fcntl(x->fd, F_GETLK, &l) ? -1 : l.l_type;
}

/* --- ranges ---------------------------------------------------------------------- */

static void ranges(void)
{
	struct v4lock l = range(WRITE_LT, 25, 75);
	struct world x;

	if (!set_up(&x))
		return;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4_OK, "LOCK");
	tap_ok(held(&x, WRITE_LT, 25, 75), "LOCKT tells it");
	tap_is(here(&x, 0, 0), F_WRLCK, "a process here sees it");
	l.offset = 50;
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &l.id, &l), NFS4_OK, "an overlapping one");
	tap_ok(held(&x, WRITE_LT, 25, 100), "is merged with it");
	l = (struct v4lock){.type = READ_LT, .offset = 25, .length = 100, .id = l.id};
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &l.id, &l), NFS4_OK, "made a read lock");
	tap_ok(held(&x, READ_LT, 25, 100), "it is one");
	tap_is(here(&x, 0, 0), F_RDLCK, "here too");
	l.type = WRITE_LT;
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &l.id, &l), NFS4_OK, "and back");
	tap_ok(held(&x, WRITE_LT, 25, 100), "it is a write lock");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 50, 50), NFS4_OK, "LOCKU inside splits");
	tap_is(here(&x, 50, 50), F_UNLCK, "the middle is free");
	tap_is(here(&x, 100, 25), F_WRLCK, "the end is not");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 200, 50), NFS4_OK,
	       "LOCKU where nothing is locked");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 0, ALL), NFS4_OK, "LOCKU of all");
	tap_ok(nothing_held(&x), "leaves nothing");
	l = (struct v4lock){
		.type = WRITE_LT, .offset = 0xffffffffffffull, .length = ALL, .id = l.id};
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &l.id, &l), NFS4_OK, "far out to the end");
	tap_ok(held(&x, WRITE_LT, 0xffffffffffffull, ALL), "is told as that");
	l = (struct v4lock){.type = WRITE_LT, .offset = 1ull << 63, .length = 10, .id = l.id};
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &l.id, &l), NFS4_OK,
	       "beyond what files can have");
	tap_is(v4owner_close(&c, &x.w, &x.o.fh, &x.o.id), NFS4_OK, "CLOSE with locks held");
	tap_ok(nothing_held(&x), "frees them");
	tap_is(here(&x, 0, 0), F_UNLCK, "here too");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 0, ALL), NFS4ERR_BAD_STATEID,
	       "their stateid went with them");
	tear_down(&x);
}

/* --- what cannot be locked ---------------------------------------------------------- */

static void refused(void)
{
	static const struct {
		uint64_t offset, length;
	} bad[] = {{25, 0}, {100, UINT64_MAX - 1}, {UINT64_MAX, 2}};
	struct v4open o;
	struct v4lock l;
	struct world x;
	stateid4 id;

	if (!set_up(&x))
		return;
	for (unsigned i = 0; i < 3; i++) {
		l = range(WRITE_LT, bad[i].offset, bad[i].length);
		tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4ERR_INVAL,
		       "LOCK of no range");
		tap_is(v4lock_test(&c, &x.o.fh, "t", &l), NFS4ERR_INVAL, "LOCKT of it");
		if (c.minor == 0)
			x.w.seqid--; /* it was no request of the sequence */
	}
	l = range(WRITE_LT, 0, 10);
	tap_is(v4lock_new(&c, &x.w, NULL, &x.o.id, &x.locker, &l), NFS4ERR_NOFILEHANDLE,
	       "LOCK without a filehandle");
	tap_is(v4lock_test(&c, NULL, "t", &l), NFS4ERR_NOFILEHANDLE, "LOCKT without one");
	tap_is(v4lock_test(&c, &root, "t", &l), NFS4ERR_ISDIR, "LOCKT of a directory");
	id = v4owner_stale(x.o.id);
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &id, &x.locker, &l),
	       c.minor ? NFS4ERR_BAD_STATEID : NFS4ERR_STALE_STATEID, "by another start's stateid");
	id = (stateid4){0};
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &id, &x.locker, &l), NFS4ERR_BAD_STATEID,
	       "by the anonymous one");
	l.type = 7;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4ERR_BADXDR, "no type");
	l = range(WRITE_LT, 0, 10);
	l.reclaim = true;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4ERR_NO_GRACE,
	       "reclaimed without grace");
	l = range(WRITE_LT, 0, 10);
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4_OK, "LOCK");
	id = l.id;
	tap_is(v4lock_free(&c, &x.locker, NULL, &id, 0, 10), NFS4ERR_NOFILEHANDLE, "LOCKU of none");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &id, 1, 0), NFS4ERR_INVAL, "LOCKU of no range");
	if (c.minor == 0)
		x.locker.seqid--;
	id = v4owner_stale(l.id);
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &id, 0, 10),
	       c.minor ? NFS4ERR_BAD_STATEID : NFS4ERR_STALE_STATEID, "LOCKU by another start's");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &x.o.id, 0, 10), NFS4ERR_BAD_STATEID,
	       "by an open's");
	id = l.id;
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &id, 0, 10), NFS4_OK, "by its own");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 0, 10), NFS4ERR_OLD_STATEID,
	       "by the one of before");
	o = (struct v4open){.access = 1};
	tap_is(v4owner_open(&c, &(struct v4owner){"reader", 1}, &root, x.name, &o), NFS4_OK,
	       "opened to read");
	l = range(WRITE_LT, 0, 10);
	tap_is(v4lock_new(&c, &(struct v4owner){"reader", c.minor ? 0 : 3}, &o.fh, &o.id,
			  &(struct v4owner){"rk", 0}, &l),
	       NFS4ERR_OPENMODE, "is not locked to write");
	tear_down(&x);
}

/* --- others --------------------------------------------------------------------------- */

static void clients(void)
{
	struct v4lock l = range(WRITE_LT, 0, 10), m = range(READW_LT, 5, 10);
	struct world x;

	if (!set_up(&x))
		return;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4_OK, "one client locks");
	tap_is(v4lock_new(&d, &x.v, &x.p.fh, &x.p.id, &x.other, &m), NFS4ERR_DENIED,
	       "the other is denied");
	tap_ok(m.denied.owner.clientid == c.clientid &&
		       m.denied.owner.owner.owner_len == strlen(x.locker_name) &&
		       !memcmp(m.denied.owner.owner.owner_val, x.locker_name,
			       strlen(x.locker_name)),
	       "and told by whom");
	tap_ok(m.denied.offset == 0 && m.denied.length == 10 && m.denied.locktype == WRITE_LT,
	       "and of what");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 0, 10), NFS4_OK, "it is freed");
	tap_is(v4lock_new(&d, &x.v, &x.p.fh, &x.p.id, &x.other, &m), NFS4_OK, "the other has it");
	l = (struct v4lock){.type = READ_LT, .offset = 0, .length = ALL, .id = l.id};
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &l.id, &l), NFS4_OK, "both read");
	l.type = WRITE_LT;
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &l.id, &l), NFS4ERR_DENIED,
	       "then neither writes");
	tap_is(v4lock_test(&c, &x.o.fh, x.locker_name,
			   &(struct v4lock){.type = READ_LT, .offset = 0, .length = ALL}),
	       NFS4_OK, "LOCKT by whoever has it");
	tear_down(&x);
}

static void processes(void)
{
	struct flock f = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 10};
	struct v4lock l = range(READ_LT, 105, 1), t = range(WRITE_LT, 0, 99);
	struct world x;

	if (!set_up(&x))
		return;
	tap_is(fcntl(x.fd, F_SETLK, &f), 0, "a process here locks");
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4ERR_DENIED,
	       "a client is denied");
	tap_ok(l.denied.offset == 100 && l.denied.length == 10 &&
		       l.denied.owner.owner.owner_len == 0,
	       "by nobody it could know");
	l = range(READ_LT, 105, 1);
	tap_is(v4lock_test(&c, &x.o.fh, "t", &l), NFS4ERR_DENIED, "LOCKT tells it");
	tap_is(v4lock_test(&c, &x.o.fh, "t", &t), NFS4_OK, "and nothing where there is none");
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &t), NFS4_OK,
	       "beside it there is room");
	f = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
	tap_ok(fcntl(x.fd, F_SETLK, &f) && (errno == EAGAIN || errno == EACCES),
	       "which the process cannot have");
	tap_is(v4lock_test(&c, &x.o.fh, x.locker_name, &t), NFS4_OK,
	       "its own lock is not in its way");
	tear_down(&x);
}

/* --- 4.0 ---------------------------------------------------------------------------------- */

static void sequences(void)
{
	struct v4lock l = range(WRITE_LT, 0, 10), again;
	struct world x;
	stateid4 id;

	if (!set_up(&x))
		return;
	x.w.seqid += 20;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4ERR_BAD_SEQID,
	       "the open owner out of sequence");
	x.w.seqid -= 20;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4_OK, "in sequence");
	x.w.seqid--;
	x.locker.seqid--;
	id = l.id;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4_OK, "sent again");
	tap_ok(!memcmp(&id, &l.id, sizeof(id)), "is answered again");
	x.locker.seqid++;
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &l.id, &l), NFS4ERR_BAD_SEQID,
	       "the lock owner out of sequence");
	x.locker.seqid--;
	l = (struct v4lock){.type = WRITE_LT, .offset = 20, .length = 10};
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &id, &l), NFS4_OK, "in sequence");
	x.locker.seqid--;
	again = l;
	tap_is(v4lock_more(&c, &x.locker, &x.o.fh, &id, &again), NFS4_OK, "sent again");
	tap_ok(!memcmp(&again.id, &l.id, sizeof(id)), "is answered again");
	x.locker.seqid--;
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 0, 10), NFS4ERR_BAD_SEQID,
	       "another call of that number");
	x.locker.seqid++;
	id = l.id;
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 0, ALL), NFS4_OK, "LOCKU");
	x.locker.seqid--;
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &id, 0, ALL), NFS4_OK, "sent again");
	tap_ok(!memcmp(&id, &l.id, sizeof(id)), "is answered again");
	tear_down(&x);
}

static void foreign_clientids(void)
{
	struct v4lock l = range(WRITE_LT, 0, 10);
	clientid4 own = c.clientid;
	struct world x;

	if (!set_up(&x))
		return;
	c.clientid = 0;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4ERR_STALE_CLIENTID,
	       "LOCK by nobody's clientid");
	tap_is(v4lock_test(&c, &x.o.fh, "t", &l), NFS4ERR_STALE_CLIENTID, "LOCKT by it");
	c.clientid = own;
	tear_down(&x);
}

/* A denied LOCK is kept whole for its replay, however long the owner's name. */
static void long_names(void)
{
	struct v4lock l = range(WRITE_LT, 0, 10), m = range(WRITE_LT, 0, 10);
	static char big[1025];
	struct v4owner locker = {big, 0};
	struct world x;

	if (!set_up(&x))
		return;
	memset(big, 'n', sizeof(big) - 1);
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &locker, &l), NFS4_OK,
	       "a lock owner of 1024 bytes");
	for (int i = 0; i < 3; i++) {
		tap_is(v4lock_new(&d, &x.v, &x.p.fh, &x.p.id, &x.other, &m), NFS4ERR_DENIED,
		       i ? "sent again" : "stands against another");
		tap_ok(m.denied.owner.owner.owner_len == 1024 &&
			       !memcmp(m.denied.owner.owner.owner_val, big, 1024),
		       "by its whole name");
		if (d.minor == 0)
			x.v.seqid--;
	}
	if (d.minor == 0)
		x.v.seqid++;
	tear_down(&x);
}

static uint32_t release(const char *name)
{
	v4c_begin(&c);
	v4c_op(&c, OP_RELEASE_LOCKOWNER)->nfs_argop4_u.oprelease_lockowner.lock_owner =
		(lock_owner4){c.clientid, {(uint32_t)strlen(name), (char *)(uintptr_t)name}};
	return v4c_run(&c);
}

static void releases(void)
{
	struct v4lock l = range(WRITE_LT, 0, 10);
	struct world x;

	if (!set_up(&x))
		return;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4_OK, "LOCK");
	tap_is(release(x.locker_name), NFS4ERR_LOCKS_HELD, "RELEASE_LOCKOWNER of who has locks");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 0, ALL), NFS4_OK, "freed");
	tap_is(release(x.locker_name), NFS4_OK, "of who has none");
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 0, ALL), NFS4ERR_BAD_STATEID,
	       "then there is no such owner");
	tap_is(release("nobody"), NFS4_OK, "of nobody");
	tear_down(&x);
}

/* --- 4.1 ------------------------------------------------------------------------------------ */

static uint32_t free_stateid(const stateid4 *id)
{
	v4c_begin(&c);
	v4c_op(&c, OP_FREE_STATEID)->nfs_argop4_u.opfree_stateid.fsa_stateid = *id;
	return v4c_run(&c);
}

static void lock_stateids(void)
{
	struct v4lock l = range(WRITE_LT, 0, 10);
	struct world x;
	stateid4 id;

	if (!set_up(&x))
		return;
	tap_is(v4lock_new(&c, &x.w, &x.o.fh, &x.o.id, &x.locker, &l), NFS4_OK, "LOCK");
	tap_is(l.id.seqid, 1, "its stateid begins with 1");
	tap_is(free_stateid(&l.id), NFS4ERR_LOCKS_HELD, "FREE_STATEID with locks");
	id = l.id;
	tap_is(v4lock_free(&c, &x.locker, &x.o.fh, &l.id, 0, ALL), NFS4_OK, "freed");
	tap_is(free_stateid(&id), NFS4ERR_OLD_STATEID, "FREE_STATEID of the one of before");
	tap_is(free_stateid(&l.id), NFS4_OK, "of the one of now");
	tap_is(free_stateid(&l.id), NFS4ERR_BAD_STATEID, "once");
	tear_down(&x);
}

/* The current stateid: LOCK, WRITE and LOCKU in one COMPOUND. */
static void current(void)
{
	struct world x;
	LOCK4args *a;

	if (!set_up(&x))
		return;
	v4c_begin(&c);
	v4c_putfh(&c, &x.o.fh);
	a = &v4c_op(&c, OP_LOCK)->nfs_argop4_u.oplock;
	*a = (LOCK4args){.locktype = WRITE_LT, .length = ALL, .locker.new_lock_owner = TRUE};
	a->locker.locker4_u.open_owner = (open_to_lock_owner4){
		.open_stateid = x.o.id, .lock_owner.owner = {2, (char *)(uintptr_t) "cu"}};
	v4c_write(&c, &v4c_current, 0, FILE_SYNC4, "data", 4);
	v4c_op(&c, OP_LOCKU)->nfs_argop4_u.oplocku =
		(LOCKU4args){.locktype = WRITE_LT, .lock_stateid = v4c_current, .length = ALL};
	tap_is(v4c_run(&c), NFS4_OK, "LOCK, WRITE and LOCKU of the current stateid");
	tear_down(&x);
}

static void both(void)
{
	ranges();
	refused();
	clients();
	processes();
	long_names();
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 1;
	dir = argv[3];
	if (v4c_open(&c, argv[1], atoi(argv[2]), 0) || v4c_open(&d, argv[1], atoi(argv[2]), 0))
		return 1;
	tap_is(v4c_mount(&c, dir, &root), 0, "the export's root");
	tap_is(v4c_setclientid(&c, "one", "verifier"), NFS4_OK, "a client of 4.0");
	tap_is(v4c_setclientid(&d, "two", "verifier"), NFS4_OK, "and another");
	both();
	sequences();
	foreign_clientids();
	releases();
	v4c_close(&c);
	v4c_close(&d);
	if (v4c_open(&c, argv[1], atoi(argv[2]), 1) || v4c_open(&d, argv[1], atoi(argv[2]), 1))
		return 1;
	tap_is(v4c_hello(&c, "three"), NFS4_OK, "a client of 4.1");
	tap_is(v4c_hello(&d, "four"), NFS4_OK, "and another");
	both();
	lock_stateids();
	current();
	v4c_close(&c);
	v4c_close(&d);
	return tap_done();
}
