/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * frozen HOST PORT DIR: requests that take long, since the file system of DIR, which is an export,
 * is frozen meanwhile: sent again on another connection they are answered by the end of the first;
 * and who waits for one is not taken to be silent.  The server's lease is two seconds.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4owner.h"

#define SLOT 3
#define LEASE_S 2
#define SIZE (256 * 1024)
#define PLAIN 9000 /* more than a request has room for itself */

static const char *host, *dir;
static int port, fs;
static struct v4c c, one, two, three;
static struct v4c_fh root;
static struct v4owner w = {"owner", 1};
static struct v4open o = {.access = 3, .create = true, .set_mode = true, .mode = 0666};
static uint32_t seqid; /* of the slot's last request */
static bool plain; /* the WRITE's data are in the call, which needs memory of its own */
static char data[SIZE];

static void freeze(void)
{
	tap_ok(!ioctl(fs, FIFREEZE, 0), "the file system is frozen");
}

static void thaw(void)
{
	tap_ok(!ioctl(fs, FITHAW, 0), "it goes on");
}

/* A connection more, and an answer on it: what was sent on it before is at work. */
static bool join(struct v4c *v)
{
	return tap_ok(!v4c_join(v, &c, host, port, 0), "another connection");
}

/* The WRITE that blocks, on the slot of this test; the same each time. */
static void send_write(struct v4c *v, bool cachethis)
{
	struct rawnfs_call call;

	v4c_begin_bare(v);
	v4c_sequence(v, SLOT, seqid, cachethis);
	v4c_putfh(v, &o.fh);
	if (plain) /* nobody looks for data behind a COMMIT */
		v4c_commit(v, 0, 0);
	v4c_write(v, &o.id, 0, FILE_SYNC4, data, plain ? PLAIN : SIZE);
	v4c_encode(v, &call);
	tap_ok(!rawnfs_send(&v->raw, &call, 0), "a WRITE is sent");
	rawnfs_call_end(&call);
}

static uint32_t take(struct v4c *v)
{
	struct rawnfs_reply reply;

	v->err = rawnfs_recv(&v->raw, &reply);
	return v4c_take(v, &reply);
}

/* The server has begun with all that came on this connection: it answers what came behind. */
static void settle(struct v4c *v, uint32_t slot)
{
	static uint32_t at[V4C_SLOTS];

	v4c_begin_bare(v);
	v4c_sequence(v, slot, ++at[slot], false);
	tap_is(v4c_run(v), NFS4_OK, "which the server works at");
}

static void check_written(struct v4c *v, const char *what)
{
	tap_is(take(v), NFS4_OK, what);
	tap_is(v4c_status(v, OP_WRITE), NFS4_OK, "its own reply");
	tap_is(v4c_res(v, OP_WRITE)
		       ? v4c_res(v, OP_WRITE)->nfs_resop4_u.opwrite.WRITE4res_u.resok4.count
		       : 0,
	       plain ? PLAIN : SIZE, "all is written");
}

static void last_of_three(bool cachethis)
{
	if (!join(&one) || !join(&two) || !join(&three))
		return;
	seqid++;
	freeze();
	send_write(&one, cachethis);
	settle(&one, 4);
	send_write(&two, cachethis);
	settle(&two, 5);
	send_write(&three, cachethis);
	tap_is(take(&two), NFS4ERR_DELAY, "a second is told to come again when there is a third");
	tap_ok(!rawnfs_readable(&three.raw, 0) && !rawnfs_readable(&one.raw, 0), "the others wait");
	thaw();
	check_written(&one, "the first is answered");
	check_written(&three, "so is the third");
	v4c_close(&one);
	v4c_close(&two);
	v4c_close(&three);
}

static void first_cut(void)
{
	if (!join(&one) || !join(&two))
		return;
	seqid++;
	freeze();
	send_write(&one, false);
	settle(&one, 6);
	v4c_close(&one);
	send_write(&two, false);
	settle(&two, 7);
	thaw();
	check_written(&two,
		      "it is answered where it was sent again, when the first connection is gone");
	v4c_close(&two);
}

/* What must not be done twice, met on the worker or, behind a LOOKUP, on an offload thread. */
static void put_change(struct v4c *v, nfs_opnum4 op, bool below)
{
	v4c_putfh(v, &root);
	if (below)
		v4c_lookup(v, "below");
	if (op == OP_REMOVE) {
		v4c_op(v, op)->nfs_argop4_u.opremove.target = v4c_name("gone");
	} else {
		CREATE4args *a = &v4c_op(v, op)->nfs_argop4_u.opcreate;

		a->objtype.type = NF4DIR;
		a->objname = v4c_name("made");
	}
}

static void send_change(struct v4c *v, nfs_opnum4 op, bool below)
{
	struct rawnfs_call call;

	v->raw.xid = 0x40404040 + 2 * op + below;
	v4c_begin(v);
	put_change(v, op, below);
	v4c_encode(v, &call);
	tap_ok(!rawnfs_send(&v->raw, &call, 0), "%s is sent",
	       op == OP_REMOVE ? "REMOVE" : "CREATE");
	rawnfs_call_end(&call);
}

static void settle_40(struct v4c *v, const char *what)
{
	v4c_begin(v);
	v4c_putrootfh(v);
	tap_is(v4c_run(v), NFS4_OK, what);
}

/* What is sent to 4.0 twice, with the same xid, first by a connection that is gone then. */
static void sent_again_in_4_0(nfs_opnum4 op, bool below)
{
	const char *at = below ? "below/gone" : "gone";
	int fd = openat(fs, at, O_CREAT | O_RDWR | O_CLOEXEC, 0666);

	tap_ok(fd >= 0 && !close(fd), "there is a file");
	if (!tap_ok(!v4c_open(&one, host, port, 0) && !v4c_open(&two, host, port, 0),
		    "two connections of 4.0"))
		return;
	freeze();
	send_change(&one, op, below);
	settle_40(&one, "which the server works at");
	v4c_close(&one);
	send_change(&two, op, below);
	settle_40(&two, "it works at both");
	thaw();
	tap_is(take(&two), NFS4_OK, "it is done once, and answered where it was sent again");
	send_change(&two, op, below);
	tap_is(take(&two), NFS4_OK, "and once more from what is kept of it");
	v4c_close(&two);
}

static uint32_t destroy(void)
{
	v4c_begin_bare(&c);
	memcpy(v4c_op(&c, OP_DESTROY_SESSION)->nfs_argop4_u.opdestroy_session.dsa_sessionid,
	       c.sessionid, 16);
	return v4c_run(&c);
}

static void all_cut(void)
{
	uint32_t st;

	if (!join(&one) || !join(&two))
		return;
	seqid++;
	freeze();
	send_write(&one, true);
	settle(&one, 8);
	send_write(&two, true);
	settle(&two, 9);
	rawnfs_reset(&two.raw);
	rawnfs_reset(&one.raw);
	tap_is(destroy(), NFS4ERR_DELAY, "a session in use is not destroyed");
	thaw();
	v4c_close(&two);
	v4c_close(&one);
	if (!join(&one))
		return;
	send_write(&one, true);
	check_written(&one, "the reply nobody was there to take is in the slot");
	v4c_close(&one);
	/* The second of those that were cut still ends. */
	do
		st = destroy();
	while (st == NFS4ERR_DELAY && !poll(NULL, 0, 20));
	tap_is(st, NFS4_OK, "the session can be destroyed");
	c.session = false;
}

/*
 * A 4.0 client that waits for its WRITE for longer than a lease; another is after what it denies.
 */
static void served_beyond_the_lease(void)
{
	struct v4owner mine = {"mine", 1}, other = {"other", 1};
	struct v4open denies = {.access = 3,
				.deny = 2,
				.create = true,
				.set_mode = true,
				.mode = 0666},
		      p = {.access = 2};
	struct rawnfs_call call;
	time_t end;
	uint32_t st;

	if (!tap_ok(!v4c_open(&one, host, port, 0) && !v4c_open(&two, host, port, 0),
		    "two clients of 4.0"))
		return;
	v4c_setclientid(&one, "one", "verifier");
	v4c_setclientid(&two, "two", "verifier");
	tap_is(v4owner_open(&one, &mine, &root, "g", &denies), NFS4_OK, "one denies writing");
	freeze();
	v4c_begin(&one);
	v4c_putfh(&one, &denies.fh);
	v4c_write(&one, &denies.id, 0, FILE_SYNC4, data, SIZE);
	v4c_encode(&one, &call);
	tap_ok(!rawnfs_send(&one.raw, &call, 0), "and writes");
	rawnfs_call_end(&call);
	end = time(NULL) + 2 * LEASE_S + 1;
	do
		st = v4owner_open(&two, &other, &root, "g", &p);
	while (st == NFS4ERR_SHARE_DENIED && time(NULL) < end && !poll(NULL, 0, 50));
	tap_is(st, NFS4ERR_SHARE_DENIED, "its denial outlives the lease");
	thaw();
	tap_is(take(&one), NFS4_OK, "its WRITE ends");
	tap_is(v4owner_open(&two, &other, &root, "g", &p), NFS4ERR_SHARE_DENIED,
	       "and it has a lease from then on");
	do
		st = v4owner_open(&two, &other, &root, "g", &p);
	while (st == NFS4ERR_SHARE_DENIED && time(NULL) < end + 10 * LEASE_S && !poll(NULL, 0, 50));
	tap_is(st, NFS4_OK, "until that is over");
	v4c_close(&one);
	v4c_close(&two);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 1;
	host = argv[1];
	port = atoi(argv[2]);
	dir = argv[3];
	fs = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fs < 0 || v4c_open(&c, host, port, 1))
		return 1;
	tap_is(v4c_mount(&c, dir, &root), 0, "the export's root");
	tap_is(v4c_hello(&c, "client"), NFS4_OK, "a client of 4.1");
	tap_is(v4owner_open(&c, &w, &root, "f", &o), NFS4_OK, "a file is open");
	last_of_three(false);
	last_of_three(true);
	first_cut();
	plain = true;
	first_cut();
	last_of_three(true);
	plain = false;
	tap_ok(!mkdirat(fs, "below", 0777), "a directory");
	for (int below = 0; below < 2; below++) {
		sent_again_in_4_0(OP_REMOVE, below);
		sent_again_in_4_0(OP_CREATE, below);
	}
	all_cut();
	v4c_close(&c);
	served_beyond_the_lease();
	close(fs);
	return tap_done();
}
