/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/exports_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void exports_text_init(struct exports_text *t, const char *text, size_t len, const char *file,
		       struct conf_errors *e)
{
	*t = (struct exports_text){text, text + len, conf_intern(file), 1, 1, false, e};
}

void exports_text_say(const struct exports_text *t, bool warning, const char *fmt, ...)
{
	char *what;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&what, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (t->line)
		conf_error(t->e, warning, "%s:%u: %s", t->file, t->line, what);
	else
		conf_error(t->e, warning, "%s: %s", t->file, what);
	free(what);
}

static bool continues(const struct exports_text *t)
{
	return t->p + 1 < t->end && t->p[0] == '\\' && t->p[1] == '\n';
}

/* Blanks, joined line ends and a comment. */
static void skip_blanks(struct exports_text *t)
{
	for (; t->p < t->end; t->p++) {
		if (continues(t)) {
			t->p++;
			t->next++;
		} else if (*t->p == '#') {
			while (t->p < t->end && *t->p != '\n' && !continues(t))
				t->p++;
			if (t->p == t->end || *t->p == '\n')
				return;
			t->p--;
		} else if (*t->p != ' ' && *t->p != '\t' && *t->p != '\r') {
			return;
		}
	}
}

bool exports_text_line(struct exports_text *t)
{
	char word[EXPORTS_WORD_MAX];

	while (t->started && exports_text_word(t, word))
		;
	t->started = true;
	skip_blanks(t);
	while (t->p < t->end && *t->p == '\n') {
		t->p++;
		t->next++;
		skip_blanks(t);
	}
	return t->p < t->end;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* One byte of a word; three octal digits behind a backslash are one byte too. */
static unsigned char take_byte(struct exports_text *t)
{
	const char *p = t->p;

	if (*p == '\\' && t->end - p > 3 && p[1] <= '3' && is_octal(p[1]) && is_octal(p[2]) &&
	    is_octal(p[3])) {
		t->p += 4;
		return (unsigned char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
	}
	t->p++;
	return (unsigned char)*p;
}

static int spoilt(struct exports_text *t, const char *what)
{
	exports_text_say(t, false, "%s", what);
	while (t->p < t->end && *t->p != '\n')
		t->p++;
	return -EINVAL;
}

int exports_text_word(struct exports_text *t, char out[EXPORTS_WORD_MAX])
{
	bool quoted = false, any = false;
	size_t n = 0;

	skip_blanks(t);
	t->line = t->line ? t->next : 0;
	for (; t->p < t->end && *t->p != '\n' && !continues(t); any = true) {
		unsigned char c;

		if (!quoted && (*t->p == ' ' || *t->p == '\t' || *t->p == '\r'))
			break;
		if (*t->p == '"') {
			quoted = !quoted;
			t->p++;
			continue;
		}
		c = take_byte(t);
		if (!c)
			return spoilt(t, "NUL byte");
		if (n + 1 >= EXPORTS_WORD_MAX)
			return spoilt(t, "word too long");
		out[n++] = (char)c;
	}
	if (quoted)
		return spoilt(t, "quote is not closed on its line");
	out[n] = '\0';
	return any;
}
