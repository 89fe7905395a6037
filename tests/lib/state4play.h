/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv4 state without a server: a clock the test moves, and opens that are a
 * number the test sets (state4_client_held(c)->nopens).
 */
#ifndef TESTS_LIB_STATE4PLAY_H
#define TESTS_LIB_STATE4PLAY_H

#include "nfsd-io/proto/state4_int.h"
#include "tests/lib/unit.h"

#define LEASE 90

extern _Atomic uint64_t play_now_ns;
extern unsigned play_dropped; /* times a client's opens were dropped */

/* The state of a fresh start; dir NULL: no records. */
struct state4 *play_start(const char *dir, uint32_t max_clients);
void play_pass(uint32_t seconds); /* the clock goes on; nobody sweeps */

/* A hello of NFSv4.`minor` by owner text, verifier and uid. */
struct state4_hello play_hello(const char *owner, const char *verf, uint32_t uid, uint8_t minor);
/* Confirmed clients. */
clientid4 play_set(struct state4 *s, const char *owner, const char *verf, uint32_t uid);
clientid4 play_exchange(struct state4 *s, const char *owner, const char *verf, uint32_t uid);
/* With one session, whose id comes back too. */
clientid4 play_session(struct state4 *s, const char *owner, uint8_t id[16]);
struct state4_create play_create(clientid4 id, uint32_t seqid, uint32_t uid);
/* The confirmed client; it must be there. */
struct state4_client *play_client(struct state4 *s, clientid4 id);
/* One open more or less, as the test says. */
void play_hold(struct state4 *s, clientid4 id, unsigned opens);

#endif
