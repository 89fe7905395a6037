/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * buffers HOST PORT DIR: COMPOUNDs that have one of the server's few large buffers and ask for
 * another, on as many connections as there are buffers and more. The server has one worker and as
 * few buffers as it can have; DIR is an export.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4owner.h"

#define BUFFERS 4 /* large ones of a worker, at least */
#define CONNS (BUFFERS + 2)
#define SIZE (1u << 20)
#define PLAIN 9000 /* more than a request has room for itself */
#define WAIT_MS 10000

static struct v4c c, conn[CONNS];
static struct v4c_fh root;
static struct v4owner w = {"owner", 1};
static struct v4open o = {.access = 3, .create = true, .set_mode = true, .mode = 0666};
static char data[SIZE];

/* Where the large buffer comes from, and where the READ stands. */
enum kind { LONG_CALL, PAYLOAD_LAST, PAYLOAD_FIRST, KINDS };
static const char *const kinds[] = {
	[LONG_CALL] = "a call with much behind the first WRITE",
	[PAYLOAD_LAST] = "a WRITE behind a READ",
	[PAYLOAD_FIRST] = "a READ behind a WRITE",
};

static void put_kind(struct v4c *v, enum kind kind)
{
	v4c_begin(v);
	v4c_putfh(v, &o.fh);
	if (kind == PAYLOAD_LAST)
		v4c_read(v, &o.id, 0, SIZE);
	v4c_write(v, &o.id, 0, UNSTABLE4, data, kind == LONG_CALL ? 16 : SIZE);
	if (kind == LONG_CALL)
		v4c_write(v, &o.id, 4096, UNSTABLE4, data + 4096, PLAIN);
	if (kind != PAYLOAD_LAST)
		v4c_read(v, &o.id, 0, SIZE);
}

/* All but the last bytes: the server has its buffer and cannot begin yet.  The rest, malloc'd. */
static uint8_t *send_most(struct v4c *v, enum kind kind, size_t *left)
{
	struct rawnfs_call call;
	size_t len;
	uint8_t *record, *rest;

	put_kind(v, kind);
	v4c_encode(v, &call);
	record = rawnfs_record(&call, 0, &len);
	rawnfs_call_end(&call);
	*left = 8;
	rest = malloc(*left);
	memcpy(rest, record + len - *left, *left);
	tap_ok(!rawnfs_send_bytes(&v->raw, record, len - *left), "a COMPOUND is sent but its end");
	free(record);
	return rest;
}

static void send_all(struct v4c *v, enum kind kind)
{
	struct rawnfs_call call;

	put_kind(v, kind);
	v4c_encode(v, &call);
	tap_ok(!rawnfs_send(&v->raw, &call, 0), "a COMPOUND is sent");
	rawnfs_call_end(&call);
}

static uint32_t count_of(struct v4c *v)
{
	const nfs_resop4 *r = v4c_res(v, OP_READ);

	return r ? r->nfs_resop4_u.opread.READ4res_u.resok4.data.data_len : 0;
}

/* Answered, and the READ well or put off; true: well. */
static bool check_answer(struct v4c *v, enum kind kind)
{
	struct rawnfs_reply reply;
	uint32_t st;

	if (!tap_ok(rawnfs_readable(&v->raw, WAIT_MS), "there is an answer"))
		return false;
	v->err = rawnfs_recv(&v->raw, &reply);
	st = v4c_take(v, &reply);
	tap_ok(st == NFS4_OK || (st == NFS4ERR_DELAY && v4c_last(v) == OP_READ),
	       "all is well, or the READ is put off (%u)", st);
	if (kind != PAYLOAD_LAST || !st)
		tap_is(v4c_status(v, OP_WRITE), NFS4_OK, "the WRITE is done");
	if (!st)
		tap_is(count_of(v), SIZE, "the READ is whole");
	return !st;
}

/* What others get meanwhile and afterwards. */
static void honest_read(void)
{
	struct rawnfs_call call;
	struct rawnfs_reply reply;

	v4c_begin(&c);
	v4c_putfh(&c, &o.fh);
	v4c_read(&c, &o.id, 0, SIZE);
	v4c_encode(&c, &call);
	tap_ok(!rawnfs_send(&c.raw, &call, 0), "a READ by somebody else");
	rawnfs_call_end(&call);
	if (!tap_ok(rawnfs_readable(&c.raw, WAIT_MS), "is answered"))
		return;
	c.err = rawnfs_recv(&c.raw, &reply);
	tap_is(v4c_take(&c, &reply), NFS4_OK, "well");
	tap_ok(count_of(&c) == SIZE &&
		       !memcmp(v4c_res(&c, OP_READ)
				       ->nfs_resop4_u.opread.READ4res_u.resok4.data.data_val,
			       data, SIZE),
	       "with all of the data");
}

static void all_at_once(enum kind kind)
{
	uint8_t *rest[BUFFERS];
	size_t left[BUFFERS];
	unsigned well = 0;

	printf("# %s\n", kinds[kind]);
	for (int i = 0; i < BUFFERS; i++) {
		rest[i] = send_most(&conn[i], kind, &left[i]);
		tap_ok(!rawnfs_flush(&conn[i].raw), "which the server has");
	}
	for (int i = BUFFERS; i < CONNS; i++)
		send_all(&conn[i], kind);
	for (int i = 0; i < BUFFERS; i++) {
		tap_ok(!rawnfs_send_bytes(&conn[i].raw, rest[i], left[i]), "now its end");
		free(rest[i]);
	}
	for (int i = 0; i < CONNS; i++)
		well += check_answer(&conn[i], kind);
	if (kind == PAYLOAD_FIRST)
		tap_is(well, CONNS, "none is put off");
	else
		printf("# %u are not put off\n", well);
	honest_read();
}

/* A connection, and data on it: before that the server gives it less. */
static bool prepare(struct v4c *v, const char *host, int port, uint32_t slot)
{
	if (!tap_ok(!v4c_join(v, &c, host, port, slot), "a connection"))
		return false;
	v4c_begin(v);
	v4c_putfh(v, &o.fh);
	v4c_write(v, &o.id, 0, UNSTABLE4, data, SIZE);
	return tap_is(v4c_run(v), NFS4_OK, "which WRITEs");
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 1;
	for (unsigned i = 0; i < SIZE; i++)
		data[i] = (char)(i * 7 + (i >> 8));
	if (v4c_open(&c, argv[1], atoi(argv[2]), 1))
		return 1;
	tap_is(v4c_mount(&c, argv[3], &root), 0, "the export's root");
	tap_is(v4c_hello(&c, "client"), NFS4_OK, "a client");
	tap_is(v4owner_open(&c, &w, &root, "f", &o), NFS4_OK, "a file is open");
	for (unsigned i = 0; i < CONNS; i++)
		if (!prepare(&conn[i], argv[1], atoi(argv[2]), i + 1))
			return tap_done();
	for (enum kind k = 0; k < KINDS; k++)
		all_at_once(k);
	for (unsigned i = 0; i < CONNS; i++)
		v4c_close(&conn[i]);
	v4c_close(&c);
	return tap_done();
}
