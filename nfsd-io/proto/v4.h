/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the NFSv4 operations (nfs4_*.c) share: the COMPOUND in hand and how one
 * operation of it is carried out.  Globals begin with v4_: nfs4_ is libnfs's.
 *
 * nfs4_compound.c walks the operations, decoding one argument and encoding one
 * result at a time.  It starts on the worker; from the first operation that
 * must block it walks on an offload thread, and it comes back to the worker for
 * those that need it (PUTFH passes the gate of access.h; READ, WRITE and COMMIT
 * use the ring) and for the end.  One thread has the request at any time.
 *
 * The current filehandle is the request's own fh, parts, table, export, opts,
 * cred and file, as in v3, so that the code that works on them is the same.
 */
#ifndef PROTO_V4_H
#define PROTO_V4_H

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "nfsd-io/proto/access.h"
#include "nfsd-io/proto/act.h"
#include "nfsd-io/proto/io_call.h"
#include "nfsd-io/proto/req.h"
#include "nfsd-io/proto/state4.h"
#include "rpc/codec.h"
#include "rpc/nfs4.h"

#define V4_VERSION 4
#define V4_MINOR_MAX 2
#define V4_OPS_MAX 64	   /* operations of a COMPOUND */
#define V4_TAG_MAX 1024	   /* bytes */
#define V4_NPROCS 2
#define V4_REPLY_SLACK 8192 /* bytes a reply may have besides max-read */

struct state4_client;
struct state4_session;
struct state4_slot;
struct state4_open;

/* What an operation may answer besides an nfsstat4. */
/* cannot be done on this kind of thread: call me again on the other */
#define V4_ELSEWHERE 0xffff0001u
/* worker only: r->step runs next; a later step ends with v4_over() */
#define V4_STEP 0xffff0002u
#define V4_DROP 0xffff0003u	 /* there is no reply */
/* SEQUENCE: all of COMPOUND4res stands in r->reply now; the COMPOUND is over, no slot is held */
#define V4_REPLAY 0xffff0004u

/* Flags of an operation. */
enum {
	V4_BLOCKS = 1,	 /* always runs on an offload thread */
	V4_WORKER = 2,	 /* always runs on the worker */
	V4_NEEDS_FH = 4, /* NFS4ERR_NOFILEHANDLE without a current filehandle */
	V4_NEEDS_SAVED = 8,
	V4_CHANGES = 16, /* not idempotent: 4.0 keeps the reply in the duplicate-request cache */
	/* the file system: NFS4ERR_ROFS on the pseudo file system and on ro exports */
	V4_MODIFIES = 32,
	V4_SESSIONLESS = 64, /* 4.1+: may be the one operation of a COMPOUND without SEQUENCE */
	V4_NO_PSEUDO = 128, /* means nothing on the pseudo file system: `pseudo_status` */
};

/* A row of the operation table (nfs4_ops.c). */
struct v4_op {
	const char *name;
	uint8_t minor_first, minor_last; /* before: NFS4ERR_OP_ILLEGAL; after: NOTSUPP */
	unsigned flags;
	/*
	 * bytes of result behind the status, for the check before the act; 0: run() calls v4_room()
	 */
	uint32_t result_max;
	uint32_t pseudo_status; /* V4_NO_PSEUDO: the answer there */
	/*
	 * Decode from r->args, act, encode the result behind the status into r->reply; returns an
	 * nfsstat4, V4_ELSEWHERE (args and reply are put back) or V4_STEP.  On an error what was
	 * encoded is cut off unless v4(r)->error_body is set.
	 */
	uint32_t (*run)(struct req *r);
};
extern const struct v4_op v4_ops[REQ_OPS_MAX]; /* rows without run are illegal */
/* The row of operation `op` in a minor version, or NULL: NFS4ERR_OP_ILLEGAL. */
const struct v4_op *v4_op_find(uint32_t op, uint32_t minor);

/* A filehandle put aside, with what goes with it; `file` and `cred` are counted. */
struct v4_saved {
	bool have;
	struct fh fh;
	struct handle_parts parts;
	struct export *export;
	const struct export_opts *opts;
	struct cred *cred;
	struct file *file;
	bool have_id;
	stateid4 id;
};

/* The COMPOUND; in r->proc_data. */
struct v4 {
	struct io_call io;	  /* READ, WRITE, COMMIT; first, where io_call() looks */
	uint32_t minor, nops, at; /* announced; index of the one in hand */
	uint32_t op;		  /* its number */
	bool worker;		  /* on the worker's thread now */
	/* parts.kind HANDLE_PSEUDO: a node of the pseudo file system, no export */
	bool have_fh;
	bool error_body;	  /* set by an operation whose error carries a result */
	bool have_id;		  /* a current stateid (RFC 8881 s.16.2.3.1.2) */
	stateid4 id;
	struct v4_saved saved;
	/* bytes the whole reply may have (4.1: the session's limit, RPC header included) */
	uint32_t room;
	bool keep;		  /* the slot keeps the reply: it must be in one piece */
	/* that is ca_maxresponsesize_cached: more is REP_TOO_BIG_TO_CACHE */
	bool to_cache;
	/* 4.1, set by SEQUENCE; given back by the walker's end through state4_sequence_done() */
	struct state4_session *session;
	struct state4_slot *slot;
	struct state4_parked parked; /* SEQUENCE: waits in a slot for the request it repeats */
	uint64_t sum;		     /* ... which is known by this, over the call */
	/* pinned: when the reply has been sent, its client may be called */
	struct state4_session *probe;
	/*
	 * Whose lease this COMPOUND uses: pinned (4.1 by
	 * SEQUENCE, 4.0 by an operation), put at its end.
	 */
	struct state4_client *client;
	struct state4_open *open; /* READ, WRITE: pinned while the I/O runs */
	/* the walker's */
	/* the operation in hand: its number and place for its status are there */
	bool begun;
	bool checked; /* ... and nothing stands against carrying it out */
	bool asked_drc;
	uint32_t over;		  /* V4_REPLAY, V4_DROP: so it ends */
	unsigned bounces;	  /* times it changed threads */
	size_t arg_at, result_at, count_at;
	uint32_t status;
};
static_assert(sizeof(struct v4) <= sizeof(((struct req *)0)->proc_data),
	      "a COMPOUND fits its request");

static inline struct v4 *v4(struct req *r)
{
	return (struct v4 *)&r->proc_data;
}

static inline bool v4_pseudo(const struct req *r)
{
	return r->parts.kind == HANDLE_PSEUDO;
}

/* --- nfs4_compound.c --- */

extern const struct req_proc v4_procs[V4_NPROCS];
req_step v4_null, v4_compound;
/*
 * The operation that answered V4_STEP is over: goes on with the next.  For a step on the worker,
 * which returns what this does; never from inside run().
 */
enum req_step_result v4_over(struct req *r, uint32_t status);
/* The same for one that is to run from its start, once more. */
enum req_step_result v4_again(struct req *r);
/*
 * Room for `n` more bytes of results, the reply made larger if need be: NFS4_OK, or
 * NFS4ERR_REP_TOO_BIG, _TO_CACHE, RESOURCE (4.0).  To be asked before any side effect.
 */
uint32_t v4_room(struct req *r, uint32_t n);
/* Bytes v4_room() would still give. */
uint32_t v4_room_left(const struct req *r);
/* Decode by rpcgen's codec: NFS4ERR_BADXDR when it does not.  codec_free() is the caller's. */
uint32_t v4_decode(struct req *r, xdrproc_t proc, void *out);
uint32_t v4_encode(struct req *r, xdrproc_t proc, const void *in);

/* --- nfs4_fh.c: the current and the saved filehandle --- */

/*
 * Make the object the current one: `fh` is copied, `file` (counted, may be NULL) taken.  The
 * export stays.  The current stateid is forgotten.
 */
void v4_set_fh(struct req *r, const struct fh *fh, const struct handle_parts *p, struct file *file);
/* Enter by a handle, through the gate (access.h); worker's thread.  An nfsstat4. */
uint32_t v4_enter(struct req *r, const uint8_t *fh, uint32_t len);
void v4_save_fh(struct req *r);
uint32_t v4_restore_fh(struct req *r);
/* Current and saved change places, for operations on two objects (LINK, COPY). */
void v4_swap_fh(struct req *r);
/* No current filehandle any more. */
void v4_drop_fh(struct req *r);
/*
 * r->file for the current object with `a`: at once when it is cached, else V4_ELSEWHERE on the
 * worker and opened on an offload thread.  NFS4_OK or a status.
 */
uint32_t v4_file(struct req *r, enum file_access a);
/*
 * V4_ELSEWHERE unless on an offload thread; then r->cred is
 * known and assumed: undo with cred_assume(NULL).
 */
uint32_t v4_as_caller(struct req *r);

/* --- nfs4_attr*.c --- */

/* Bitmaps of at most this many words are kept; more are read and ignored. */
#define V4_ATTR_WORDS 3
struct v4_attrs {
	uint32_t word[V4_ATTR_WORDS];
};
/* bitmap4 at the cursor. */
uint32_t v4_get_attrs(struct cursor *c, struct v4_attrs *out);
/* change attribute of an object under `root` (RFC 8881 s.5.8.1.4). */
uint64_t v4_change(const struct root *root, const struct stat *st);
/* change_info4: never atomic; before and after as change attributes. */
void v4_put_change_info(struct cursor *c, uint64_t before, uint64_t after);
/* bitmap4, without words of zero at its end. */
void v4_put_attrs(struct cursor *c, const struct v4_attrs *a);

/* Attributes to be set, decoded and checked. */
struct v4_sattr {
	struct sattr s;
	struct v4_attrs asked; /* what is told as set when all of it was */
};
enum v4_sattr_use { V4_SATTR_SET, V4_SATTR_NEW };
/*
 * fattr4 of settable attributes, as an argument of SETATTR, or of what makes an object (CREATE,
 * OPEN): mode_umask is for these alone.  Looks up names of owners: offload threads.  An nfsstat4.
 */
uint32_t v4_sattr_decode(struct req *r, const fattr4 *in, enum v4_sattr_use use,
			 struct v4_sattr *out);
/* The same at the cursor. */
uint32_t v4_sattr_get(struct req *r, struct cursor *c, enum v4_sattr_use use, struct v4_sattr *out);
/*
 * All but the size set on the existing object `fd` (any descriptor), as the caller; *set tells what
 * was.  What is new gets its attributes from the act that makes it (act.h): for it `asked` is the
 * answer.
 */
uint32_t v4_sattr_apply(struct req *r, const struct v4_sattr *a, int fd, struct v4_attrs *set);

/* A component4 that may be looked up: no '/', not "." or "..", length. */
uint32_t v4_name_check(const component4 *name);
/* The same at the cursor, terminated in `out`. */
uint32_t v4_get_old_name(struct cursor *c, char out[NAME_MAX + 1]);
/* One that may be made: UTF-8 too, else NFS4ERR_INVAL. */
uint32_t v4_get_name(struct cursor *c, char out[NAME_MAX + 1]);
/*
 * `status` of what was done by a name that should be there: NFSv3 and processes of this host make
 * names that are not UTF-8, and READDIR shows them; where there is none of that name, it is INVAL
 * and not NOENT.
 */
uint32_t v4_name_status(const char *name, uint32_t status);
/*
 * The current object, opened: NFS4ERR_NOTDIR unless it is
 * a directory.  Not on the pseudo file system.
 */
uint32_t v4_dir(struct req *r);
/* The change attribute of the open object `f` now. */
uint64_t v4_change_now(const struct file *f);

/* --- operations, by file --- */

uint32_t v4_notsupp(struct req *r);

/* nfs4_fh.c */
uint32_t v4_putfh(struct req *r), v4_putrootfh(struct req *r), v4_getfh(struct req *r),
	v4_savefh(struct req *r), v4_restorefh(struct req *r);
/* nfs4_io.c */
uint32_t v4_read(struct req *r), v4_write(struct req *r), v4_commit(struct req *r),
	v4_read_plus(struct req *r);
/* nfs4_attr.c */
uint32_t v4_getattr(struct req *r), v4_setattr(struct req *r), v4_verify(struct req *r),
	v4_nverify(struct req *r), v4_access(struct req *r);
/* nfs4_name.c, nfs4_dir.c */
uint32_t v4_lookup(struct req *r), v4_lookupp(struct req *r), v4_readlink(struct req *r),
	v4_create(struct req *r), v4_remove(struct req *r), v4_rename(struct req *r),
	v4_link(struct req *r), v4_readdir(struct req *r), v4_secinfo(struct req *r),
	v4_secinfo_no_name(struct req *r);
/* nfs4_client.c */
uint32_t v4_setclientid(struct req *r), v4_setclientid_confirm(struct req *r),
	v4_renew(struct req *r), v4_exchange_id(struct req *r), v4_destroy_clientid(struct req *r),
	v4_reclaim_complete(struct req *r);
/* nfs4_session.c */
uint32_t v4_create_session(struct req *r), v4_destroy_session(struct req *r),
	v4_sequence(struct req *r), v4_bind_conn_to_session(struct req *r),
	v4_backchannel_ctl(struct req *r);
/* nfs4_open.c */
uint32_t v4_open(struct req *r), v4_open_confirm(struct req *r), v4_open_downgrade(struct req *r),
	v4_close(struct req *r), v4_free_stateid(struct req *r), v4_test_stateid(struct req *r),
	v4_delegreturn(struct req *r);
/* nfs4_lock.c */
uint32_t v4_lock(struct req *r), v4_lockt(struct req *r), v4_locku(struct req *r),
	v4_release_lockowner(struct req *r);
/* nfs4_space.c, nfs4_copy.c, nfs4_xattr.c (4.2) */
void v4_get_stateid(struct cursor *c, stateid4 *id);
/*
 * The current object's file for a stateid, counted: that of its open, or opened anew with the
 * caller's rights looked at, for a special one.  Offload threads.
 */
uint32_t v4_file_by_id(struct req *r, const stateid4 *id, enum state4_use use, struct file **out);
/*
 * Blocks.  May the caller use `f` so: as uid `opener` always, else
 * by the file's mode, its owner as in v3?  -errno.
 */
int v4_permit(struct req *r, const struct file *f, enum state4_use use, uint32_t opener);
/* Data or blocks of the open file `f` were changed: stable on a sync export.  0 or -errno. */
int v4_changed(struct req *r, struct file *f);
/* A range to be changed: NFS4ERR_INVAL when it has no end, FBIG when no file reaches that far. */
uint32_t v4_range_check(uint64_t offset, uint64_t len);
uint32_t v4_seek(struct req *r), v4_allocate(struct req *r), v4_deallocate(struct req *r),
	v4_copy(struct req *r), v4_offload(struct req *r), v4_clone(struct req *r),
	v4_getxattr(struct req *r),
	v4_setxattr(struct req *r), v4_listxattrs(struct req *r), v4_removexattr(struct req *r);

#endif
