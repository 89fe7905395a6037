/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text in aligned columns, for people; and numbers, sizes and times as they like them.  Not
 * thread-safe. */
#ifndef SERVER_GRID_H
#define SERVER_GRID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GRID_COLUMNS 10

struct grid {
	struct grid_row {
		char *cell[GRID_COLUMNS];
	} * rows;
	unsigned n;
	unsigned right; /* bit n: column n is flush right */
};

/* A new row from a NULL-terminated list of cells, copied. */
void grid_row(struct grid *g, ...) __attribute__((sentinel));
/* Print with `indent` blanks in front, two between columns; frees the rows. */
void grid_print(struct grid *g, FILE *out, unsigned indent);

/* Each gives one of a few static buffers in turn: good for one call's arguments. */
const char *grid_count(uint64_t n);                    /* "1,234,567" */
const char *grid_bytes(uint64_t n);                    /* "812 B", "1.21 GiB" */
const char *grid_span(uint64_t s);                     /* "3d 04h", "12m 05s" */
const char *grid_share(uint64_t part, uint64_t whole); /* "81.0%", "" of nothing */

#endif
