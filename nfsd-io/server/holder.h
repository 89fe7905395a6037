/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who holds a TCP port, for the message of a bind() that failed.  Reads /proc; start-up only. */
#ifndef SERVER_HOLDER_H
#define SERVER_HOLDER_H

#include <stddef.h>
#include <stdint.h>

/*
 * "rpcbind (pid 812)", "the kernel's nfsd (systemctl stop nfs-server)", or ""
 * when it cannot be told, into out[len].
 */
void holder_find(uint16_t port, char *out, size_t len);

#endif
