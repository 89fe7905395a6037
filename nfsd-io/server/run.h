/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `serve --run CMD`: one shell command served as long as it lasts.  Main thread only. */
#ifndef SERVER_RUN_H
#define SERVER_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Start `sh -c cmd` with NFSD_IO_PORT and NFSD_IO_EXPORT set.  Its pid, or -errno. */
pid_t run_start(const char *cmd, uint16_t port, const char *export);
/* Has it ended?  Then *status is its exit status, 128 + n for signal n.  Never blocks. */
bool run_ended(pid_t pid, int *status);

#endif
