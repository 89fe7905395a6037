/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * nfsload: load for an NFS server from one thread, with as many connections
 * and calls in flight as asked for, and what that cost the server.  One line
 * of JSON, or of CSV, on standard output.
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/nfsload_cost.h"
#include "tools/nfsload_work.h"

static const char usage[] =
	"usage: nfsload [OPTION]... HOST PORT EXPORT        numbers take K, M and G\n"
	"  -w WORK       write (default: UNSTABLE, then COMMIT), read, mix, null, create, lookup, "
	"getattr,\n"
	"                readdir, readdirplus, remove, idle (connect and be silent for -T)\n"
	"  -r            the same as -w read\n"
	"  -s SIZE       bytes a call (1048576)\n"
	"  -t TOTAL      bytes of the file (1073741824)\n"
	"  -o OFFSET     where the first record starts (0)\n"
	"  -N COUNT      names f0000000 and so on in the directory, NULL calls, or walks through "
	"it (10000)\n"
	"  -c N -d N     connections (1), calls in flight on each (16)\n"
	"  -R SEED       records in random order, each once\n"
	"  -m PERCENT    reads of a mix (50)\n"
	"  -T SECONDS    go round for so long\n"
	"  -a RATE       open loop: so many calls a second are due, and latency counts from when "
	"one was due\n"
	"  -y            FILE_SYNC writes\n"
	"  -v            verify: read everything back after writing; check contents when reading\n"
	"  -f NAME       file or directory in the export (nfsload)\n"
	"  -n            remove the file first\n"
	"  -V VERSION    of NFS: 3 (default) or 4 (4.2, one slot of a session for each call in "
	"flight)\n"
	"  -M PORT       where MOUNT is served (PORT)\n"
	"  -p PID        report the CPU seconds this process (the server) used\n"
	"  -C            CSV; -CC with a line of names before it\n";

static struct client client;
static struct hist hist;
static struct work work = {
	.client = &client,
	.kind = "write",
	.name = "nfsload",
	.size = 1 << 20,
	.total = 1 << 30,
	.count = 10000,
	.read_percent = 50,
	.hist = &hist,
};
static pid_t server;
static unsigned csv;

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
	char *end;
	uint64_t v = strtoull(text, &end, 0);
	const char *unit = *end ? strchr("KMG", *end) : NULL;

	if (unit && end > text) {
		v <<= 10 * (unit - "KMG" + 1);
		end++;
	}
	if (!*text || *end || v < least || v > most) {
		fprintf(stderr, "nfsload: %s is no number from %llu to %llu\n", text,
			(unsigned long long)least, (unsigned long long)most);
		exit(2);
	}
	return v;
}

static int option(int opt, const char *arg)
{
	switch (opt) {
	case 'w': work.kind = arg; break;
	case 'r': work.kind = "read"; break;
	case 's': work.size = number(arg, 1, 1 << 24); break;
	case 't': work.total = number(arg, 1, 1ull << 50); break;
	case 'o': work.first = number(arg, 0, 1ull << 60); break;
	case 'N': work.count = number(arg, 1, 9999999); break;
	case 'c': client.links = number(arg, 1, LOOP_LINKS_MAX); break;
	case 'd': client.depth = number(arg, 1, LINK_DEPTH_MAX); break;
	case 'R': work.seed = number(arg, 1, UINT64_MAX); break;
	case 'm': work.read_percent = number(arg, 0, 100); break;
	case 'T': work.seconds = atof(arg); break;
	case 'a': client.rate = atof(arg); break;
	case 'y': work.stable = 2; break;
	case 'v': work.verify = true; break;
	case 'f': work.name = arg; break;
	case 'n': work.fresh = true; break;
	case 'V': client.proto = number(arg, 3, 4) == 4 ? &v4_proto : &v3_proto; break;
	case 'M': client.mount_port = number(arg, 1, 65535); break;
	case 'p': server = number(arg, 1, INT32_MAX); break;
	case 'C': csv++; break;
	default: return -1;
	}
	return 0;
}

static bool is_io(void)
{
	return !strcmp(work.kind, "read") || !strcmp(work.kind, "write") ||
	       !strcmp(work.kind, "mix");
}

static int parse(int argc, char **argv)
{
	int opt;

	client.proto = &v3_proto;
	client.links = 1;
	client.depth = 16;
	while ((opt = getopt(argc, argv, "w:rs:t:o:N:c:d:R:m:T:a:yvf:nM:p:CV:")) != -1)
		if (option(opt, optarg))
			return -1;
	if (argc - optind != 3 || (!is_io() && !meta_knows(work.kind) && strcmp(work.kind, "idle")))
		return -1;
	client.host = argv[optind];
	client.port = number(argv[optind + 1], 1, 65535);
	if (!client.mount_port)
		client.mount_port = client.port;
	return 0;
}

static int prepare(const char *path)
{
	if (loop_open(&client, is_io() && work.verify ? work.size : 0) ||
	    client.proto->attach(&client, path))
		return -1;
	return is_io() ? io_prepare(&work) : meta_knows(work.kind) ? meta_prepare(&work) : 0;
}

static int run(void)
{
	struct timespec t = { work.seconds, 0 };

	if (is_io())
		return io_run(&work);
	if (meta_knows(work.kind))
		return meta_run(&work);
	puts("idle"); /* whoever counts may begin */
	fflush(stdout);
	nanosleep(&t, NULL);
	return 0;
}

/* --- the report --------------------------------------------------------------------------- */

struct figure {
	const char *name;
	int digits;
	double value;
	bool wanted;
};

static void print(const struct figure *f, size_t n)
{
	for (size_t i = 0; csv > 1 && i < n; i++)
		printf("%s%s", f[i].name, i + 1 < n ? "," : "\n");
	for (size_t i = 0; i < n; i++) {
		if (csv)
			printf("%.*f%s", f[i].digits, f[i].value, i + 1 < n ? "," : "\n");
		else if (f[i].wanted)
			printf(", \"%s\": %.*f", f[i].name, f[i].digits, f[i].value);
	}
}

static void report(const struct cost *cost, uint64_t verify_errors)
{
	double us[] = { hist_quantile(&hist, 0.5) / 1e3, hist_quantile(&hist, 0.99) / 1e3,
			hist_quantile(&hist, 0.999) / 1e3, hist.max / 1e3 };
	struct figure f[] = {
		{ "size", 0, work.size, is_io() },
		{ "bytes", 0, work.bytes, is_io() },
		{ "ops", 0, work.ops, true },
		{ "seconds", 3, cost->wall, true },
		{ "commit_s", 3, work.commit_s, is_io() },
		{ "mib_s", 1, work.bytes / cost->wall / (1 << 20), is_io() },
		{ "ops_s", 0, work.ops / cost->wall, true },
		{ "mean_us", 1, hist_mean(&hist) / 1e3, true },
		{ "p50_us", 1, us[0], true },
		{ "p99_us", 1, us[1], true },
		{ "p999_us", 1, us[2], true },
		{ "max_us", 1, us[3], true },
		{ "errors", 0, work.errors, true },
		{ "client_cpu_s", 3, cost->client, true },
		{ "machine_cpu_s", 3, cost->machine, true },
		{ "server_cpu_s", 3, cost->server, server != 0 },
		{ "verify_errors", 0, verify_errors, work.verify },
	};

	if (!csv)
		printf("{\"op\": \"%s\"", work.kind);
	print(f, sizeof f / sizeof *f);
	if (!csv)
		puts("}");
}

int main(int argc, char **argv)
{
	struct cost before, cost;
	uint64_t errors;

	if (parse(argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (prepare(argv[optind + 2])) {
		fprintf(stderr, "nfsload: %s\n", client.error);
		return 1;
	}
	before = cost_take(server);
	if (run()) {
		fprintf(stderr, "nfsload: %s\n", client.error);
		return 1;
	}
	cost = cost_since(&before, server);
	errors = work.errors;
	if (work.verify && !strcmp(work.kind, "write") && io_verify(&work))
		work.errors++;
	if (client.proto->detach)
		client.proto->detach(&client);
	report(&cost, work.errors - (strcmp(work.kind, "write") ? 0 : errors));
	return work.errors ? 1 : 0;
}
