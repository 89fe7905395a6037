/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the server and its exports are: as JSON for the control socket, as text
 * for people.  `check` uses the same words before anything is served.
 */
#ifndef SERVER_HEALTH_H
#define SERVER_HEALTH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "nfsd-io/server/server.h"

/* The answer to `status`; "state" is "ok" or "degraded".  NULL when memory is out.  Any thread. */
json_t *health_json(struct server *s);
/* JSON wants UTF-8, paths may be any bytes: what is not, as exports(5) writes it, \377. */
json_t *health_text(const char *s);
/*
 * One object an export: path, the same as a word of exports(5), state, clients, file system,
 * alignment, modes asked and effective and why.
 */
json_t *health_exports_json(const struct export_table *t);
/* What an operator should know of these exports, as strings appended to `warnings`. */
void health_warnings(const struct export_table *t, json_t *warnings);

/* From health_json()'s answer. */
void health_print(FILE *out, const json_t *answer);
/* `check`: from health_exports_json(). */
void health_print_exports(FILE *out, const json_t *exports);

#endif
