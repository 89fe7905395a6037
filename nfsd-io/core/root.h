/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A root: the directory tree behind one export, its file system's facts, its
 * I/O settings and counters.  Counted; immutable but for counters, so that
 * requests keep using the one they started with across a reload.
 */
#ifndef CORE_ROOT_H
#define CORE_ROOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nfsd-io/core/khandle.h"
#include "nfsd-io/core/probe.h"
#include "policy/dio.h"
#include "policy/receive.h"
#include "policy/reply.h"

#define ROOT_WORKERS 64 /* counter banks; worker n uses bank n % ROOT_WORKERS */

struct root_io {
	enum dio_mode read_mode, write_mode;
	enum dio_rule rule;
	uint32_t read_direct_min; /* bytes */
	uint32_t min_middle;	  /* bytes */
	bool fail_unsupported;	  /* on-unsupported = fail */
	enum reply_way reply;	  /* how READ data leaves */
	bool splice_buffered;
	enum receive_way receive; /* how WRITE data arrives */
};

#define ROOT_IO_DEFAULT \
	{ DIO_MODE_DIRECT, DIO_MODE_DIRECT, DIO_RULE_PAGE, 32768, 0, false, REPLY_AUTO, false, \
	  RECEIVE_RECV }

/* Written by one worker, summed by readers: plain relaxed adds. */
struct root_stats {
	_Atomic uint64_t ops[2][DIO_DISPOSITION_COUNT];	   /* [enum dio_op] */
	/* bytes moved by kind, READ: before trimming */
	_Atomic uint64_t bytes[2][DIO_KIND_COUNT];
	/* SPLIT WRITEs: head, middle, tail bytes */
	_Atomic uint64_t part[3];
	_Atomic uint64_t payload[2];			   /* bytes of client data */
	/* READ: bytes read beyond what was asked */
	_Atomic uint64_t expand;
	_Atomic uint64_t fallback_einval;		   /* direct refused, done buffered */
	_Atomic uint64_t fallback_eio;			   /* direct READ failed, done buffered */
	_Atomic uint64_t fallback_dontcache;		   /* DONTCACHE refused, done buffered */
	_Atomic uint64_t continued;			   /* short I/O carried on */
	_Atomic uint64_t errors[2];
	_Atomic uint64_t syncs;				   /* fdatasync/fsync calls */
} __attribute__((aligned(64)));

struct root {
	_Atomic unsigned refs;
	/* in every handle: fsid= number, or a hash of the path; unique per table */
	uint32_t id;
	char *path;	   /* real path */
	int fd;		   /* O_DIRECTORY; O_PATH in path mode */
	int mount_fd;	   /* the same, O_RDONLY, for open_by_handle_at; -1 in path mode */
	dev_t dev;
	ino_t ino;
	struct khandle self; /* the root directory's */
	uint8_t fskey[8];  /* from the file system's UUID and id; in every handle */
	bool path_mode;	   /* no CAP_DAC_READ_SEARCH or no kernel handles: see pathmap.h */
	struct pathmap *paths; /* path mode only */
	bool tells_births; /* see root_tells_births() */
	struct probe probe;
	struct root_io io;
	struct root_stats *stats; /* ROOT_WORKERS banks */
	_Atomic uint64_t mount_flags; /* root_mount_flags()' own: flags, and when they were read */
	/* in a row, at the file system's or the system's door: see read_may_splice() */
	_Atomic unsigned splice_refusals;
	_Atomic bool retired;	  /* unexported: fdcache keeps no more files of it */
};

struct root_params {
	const char *path;
	uint32_t id;		 /* 0: hash of the path */
	struct root_io io;
	const char *state_dir;	 /* where path mode keeps its table; NULL = memory only */
	bool force_path_mode;	 /* tests */
};

/*
 * Open and probe.  0, or -errno with *why (static or thread-local text) set:
 * -ENOENT, -ENOTDIR, -EACCES, -ENOTSUP (fail_unsupported and mode not effective).
 */
int root_open(struct root **out, const struct root_params *p, const char **why);
/* ST_RDONLY, ST_NOEXEC ... of the mount as of a second ago at most. */
unsigned root_mount_flags(struct root *r);
/* Do mode and ACL decide alone who may do what (no permission check of the file system's own)? */
bool root_plain_modes(const struct root *r);
/*
 * Does the file system stamp each inode with the time of its birth, which nobody can change, and
 * does its handle stay the same all its life (handle_memo.h)?
 */
bool root_tells_births(const struct root *r);
struct root *root_get(struct root *r);
void root_put(struct root *r);

/* Sum the banks into `out` (plain counters of one bank's layout). */
void root_stats_sum(const struct root *r, struct root_stats *out);
/* The bank of the calling thread's worker (set once by root_stats_bank_set(); 0 elsewhere). */
struct root_stats *root_stats_here(struct root *r);
void root_stats_bank_set(unsigned worker);

#endif
