/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* This process's threads as the kernel sees them: names and where they may run. */
#ifndef TESTS_LIB_THREADS_H
#define TESTS_LIB_THREADS_H

#include <check.h>
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What /proc says behind `key` of thread `tid`; false when the thread is gone. */
static inline bool threads_line(const char *tid, const char *key, char *out, size_t len)
{
	char path[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", tid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		found = !strncmp(line, key, strlen(key));
		line[strcspn(line, "\n")] = '\0';
		if (found)
			snprintf(out, len, "%s",
				 line + strlen(key) + strspn(line + strlen(key), ": \t"));
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * How many threads have a name that begins so, and may run on
 * `cpus` ("1", "0-3"; NULL: anywhere) and nowhere else.
 */
static inline unsigned threads_count(const char *prefix, const char *cpus)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	unsigned n = 0;
	char text[256];

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		if (*e->d_name == '.' || !threads_line(e->d_name, "Name", text, sizeof(text)) ||
		    strncmp(text, prefix, strlen(prefix)))
			continue;
		if (!cpus)
			n++;
		else if (threads_line(e->d_name, "Cpus_allowed_list", text, sizeof(text)))
			n += !strcmp(text, cpus);
	}
	closedir(d);
	return n;
}

/* The last CPU we may run on, alone, as a set and as /proc would write it. */
static inline cpu_set_t threads_last_cpu(char *text, size_t len)
{
	cpu_set_t all, one;
	int last = CPU_SETSIZE - 1;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(last, &all))
		last--;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	snprintf(text, len, "%d", last);
	return one;
}

#endif
