/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv4 state: clients, sessions and slots, open and lock owners, opens, locks.
 * One table and one lock for all workers, because state must survive a
 * reconnect to another one.  The lock is held for table work only, never over
 * a system call that may wait, a sync of the client records or a name lookup.
 * Knows no wire format beyond the types of rpc/nfs4.h, and no filehandles
 * beyond their bytes.  Pinned objects stay in memory until put; what they say
 * may have been revoked meanwhile, so look again under the lock.
 *
 *   state4.c         the whole, its lock, the laundry thread's work, counters
 *   state4_client.c  client ids of 4.0 and 4.1, lease, courtesy; state4_client_show.c for people
 *   state4_session.c sessions, slots
 *   state4_back.c    backchannels: the connections bound to sessions, calls to clients
 *   state4_grace.c   grace and reclaim
 *   state4_record.c  client records in SQLite, in nfsdcld's schema
 *   state4_id.c      stateids: made, checked, found
 *   state4_owner.c   open and lock owners, 4.0 seqids and their one-deep replay
 *   state4_open.c    opens and share reservations by file
 *   state4_lock.c    byte ranges
 *   state4_revoke.c  what the operator takes away
 */
#ifndef PROTO_STATE4_H
#define PROTO_STATE4_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsd-io/core/file.h"
#include "nfsd-io/core/handle.h"
#include "rpc/nfs4.h"

struct back_call;
struct req;
struct state4;
struct state4_session;
struct state4_stats;
struct state4_client;
struct state4_open;

struct state4_params {
	uint32_t lease_s;	/* 0 = 90 */
	uint32_t grace_s;	/* 0 = lease_s */
	const char *state_dir;	/* client records; NULL: none are kept and there is no grace */
	/* 0 = 10000, confirmed or not; unconfirmed ones go, the busiest address's oldest first */
	uint32_t max_clients;
	uint32_t max_opens;	/* of one client; 0 = 100000 */
	uint32_t max_locks;	/* ranges of one client; 0 = 1000000 */
	uint32_t max_read, max_write; /* bytes, for session limits */
	void (*log)(void *arg, int priority, const char *fmt, ...)
		__attribute__((format(printf, 3, 4)));
	/*
	 * Send a call out of connection b->conn (back.h); takes `b` unless it fails: 0 or
	 * -ENOTCONN.  Any thread, does not block, not under the lock.  NULL: clients are not
	 * called, and told so.
	 */
	int (*call)(void *arg, struct back_call *b);
	void *arg;
	uint64_t (*now_ns)(void); /* NULL = CLOCK_MONOTONIC; tests have their own */
};

/*
 * 0 or -ENOMEM.  Without a usable record database (why is
 * logged) no records are kept and there is no grace.
 */
int state4_new(struct state4 **out, const struct state4_params *p);
/* No request is left.  Releases every file; client records stay for the next start. */
void state4_free(struct state4 *s);

void state4_lock(struct state4 *s);
void state4_unlock(struct state4 *s);
uint64_t state4_now_ns(const struct state4 *s);
uint32_t state4_lease_s(const struct state4 *s);
/* This start of the server, in clientids and stateids: those of another are STALE. */
uint32_t state4_boot(const struct state4 *s);
/*
 * About once a second, on an offload thread (may block): expires leases, ends grace, drops what
 * is too old.  Never needed for an idle server without clients.
 */
void state4_sweep(struct state4 *s);
/*
 * Any thread, cheap: are there clients or is there grace,
 * so that state4_sweep() has something to do?
 */
bool state4_active(struct state4 *s);

/* --- between clients (state4_client.c) and opens (state4_open.c, state4_owner.c) --- */

/* What the opens' side keeps in each client, embedded there; under the lock. */
struct state4_held {
	struct state4_owner *owners; /* open and lock owners */
	unsigned nowners, nopens, nlocks;
	struct state4_revoked *revoked; /* told as ADMIN_REVOKED until it has been heard */
	unsigned nrevoked;
	uint32_t changes; /* moves whenever an open or lock does */
};

/*
 * The opens' side's own tables: state4_new() makes them,
 * state4_free() frees them after the clients.
 */
struct state4_tables;
int state4_tables_new(struct state4_tables **out, const struct state4_params *p); /* 0 or -ENOMEM */
/* NULL is fine */
void state4_tables_free(struct state4_tables *t);
struct state4_tables *state4_tables(struct state4 *s);
/*
 * Under the lock, which is let go meanwhile: until somebody calls state4_wake(); then look again.
 */
void state4_wait(struct state4 *s);
void state4_wake(struct state4 *s);
/* Under the lock, for state4_sweep(): 4.0 owners without opens go a lease after their last use. */
void state4_held_sweep(struct state4 *s);
/* Under the lock: fills opens, locks, owners, replays and reclaims. */
void state4_held_stats(struct state4 *s, struct state4_stats *out);

/*
 * Under the lock.  NFS4_OK and *out, or STALE_CLIENTID /
 * EXPIRED; of this minor version kind (0: 4.0).
 */
uint32_t state4_client_find(struct state4 *s, clientid4 id, bool v40, struct state4_client **out);
struct state4_held *state4_client_held(struct state4_client *c);
clientid4 state4_client_id(const struct state4_client *c);
bool state4_client_v40(const struct state4_client *c);
/* Under the lock: the lease is renewed, a courtesy client is a client again. */
void state4_client_renew(struct state4 *s, struct state4_client *c);
/* Under the lock: its lease is over and it is kept by courtesy only: it gives way to a conflict. */
bool state4_client_courtesy(const struct state4_client *c);
/* Takes the lock: the 4.0 COMPOUND is over that acted for `c` (state4_id_client()). */
void state4_served(struct state4 *s, struct state4_client *c);
/* Pins; any thread, and under the lock too. */
struct state4_client *state4_client_get(struct state4_client *c);
void state4_client_put(struct state4_client *c);
/*
 * Without the lock, blocks (offload thread): the client is in stable storage before it is
 * given state that it may reclaim (RFC 8881 s.8.4.2).  Cheap when it is already.  0 or -errno.
 */
int state4_client_record(struct state4 *s, struct state4_client *c);
/*
 * Without the lock, blocks: a courtesy client stands in the way of another's request: its record
 * goes from stable storage first, then its state.  The caller looks for conflicts anew.
 */
void state4_client_evict(struct state4 *s, struct state4_client *c);

/*
 * Under the lock: a 4.1 client that has not sent RECLAIM_COMPLETE: only
 * reclaims are for it (RFC 8881 s.18.51.3).
 */
bool state4_client_reclaiming(const struct state4_client *c);
/* Under the lock: is there grace?  Then only reclaims; may this client reclaim? */
bool state4_in_grace(struct state4 *s);
bool state4_may_reclaim(struct state4 *s, struct state4_client *c);

/*
 * Under the lock: all opens, locks and owners of the client go.  Files to be closed come back as
 * a list, to be given to state4_files_put() without the lock.
 */
struct state4_files;
struct state4_files *state4_held_drop(struct state4 *s, struct state4_client *c);
void state4_files_put(struct state4_files *f); /* NULL is fine */
/*
 * Under the lock: anything that makes DESTROY_CLIENTID
 * answer CLIENTID_BUSY, or a lease worth a courtesy?
 */
bool state4_held_any(const struct state4_held *h);

/*
 * Without the lock, blocks: the export of this root is no more (root->retired is set): opens and
 * locks of its files are revoked, as how many are told, and the files closed.
 */
unsigned state4_revoke_root(struct state4 *s, uint32_t root_id);

/* --- for READ, WRITE, SETATTR(size) (state4_open.c) --- */

enum state4_use { STATE4_READ = 1, STATE4_WRITE = 2 };
/*
 * May the stateid be used for this on the current object of `r`?  Special stateids respect DENY
 * and grace; the file of a real one comes pinned in v4(r)->open, which keeps an unlinked file
 * usable: *file is counted, or NULL for special stateids (open it as v3 does, with v3's checks).
 * Any thread; takes the lock.  Renews a 4.0 lease.  An nfsstat4.
 */
uint32_t state4_io(struct req *r, const stateid4 *id, enum state4_use use, struct file **file);
void state4_open_put(struct state4_open *o);
/* Whose rights the open stands for: the uid (squashed) of all who made it, or STATE4_UIDS. */
#define STATE4_UIDS UINT32_MAX
uint32_t state4_open_uid(const struct state4_open *o);
/*
 * The file of `fh` that an open keeps, with at least `a`;
 * counted, or NULL.  It works when no name is left, too.
 */
struct file *state4_file_of(struct state4 *s, const struct fh *fh, enum file_access a);
/* Does a DENY mode stand against v3-like use of the file `fh`?  Takes the lock. */
bool state4_denied(struct state4 *s, const struct fh *fh, enum state4_use use);

/* --- for the walker (state4_session.c, state4_back.c) --- */

/*
 * The retransmission of a request that is still at work in its slot: waits for its end, to be
 * answered from the slot then.  One a slot: a newer one takes its place.
 */
struct state4_parked {
	/* Once, by any thread, not under the lock: ask state4_session_turn() again, `again` set. */
	void (*wake)(struct state4_parked *p);
	bool displaced; /* ... no, for a newer one waits now */
};

/*
 * The COMPOUND whose SEQUENCE got a slot is over; `reply` is all of its COMPOUND4res, kept in the
 * slot when it is asked for and fits (NULL: it cannot be kept, as with data that is not in it).
 * Takes the lock.  The slot is free again, whatever happened; v4(r)->client stays pinned.
 */
void state4_sequence_done(struct req *r, const uint8_t *reply, uint32_t len);
/*
 * Any thread, takes the lock: ask the client of a pinned
 * session what there is to be asked of its backchannel.
 */
void state4_back_probe(struct state4 *s, struct state4_session *n);
/* Takes the lock: it need not stay in memory any longer. */
void state4_session_put(struct state4 *s, struct state4_session *n);

/* --- for people --- */

struct state4_client_info {
	clientid4 id;
	uint32_t number; /* the low half of id */
	uint8_t minor;
	bool confirmed, courtesy, recorded;
	const char *addr;
	const uint8_t *owner;
	uint32_t owner_len;
	uint64_t idle_s; /* seconds since its last renewal */
	unsigned sessions, opens, locks;
	uint32_t changes; /* another one when what it holds is something else, or how it is */
};
/* Takes the lock, and holds it over `fn`; only its values last. */
void state4_client_each(struct state4 *s, void (*fn)(void *arg, const struct state4_client_info *c),
			void *arg);
/* The client of this number goes with all it holds, as the operator says: 0 or -ENOENT.  Blocks. */
int state4_client_expire(struct state4 *s, uint32_t number);

struct state4_grace_info {
	bool on;
	bool records; /* clients are recorded at all */
	uint32_t left_s;
	unsigned known, done; /* clients that may reclaim; that have */
};
void state4_grace_info(struct state4 *s, struct state4_grace_info *out);
/* Ends grace at once.  Without the lock, blocks. */
void state4_grace_end(struct state4 *s);

struct state4_stats {
	unsigned clients, unconfirmed, courtesy, sessions, opens, locks, owners;
	uint64_t expired, evicted, replays, reclaims;
	bool grace;
};
void state4_stats(struct state4 *s, struct state4_stats *out);

#endif
