/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One request, from the first byte of its record to the last of its reply:
 *
 *   FREE -> PARSE -> RUN <-> WAIT -> SEND -> FREE
 *
 * A procedure is a chain of small steps; req_run() is the only loop that
 * drives them.  Knows no sockets, rings' insides or config syntax.  Belongs
 * to its worker's thread, except that an offload job may fill it while WAIT.
 */
#ifndef PROTO_REQ_H
#define PROTO_REQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsd-io/core/file.h"
#include "nfsd-io/core/io.h"
#include "nfsd-io/core/offload.h"
#include "nfsd-io/core/pool.h"
#include "nfsd-io/core/ring.h"
#include "nfsd-io/proto/drc.h"
#include "nfsd-io/proto/export.h"
#include "rpc/cursor.h"
#include "rpc/dispatch.h"
#include "rpc/msg.h"

/* Bytes of a call kept inside the request (header and arguments, WRITE: without its data). */
#define REQ_CALL_MAX 8192
/* Bytes of a reply kept inside the request; more (READDIR) goes to req->big. */
#define REQ_REPLY_MAX 1024

enum req_state { REQ_FREE, REQ_PARSE, REQ_RUN, REQ_WAIT, REQ_SEND };
enum req_step_result { STEP_MORE, STEP_WAIT, STEP_REPLY, STEP_DROP };

struct req;
typedef enum req_step_result req_step(struct req *r);

/* A procedure's table entry (struct dispatch_program.procs). */
struct req_proc {
	const char *name;   /* "WRITE" */
	req_step *step;	    /* first step */
	bool idempotent;    /* false: goes through the duplicate-request cache */
};

/* Per worker, summed by readers. */
#define REQ_PROCS_MAX 32
#define REQ_OPS_MAX 76 /* operations of NFSv4 */
struct req_stats {
	_Atomic uint64_t calls[REQ_PROCS_MAX];	/* NFSv3 by procedure */
	_Atomic uint64_t errors[REQ_PROCS_MAX]; /* status != OK */
	_Atomic uint64_t v4_calls[REQ_OPS_MAX];	 /* NFSv4 by operation; 0: illegal ones */
	_Atomic uint64_t v4_errors[REQ_OPS_MAX];
	_Atomic uint64_t compounds;
	_Atomic uint64_t mount_calls, rejected, garbage, bad_handles, stale_handles, jukebox;
	/* WRITE payload bytes */
	_Atomic uint64_t payload_copied, payload_in_place, payload_spliced;
	_Atomic uint64_t payload_unpiped; /* WRITEs received into a pipe and taken out again */
	_Atomic uint64_t bytes_in, bytes_out;
	_Atomic uint64_t pipe_given_up; /* READs begun into a pipe and done again into a buffer */
} __attribute__((aligned(64)));

/* Versions of NFS as bits. */
#define REQ_VERS3 1u
#define REQ_VERS4(minor) (2u << (minor))
#define REQ_VERS4_ALL (REQ_VERS4(0) | REQ_VERS4(1) | REQ_VERS4(2))

struct idmap;
struct state4;

/* What the protocol needs from the process; one for all workers unless noted. */
struct proto_env {
	struct fdcache *files;
	struct offload *offload;
	struct drc *drc;
	struct verifier verifier;
	struct handle_key *key;
	uint32_t max_read, max_write; /* bytes */
	bool manage_gids;
	uint64_t slow_ns;	      /* a call that takes longer is logged; 0 = none is */
	bool insecure_default;
	unsigned versions_off;	      /* REQ_VERS3, REQ_VERS4(): not served */
	const char *state_dir;	      /* may be NULL: exclusive-create verifiers go elsewhere */
	struct mountlist *mounts;     /* MOUNT DUMP's list */
	struct idmap *idmap;	      /* how NFSv4 tells owners; NULL: as numbers */
	struct state4 *state;	      /* NFSv4; NULL: version 4 is not served */
	/* The current export table, counted for the caller. */
	struct export_table *(*exports)(void *arg);
	/* Supplementary groups of `uid` (manage-gids); blocking; 0 or -errno; *gids malloc'd. */
	int (*groups)(void *arg, uid_t uid, gid_t gid, gid_t **gids, unsigned *n);
	/* One log line, rate-limited by the server. */
	void (*log)(void *arg, int priority, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));
	void *arg;
};

#define REQ_MATCHES 8
#define REQ_IDENTITIES 4

/* What carries the request: a connection.  Called on the worker's thread. */
struct req_owner {
	/* The reply is ready (r->state == REQ_SEND), or there is none (r->drop). */
	void (*reply)(struct req_owner *o, struct req *r);
	/*
	 * A READ is planned (io->plan, one segment) and its payload only to be sent: a pipe for
	 * that segment, borrowed, or NULL: a buffer is better.  May be NULL: never a pipe.
	 */
	struct pipe *(*pipe)(struct req_owner *o, const struct read_io *io);
	/*
	 * A READ is about to borrow a buffer for so many bytes, which the call may not have shown
	 * (demand.h) where it stands behind other operations of a COMPOUND.  May be NULL.
	 */
	void (*borrows)(struct req_owner *o, struct req *r, uint32_t bytes);
	/* A WRITE was carried out as io->plan says: what to expect of the next.  May be NULL. */
	void (*wrote)(struct req_owner *o, const struct write_io *io);
	struct peer peer;
	uint64_t conn; /* number, unique for the process's life */
	_Atomic bool remembered; /* calls of it are in the replay cache */
	/* NFSv4 may call the client out of it: state4_back_lost() when it ends; never cleared */
	_Atomic bool carries;
	/*
	 * Which entry of an export this peer matches, for the table of `generation` (see access.h).
	 */
	uint64_t generation;
	struct req_match {
		uint32_t root_id;
		bool known;
		const struct export_client *client; /* NULL: none matches */
	} matches[REQ_MATCHES];
	/* Identities its calls came to, so that not each one makes its own; of the same table. */
	struct req_identity {
		const struct export_opts *opts;
		uint32_t flavor, uid, gid, ngids, gids[RPCCRED_GIDS_MAX]; /* as on the wire */
		uint64_t until_ns; /* CLOCK_MONOTONIC; looked-up groups may change */
		struct cred *cred; /* counted; NULL: empty */
	} identities[REQ_IDENTITIES];
};

struct req {
	struct req *next;	/* on exactly one list: free, queue of the connection, send queue */
	enum req_state state;
	unsigned inflight;	/* operations or jobs outstanding; 0 in FREE */
	req_step *step;		/* what runs next */
	void (*work)(struct req *r); /* of the offload job */
	/* frees what a procedure keeps in proc_data; by req_retire() */
	void (*fini)(struct req *r);
	bool drop;		/* no reply is to be sent */

	const struct proto_env *env;
	struct ring *ring;
	struct pool *pool;
	struct req_stats *stats;
	struct req_owner *owner;

	/* The call, filled by the connection. */
	uint8_t *call;		/* call_buf, or in call_large */
	uint32_t call_len;	/* bytes in call[] */
	uint32_t call_max;	/* ... that fit */
	uint8_t call_buf[REQ_CALL_MAX];
	/* COMPOUND: of a call longer than call_buf; returned by req_retire() */
	struct buf *call_large;
	uint32_t record_len;	/* bytes of the whole record, payload included */
	struct buf *payload;	/* WRITE: where the opaque data was received, or NULL */
	struct pipe *payload_pipe; /* ... or spliced into; borrowed, returned by req_retire() */
	const uint8_t *payload_data;
	uint32_t payload_len;	/* bytes of opaque data received, without pad */
	uint32_t payload_at;	/* where in call[] it was: behind its length word */
	bool cut;		/* COMPOUND: what stood behind its data did not fit */
	struct cursor args;
	struct msg_call hdr;
	const struct req_proc *proc;
	int err;		/* what an offload job came to: 0 or -errno */
	uint64_t start_ns;	/* when it began; set only when env->slow_ns is */

	/* Who and where. */
	struct export_table *table; /* counted */
	struct export *export;	    /* in table */
	const struct export_opts *opts;
	struct cred *cred;	    /* counted; after squash */
	struct fh fh;
	struct handle_parts parts;
	struct file *file;	    /* counted */

	/* The reply: header and results in reply (or big), then data, then zero pad to 4. */
	struct cursor reply;
	uint8_t reply_buf[REQ_REPLY_MAX];
	uint8_t *big;		    /* malloc'd reply buffer when reply_buf is too small */
	struct buf *data_buf;	    /* borrowed; returned by req_retire() */
	struct pipe *data_pipe;	    /* borrowed; returned by req_retire() */
	/* opaque bytes after the reply header, not copied; NULL: what is in data_pipe */
	const uint8_t *data;
	uint32_t data_len;
	const struct root_io *data_io; /* of READ data: the export's settings; else NULL */
	void (*read_done)(struct req *r); /* readto.h's */
	struct drc_entry *drc_entry;
	/* it waits for the request it repeats, then this runs */
	struct drc_waiter duplicate;
	req_step *then;

	struct offload_job job;
	struct pool_waiter waiter;
	union {
		struct read_io read;
		struct write_io write;
		struct commit_io commit;
	} io;
	union {
		uint64_t words[96];
		void *ptr;
	} proc_data; /* a procedure's own, zeroed at PARSE; static_assert that it fits */
};

/* Asserts that the edge is one of the five above. */
void req_set_state(struct req *r, enum req_state s);

/* FREE -> PARSE: clears what the last life left. */
void req_begin(struct req *r, const struct proto_env *env, struct ring *ring, struct pool *pool,
	       struct req_stats *stats, struct req_owner *owner);

/* The whole record is in: PARSE -> RUN; decodes the header, rejects or dispatches, runs. */
void req_dispatch(struct req *r);
/* The only loop that drives steps. */
void req_run(struct req *r);
/* Leave WAIT: `step` runs next. */
void req_resume(struct req *r, req_step *step);

/* For a step: run `fn` on an offload thread, then continue with `step`.  Returns STEP_WAIT. */
enum req_step_result req_offload(struct req *r, void (*fn)(struct req *), req_step *step);

/* The owner is about to go and has no requests left: drop what it remembered for them. */
void req_owner_fini(struct req_owner *o);

/*
 * The reply was sent, or never will be: returns every buffer, file
 * and reference; -> FREE.  Asserts inflight == 0.
 */
void req_retire(struct req *r);

/* The payload stands apart from call[], in memory or in a pipe. */
static inline bool req_payload_apart(const struct req *r)
{
	return r->payload || r->payload_pipe;
}
/*
 * It has a buffer already, so it must not wait for another: all that there are could be with
 * requests that do.
 */
static inline bool req_has_buffer(const struct req *r)
{
	return r->payload || r->call_large || r->data_buf;
}
/* It goes from the pipe to `b` (taken), in phase with its `offset` in the file; 0 or -errno. */
int req_payload_unpipe(struct req *r, struct buf *b, uint64_t offset);

/* Nobody will look at the payload any more: what holds it goes back at once. */
void req_payload_drop(struct req *r);

/* Start the reply header (success) anew; room for `room` bytes of results (0: REQ_REPLY_MAX). */
bool req_reply_begin(struct req *r, size_t room);
/* For a step: answer with an RPC-level rejection instead; GARBAGE_ARGS.  Return STEP_REPLY. */
enum req_step_result req_reject(struct req *r, const struct msg_error *err);
enum req_step_result req_garbage(struct req *r);
/*
 * The call against the duplicate-request cache: STEP_MORE (new: what finishes it is kept),
 * STEP_REPLY (answered, the reply is there), STEP_WAIT (the first still runs: r->step and all that
 * follows is seen to), STEP_DROP (the same, but not by the worker).  Any thread; `worker`: by it.
 */
enum req_step_result req_check_duplicate(struct req *r, bool worker);
/*
 * The request is a retransmission of one at work, and waits for its end.  First req_wait_ready();
 * then somebody is told to call req_wake(), once, by any thread: `step` runs then.  If that is
 * agreed, req_wait(), on the worker: it keeps no buffers, of its call no more than REQ_CALL_MAX
 * bytes, though call_len still tells what it was; r->step is STEP_WAIT.
 */
void req_wait_ready(struct req *r, req_step *step);
void req_wake(struct req *r);
void req_wait(struct req *r);
/* The instance's write verifier, for those who must bump it. */
struct verifier *req_verifier(const struct req *r);
/* Bytes of the reply record: header, results, data and pad. */
uint32_t req_reply_len(const struct req *r);

/*
 * In-phase receive: does the call in buf[0..len) (a prefix) carry a WRITE
 * payload, and where?  Told by the connection after each body chunk.
 */
enum req_peek { REQ_PEEK_MORE, REQ_PEEK_PLAIN, REQ_PEEK_PAYLOAD };
struct req_payload {
	size_t at;	 /* call bytes before the payload, its length word included */
	uint32_t len;	 /* bytes of opaque data */
	/* file offset it goes to: base + offset mod 4096 is where it is received */
	uint64_t offset;
	bool more;	 /* arguments may follow behind its pad: they go to call[] */
};
enum req_peek req_peek_payload(const uint8_t *buf, size_t len, struct req_payload *out);
/*
 * May the call in buf[0..len) be longer than call_buf, its WRITE data apart?  Then req_call_move().
 */
bool req_call_may_grow(const uint8_t *buf, size_t len);
/* What is in call[] moves to `b`, which the request takes. */
void req_call_move(struct req *r, struct buf *b);

/* Every program and version there is. */
extern const struct dispatch_program req_programs[];
extern const size_t req_nprograms;
/* Of them those served, *n in a row: what rpcbind is told. */
const struct dispatch_program *req_served(const struct proto_env *env, size_t *n);

#endif
