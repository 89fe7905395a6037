/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What clients hold: owners, opens and locks, for state4_id.c, state4_owner.c,
 * state4_open.c, state4_lock.c, state4_revoke.c and the operations on them (nfs4_open*.c,
 * nfs4_lock.c).  Everything is under the lock of state4.h unless it says
 * otherwise.
 *
 * A stateid names a struct state4_open: an open of a file by an open owner, or
 * the locks of a lock owner on a file.  What goes is first taken out of the
 * tables (`gone`) and freed with its last pin, outside the lock, since that may
 * close files.
 */
#ifndef PROTO_STATE4_HELD_H
#define PROTO_STATE4_HELD_H

#include <stdatomic.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/state4_int.h"
#include "nfsd-io/proto/state4_map.h"
#include "nfsd-io/proto/state4_range.h"

struct v4;

struct state4_tables {
	struct state4_map ids, owners, files, revoked;
	struct state4_link idle; /* 4.0 owners that hold nothing, the longest first */
	uint32_t next_id;
	unsigned max_opens, max_locks, nopens, nlocks, nowners;
	uint64_t replays, reclaims;
};

/* A file that somebody has open. */
struct state4_file {
	struct state4_node node;
	struct fh fh;
	struct state4_link opens;    /* its stateids, of both kinds */
	unsigned access[2], deny[2]; /* opens that read, write; that deny reading, writing */
	unsigned users;		     /* lock operations at work on it */
	bool locking;		     /* one of them is talking to the kernel */
};

/* The answer to the last request of a 4.0 owner, behind the status. */
struct state4_replay {
	bool have;
	uint32_t op, status, len;
	uint8_t *data; /* malloc'd */
	struct fh fh;  /* OPEN: the current filehandle afterwards; len 0: as it was */
};

struct state4_owner {
	struct state4_node node;
	struct state4_client *client;
	struct state4_owner *next, **pprev; /* of the client */
	struct state4_link idle;
	struct state4_link opens;	    /* its stateids */
	struct state4_open *closed;	    /* 4.0: the last one closed, for a CLOSE sent again */
	unsigned refs;			    /* the tables' one included */
	bool lock, v40, confirmed, gone;
	bool busy;			    /* 4.0: a request in its sequence is at work */
	uint32_t seqid;			    /* 4.0: the next one */
	uint64_t idle_ns;		    /* since when it holds nothing */
	struct state4_replay replay;
	uint32_t len;
	uint8_t name[];
};

/* A list of what is to be freed, without the lock. */
struct state4_files {
	struct state4_files *next;
};

struct state4_open {
	struct state4_node node;
	_Atomic unsigned refs;
	uint32_t id, seqid;
	bool lock;		    /* of a lock owner */
	bool gone;		    /* closed or revoked */
	struct state4_file *sfile;  /* NULL when gone, as the two below */
	struct state4_owner *owner;
	struct state4_open *open;   /* lock: the open it was made under */
	struct state4_link of_file, of_owner;
	unsigned nlocks;	    /* open: lock stateids under it */
	struct file *file;	    /* counted */
	uint8_t access, deny;	    /* bit n: share mode n was asked for */
	_Atomic uint32_t uid;	    /* open: who opened it; STATE4_UIDS: not one alone */
	struct state4_ranges ranges;
	/* lock: the description whose OFD locks mirror the ranges; -1 */
	_Atomic int fd;
	struct state4_files dead;   /* gone: what state4_files_put() frees */
};

/* What the operator has taken away: a stateid's number, no more. */
struct state4_revoked {
	struct state4_node node;
	struct state4_client *client;
	struct state4_revoked *next, **pprev; /* of the client */
	struct state4_owner *owner; /* pinned: 4.0's sequence goes on */
};

/* --- state4_id.c: stateids --- */

enum state4_kind { STATE4_OPEN = 1, STATE4_LOCK = 2, STATE4_CLOSED = 4 };

bool state4_id_anonymous(const stateid4 *id); /* all zeros */
bool state4_id_bypass(const stateid4 *id);    /* all ones */
/* (1, 0): the current stateid of a 4.1 COMPOUND; put in its place when there is one. */
void state4_id_current(const struct v4 *c, stateid4 *id);
/* What CLOSE answers: of no use to anybody (RFC 8881 s.18.2.4). */
void state4_id_invalid(stateid4 *out);
/* A number for a new stateid. */
uint32_t state4_id_new(struct state4_tables *t);
void state4_id_of(const struct state4_open *o, stateid4 *out);
/* The next seqid of `o`, which *out tells. */
void state4_id_bump(struct state4_open *o, stateid4 *out);
/*
 * The state `id` names, of one of `kinds`: NFS4_OK and *out, not pinned; BAD, STALE_STATEID,
 * EXPIRED, ADMIN_REVOKED.  Sets and renews the COMPOUND's client in 4.0.  The seqid is not looked
 * at.
 */
uint32_t state4_id_find(struct state4 *s, struct v4 *c, const stateid4 *id, unsigned kinds,
			struct state4_open **out);
/* The number in a stateid. */
uint32_t state4_id_number(const stateid4 *id);
/* Is the seqid the one of now?  OLD_STATEID, BAD_STATEID.  4.1: 0 is. */
uint32_t state4_id_seqid(const stateid4 *id, const struct state4_open *o, bool v40);
/*
 * 4.0: the client is the one this COMPOUND acts for from here
 * on, and its lease is renewed until state4_served().
 */
uint32_t state4_id_client(struct state4 *s, struct v4 *c, clientid4 id);

/* --- state4_owner.c --- */

struct state4_owner *state4_owner_find(struct state4 *s, const struct state4_client *c, bool lock,
				       const void *name, uint32_t len);
/* Made and found in the tables; not pinned.  NULL: no memory. */
struct state4_owner *state4_owner_new(struct state4 *s, struct state4_client *c, bool lock,
				      const void *name, uint32_t len, uint32_t seqid);
struct state4_owner *state4_owner_get(struct state4_owner *o);
void state4_owner_put(struct state4_owner *o);
/* Out of the tables; it holds nothing any more. */
void state4_owner_drop(struct state4 *s, struct state4_owner *o);
/*
 * It may have come to hold nothing, or something: watch it.  A lock owner that holds nothing goes.
 */
void state4_owner_idle(struct state4 *s, struct state4_owner *o);

/*
 * 4.0's sequence: one request of an owner at a time, each with the next seqid, the last one
 * answered again.  One of these stands on the stack of the operation.
 */
struct state4_seq {
	struct state4_owner *owner; /* pinned; NULL: no sequence is kept (4.1) */
	uint32_t op;
	size_t at;		    /* in r->reply: where its result begins */
};
void state4_seq_init(struct state4_seq *t, const struct req *r);
/*
 * Wait for the owner's turn, then check `seqid`: NFS4_OK; BAD_SEQID; STATE4_REPLAY: the kept answer
 * is due, which state4_seq_end() encodes; STATE4_AGAIN: the owner went meanwhile, look it up anew.
 * 4.1: NFS4_OK.
 */
#define STATE4_REPLAY 0xffff0010u
#define STATE4_AGAIN 0xffff0011u
uint32_t state4_seq_take(struct state4 *s, struct state4_seq *t, struct state4_owner *o,
			 uint32_t seqid);
/*
 * The same by a stateid on the current filehandle, of one of `kinds`: the state found, its owner's
 * turn taken, seqid, stateid and filehandle checked.  NFS4_OK and *out, not pinned; STATE4_REPLAY;
 * an nfsstat4.
 */
uint32_t state4_seq_by_id(struct state4 *s, struct state4_seq *t, struct req *r, stateid4 *id,
			  uint32_t seqid, unsigned kinds, struct state4_open **out);
/* Does the sequence go on after this status (RFC 7530 s.9.1.7)? */
bool state4_seq_moves(uint32_t status);
/*
 * Takes the lock.  The operation answers `status`, its result is encoded: keep it, the sequence
 * goes on (but for the statuses of RFC 7530 s.9.1.7), the next one's turn.  `fh`: what OPEN made
 * current, or NULL.  Returns the status to answer.
 */
uint32_t state4_seq_end(struct state4 *s, struct state4_seq *t, struct req *r, uint32_t status,
			const struct fh *fh);

/* --- state4_open.c --- */

struct state4_file *state4_file_find(struct state4 *s, const struct fh *fh);
/*
 * Find or make; NULL: no memory.  Goes when it has no stateids and no users: state4_file_check().
 */
struct state4_file *state4_file_make(struct state4 *s, const struct fh *fh);
void state4_file_check(struct state4 *s, struct state4_file *f);

/* The open of `f` by `w`, or NULL. */
struct state4_open *state4_open_find(const struct state4_file *f, const struct state4_owner *w);
/*
 * Made, in the tables, without any access; takes `file`.  NULL
 * (and `file` put): no memory or too many.
 */
struct state4_open *state4_open_new(struct state4 *s, struct state4_owner *w, struct state4_file *f,
				    struct file *file);
struct state4_open *state4_open_get(struct state4_open *o);
/* May it have `access` and `deny` besides (RFC 8881 s.9.7)?  NFS4_OK or SHARE_DENIED. */
uint32_t state4_share_check(const struct state4_file *f, const struct state4_open *o,
			    unsigned access, unsigned deny);
/* Who stands in the way and is kept by courtesy only: pinned, or NULL. */
struct state4_client *state4_share_courtesy(const struct state4_file *f,
					    const struct state4_open *o, unsigned access,
					    unsigned deny);
/* Give it exactly these sets of modes. */
void state4_share_set(struct state4_open *o, uint8_t access, uint8_t deny);
/* The union of a set of modes: bits of READ and WRITE. */
unsigned state4_share_union(uint8_t modes);
/* May the open be read by, be written by? */
bool state4_open_may(const struct state4_open *o, enum state4_use use);
/*
 * Out of the tables with the locks under it; what is to be closed goes to *out, for
 * state4_files_put() without the lock.  `keep`: a 4.0 CLOSE: it can be found closed.
 */
void state4_open_drop(struct state4 *s, struct state4_open *o, bool keep,
		      struct state4_files **out);

/* --- state4_revoke.c --- */

/* What was revoked by this number, or NULL. */
struct state4_revoked *state4_revoke_find(const struct state4_tables *t, uint32_t number);
/* The client `c` has heard of it: NFS4_OK, or BAD_STATEID when it was none of its. */
uint32_t state4_revoke_free(struct state4 *s, const struct state4_client *c, uint32_t number);
/* The same for 4.0; `seqid`: of an operation in the owner's sequence, which goes on, or NULL. */
void state4_revoke_told(struct state4 *s, const struct state4_client *c, uint32_t number,
			const uint32_t *seqid);
/* The client goes. */
void state4_revoke_forget(struct state4 *s, struct state4_client *c);

/* --- state4_lock.c --- */

/* What stands against a lock; the owner's name is malloc'd, NULL for a process of this machine. */
struct state4_conflict {
	struct state4_range range;
	clientid4 client;
	uint32_t len;
	uint8_t *name;
};
/*
 * The stateid of lock owner `w` on the file of `o`, an open; made when there is none, *fresh then.
 * NULL: no memory.
 */
struct state4_open *state4_lock_stateid(struct state4 *s, struct state4_owner *w,
					struct state4_open *o, bool *fresh);
/*
 * Under the lock; NFS4ERR_DENIED when somebody but `w` (may be NULL)
 * stands against it; fills *out, or a courtesy client.
 */
uint32_t state4_lock_test(struct state4 *s, const struct state4_file *f,
			  const struct state4_owner *w, const struct state4_range *g,
			  struct state4_conflict *out, struct state4_client **courtesy);
/*
 * Takes the lock; blocks.  Set or free `g` for the pinned lock stateid `o`, in the kernel too:
 * NFS4_OK and *id; DENIED and *out; an error.
 */
uint32_t state4_lock_set(struct state4 *s, struct state4_open *o, const struct state4_range *g,
			 enum state4_lock_kind kind, struct state4_conflict *out, stateid4 *id);
/*
 * Without the lock: has a process of this machine locked any of `g` of `file`?  `mine` is the
 * asker's own lock stateid there, pinned, or NULL.
 */
uint32_t state4_lock_local(struct file *file, struct state4_open *mine,
			   const struct state4_range *g, struct state4_conflict *out);

#endif
