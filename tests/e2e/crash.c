/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A writer that knows what it was promised.  It writes slots of a stamp map,
 * many in flight, with every stability, and notes each reply; when the server
 * dies it waits for the next one and checks that each byte is of a generation
 * no older than the last one promised (FILE_SYNC or DATA_SYNC, or UNSTABLE
 * under a COMMIT with the same verifier) and no newer than the last one sent.
 * Prints a line per life of the server.  Usage: crash HOST PORT PATH SEED LIVES
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/stamp.h"
#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

#define DEPTH 16
#define NEVER 0 /* generation 0: nothing promised yet */

struct state {
	unsigned sent, durable;		 /* generations */
	unsigned acked;			 /* last generation answered UNSTABLE ... */
	char verf[8];			 /* ... under this verifier */
	unsigned covered;		 /* acked before the COMMIT in flight was sent */
	char covered_verf[8];
	bool busy;
};

struct flight {
	unsigned slot, gen;
	bool busy;
	unsigned char *buf;
};

static struct v3c c;
static struct v3c_fh file;
static struct stamp_map map;
static struct state *state;
static struct flight flight[DEPTH];
static unsigned inflight;
static bool committing, broken;
static uint64_t seed, promised;

static void wrote(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct flight *f = private_data;
	struct state *s = &state[f->slot];
	WRITE3res *r = data;

	(void)rpc;
	f->busy = s->busy = false;
	inflight--;
	if (status != RPC_STATUS_SUCCESS) {
		broken = true;
		return;
	}
	if (r->status || r->WRITE3res_u.resok.count != map.slot[f->slot].len) {
		printf("# WRITE: status %d\n", r->status);
		return; /* nothing promised */
	}
	if (r->WRITE3res_u.resok.committed != UNSTABLE) {
		s->durable = f->gen;
		promised++;
	} else {
		s->acked = f->gen;
		memcpy(s->verf, r->WRITE3res_u.resok.verf, 8);
	}
}

static void committed(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	COMMIT3res *r = data;

	(void)rpc;
	(void)private_data;
	inflight--;
	committing = false;
	if (status != RPC_STATUS_SUCCESS) {
		broken = true;
		return;
	}
	if (r->status)
		return;
	for (unsigned i = 0; i < map.n; i++) {
		struct state *s = &state[i];

		if (s->covered > s->durable &&
		    !memcmp(s->covered_verf, r->COMMIT3res_u.resok.verf, 8)) {
			s->durable = s->covered;
			promised++;
		}
	}
}

static void send_commit(void)
{
	COMMIT3args a = { v3c_wire_fh(&file), 0, 0 };

	for (unsigned i = 0; i < map.n; i++) {
		state[i].covered = state[i].acked;
		memcpy(state[i].covered_verf, state[i].verf, 8);
	}
	committing = true;
	inflight++;
	if (rpc_nfs3_commit_async(c.rpc, committed, &a, NULL))
		broken = true;
}

static void send_write(struct flight *f)
{
	unsigned slot = stamp_random(&seed) % map.n, how = stamp_random(&seed) % 8;
	const struct stamp_slot *s = &map.slot[slot];

	if (state[slot].busy)
		return;
	f->slot = slot;
	f->gen = ++state[slot].sent;
	f->busy = state[slot].busy = true;
	inflight++;
	stamp_fill(f->buf, s, f->gen);
	WRITE3args a = { v3c_wire_fh(&file), s->offset, s->len, how > FILE_SYNC ? UNSTABLE : how,
			 { s->len, (char *)f->buf } };

	if (rpc_nfs3_write_async(c.rpc, wrote, &a, f))
		broken = true;
}

static void load(void)
{
	unsigned turn = 0;

	while (!broken) {
		struct pollfd p;

		for (int i = 0; i < DEPTH; i++)
			if (!flight[i].busy)
				send_write(&flight[i]);
		if (!committing && ++turn % 20 == 0)
			send_commit();
		p = (struct pollfd){ .fd = rpc_get_fd(c.rpc), .events = rpc_which_events(c.rpc) };
		if (poll(&p, 1, 30000) <= 0 || rpc_service(c.rpc, p.revents) < 0 ||
		    p.revents & POLLHUP)
			broken = true;
	}
}

/* Every byte is of one of the generations that may be there. */
static bool allowed(unsigned slot, const unsigned char *got)
{
	const struct stamp_slot *s = &map.slot[slot];
	static unsigned char want[STAMP_MAX], good[STAMP_MAX];
	unsigned lost = 0;

	memset(good, 0, s->len);
	for (unsigned gen = state[slot].durable; gen <= state[slot].sent; gen++) {
		if (gen == NEVER)
			memset(want, 0, s->len); /* a hole */
		else
			stamp_fill(want, s, gen);
		for (uint32_t i = 0; i < s->len; i++)
			good[i] |= want[i] == got[i];
	}
	for (uint32_t i = 0; i < s->len; i++)
		lost += !good[i];
	if (lost)
		printf("# slot %u at %llu, %u bytes: %u lost; promised %u, sent %u\n", slot,
		       (unsigned long long)s->offset, s->len, lost, state[slot].durable,
		       state[slot].sent);
	return !lost;
}

static bool verify(void)
{
	static unsigned char buf[STAMP_MAX];
	bool good = true;

	for (unsigned i = 0; i < map.n; i++) {
		const struct stamp_slot *s = &map.slot[i];

		memset(buf, 0, s->len);
		if (state[i].durable == NEVER && state[i].sent == NEVER)
			continue;
		if (v3c_read(&c, &file, s->offset, s->len, buf) != NFS3_OK ||
		    (c.r.count < s->len && state[i].durable != NEVER)) {
			printf("# READ of slot %u: status %d, %u of %u bytes\n", i, c.r.status,
			       c.r.count, s->len);
			return false;
		}
		good &= allowed(i, buf);
		/*
		 * what was read is what is there now: torn slots are
		 * written anew as one promised generation
		 */
		if (state[i].durable == state[i].sent)
			continue;
		state[i].sent++;
		stamp_fill(buf, s, state[i].sent);
		if (v3c_write(&c, &file, s->offset, s->len, FILE_SYNC, buf) != NFS3_OK ||
		    c.r.count != s->len)
			return false;
		state[i].durable = state[i].acked = state[i].sent;
	}
	return good;
}

static bool reconnect(const char *host, int port, const char *path)
{
	for (int tries = 0; tries < 600; tries++) {
		v3c_close(&c);
		if (!v3c_open(&c, host, port, 0, 0, 0, NULL) && !v3c_mnt(&c, path))
			return true;
		poll(NULL, 0, 50); /* the next try */
	}
	return false;
}

int main(int argc, char **argv)
{
	sattr3 mode = v3c_mode(0644);
	unsigned lives;

	if (argc != 6)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	seed = strtoull(argv[4], NULL, 0);
	lives = atoi(argv[5]);
	if (stamp_map_init(&map, seed, 8 << 20) || !(state = calloc(map.n, sizeof *state)))
		return 2;
	for (int i = 0; i < DEPTH; i++)
		flight[i].buf = malloc(STAMP_MAX);
	for (unsigned life = 0; life <= lives; life++) {
		if (!reconnect(argv[1], atoi(argv[2]), argv[3])) {
			tap_ok(false, "a server answers");
			break;
		}
		if (!life) {
			v3c_create(&c, &c.root, "crash", UNCHECKED, &mode, NULL);
			file = c.r.fh;
		} else if (!tap_ok(verify(),
				   "life %u: what was promised is there (%llu promises, seed %s)",
				   life, (unsigned long long)promised, argv[4])) {
			break;
		}
		if (life == lives)
			break;
		broken = committing = false;
		inflight = 0;
		printf("# life %u: writing\n", life + 1);
		fflush(stdout);
		load();
		for (unsigned i = 0; i < map.n; i++)
			state[i].busy = false;
		for (int i = 0; i < DEPTH; i++)
			flight[i].busy = false;
	}
	v3c_close(&c);
	for (int i = 0; i < DEPTH; i++)
		free(flight[i].buf);
	free(state);
	stamp_map_fini(&map);
	return tap_done();
}
