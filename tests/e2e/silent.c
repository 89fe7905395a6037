/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A client that asks and does not listen: one connection sends READs of 1 MiB
 * and never receives, while another does GETATTR; then the first one listens
 * and must get every reply, whole.
 * Usage: silent HOST PORT PATH READS SECONDS PID	(PID: the daemon, whose memory is watched)
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

#define SIZE (1u << 20)

static struct v3c quiet, other;
static unsigned good, wrong, outstanding;

static long rss_kb(const char *pid)
{
	char name[64], line[256];
	long kb = -1;
	FILE *f;

	snprintf(name, sizeof name, "/proc/%s/status", pid);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmRSS:", 6))
			kb = atol(line + 6);
	if (f)
		fclose(f);
	return kb;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void landed(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	READ3res *r = data;

	(void)rpc;
	(void)private_data;
	outstanding--;
	if (status == RPC_STATUS_SUCCESS && !r->status && r->READ3res_u.resok.count == SIZE &&
	    r->READ3res_u.resok.data.data_val[SIZE / 2] == 'x')
		good++;
	else
		wrong++;
}

/* Only ever push calls out: libnfs is not told that replies came. */
static void push(void)
{
	struct pollfd p = { .fd = rpc_get_fd(quiet.rpc), .events = POLLOUT };

	if (rpc_which_events(quiet.rpc) & POLLOUT && poll(&p, 1, 0) == 1 && p.revents & POLLOUT)
		rpc_service(quiet.rpc, POLLOUT);
}

static double worst_of_others(double seconds, const char *pid, long *peak)
{
	double end = now() + seconds, worst = 0;

	while (now() < end) {
		double t = now(), took;
		long kb = rss_kb(pid);

		if (v3c_getattr(&other, &other.root))
			return 1e9;
		took = now() - t;
		worst = took > worst ? took : worst;
		*peak = kb > *peak ? kb : *peak;
		push();
	}
	return worst;
}

int main(int argc, char **argv)
{
	static char block[SIZE];
	sattr3 mode = v3c_mode(0644);
	struct v3c_fh f;
	unsigned reads;
	long before, peak;
	double worst;

	if (argc != 7)
		return 2;
	reads = atoi(argv[4]);
	if (v3c_open(&other, argv[1], atoi(argv[2]), 0, 0, 0, NULL) || v3c_mnt(&other, argv[3]) ||
	    v3c_open(&quiet, argv[1], atoi(argv[2]), 0, 0, 0, NULL))
		return !tap_ok(false, "connect and mount") && tap_done();
	memset(block, 'x', sizeof block);
	v3c_create(&other, &other.root, "silent", UNCHECKED, &mode, NULL);
	f = other.r.fh;
	tap_is(v3c_write(&other, &f, 0, SIZE, FILE_SYNC, block), NFS3_OK, "a file of 1 MiB");
	tap_ok(v3c_read(&other, &f, 0, SIZE, block) == NFS3_OK && other.r.count == SIZE,
	       "can be read");
	before = peak = rss_kb(argv[6]);
	for (unsigned i = 0; i < reads; i++) {
		READ3args a = { v3c_wire_fh(&f), 0, SIZE };

		if (rpc_nfs3_read_async(quiet.rpc, landed, &a, NULL))
			return !tap_ok(false, "queue a READ") && tap_done();
		outstanding++;
	}
	worst = worst_of_others(atof(argv[5]), argv[6], &peak);
	printf("# memory %ld kB before, %ld kB at most; slowest GETATTR %.1f ms\n", before, peak,
	       worst * 1e3);
	tap_ok(worst < 1, "another client is served within a second all the while");
	tap_ok(peak < before + 300 * 1024, "memory stays bounded");
	for (double end = now() + 120; outstanding && now() < end;) {
		struct pollfd p = {.fd = rpc_get_fd(quiet.rpc),
				   .events = rpc_which_events(quiet.rpc)};

		if (poll(&p, 1, 10000) <= 0 || rpc_service(quiet.rpc, p.revents) < 0)
			break;
	}
	tap_ok(good == reads && !wrong,
	       "%u replies came whole when the client listened again (%u did not, %u missing)",
	       good, wrong, outstanding);
	v3c_remove(&other, &other.root, "silent");
	v3c_close(&quiet);
	v3c_close(&other);
	return tap_done();
}
