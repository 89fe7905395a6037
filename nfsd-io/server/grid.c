/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/grid.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERS 16

static char *buffer(size_t *len)
{
	static char ring[BUFFERS][40];
	static unsigned turn;

	*len = sizeof(ring[0]);
	return ring[turn++ % BUFFERS];
}

void grid_row(struct grid *g, ...)
{
	struct grid_row *more = g->rows;
	const char *cell;
	unsigned i = 0;
	va_list ap;

	if (!(g->n & (g->n - 1))) /* full at powers of two: doubled */
		more = reallocarray(more, g->n ? 2 * (size_t)g->n : 1, sizeof(*more));
	if (!more)
		return;
	g->rows = more;
	memset(&more[g->n], 0, sizeof(*more));
	va_start(ap, g);
	while (i < GRID_COLUMNS && (cell = va_arg(ap, const char *)))
		more[g->n].cell[i++] = strdup(cell);
	va_end(ap);
	g->n++;
}

/* Columns a text takes on a terminal: UTF-8 continuation bytes take none. */
static unsigned width_of(const char *s)
{
	unsigned w = 0;

	for (; s && *s; s++)
		w += ((unsigned char)*s & 0xc0) != 0x80;
	return w;
}

static void print_row(const struct grid *g, const struct grid_row *r, const unsigned *width,
		      FILE *out)
{
	unsigned pad = 0;

	for (unsigned i = 0; i < GRID_COLUMNS && r->cell[i]; i++) {
		unsigned w = width_of(r->cell[i]), space = width[i] > w ? width[i] - w : 0;
		bool right = g->right & 1u << i;

		/* No blanks at the end of a line. */
		fprintf(out, "%*s", (int)(*r->cell[i] || i == 0 ? pad + (right ? space : 0) : 0),
			"");
		fputs(r->cell[i], out);
		if (*r->cell[i] || i == 0)
			pad = (right ? 0 : space) + 2;
		else
			pad += width[i] + 2;
	}
	fputc('\n', out);
}

void grid_print(struct grid *g, FILE *out, unsigned indent)
{
	unsigned width[GRID_COLUMNS] = {0};

	for (unsigned r = 0; r < g->n; r++) {
		for (unsigned i = 0; i < GRID_COLUMNS && g->rows[r].cell[i]; i++) {
			unsigned w = width_of(g->rows[r].cell[i]);
			bool last = i + 1 == GRID_COLUMNS || !g->rows[r].cell[i + 1];

			/* What stands last in a flush-left column may be a sentence: it widens
			 * nothing. */
			if (w > width[i] && (!last || g->right & 1u << i))
				width[i] = w;
		}
	}
	for (unsigned r = 0; r < g->n; r++) {
		fprintf(out, "%*s", (int)indent, "");
		print_row(g, &g->rows[r], width, out);
		for (unsigned i = 0; i < GRID_COLUMNS; i++)
			free(g->rows[r].cell[i]);
	}
	free(g->rows);
	g->rows = NULL;
	g->n = 0;
}

const char *grid_count(uint64_t n)
{
	char digits[24];
	size_t len, at = 0;
	char *out = buffer(&len);
	int total = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < total; i++) {
		out[at++] = digits[i];
		if (i + 1 < total && (total - i - 1) % 3 == 0)
			out[at++] = ',';
	}
	out[at] = '\0';
	return out;
}

const char *grid_bytes(uint64_t n)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)n;
	unsigned i = 0;
	size_t len;
	char *out = buffer(&len);

	for (; v >= 1024 && i < 6; i++)
		v /= 1024;
	if (!i)
		snprintf(out, len, "%" PRIu64 " B", n);
	else
		snprintf(out, len,
			 v >= 99.95   ? "%.0f %s"
			 : v >= 9.995 ? "%.1f %s"
				      : "%.2f %s",
			 v, units[i]);
	return out;
}

const char *grid_span(uint64_t s)
{
	size_t len;
	char *out = buffer(&len);

	if (s >= 86400)
		snprintf(out, len, "%" PRIu64 "d %02" PRIu64 "h", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		snprintf(out, len, "%" PRIu64 "h %02" PRIu64 "m", s / 3600, s / 60 % 60);
	else if (s >= 60)
		snprintf(out, len, "%" PRIu64 "m %02" PRIu64 "s", s / 60, s % 60);
	else
		snprintf(out, len, "%" PRIu64 "s", s);
	return out;
}

const char *grid_share(uint64_t part, uint64_t whole)
{
	size_t len;
	char *out = buffer(&len);

	*out = '\0';
	if (whole && part)
		snprintf(out, len, "%.1f%%", 100.0 * (double)part / (double)whole);
	return out;
}
