/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration as a file that could be read back. */
#ifndef SERVER_CONF_SHOW_H
#define SERVER_CONF_SHOW_H

#include <stdio.h>

#include "nfsd-io/server/conf.h"

/* Every key with its default and a line about it: what etc/nfsd-io.conf is. */
void conf_show_defaults(FILE *out);
/* Every key with the value in force, and behind it where that was set. */
void conf_show_effective(FILE *out, const struct conf *c);

#endif
