/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfsload: one file read or written over NFSv3 with many calls in flight, and
 * what that cost the server.  Sequential records are dealt out to the
 * connections in turn.  One line of JSON on standard output.
 */
#include "config.h"

#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/stamp.h"
#include "tests/lib/v3c.h"

#define CONNECTIONS_MAX 64

static const char usage[] =
	"usage: nfsload [OPTION]... HOST PORT EXPORT\n"
	"  -r            read (default: write UNSTABLE, then COMMIT)\n"
	"  -s SIZE       bytes a call (1048576)\n"
	"  -t TOTAL      bytes in all (1073741824)\n"
	"  -o OFFSET     where the first record starts (0)\n"
	"  -c N -d N     connections (1), calls in flight on each (16)\n"
	"  -R SEED       records in random order\n"
	"  -y            FILE_SYNC writes\n"
	"  -v            verify: read everything back after writing; check contents when reading\n"
	"  -f NAME       file in the export (nfsload)\n"
	"  -n            remove the file first\n"
	"  -p PID        report the CPU seconds this process (the server) used\n";

struct lane { /* one call in flight */
	struct connection *owner;
	uint64_t record;
	bool busy;
	char *buf;
};

struct connection {
	struct v3c c;
	struct lane *lane;
	unsigned inflight;
};

static struct connection connection[CONNECTIONS_MAX];
static unsigned connections = 1, depth = 16;
static uint64_t size = 1 << 20, total = 1 << 30, first, records, issued, seed;
static bool reading, verify, fresh;
static stable_how how = UNSTABLE;
static const char *file_name = "nfsload";
static struct v3c_fh file;
static uint64_t done_bytes, errors;
static uint64_t *order;
static char verifier[8];
static bool verifier_known, verifier_changed;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* CPU seconds, user and system, of all threads of `pid` so far. */
static double cpu_seconds(const char *pid)
{
	char path[64], text[1024], *p;
	unsigned long user = 0, sys = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fgets(text, sizeof text, f) && (p = strrchr(text, ')')))
		sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys);
	fclose(f);
	return (user + sys) / (double)sysconf(_SC_CLK_TCK);
}

static uint32_t record_len(uint64_t record)
{
	uint64_t left = total - record * size;

	return left < size ? left : size;
}

/* The record number in every 8 bytes; cheap enough not to be what is measured. */
static void record_fill(char *buf, uint64_t record, uint32_t len)
{
	uint64_t word = record * 0x9e3779b97f4a7c15u + 1;

	if (!verify) {
		memcpy(buf, &record, len < 8 ? len : 8);
		return;
	}
	for (uint32_t i = 0; i < len; i++)
		buf[i] = word >> (i % 8 * 8);
}

static bool record_good(const char *buf, uint64_t record, uint32_t len)
{
	uint64_t word = record * 0x9e3779b97f4a7c15u + 1;

	for (uint32_t i = 0; i < len; i++)
		if (buf[i] != (char)(word >> (i % 8 * 8)))
			return false;
	return true;
}

static void note_write(const WRITE3res *r, uint32_t len)
{
	const WRITE3resok *ok = &r->WRITE3res_u.resok;

	if (r->status || ok->count != len) {
		errors++;
		return;
	}
	done_bytes += len;
	if (!verifier_known)
		memcpy(verifier, ok->verf, 8);
	verifier_known = true;
	verifier_changed |= !!memcmp(verifier, ok->verf, 8);
}

static void landed(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct lane *l = private_data;
	uint32_t len = record_len(l->record);

	(void)rpc;
	l->busy = false;
	l->owner->inflight--;
	if (status != RPC_STATUS_SUCCESS) {
		errors++;
	} else if (!reading) {
		note_write(data, len);
	} else {
		READ3res *r = data;
		READ3resok *ok = &r->READ3res_u.resok;

		if (r->status || ok->count != len || (verify && !record_good(ok->data.data_val, l->record, len)))
			errors++;
		else
			done_bytes += len;
	}
}

static int send_one(struct connection *k, struct lane *l, uint64_t record)
{
	uint64_t offset = first + record * size;
	uint32_t len = record_len(record);

	l->record = record;
	l->busy = true;
	k->inflight++;
	if (reading) {
		READ3args a = { v3c_wire_fh(&file), offset, len };

		return rpc_nfs3_read_async(k->c.rpc, landed, &a, l);
	}
	record_fill(l->buf, record, len);
	WRITE3args a = { v3c_wire_fh(&file), offset, len, how, { len, l->buf } };

	return rpc_nfs3_write_async(k->c.rpc, landed, &a, l);
}

static int fill(struct connection *k)
{
	for (unsigned i = 0; i < depth && issued < records; i++)
		if (!k->lane[i].busy && send_one(k, &k->lane[i], order ? order[issued++] : issued++))
			return -1;
	return 0;
}

/* Everything once; 0, or -1 when the transport failed. */
static int pass(void)
{
	unsigned inflight = 1;

	issued = done_bytes = 0;
	while (inflight) {
		struct pollfd p[CONNECTIONS_MAX];

		inflight = 0;
		for (unsigned i = 0; i < connections; i++) {
			if (fill(&connection[i]))
				return -1;
			inflight += connection[i].inflight;
			p[i] = (struct pollfd){ .fd = rpc_get_fd(connection[i].c.rpc),
						.events = rpc_which_events(connection[i].c.rpc) };
		}
		if (!inflight)
			break;
		if (poll(p, connections, 60000) <= 0)
			return -1;
		for (unsigned i = 0; i < connections; i++)
			if (p[i].revents && rpc_service(connection[i].c.rpc, p[i].revents) < 0)
				return -1;
	}
	return 0;
}

static int commit(void)
{
	struct v3c *c = &connection[0].c;

	if (how != UNSTABLE)
		return 0;
	if (v3c_commit(c, &file, 0, 0) || verifier_changed || memcmp(verifier, c->r.verf, 8))
		errors++;
	return c->r.status == V3C_BROKEN ? -1 : 0;
}

static int prepare(const char *host, int port, const char *path)
{
	sattr3 mode = v3c_mode(0644);
	struct v3c *c = &connection[0].c;

	for (unsigned i = 0; i < connections; i++) {
		if (v3c_open(&connection[i].c, host, port, 0, 0, 0, NULL) || v3c_mnt(&connection[i].c, path))
			return -1;
		connection[i].lane = calloc(depth, sizeof *connection[i].lane);
		for (unsigned k = 0; k < depth; k++) {
			connection[i].lane[k].owner = &connection[i];
			connection[i].lane[k].buf = calloc(1, size);
		}
	}
	if (fresh)
		v3c_remove(c, &c->root, file_name);
	if (v3c_lookup(c, &c->root, file_name) && (reading || v3c_create(c, &c->root, file_name, GUARDED, &mode, NULL)))
		return -1;
	file = c->r.fh;
	return 0;
}

static void shuffle(void)
{
	order = malloc(records * sizeof *order);
	for (uint64_t i = 0; i < records; i++)
		order[i] = i;
	for (uint64_t i = records; i > 1; i--) {
		uint64_t k = stamp_random(&seed) % i, t = order[i - 1];

		order[i - 1] = order[k];
		order[k] = t;
	}
}

int main(int argc, char **argv)
{
	const char *pid = NULL;
	double start, seconds, cpu;
	int opt;

	while ((opt = getopt(argc, argv, "rs:t:o:c:d:R:yvf:np:")) != -1)
		switch (opt) {
		case 'r': reading = true; break;
		case 's': size = strtoull(optarg, NULL, 0); break;
		case 't': total = strtoull(optarg, NULL, 0); break;
		case 'o': first = strtoull(optarg, NULL, 0); break;
		case 'c': connections = atoi(optarg); break;
		case 'd': depth = atoi(optarg); break;
		case 'R': seed = strtoull(optarg, NULL, 0); break;
		case 'y': how = FILE_SYNC; break;
		case 'v': verify = true; break;
		case 'f': file_name = optarg; break;
		case 'n': fresh = true; break;
		case 'p': pid = optarg; break;
		default: fputs(usage, stderr); return 2;
		}
	if (argc - optind != 3 || !connections || connections > CONNECTIONS_MAX || !depth || !size) {
		fputs(usage, stderr);
		return 2;
	}
	records = (total + size - 1) / size;
	if (seed)
		shuffle();
	if (prepare(argv[optind], atoi(argv[optind + 1]), argv[optind + 2])) {
		fprintf(stderr, "nfsload: cannot reach the file: status %d\n", connection[0].c.r.status);
		return 1;
	}
	cpu = pid ? cpu_seconds(pid) : 0;
	start = now();
	if (pass() || (!reading && commit())) {
		fprintf(stderr, "nfsload: the connection failed: %s\n", rpc_get_error(connection[0].c.rpc));
		return 1;
	}
	seconds = now() - start;
	printf("{\"op\": \"%s\", \"size\": %llu, \"bytes\": %llu, \"seconds\": %.3f, \"mib_s\": %.1f, \"errors\": %llu",
	       reading ? "read" : "write", (unsigned long long)size, (unsigned long long)done_bytes, seconds,
	       done_bytes / seconds / (1 << 20), (unsigned long long)errors);
	if (pid)
		printf(", \"server_cpu_s\": %.2f", cpu_seconds(pid) - cpu);
	if (verify && !reading) {
		reading = true;
		if (pass())
			errors++;
		printf(", \"verify_errors\": %llu", (unsigned long long)errors);
	}
	puts("}");
	return errors ? 1 : 0;
}
