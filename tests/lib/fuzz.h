/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fuzz target: tests/fuzz/<stem>.c defines this one function.  Linked with
 * tests/lib/fuzzmain.c it becomes a test that replays its seeds; with libFuzzer
 * (configure --enable-fuzz) it looks for new ones.
 */
#ifndef TESTS_LIB_FUZZ_H
#define TESTS_LIB_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken invariant, even in a build without sanitizers: name it and die, as libFuzzer expects. */
#define FUZZ_CHECK(cond)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
