/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plan in words: what a READ or WRITE would become, why, and what would
 * change the answer.  The `explain` verb; needs no running daemon.
 */
#ifndef SERVER_EXPLAIN_H
#define SERVER_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

#include "policy/dio.h"

/*
 * The plan for `f` under its own rule, or under each rule in turn.  json: one
 * object a line instead of words.  Offsets are below 2^63.  0, or -EIO when
 * `out` does not take it.
 */
int explain_plan(FILE *out, const struct dio_facts *f, bool json);
int explain_all_rules(FILE *out, const struct dio_facts *f, bool json);

/*
 * The verb: argv[0] is its name, the rest as in nfsd-io(8).  Exit status: 0,
 * 1 when the file or the output fails; exits with 2 itself on a usage error.
 */
int explain_main(int argc, char **argv);

#endif
