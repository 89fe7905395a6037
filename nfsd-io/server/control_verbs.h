/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the control socket understands: one line in, lines of JSON out.  On the control thread. */
#ifndef SERVER_CONTROL_VERBS_H
#define SERVER_CONTROL_VERBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "nfsd-io/server/server.h"

#define CONTROL_WORDS_MAX 8

/*
 * Cut a line into words at blanks; quotes join.  Writes into `line`.  The
 * number of words, or -EINVAL: too many, a quote left open, a control byte.
 */
int control_verbs_split(char *line, char *words[CONTROL_WORDS_MAX]);
/*
 * Carry out one line.  Appends the answer to `lines`, an array of objects; the
 * last has "ok", and "code" and "error" when it is false.
 */
void control_verbs_run(struct server *s, char *line, bool may_change, json_t *lines);

#endif
