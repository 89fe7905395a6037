/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of one client(opts) word.  All of exports(5) are known; what
 * this server does not do is a warning each, never silence, and an error where
 * ignoring it would let somebody in.
 */
#ifndef SERVER_EXPORTS_OPTS_H
#define SERVER_EXPORTS_OPTS_H

#include "nfsd-io/proto/export.h"
#include "nfsd-io/server/exports_text.h"

struct exports_opts {
	struct export_opts o;
	bool sec_given; /* a sec= was read: o.sec_* is no longer the default */
	bool squash_given;
};

/* ro, sync, secure, root_squash, sec=sys, as exports(5). */
void exports_opts_default(struct exports_opts *o);
/* "rw,anonuid=5": 0, or -EINVAL when an error was told. */
int exports_opts_parse(struct exports_opts *o, const char *list, const struct exports_text *at);
/* All options, as they would be written; cut at len. */
void exports_opts_print(const struct export_opts *o, char *out, size_t len);

#endif
