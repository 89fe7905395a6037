/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Several clients write one file at once: slots of a stamp map, aligned and
 * misaligned, neighbours owned by different clients, many WRITEs in flight,
 * two passes, COMMIT; then each client reads everything back.
 * Usage: mixed HOST PORT PATH SEED BYTES
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/stamp.h"
#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

#define CLIENTS 3
#define DEPTH 32
#define PASSES 2

struct client;

struct flight {
	struct client *owner;
	unsigned slot, gen;
	bool busy;
	unsigned char *buf;
};

struct client {
	struct v3c c;
	unsigned next; /* how many of its slots were begun */
	unsigned inflight;
	struct flight flight[DEPTH];
};

static struct client client[CLIENTS];
static struct stamp_map map;
static struct v3c_fh file;
static bool reading;
static unsigned gen, bad;

static void wrong(const struct flight *f, const char *what, int status, uint32_t count)
{
	const struct stamp_slot *s = &map.slot[f->slot];

	if (bad++ < 5)
		printf("# %s: slot %u at %llu, %u bytes: status %d count %u\n", what, f->slot,
		       (unsigned long long)s->offset, s->len, status, count);
}

static void landed(struct rpc_context *rpc, int rpc_status, void *data, void *private_data)
{
	struct flight *f = private_data;
	const struct stamp_slot *s = &map.slot[f->slot];

	(void)rpc;
	f->busy = false;
	f->owner->inflight--;
	if (rpc_status != RPC_STATUS_SUCCESS) {
		wrong(f, "RPC", rpc_status, 0);
	} else if (!reading) {
		WRITE3res *r = data;

		if (r->status || r->WRITE3res_u.resok.count != s->len)
			wrong(f, "WRITE", r->status, r->WRITE3res_u.resok.count);
	} else {
		READ3res *r = data;
		READ3resok *ok = &r->READ3res_u.resok;

		if (r->status || ok->count != s->len ||
		    stamp_check(ok->data.data_val, s, f->gen) >= 0)
			wrong(f, "READ", r->status, ok->count);
	}
}

static void take_off(struct client *k, struct flight *f, unsigned slot)
{
	const struct stamp_slot *s = &map.slot[slot];

	*f = (struct flight){ .owner = k, .slot = slot, .gen = gen, .busy = true, .buf = f->buf };
	k->inflight++;
	if (reading) {
		READ3args a = { v3c_wire_fh(&file), s->offset, s->len };

		if (rpc_nfs3_read_async(k->c.rpc, landed, &a, f))
			abort();
		return;
	}
	stamp_fill(f->buf, s, gen);
	WRITE3args a = {v3c_wire_fh(&file), s->offset, s->len, UNSTABLE, {s->len, (char *)f->buf}};

	if (rpc_nfs3_write_async(k->c.rpc, landed, &a, f))
		abort();
}

/*
 * Slots in an order that makes neighbours meet: each client
 * strides through its share from another start.
 */
static bool begin(struct client *k)
{
	unsigned who = k - client;

	while (k->inflight < DEPTH && k->next < map.n) {
		unsigned slot = (k->next++ + who * map.n / CLIENTS) % map.n;

		if (!reading && slot % CLIENTS != who)
			continue;
		for (int i = 0; i < DEPTH; i++)
			if (!k->flight[i].busy) {
				take_off(k, &k->flight[i], slot);
				break;
			}
	}
	return k->inflight > 0;
}

static bool run(void)
{
	bool more = true;

	for (int i = 0; i < CLIENTS; i++)
		client[i].next = 0;
	while (more && !bad) {
		struct pollfd p[CLIENTS];

		more = false;
		for (int i = 0; i < CLIENTS; i++) {
			more |= begin(&client[i]);
			p[i] = (struct pollfd){ .fd = rpc_get_fd(client[i].c.rpc),
						.events = rpc_which_events(client[i].c.rpc) };
		}
		if (more && poll(p, CLIENTS, 30000) <= 0) {
			printf("# no answer for 30 s\n");
			return false;
		}
		for (int i = 0; more && i < CLIENTS; i++)
			if (rpc_service(client[i].c.rpc, p[i].revents) < 0)
				return false;
	}
	return !bad;
}

int main(int argc, char **argv)
{
	uint64_t seed;
	sattr3 mode = v3c_mode(0644);
	bool good = true;

	if (argc != 6)
		return 2;
	seed = strtoull(argv[4], NULL, 0);
	if (stamp_map_init(&map, seed, strtoull(argv[5], NULL, 0)))
		return 2;
	for (int i = 0; i < CLIENTS; i++) {
		if (v3c_open(&client[i].c, argv[1], atoi(argv[2]), 0, 0, 0, NULL) ||
		    v3c_mnt(&client[i].c, argv[3]))
			return !tap_ok(false, "connect and mount") && tap_done();
		for (int k = 0; k < DEPTH; k++)
			client[i].flight[k].buf = malloc(STAMP_MAX);
	}
	v3c_create(&client[0].c, &client[0].c.root, "mixed", UNCHECKED, &mode, NULL);
	file = client[0].c.r.fh;
	for (gen = 0; gen < PASSES && good; gen++)
		good = run();
	gen = PASSES - 1;
	tap_ok(good, "%d clients wrote %u slots twice, seed %llu", CLIENTS, map.n,
	       (unsigned long long)seed);
	for (int i = 0; i < CLIENTS; i++)
		tap_is(v3c_commit(&client[i].c, &file, 0, 0), NFS3_OK, "COMMIT");
	reading = true;
	tap_ok(run(), "every client reads every stamp of the last pass");
	v3c_remove(&client[0].c, &client[0].c.root, "mixed");
	for (int i = 0; i < CLIENTS; i++) {
		v3c_close(&client[i].c);
		for (int k = 0; k < DEPTH; k++)
			free(client[i].flight[k].buf);
	}
	stamp_map_fini(&map);
	return tap_done();
}
