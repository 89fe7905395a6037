/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Duplicate-request cache for non-idempotent calls (RFC 1813 s.4.5): a
 * retransmission gets the first answer, while the first still runs by its end.
 * Key: client address (not port), xid, program, version, procedure, length and
 * checksum of the first 256 bytes.  A call that equals one from another
 * connection which is still alive is not a retransmission: two live
 * connections never collide.  Nor is one that equals a call from a connection
 * its peer closed after it had all answers: programs that number their calls
 * from 1 and run once more ask anew.  Bounded, least recently used goes first.
 * Any thread (one lock per shard).
 */
#ifndef PROTO_DRC_H
#define PROTO_DRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct drc;
struct drc_entry;

enum drc_verdict { DRC_NEW, DRC_IN_PROGRESS, DRC_WAITS, DRC_REPLAY };

/* Who waits for the end of the first; one a call: a newer one takes its place. */
struct drc_waiter {
	/* Once, by any thread, without a lock: ask drc_begin() again, without a waiter. */
	void (*wake)(struct drc_waiter *w);
	bool displaced; /* ... no, for a newer one waits now */
};

struct drc_key {
	struct sockaddr_storage addr;
	uint64_t conn; /* connection number, unique for the process's life */
	uint32_t xid, prog, vers, proc;
	const uint8_t *call; /* the call record from its xid on */
	size_t len;
};

struct drc_params {
	unsigned max_entries; /* 0 = 4096 */
	size_t max_bytes;     /* of cached replies; 0 = 8 MiB */
	/*
	 * Is connection `conn` still alive (established and acknowledging)?  Called under a shard
	 * lock: must not block.
	 */
	bool (*conn_alive)(void *arg, uint64_t conn);
	void *arg;
};

int drc_new(struct drc **out, const struct drc_params *p);
void drc_free(struct drc *d);

/*
 * DRC_NEW: execute; *e is to be given to drc_done() exactly once.
 * DRC_IN_PROGRESS: drop the call.  DRC_WAITS: that, and there is `w`, which will be told.
 * DRC_REPLAY: answer with reply[0..*len) (malloc'd copy, caller frees).
 */
enum drc_verdict drc_begin(struct drc *d, const struct drc_key *k, struct drc_waiter *w,
			   struct drc_entry **e, uint8_t **reply, size_t *len);
/* The reply record (without mark); NULL forgets the entry.  Copied. */
void drc_done(struct drc *d, struct drc_entry *e, const uint8_t *reply, size_t len);

/*
 * The peer closed connection `conn` with every answer acknowledged.  Only from the port it had, and
 * for a minute, are its calls still taken for sent again: a kernel may have thrown away what it
 * acknowledged, and keeps its port.  Costs as much as it has entries, not as there are.
 */
void drc_settle(struct drc *d, uint64_t conn);

struct drc_stats {
	uint64_t hits, misses, in_progress, evicted;
	unsigned entries;
	size_t bytes;
};
void drc_stats(struct drc *d, struct drc_stats *out);

#endif
