/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv4 clients and grace, for the control socket as JSON and for people as
 * text.  On the control thread and in the command line's process.
 */
#ifndef SERVER_NFS4STATE_H
#define SERVER_NFS4STATE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

struct state4;

/* One object a client, appended to `lines`. */
void nfs4state_clients(struct state4 *state, json_t *lines);
/*
 * One object a confirmed client, or this one: its number, its
 * info and states as in clientdir.h.  0 or -ENOENT.
 */
int nfs4state_states(struct state4 *state, const char *number, json_t *lines);
json_t *nfs4state_grace(struct state4 *state);
/* The client of this number goes, with all it holds: 0 or -ENOENT.  Blocks. */
int nfs4state_expire(struct state4 *state, const char *number);

void nfs4state_print_clients(FILE *out, const json_t *clients);
void nfs4state_print_states(FILE *out, const json_t *clients);
void nfs4state_print_grace(FILE *out, const json_t *grace);

#endif
