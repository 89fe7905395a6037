/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories of the embedded default: nothing is configured, so they are
 * found or made here.  Any thread; the same answer for the life of the process.
 */
#ifndef SERVER_CONF_DIRS_H
#define SERVER_CONF_DIRS_H

/*
 * State: $XDG_RUNTIME_DIR/nfsd-io; without that variable /run/nfsd-io for root
 * and TMPDIR/nfsd-io-UID (0700 and our own, or refused) for others.  malloc'd
 * path of a directory that exists, or NULL with errno.
 */
char *conf_dirs_state(void);
/* The same path, but nothing is made and nothing need exist. */
char *conf_dirs_state_path(void);
/* A temporary directory to serve, made at the first call.  malloc'd, or NULL with errno. */
char *conf_dirs_export(void);
/* At exit: remove the temporary directory if nothing was left in it. */
void conf_dirs_cleanup(void);

#endif
