/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drill NAME SOURCE OPTIONS SIZE FS BYTES SEED CUTS STEP...: mount, do the steps, unmount; a line
 * of TAP each on standard output, numbered 0 (whoever adopts them numbers them).
 * drill source BYTES: what the large file is, on standard output.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kernel/drill.h"

#define ANSWER_TRIES 11000
#define ANSWER_MS 20

static const struct step {
	const char *word, *name;
	bool (*run)(const struct drill *d);
} steps[] = {
	{"tree", "a tree is the same after a fresh mount", drill_tree},
	{"direct", "odd block sizes with O_DIRECT", drill_direct},
	{"open", "files renamed and unlinked while open", drill_open_files},
	{"truncate", "truncate and extend", drill_truncate},
	{"stamps", "two mounts write one file, every stamp is right", drill_stamps},
	{"flock", "flock between two mounts", drill_flock},
	{"fcntl", "fcntl between two mounts", drill_fcntl},
	{"wait", "one mount waits for a lock of the other", drill_wait_lock},
	{"umask", "modes under every umask", drill_umask},
	{"statfs", "statfs and stat", drill_statfs},
	{"holes", "holes punched, allocated and found", drill_holes},
	{"copies", "copied and cloned by the server", drill_copies},
	{"xattrs", "extended attributes", drill_xattrs},
	{"empty", "everything can be removed", drill_empty},
	{"first", "the first OPEN is answered at once", drill_first_open},
	{"restart-copy", "kill -9 and restart in the middle of a copy", drill_restart_copy},
	{"restart-lock", "kill -9 and restart while a lock is held", drill_restart_lock},
	{"cuts", "the connections cut in the middle of I/O", drill_cuts},
	{"large-write", "a large file written in misaligned pieces", drill_large_write},
	{"large-read", "read in misaligned pieces", drill_large_read},
	{"large-cached", "read through the cache after a fresh mount", drill_large_cached},
	{"large-remove", "removed", drill_large_remove},
};

bool drill_failed(const char *file, int line, const char *what)
{
	printf("# %s:%d: %s: %s\n", file, line, what, strerror(errno));
	return false;
}

double drill_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool drill_attach(const struct drill *d, const char *where, unsigned size)
{
	char options[512];

	snprintf(options, sizeof(options), "%s,rsize=%u,wsize=%u", d->options, size, size);
	MUST(!mount(d->source, where, "nfs", 0, options));
	return true;
}

bool drill_detach(const char *where)
{
	MUST(!umount2(where, 0));
	return true;
}

bool drill_remount(const struct drill *d)
{
	return drill_detach(DRILL_A) && drill_attach(d, DRILL_A, d->size);
}

bool drill_reap(pid_t pid)
{
	int status = 0;

	MUST(waitpid(pid, &status, 0) == pid);
	MUST(status == 0);
	return true;
}

static bool ask_host(const char *line)
{
	FILE *f = fopen("ask.new", "w");

	MUST(f);
	MUST(fputs(line, f) >= 0 && !fclose(f));
	MUST(!rename("ask.new", "ask"));
	for (int i = 0; i < ANSWER_TRIES && access("done", F_OK); i++)
		poll(NULL, 0, ANSWER_MS);
	return true;
}

bool drill_ask(const char *fmt, ...)
{
	char line[512];
	int status = -1;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	unlink("done");
	MUST(ask_host(line));
	f = fopen("done", "r");
	MUST(f);
	if (fscanf(f, "%d\n", &status) != 1)
		status = -1;
	while (fgets(line, sizeof(line), f))
		printf("# %s", line);
	fclose(f);
	MUST(status == 0);
	return true;
}

static bool report(const char *name, const char *what, bool ok, double from)
{
	printf("%s 0 - %s: %s\n# %.0f ms\n", ok ? "ok" : "not ok", name, what,
	       (drill_seconds() - from) * 1e3);
	fflush(stdout);
	return ok;
}

static bool run_step(const struct drill *d, const char *name, const char *word)
{
	double from = drill_seconds();

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (!strcmp(steps[i].word, word))
			return report(name, steps[i].name, steps[i].run(d), from);
	return report(name, word, false, from);
}

int main(int argc, char **argv)
{
	double from = drill_seconds();
	struct drill d;
	bool ok;

	if (argc == 3 && !strcmp(argv[1], "source"))
		return !drill_source(strtoull(argv[2], NULL, 10));
	if (argc < 9) {
		fprintf(stderr,
			"usage: drill NAME SOURCE OPTIONS SIZE FS BYTES SEED CUTS STEP...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0); /* what a fork says is said once */
	d = (struct drill){.source = argv[2],
			   .options = argv[3],
			   .size = (unsigned)atoi(argv[4]),
			   .fs = argv[5],
			   .bytes = strtoull(argv[6], NULL, 10),
			   .seed = strtoull(argv[7], NULL, 10),
			   .cuts = (unsigned)atoi(argv[8])};
	if (!report(argv[1], "mount", drill_attach(&d, DRILL_A, d.size), from))
		return 1;
	ok = true;
	for (int i = 9; i < argc; i++)
		ok = run_step(&d, argv[1], argv[i]) && ok;
	from = drill_seconds();
	return report(argv[1], "unmount", drill_detach(DRILL_A), from) && ok ? 0 : 1;
}
