/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TAP for test programs that are handed a running server and so are no libcheck suites. */
#ifndef TESTS_LIB_TAP_H
#define TESTS_LIB_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused)) static bool tap_ok(bool good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %u - ", good ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
	va_end(ap);
	tap_failed += !good;
	return good;
}

/* The usual form: two numbers that must be equal, both shown when they are not. */
__attribute__((unused)) static bool tap_is(long long got, long long want, const char *name)
{
	if (!tap_ok(got == want, "%s", name))
		printf("# got %lld, wanted %lld\n", got, want);
	return got == want;
}

__attribute__((unused)) static int tap_done(void)
{
	printf("1..%u\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
