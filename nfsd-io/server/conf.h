/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: nfs.conf(5) grammar, one table of keys that drives
 * parsing, defaults, the man page and explain.  All errors of a run are
 * collected, each "file:line: [section] key: what (did you mean ...?)".
 */
#ifndef SERVER_CONF_H
#define SERVER_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsd-io/core/ring.h"
#include "nfsd-io/core/root.h"

/* What was found wrong, in the order found; "file:line: ..." each.  Starts as zeros. */
struct conf_errors {
	char **line;
	bool *warning; /* for each line */
	unsigned n;
	unsigned nwarnings; /* among them */
};

/* [export "PATH"] */
struct conf_export {
	char *path;
	struct root_io io;
	bool set_read_mode, set_write_mode, set_rule, set_read_direct_min, set_min_middle,
		set_on_unsupported, set_reply, set_splice_buffered, set_receive;
	const char *file;
	unsigned line;
};

/* Where a value was set; file NULL: nowhere, it is the default. */
struct conf_where {
	const char *file; /* interned; "-o" for the command line */
	unsigned line;
};

#define CONF_KEYS_MAX 48

struct conf {
	struct conf_where where[CONF_KEYS_MAX]; /* by key, in conf_table.h's order */
	/* [nfsd] */
	char **hosts;
	unsigned nhosts;  /* none = all addresses */
	uint16_t port;    /* 2049; embedded default 20490 */
	unsigned threads; /* 0 = one per CPU */
	char *numa;       /* a place_wish, as written */
	char *congestion; /* congestion_listen()'s wish */
	bool vers3, vers4, vers40, vers41, vers42;
	unsigned lease_s, grace_s; /* NFSv4 */
	bool idmap_names; /* NFSv4's owners are told as name@domain */
	char *domain;     /* never empty with idmap_names */
	uint32_t max_read, max_write; /* bytes */
	unsigned max_connections;
	enum { CONF_RPCBIND_AUTO, CONF_RPCBIND_Y, CONF_RPCBIND_N } rpcbind;
	char *state_dir;
	/* [mountd] */
	uint16_t mountd_port; /* 0 = on the NFS port */
	bool manage_gids;
	/* [exports] */
	char *exports_file, *exports_dir, *rootdir;
	/* [io] */
	struct root_io io;
	enum ring_engine engine;
	unsigned queue_depth;
	unsigned iowq; /* io-wq threads a worker */
	uint64_t buffer_pool; /* bytes, all workers; 0 = default per worker */
	/* [filehandle] */
	char *key_file;
	/* [control] */
	char *socket;
	unsigned socket_mode;
	char *socket_group;
	/* [log] */
	int log_level;    /* LOG_ERR.. */
	char *log_target; /* auto, stderr, syslog */
	uint64_t log_ratelimit_ns, log_slow_ns;
	/* [export "..."] */
	struct conf_export *exports;
	unsigned nexports;
	/* command line */
	char **export_args;
	unsigned nexport_args; /* --export DIR[:CLIENT(OPTS)] */
	bool embedded;         /* no files at all: the embedded default */
	char *embedded_dir;    /* embedded and no --export: the temporary directory served */
};

/* What the command line says.  All strings stay the caller's. */
struct conf_options {
	const char *file; /* -f; NULL: the installed path if it exists */
	char **overrides;
	unsigned noverrides; /* -o section.key=value */
	char **export_args;
	unsigned nexport_args; /* --export DIR[:CLIENT(OPTS)] */
};

/*
 * Defaults, then the file, the .conf files of conf.d beside it, then the -o words.  With
 * --export and no -f, or when no configuration is installed at all, no file is
 * read: the embedded default (loopback, port 20490, no rpcbind, own state
 * directory).  0, or -1 with errors in e; c may be freed either way.
 * socket, key_file and state_dir are never NULL after success; exports_file
 * and exports_dir are NULL when no exports(5) files are to be read.
 */
int conf_load(struct conf *c, const struct conf_options *o, struct conf_errors *e);
void conf_free(struct conf *c);
/* A copy of `s` that lives as long as the process (file names in tables).  Any thread. */
const char *conf_intern(const char *s);
/* One warning in e for each key that differs and that only a restart can change. */
void conf_note_restart(const struct conf *old, const struct conf *new, struct conf_errors *e);
void conf_error(struct conf_errors *e, bool warning, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void conf_errors_free(struct conf_errors *e); /* and zeros again */
static inline unsigned conf_nerrors(const struct conf_errors *e)
{
	return e->n - e->nwarnings;
}
/* The I/O settings of an export path: [io] overlaid by [export "path"]. */
struct root_io conf_io_for(const struct conf *c, const char *path);

#endif
