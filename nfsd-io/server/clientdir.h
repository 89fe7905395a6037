/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * clients/N/info and clients/N/states beside the control socket, one directory
 * a confirmed NFSv4 client, as nfsd has them under /proc/fs/nfsd/clients: for
 * nfsdclnts(8) -f and for people.  Written by the main thread's sweep, so at
 * most a second late: both files when what a client holds has changed, and every
 * CLIENTDIR_STALE_S seconds for what passes by itself.  A sweep writes few clients,
 * the others come with the next.
 */
#ifndef SERVER_CLIENTDIR_H
#define SERVER_CLIENTDIR_H

#include <stdint.h>

struct clientdir;
struct state4;

#define CLIENTDIR_STALE_S 10
#define CLIENTDIR_SWEEP 128 /* clients written in a sweep */

/*
 * Beside `socket`; what a dead server left there goes.  NULL: no memory, or the directory cannot be
 * had, which is logged: then there are no files.
 */
struct clientdir *clientdir_new(const char *socket);
/* Everything goes, the directory too; NULL is fine. */
void clientdir_free(struct clientdir *d);
/* About once a second.  NULL is fine. */
void clientdir_sweep(struct clientdir *d, struct state4 *state, uint64_t now_ns);

#endif
