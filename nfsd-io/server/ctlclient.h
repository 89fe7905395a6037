/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The other end of the control socket: how the command line asks a running server. */
#ifndef SERVER_CTLCLIENT_H
#define SERVER_CTLCLIENT_H

#include <jansson.h>

/*
 * Ask `line` of the server at `socket`, or, when NULL, at $NFSD_IO_SOCKET,
 * where the installed configuration says, or where the embedded default
 * listens.  *answer: array of what came before the last object; the caller
 * frees it.  Returns the exit code: 0, the server's own, or 7 when nobody
 * answers; what is wrong, and each "message", is on standard error.
 */
int ctlclient_ask(const char *name, const char *socket, const char *line, json_t **answer);

#endif
