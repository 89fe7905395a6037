/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * exports(5) files, read as they are: continuation, quotes, octal escapes,
 * -default options, host / network / wildcard / netgroup clients.  Gives an
 * export table (proto/export.h) with roots opened and probed.
 */
#ifndef SERVER_EXPORTS_H
#define SERVER_EXPORTS_H

#include "nfsd-io/proto/export.h"
#include "nfsd-io/server/conf.h"

/* Parse one text into t (no roots opened): for tests, fuzzing and load.  Errors go to e. */
int exports_parse(struct export_table *t, const char *text, size_t len, const char *file,
		  struct conf_errors *e);

/*
 * One word of --export: DIR, DIR:CLIENT(OPTS)... or DIR:(OPTS).  Without a
 * client: 127.0.0.0/8 and ::1, rw, everybody squashed to who started the
 * server (SUDO_UID behind sudo) unless OPTS say how to squash; insecure,
 * unless that is root.  0 or -1 with e filled.
 */
int exports_arg(struct export_table *t, const char *word, struct conf_errors *e);

/*
 * Everything conf names: the exports file, its directory, --export words, or
 * the embedded default.  Opens and probes roots, keeping those of `old` (may
 * be NULL) whose path, id and settings are unchanged.  A root that will not
 * open is down with a reason, not an error.  0 or -1 with e filled.
 */
int exports_load(struct export_table **out, const struct conf *c, const struct export_table *old,
		 struct conf_errors *e);

#endif
