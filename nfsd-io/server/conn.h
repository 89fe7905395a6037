/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A TCP connection: receives records in phase, runs requests, sends replies
 * in one go.  Belongs to one worker's thread from accept to reaping.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include "nfsd-io/proto/req.h"
#include "rpc/record.h"

struct worker;
struct conn;

/* Take over `fd`; NULL when memory is out (fd closed). */
struct conn *conn_new(struct worker *w, int fd);
/* Stop reading, finish what runs, send what can be sent, then close.  Idempotent. */
void conn_close(struct conn *c);
/* Free what is closed and idle: called once per loop turn; returns true when the connection is gone. */
bool conn_reap(struct conn *c);

#endif
