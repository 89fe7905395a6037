/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads text in the grammar of nfs.conf(5) and hands over each value with the
 * place it stands at.  libinih tells names from values; the reader in front of
 * it gives it whole lines and keeps what it would cut (long values, sections
 * with long arguments, line numbers).  Knows no keys.
 */
#ifndef SERVER_CONF_READ_H
#define SERVER_CONF_READ_H

#include "nfsd-io/server/conf.h"

struct conf_item {
	const char *section, *arg; /* [section "arg"]; arg "" when there is none */
	const char *name, *value;  /* quotes gone, $NAME replaced; name NULL: the section begins */
	const char *file;          /* interned */
	unsigned line;
	const char *at; /* both as "file:line", for messages */
};

typedef void conf_item_fn(void *user, const struct conf_item *i);

/* Parse a file and what it includes.  A file that cannot be read is an error. */
void conf_read_file(const char *path, conf_item_fn *fn, void *user, struct conf_errors *e);
/* Each *.conf of a directory, in name order; none when there is no such directory. */
void conf_read_dir(const char *dir, conf_item_fn *fn, void *user, struct conf_errors *e);

/* A whole file (at most 1 MiB) as NUL-terminated malloc'd text; 0 or -errno. */
int conf_read_all(const char *path, char **text, size_t *len);
/* Paths of the names in `dir` that end in `suffix`, no dot files, in name order; 0 or -errno. */
int conf_read_names(const char *dir, const char *suffix, char ***paths, unsigned *n);

#endif
