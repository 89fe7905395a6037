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

struct conf_errors { /* grows; text lines */
	char **line;
	unsigned n;
	unsigned nwarnings; /* among them */
};

/* [export "PATH"] */
struct conf_export {
	char *path;
	struct root_io io;
	bool set_read_mode, set_write_mode, set_rule, set_read_direct_min, set_min_middle, set_on_unsupported;
	const char *file; unsigned line;
};

struct conf {
	/* [nfsd] */
	char **hosts; unsigned nhosts; /* none = all addresses */
	uint16_t port;		  /* 2049; embedded default 20490 */
	unsigned threads;	  /* 0 = one per CPU */
	bool vers3;
	uint32_t max_read, max_write; /* bytes */
	unsigned max_connections;
	enum { CONF_RPCBIND_AUTO, CONF_RPCBIND_Y, CONF_RPCBIND_N } rpcbind;
	char *state_dir;
	/* [mountd] */
	uint16_t mountd_port;	  /* 0 = on the NFS port */
	bool manage_gids;
	/* [exports] */
	char *exports_file, *exports_dir, *rootdir;
	/* [io] */
	struct root_io io;
	enum ring_engine engine;
	unsigned queue_depth;
	uint64_t buffer_pool;	  /* bytes, all workers; 0 = default per worker */
	/* [filehandle] */
	char *key_file;
	/* [control] */
	char *socket; unsigned socket_mode; char *socket_group;
	/* [log] */
	int log_level;		  /* LOG_ERR.. */
	char *log_target;	  /* auto, stderr, syslog */
	uint64_t log_ratelimit_ns, log_slow_ns;
	/* [export "..."] */
	struct conf_export *exports; unsigned nexports;
	/* command line */
	char **export_args; unsigned nexport_args; /* --export DIR[:CLIENT(OPTS)] */
	bool embedded;		  /* no files at all: the embedded default */
};

/* Defaults, then `file` (NULL: the installed path if it exists), conf.d, then "-o section.key=value" words. */
int conf_load(struct conf *c, const char *file, char **overrides, unsigned noverrides, struct conf_errors *e);
void conf_free(struct conf *c);
void conf_error(struct conf_errors *e, bool warning, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void conf_errors_free(struct conf_errors *e);
/* The I/O settings of an export path: [io] overlaid by [export "path"]. */
struct root_io conf_io_for(const struct conf *c, const char *path);

#endif
