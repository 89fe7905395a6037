/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The insides of NFSv4 state, for state4*.c and the operations on clients and
 * sessions (nfs4_client.c, nfs4_session.c).  Everything here is under the lock
 * of state4.h unless it says otherwise.
 *
 * A client or session that goes is first taken out of the tables (it is `gone`)
 * and freed with its last pin.  What a client held is given up outside the
 * lock, for its record goes from stable storage first: state4_client_inter().
 */
#ifndef PROTO_STATE4_INT_H
#define PROTO_STATE4_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "nfsd-io/proto/state4.h"

#define STATE4_BUCKETS 4096 /* clients by id, by owner; sessions */
#define STATE4_CONN_BUCKETS 256
#define STATE4_ADDR_BUCKETS 1024 /* clients, by where they called from */
#define STATE4_SECOND 1000000000ull
#define STATE4_COURTESY_NS (24 * 3600 * STATE4_SECOND)
#define STATE4_VERF 8 /* bytes of a verifier4 */

/* A list: its head is a link of its own. */
struct state4_link {
	struct state4_link *prev, *next;
};

static inline void state4_list_init(struct state4_link *head)
{
	head->prev = head->next = head;
}

static inline void state4_list_add_tail(struct state4_link *head, struct state4_link *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

/* Harmless for a link that is on no list but initialized. */
static inline void state4_list_del(struct state4_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	l->prev = l->next = l;
}

static inline bool state4_list_empty(const struct state4_link *head)
{
	return head->next == head;
}

static inline unsigned state4_hash(const uint8_t *data, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ data[i]) * UINT64_C(0x100000001b3);
	return (unsigned)(h ^ (h >> 32));
}

/* Who asked: the same principal is needed to touch another's client record. */
struct state4_principal {
	uint32_t flavor, uid, gid;
	uint64_t gids; /* a sum over the list */
};

static inline bool state4_principal_same(const struct state4_principal *a,
					 const struct state4_principal *b)
{
	return a->flavor == b->flavor && a->uid == b->uid && a->gid == b->gid && a->gids == b->gids;
}

/* state4.c: the principal of a call's credentials. */
struct rpccred;
void state4_principal_of(const struct rpccred *cred, struct state4_principal *out);

struct state4_channel {
	uint32_t max_request, max_response, max_cached; /* bytes, RPC header included */
	uint32_t max_ops, max_slots;
};

/* What CREATE_SESSION answered, for its one-deep replay. */
struct state4_created {
	uint32_t status, seqid, flags;
	uint8_t id[16];
	struct state4_channel fore, back;
};

struct state4_client {
	clientid4 id;
	_Atomic unsigned refs;	  /* the tables' one included */
	struct state4_client *id_next, *owner_next, *grave_next;
	struct state4_link lru;	  /* unconfirmed, or confirmed: least recently used first */
	struct state4_link of_addr; /* in the room, among those that called from there */
	unsigned addr_bucket;
	struct state4_link sessions;
	unsigned nsessions;
	bool v40, confirmed, courtesy;
	bool gone;		  /* out of the tables */
	bool in_the_way;	  /* courtesy: the next sweep ends it */
	bool reclaim_done;	  /* RECLAIM_COMPLETE came */
	bool want_record;	  /* its owner is to be in stable storage */
	bool asked_record;	  /* ... or was: it may be there */
	_Atomic bool recorded;	  /* it is; set without the lock */
	bool interred;		  /* under the lock of burials: nothing is held any more */
	/* COMPOUNDs that act for it: its lease does not end before them */
	unsigned busy;
	/* slots of its sessions whose last request is not to run twice: its reply was to be kept */
	unsigned nreplies;
	/* sessions that want to be called; of them those that can be, as far as is known */
	unsigned nasked, nreached;
	uint8_t verf[STATE4_VERF], confirm[STATE4_VERF];
	struct state4_principal who;
	uint64_t renewed_ns;
	uint32_t number;	  /* the low half of its id, for people */
	uint8_t minor;
	char addr[80];		  /* where it called from, as text */
	struct state4_created created; /* 4.1 */
	struct state4_held held;
	uint32_t owner_len;
	uint8_t owner[];
};

struct state4_slot {
	uint32_t seqid;	 /* of the last request that ran or runs */
	bool used;	 /* ever */
	bool in_use;
	bool cache_this;
	bool cached;	 /* `reply` is all that stood behind the tag */
	uint32_t status; /* of the COMPOUND */
	uint64_t sum;	 /* of the call and of who sent it */
	struct state4_parked *parked; /* while in use; NULL: nobody waits */
	uint8_t *reply;	 /* malloc'd */
	uint32_t len;
};

/* A connection that carries calls to a client of ours. */
struct state4_bind {
	struct state4_link of_conn; /* in by_conn */
	struct state4_session *session;
	uint64_t conn; /* 0: none */
	/* SILENT: until it is bound anew */
	enum { STATE4_BOUND, STATE4_ANSWERS, STATE4_SILENT } is;
};

/* The backchannel of a session; one slot. */
#define STATE4_BINDS 4
struct state4_back {
	bool asked;	  /* the client wants to be called: it counts in its nasked */
	bool reached;	  /* a connection is bound that is not silent: it counts in its nreached */
	bool proven;	  /* CB_SEQUENCE was answered, by this program */
	bool fault;	  /* what it answered makes no sense: the session is of no use for calls */
	bool calling;	  /* one is under way */
	unsigned epoch;	  /* program or bindings changed: an answer of before says nothing */
	uint32_t program;
	uint32_t cred_len; /* of `cred`: flavor, length, body, as it goes out; malloc'd */
	uint8_t *cred;
	uint32_t seqid;	  /* of the slot's last call that the client took */
	uint64_t again_ns; /* not before; 0: any time */
	unsigned put_off;  /* times in a row that it asked for time */
	struct state4_link of_again; /* in s->again while again_ns is set */
	unsigned oldest;  /* of bind[]: gives way */
	struct state4_bind bind[STATE4_BINDS];
};

struct state4_session {
	uint8_t id[16];
	unsigned refs;	 /* the table's one, and one a slot in use */
	bool gone;
	struct state4_session *next;
	struct state4_link of_client;
	struct state4_client *client; /* NULL when gone */
	struct state4_channel fore, back;
	struct state4_back cb;
	uint32_t flags;
	bool known;	 /* to the client: it has sent a SEQUENCE */
	unsigned in_use; /* slots */
	struct state4_slot slots[]; /* fore.max_slots */
};

/* The clients by the address they called from: the oldest first, the least recently used first. */
struct state4_room {
	struct state4_link unconfirmed[STATE4_ADDR_BUCKETS], confirmed[STATE4_ADDR_BUCKETS];
	unsigned nunconfirmed[STATE4_ADDR_BUCKETS], nconfirmed[STATE4_ADDR_BUCKETS];
};

/* The time after a start in which clients get back what they had (RFC 8881 s.8.4.2). */
struct state4_known;
struct state4_grace {
	bool on;
	uint64_t end_ns, start_ns;
	bool reclaiming;	     /* somebody did since the last look */
	struct state4_known **known; /* who may, by owner; NULL: nobody */
	unsigned n, done;	     /* known; of them those that said RECLAIM_COMPLETE */
};

struct state4_record;

struct state4 {
	struct state4_params p;
	pthread_mutex_t lock;
	pthread_mutex_t burial; /* taken before the records' and before `lock` */
	pthread_cond_t woken;
	uint32_t boot;
	uint32_t next_client, next_session, next_confirm;
	char server_id[33];	/* hexadecimal: server_owner and server_scope */
	struct state4_client *by_id[STATE4_BUCKETS], *by_owner[STATE4_BUCKETS];
	struct state4_session *by_session[STATE4_BUCKETS];
	struct state4_link by_conn[STATE4_CONN_BUCKETS]; /* bindings */
	struct state4_link again;   /* sessions whose client asked for time when it was called */
	/* calls to clients; of them those answered in time */
	_Atomic uint64_t cb_calls, cb_answers;
	struct state4_link unconfirmed, confirmed; /* least recently used first */
	struct state4_room room;
	unsigned nunconfirmed, nconfirmed, ncourtesy, nsessions;
	unsigned nslots;	/* of all sessions */
	size_t cached;		/* bytes of replies kept in slots */
	/* clients, and one more in grace: somebody must call state4_sweep() */
	_Atomic unsigned active;
	uint64_t expired, evicted, replays;
	struct state4_record *record; /* NULL: no records are kept */
	struct state4_grace grace;
	struct state4_tables *tables; /* the opens' side's */
};

/* --- state4_client.c --- */

/* What SETCLIENTID and EXCHANGE_ID say of a client. */
struct state4_hello {
	struct state4_principal who;
	uint8_t verf[STATE4_VERF];
	const uint8_t *owner;
	uint32_t owner_len;
	const char *addr;
	uint8_t minor;
	bool update; /* EXCHGID4_FLAG_UPD_CONFIRMED_REC_A */
};

/*
 * These take the lock, may give up another client's state and so block; an nfsstat4.
 * SETCLIENTID: *id and `confirm`; EXCHANGE_ID: *id, *seqid for CREATE_SESSION, *confirmed.
 */
uint32_t state4_client_set(struct state4 *s, const struct state4_hello *h, clientid4 *id,
			   uint8_t confirm[STATE4_VERF]);
uint32_t state4_client_confirm(struct state4 *s, clientid4 id, const uint8_t confirm[STATE4_VERF],
			       const struct state4_principal *who);
uint32_t state4_client_exchange(struct state4 *s, const struct state4_hello *h, clientid4 *id,
				uint32_t *seqid, bool *confirmed);
uint32_t state4_client_destroy(struct state4 *s, clientid4 id);
/* RECLAIM_COMPLETE of a pinned client: it is recorded, and grace may be over. */
uint32_t state4_client_reclaimed(struct state4 *s, struct state4_client *c);

/* Under the lock; NULL when there is none. */
struct state4_client *state4_client_by_id(struct state4 *s, clientid4 id, bool confirmed);
struct state4_client *state4_client_by_owner(struct state4 *s, const uint8_t *owner, uint32_t len,
					     bool confirmed);
/* Unconfirmed becomes confirmed; another of the same owner was buried before. */
void state4_client_admit(struct state4 *s, struct state4_client *c);
/*
 * Out of the tables, its sessions too; the tables' pin is now the list's.  Then, without the lock,
 * state4_client_inter() gives up what those on the list held.
 */
void state4_client_bury(struct state4 *s, struct state4_client *c, struct state4_client **list);
void state4_client_inter(struct state4 *s, struct state4_client *list);
/* Does it hold anything: opens, locks, sessions? */
bool state4_client_holds(const struct state4_client *c);

/* Leases: without the lock. */
void state4_client_sweep(struct state4 *s);

/* --- state4_room.c --- */

void state4_room_init(struct state4_room *m);
unsigned state4_room_bucket(const char *addr); /* of the text of an address and port */
/* `c` is one more, or one less, as c->confirmed says; confirmed and used again. */
void state4_room_enter(struct state4_room *m, struct state4_client *c);
void state4_room_leave(struct state4_room *m, struct state4_client *c);
void state4_room_used(struct state4_room *m, struct state4_client *c);
/*
 * One record more, for a client from this address: where the table is full an unconfirmed one goes,
 * else a confirmed one of an address that has more, if it holds nothing: that has to name itself
 * again, and loses nothing; else one kept by courtesy; else, of an address that has more than half
 * of the table, one that holds no more than replies.  It is buried.  False: nobody can go.
 */
bool state4_room_make(struct state4 *s, unsigned newcomer, struct state4_client **list);

/* --- state4_record.c: SQLite, in nfsdcld's schema --- */

/* Told about each client that may reclaim. */
typedef void state4_record_each(void *arg, const uint8_t *owner, uint32_t len);
/*
 * A new epoch in `dir`/main.sqlite: the records of the last are what can be reclaimed, until
 * state4_record_grace_done().  -EBUSY: another server of ours uses the directory; else -EIO; both
 * with `why`.  The functions below sync before they return, may be called by any thread and block.
 */
int state4_record_open(struct state4_record **out, const char *dir, state4_record_each *each,
		       void *arg, char *why, size_t len);
int state4_record_add(struct state4_record *r, const uint8_t *owner, uint32_t len);
int state4_record_remove(struct state4_record *r, const uint8_t *owner, uint32_t len);
int state4_record_grace_done(struct state4_record *r);
void state4_record_lock(struct state4_record *r);
void state4_record_unlock(struct state4_record *r);
void state4_record_close(struct state4_record *r); /* NULL is fine */

/* --- state4_grace.c --- */

/*
 * Opens the records and starts grace when there are some.
 * Never fails: without records there is no grace.
 */
void state4_grace_start(struct state4 *s);
void state4_grace_fini(struct state4 *s);
/* Under the lock: the client has reclaimed all it wants. */
void state4_grace_reclaimed(struct state4 *s, const struct state4_client *c);
/* Under the lock: has it something to reclaim, as far as is known? */
bool state4_grace_awaits(struct state4 *s, const struct state4_client *c);
/* Without the lock, may block: ends grace when it is time. */
void state4_grace_look(struct state4 *s);
/*
 * Without the lock, blocks: what stands in stable storage about this owner becomes what its
 * confirmed client, if there is one, wants.  Safe against others doing the same.  0 or -errno.
 */
int state4_grace_settle(struct state4 *s, const uint8_t *owner, uint32_t len);

/* --- state4_session.c --- */

#define STATE4_SESSIONS 16	  /* of one client */
#define STATE4_SLOTS 64		  /* of one session; fewer when many are in use */
#define STATE4_SLOTS_ALL 262144	  /* about as many of all sessions */
#define STATE4_CACHED_MAX 4096	  /* bytes of a reply that is kept, RPC header included */
/*
 * The smallest reply: RPC header 24, status, tag and count
 * 12, the operation and its status 8, result 36.
 */
#define STATE4_SEQUENCE_REPLY 80
#define STATE4_CACHED_ALL (64u << 20)

/* How a client is to be called. */
struct state4_caller {
	uint64_t conn; /* the connection to be bound; 0: none */
	uint32_t program, cred_len;
	uint8_t *cred; /* as in struct state4_back; taken by who succeeds, and NULL then */
};

/* CREATE_SESSION; what is asked for is cut down to what there is by the caller and here. */
struct state4_create {
	clientid4 id;
	uint32_t seqid, flags;
	struct state4_channel fore, back;
	struct state4_principal who;
	struct state4_caller caller;
};
/*
 * Takes the lock, may block; an nfsstat4.  *out is the
 * result, of the first time when it is a replay.
 */
uint32_t state4_session_create(struct state4 *s, struct state4_create *a,
			       struct state4_created *out);
/* Takes the lock.  `own`: of the COMPOUND's own SEQUENCE, or NULL. */
uint32_t state4_session_destroy(struct state4 *s, const uint8_t id[16],
				const struct state4_session *own);
/* Takes the lock: BADSESSION when there is none. */
uint32_t state4_session_check(struct state4 *s, const uint8_t id[16]);

/* SEQUENCE. */
struct state4_call {
	const uint8_t *id;
	uint32_t seqid, slot, nops;
	uint32_t len;	 /* bytes of the call's record */
	bool cache_this;
	uint64_t sum;	 /* over the call behind its tag and over its principal */
	struct state4_parked *park; /* what may wait in the slot; NULL: nothing can */
	bool again;	 /* it has waited: only a reply that is there is of use */
};
struct state4_turn {
	/* set when the request may run, with a slot in use and the client pinned */
	struct state4_session *session;
	struct state4_slot *slot;
	struct state4_client *client;
	struct state4_channel fore;
	uint32_t flags; /* SEQ4_STATUS */
	bool probe;	/* state4_back_probe() has something to ask */
	bool parked;	/* NFS4_OK, nothing else is said: call->park waits */
	/* NFS4_OK without a session: a replay of this. */
	bool cached;
	uint32_t status;
	uint8_t *reply; /* malloc'd; what stood behind the tag */
	uint32_t reply_len;
};
/* Takes the lock; an nfsstat4.  DELAY: it is at work, and cannot be waited for. */
uint32_t state4_session_turn(struct state4 *s, const struct state4_call *call,
			     struct state4_turn *out);
/*
 * The request is over: the slot is free, `body` is kept when it is asked for, or waited for by a
 * retransmission, and fits (NULL: not kept).  Takes the lock.  The client's pin stays the caller's.
 */
void state4_session_done(struct state4 *s, struct state4_session *n, struct state4_slot *slot,
			 struct state4_client *c, uint32_t status, const uint8_t *body,
			 uint32_t len);

/* Under the lock: out of the table. */
void state4_session_drop(struct state4 *s, struct state4_session *n);
/* Under the lock; NULL when there is none. */
struct state4_session *state4_session_find(struct state4 *s, const uint8_t id[16]);
/* Takes the lock: the session stays in memory until it is put. */
struct state4_session *state4_session_pin(struct state4 *s, const uint8_t id[16]);
/* state4_session_put() under the lock. */
void state4_session_unref(struct state4 *s, struct state4_session *n);

/*
 * --- state4_back.c ---
 *
 * A client that asks for a backchannel (CREATE_SESSION, BIND_CONN_TO_SESSION) gets one.  Nothing is
 * delegated, so all we ever ask is whether it works: CB_NULL on each connection that is bound, as
 * soon as the reply that bound it has been sent (it names no session: the client may not know it
 * yet); CB_SEQUENCE once in the life of a session, when a SEQUENCE has shown that the client knows
 * it.  Who asks for time (Linux, while it still sets its session up) is asked again by
 * state4_back_sweep(), after a second at first, then ever more rarely; whether it calls us
 * meanwhile or not.
 *
 * SEQUENCE's flags follow from that (RFC 8881 s.18.46.3), for who asked for a backchannel alone:
 * CB_PATH_DOWN_SESSION when no connection bound to the session is left, or those that are do not
 * answer or refuse; CB_PATH_DOWN when that is so of all sessions of the client that asked.  A
 * connection not yet heard of counts as one that works; one that did not answer must be bound anew.
 * BACKCHANNEL_FAULT when what CB_SEQUENCE answers makes no sense.
 *
 * NFSv4.0's callback address is not called: it is a third party's word where to connect to, and
 * all that could come of it is a delegation.
 */

/* Under the lock: `n` gets what CREATE_SESSION says. */
void state4_back_init(struct state4 *s, struct state4_session *n, struct state4_caller *caller);
/* Under the lock: the session goes. */
void state4_back_drop(struct state4 *s, struct state4_session *n);
/* BIND_CONN_TO_SESSION: takes the lock; BADSESSION. */
uint32_t state4_back_bind(struct state4 *s, const uint8_t id[16], uint64_t conn);
/* BACKCHANNEL_CTL: takes the lock and what `caller` has. */
void state4_back_set(struct state4 *s, struct state4_session *n, struct state4_caller *caller);
/* Under the lock: is there something to be asked now? */
bool state4_back_wants(struct state4 *s, const struct state4_session *n);
/*
 * Takes the lock, does not block: asks whom it is time to ask
 * again.  A client whose lease is over has to call first.
 */
void state4_back_sweep(struct state4 *s);
/* Under the lock: SEQ4_STATUS flags. */
uint32_t state4_back_flags(const struct state4_session *n);

#endif
