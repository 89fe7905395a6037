/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Words of an exports(5) text: blanks separate, quotes join, \ooo is a byte in
 * octal, # begins a comment where a word could begin, \ before the end of a
 * line joins it with the next.  Knows nothing of what the words mean.
 */
#ifndef SERVER_EXPORTS_TEXT_H
#define SERVER_EXPORTS_TEXT_H

#include "nfsd-io/server/conf.h"

#define EXPORTS_WORD_MAX 8192 /* bytes, NUL included */

struct exports_text {
	const char *p, *end;
	const char *file; /* interned */
	unsigned line;    /* of the last word */
	unsigned next;    /* line that p is in */
	bool started;
	struct conf_errors *e;
};

void exports_text_init(struct exports_text *t, const char *text, size_t len, const char *file,
		       struct conf_errors *e);
/* Go to the first word of the next line that has one; what is left of this line is skipped.  False
 * at the end. */
bool exports_text_line(struct exports_text *t);
/* The next word of this line: 1, 0 when there is none, -EINVAL after an error was told. */
int exports_text_word(struct exports_text *t, char out[EXPORTS_WORD_MAX]);
/* An error or warning at the place of the last word. */
void exports_text_say(const struct exports_text *t, bool warning, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
