/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * flood4 HOST PORT N CONNECTIONS: N EXCHANGE_IDs and N SETCLIENTIDs, each of an owner never heard
 * of before or again, over CONNECTIONS connections for each of the two, many calls at a time;
 * meanwhile honest clients of both minor versions come in, one after the other.  Says in TAP how
 * that went.
 */
#include "config.h"

#include <endian.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

#define BATCH 64                        /* calls on their way on a connection */
#define OWNER 24                        /* bytes of an owner */
#define MARK "OWNER-OWNER-OWNER-OWNER-" /* where it stands in a call */
#define HONEST_S 2.0
#define PAUSE_MS 50

static const char *host;
static int port;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* One call of either kind as a record, its owner MARK. */
static uint8_t *template(struct v4c *c, size_t *len)
{
	struct rawnfs_call call;
	uint8_t *record;

	v4c_begin_bare(c);
	if (c->minor) {
		EXCHANGE_ID4args *a = &v4c_op(c, OP_EXCHANGE_ID)->nfs_argop4_u.opexchange_id;

		a->eia_clientowner.co_ownerid.co_ownerid_len = OWNER;
		a->eia_clientowner.co_ownerid.co_ownerid_val = (char *)(uintptr_t)MARK;
	} else {
		SETCLIENTID4args *a = &v4c_op(c, OP_SETCLIENTID)->nfs_argop4_u.opsetclientid;

		a->client.id.id_len = OWNER;
		a->client.id.id_val = (char *)(uintptr_t)MARK;
		a->callback.cb_program = 0x40000000;
		a->callback.cb_location.na_r_netid = (utf8string){3, (char *)(uintptr_t) "tcp"};
		a->callback.cb_location.na_r_addr =
			(utf8string){13, (char *)(uintptr_t) "127.0.0.1.0.0"};
	}
	v4c_encode(c, &call);
	record = rawnfs_record(&call, 0, len);
	rawnfs_call_end(&call);
	return record;
}

/* The next record of a batch: its own xid (behind the record mark) and owner. */
static void make(uint8_t *to, const uint8_t *record, size_t len, size_t at, uint32_t who,
		 uint32_t n)
{
	char owner[32];
	uint32_t xid = htobe32(n);

	memcpy(to, record, len);
	memcpy(to + 4, &xid, sizeof(xid));
	snprintf(owner, sizeof(owner), "nobody %06u %010u", who, n);
	memcpy(to + at, owner, OWNER);
}

static bool answered(struct v4c *c, unsigned count)
{
	struct rawnfs_reply reply;

	for (unsigned i = 0; i < count; i++) {
		uint32_t status;

		if (rawnfs_recv(&c->raw, &reply) || reply.denied || reply.stat)
			return false;
		status = cursor_get_u32(&reply.c);
		if (status != NFS4_OK && status != NFS4ERR_DELAY)
			return false;
	}
	return true;
}

static int flood(uint32_t minor, uint32_t who, uint32_t n)
{
	struct v4c c;
	uint8_t *record, *batch;
	size_t len, at;
	bool ok = true;

	if (v4c_open(&c, host, port, minor))
		return 1;
	record = template(&c, &len);
	at = (size_t)((uint8_t *)memmem(record, len, MARK, OWNER) - record);
	batch = malloc(len * BATCH);
	for (uint32_t i = 0; ok && i < n; i += BATCH) {
		unsigned count = n - i < BATCH ? n - i : BATCH;

		for (unsigned k = 0; k < count; k++)
			make(batch + k * len, record, len, at, who, i + k + 1);
		ok = !rawnfs_send_bytes(&c.raw, batch, count * len) && answered(&c, count);
	}
	free(batch);
	free(record);
	v4c_close(&c);
	return !ok;
}

/* In, with the root's attributes seen, within the time it takes; negative when it was refused. */
static double mount_once(uint32_t minor, unsigned n)
{
	double from = seconds();
	char owner[32];
	struct v4c c;
	uint32_t status;

	snprintf(owner, sizeof(owner), "honest %u", n);
	if (v4c_open(&c, host, port, minor))
		return -1;
	status = minor ? v4c_hello(&c, owner) : v4c_setclientid(&c, owner, "verifier");
	if (!status) {
		v4c_begin(&c);
		v4c_putrootfh(&c);
		v4c_getattr(&c, 1u << FATTR4_TYPE, 0, 0);
		status = v4c_run(&c);
	}
	v4c_close(&c);
	return status ? -1 : seconds() - from;
}

static unsigned reap(unsigned *left)
{
	unsigned failed = 0;
	int status;

	while (*left && waitpid(-1, &status, WNOHANG) > 0) {
		--*left;
		failed += status != 0;
	}
	return failed;
}

int main(int argc, char **argv)
{
	unsigned n, connections, left, failed = 0, refused = 0, mounts = 0;
	double worst = 0, from = seconds();

	if (argc != 5)
		return 2;
	host = argv[1];
	port = atoi(argv[2]);
	n = (unsigned)atoi(argv[3]);
	connections = (unsigned)atoi(argv[4]);
	left = 2 * connections;
	for (unsigned i = 0; i < left; i++)
		if (!fork())
			_exit(flood(i & 1, i, n / connections));
	while (left) {
		double took = mount_once(mounts & 1, mounts);

		mounts++;
		refused += took < 0;
		worst = took > worst ? took : worst;
		poll(NULL, 0, PAUSE_MS);
		failed += reap(&left);
	}
	printf("# %u of each in %.1f s\n", n, seconds() - from);
	tap_is(failed, 0, "every call of the flood is answered");
	tap_ok(!refused, "none of %u honest clients is refused (%u)", mounts, refused);
	tap_ok(worst < HONEST_S, "each is in within two seconds (%.3f)", worst);
	return tap_done();
}
