/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The control socket: a Unix stream socket in a thread of its own.  Greets
 * with {"nfsd-io":VERSION,"proto":1}; then each line sent is a verb with
 * words, as on the command line, and is answered by lines of one JSON object
 * each, the last with "ok".  Who may connect is the socket's mode and group;
 * changes need uid 0 or the server's own.  Clients, lines and time are bounded.
 */
#ifndef SERVER_CONTROL_H
#define SERVER_CONTROL_H

#include "nfsd-io/server/server.h"

struct control;

/*
 * Listen where server_conf() says.  A socket file left by a dead server is
 * replaced; -EADDRINUSE when somebody answers there, except that the embedded
 * default then takes a name of its own.  Who connects waits.  0 or -errno.
 */
int control_open(struct control **out, struct server *s);
/*
 * Answer, in a thread, which looks at all of the server: it serves by now, and what it consists of
 * stays as it is until control_stop().  0 or -errno.
 */
int control_serve(struct control *c);
/* Where it listens. */
const char *control_path(const struct control *c);
/* NULL is fine.  Joins the thread, if there is one, removes the socket file. */
void control_stop(struct control *c);

#endif
