/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libfsalnfsdio.so: nfs-ganesha's READ, WRITE and COMMIT through libnfsdio,
 * all else by FSAL VFS as before.  The export ganesha sees is VFS's own, with
 * a few operations replaced: plugin_export.c those of the export,
 * plugin_ops.c those of files, which VFS keeps in one table for all its
 * exports; each asks op_ctx whose turn it is.  plugin_file.c keeps the open
 * files, plugin_io.c carries out, plugin_lost.c remembers what write-back
 * has lost, plugin_stats.c tells the counters.
 *
 * Called on ganesha's threads and, at completion, on libnfsdio's.
 */
#ifndef GANESHA_PLUGIN_H
#define GANESHA_PLUGIN_H

#include <stdatomic.h>

#include "nfsd-io/core/nfsdio.h"
#include "nfsd-io/ganesha/plugin_release.h"

/* The block NFSDIO { }, for all exports. */
struct plugin_conf {
	uint32_t engine, threads, max_files;
	uint64_t max_in_flight, keep_memory;
	char *control_socket;
};

struct plugin {
	struct fsal_module module;
	struct plugin_conf conf;
};
extern struct plugin plugin;

/*
 * The library's instance, made by the first who asks: after
 * ganesha has given up capabilities.  NULL: it cannot be.
 */
struct nfsdio *plugin_engine(void);

/* An export served through us. */
struct plugin_export {
	struct plugin_export *next;
	struct fsal_export *exp; /* VFS's */
	struct export_ops saved;
	char *path;
	int (*open)(struct vfs_fsal_obj_handle *obj, int flags, fsal_errors_t *err);
	struct nfsdio_file_params params; /* under the table's lock */
	_Atomic unsigned generation;	  /* of params */
	/* counters of files no longer open, under the table's lock */
	struct nfsdio_stats closed;
};

fsal_status_t plugin_export_create(struct fsal_module *module, void *node,
				   struct config_error_type *err,
				   const struct fsal_up_vector *up_ops);
fsal_status_t plugin_export_update(struct fsal_module *module, void *node,
				   struct config_error_type *err, struct fsal_export *original,
				   struct fsal_module *super);
/* NULL: not ours.  Valid as long as a request of that export is under way. */
struct plugin_export *plugin_export_find(const struct fsal_export *exp);
/* Modes, and which generation of them. */
unsigned plugin_export_params(struct plugin_export *x, struct nfsdio_file_params *out);
void plugin_export_count(struct plugin_export *x, const struct nfsdio_stats *of_a_closed_file);
/* Calls back for each, with its closed counters, under the table's lock. */
void plugin_export_each(void (*each)(struct plugin_export *x, void *arg), void *arg);

/* Replace what VFS does with files, once a table; -ENOTSUP: this VFS is laid out otherwise. */
int plugin_ops_replace(struct fsal_obj_handle *first, const struct fsal_export *exp);
/* What VFS would have done with `obj`. */
const struct fsal_obj_ops *plugin_ops_saved(const struct fsal_obj_handle *obj);

void plugin_io_read(struct fsal_obj_handle *obj, bool bypass, fsal_async_cb done,
		    struct fsal_io_arg *arg, void *caller);
void plugin_io_write(struct fsal_obj_handle *obj, bool bypass, fsal_async_cb done,
		     struct fsal_io_arg *arg, void *caller);
fsal_status_t plugin_io_commit(struct fsal_obj_handle *obj, off_t offset, size_t len);
/* NFSv4's verifier: a WRITE tells the one from before it began. */
void plugin_io_verifier(struct fsal_export *exp, struct gsh_buffdesc *out);

/* A file and its two descriptors, while an operation or nobody uses it. */
struct plugin_file {
	struct plugin_file *next;
	struct fsal_obj_handle *obj;
	/* whose modes it has, and who gets its counters; NULL: none, or gone */
	struct plugin_export *by;
	unsigned generation;	  /* of these modes */
	struct nfsdio_file *f;	  /* NULL: not open */
	int fd, direct_fd;
	bool writable;
	bool exclusive;	   /* somebody is alone with it, or waits for that */
	unsigned inflight; /* operations */
	_Atomic bool used; /* since the clock hand came by */
	_Atomic bool lost; /* a flush failed: see plugin_lost.h */
};

/*
 * Start an operation on `obj` with the modes of `x`: opens it where need be,
 * waits for who is alone with it.  0 or -errno (-EMFILE: all descriptors are in use).
 */
int plugin_file_begin(struct plugin_file **out, struct fsal_obj_handle *obj,
		      struct plugin_export *x, bool write);
/* Any thread. */
void plugin_file_end(struct plugin_file *pf);
/* Alone with `obj`: all operations are over, none begins before plugin_file_readmit(). */
struct plugin_file *plugin_file_exclude(struct fsal_obj_handle *obj);
void plugin_file_readmit(struct plugin_file *pf);
/*
 * When its operations are over: sync what is not, close.  `forget`: the object is about to be gone.
 */
void plugin_file_close(struct fsal_obj_handle *obj, bool forget);
/* `x` is about to be gone. */
void plugin_file_orphan(struct plugin_export *x);
/* Add up the counters of the open files of `x`. */
void plugin_file_sum(struct plugin_export *x, struct nfsdio_stats *sum);
void plugin_file_counts(unsigned *files, unsigned *descriptors);
/* A flush failed. */
void plugin_file_lose(struct plugin_file *pf);

/*
 * Files of which a flush failed.  NFSv3's verifier is ganesha's own and stays
 * the same, so that nobody could tell an NFSv3 client that its UNSTABLE data
 * may be gone: until a restart every NFSv3 COMMIT of such a file is refused,
 * and every WRITE made stable.
 */
void plugin_lost_add(struct fsal_obj_handle *obj);
bool plugin_lost_has(struct fsal_obj_handle *obj);
unsigned plugin_lost_count(void);

/*
 * Memory of ganesha's process for requests and replies.  Its heap gives what
 * is free back to the kernel, only to ask for it again a request later: page
 * faults that cost more than the I/O.  From now on up to `max_bytes` of what
 * the RPC library frees are kept for its next call (page-aligned, so that
 * direct I/O takes the data of a WRITE from where they are), and the heap
 * keeps what READs leave.  0: all stays as it is.  Before ganesha's threads start.
 */
void plugin_memory_init(uint64_t max_bytes);

void plugin_stats_add(struct nfsdio_stats *to, const struct nfsdio_stats *what);
/* One line to ganesha's log. */
void plugin_stats_log(struct plugin_export *x);
/* All counters as JSON to whoever connects; `path` as in the configuration. */
void plugin_stats_serve(const char *path);

/* For logs and counters. */
const char *plugin_mode_name(enum nfsdio_mode m);
const char *plugin_rule_name(enum nfsdio_rule r);

#endif
