/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the public library's files share: nfsdio.c threads, nfsdio_file.c
 * files, nfsdio_req.c operations, nfsdio_seat.c what those on the callers'
 * own threads need.
 */
#ifndef CORE_NFSDIO_INT_H
#define CORE_NFSDIO_INT_H

#include <pthread.h>
#include <semaphore.h>

#include "nfsd-io/core/io.h"
#include "nfsd-io/core/nfsdio.h"

/* One thread with its ring; what is not said to be shared belongs to that thread. */
struct nfsdio_lane {
	struct nfsdio *n;
	pthread_t tid;
	sem_t ready;
	int err; /* of starting */
	struct ring *ring;
	struct pool *pool;
	uint64_t bytes; /* of operations begun */
	struct nfsdio_req *queue, **tail;
};

/* What one operation on its caller's thread needs; his while it lasts. */
struct nfsdio_seat {
	struct nfsdio_seat *next;
	struct ring *ring;
	struct buf buf; /* room for any READ or WRITE; base NULL until somebody needs it */
};

/*
 * Does a device's file system take RWF_DONTCACHE?  One place
 * for several devices: the last asked about.
 */
#define NFSDIO_DEVICES 16
struct nfsdio_dontcache {
	dev_t dev;
	bool known, takes;
};

struct nfsdio {
	struct nfsdio_params p;
	struct verifier verifier;
	char engine[192];
	atomic_uint next_lane;
	pthread_mutex_t lock; /* all down to dontcache */
	pthread_cond_t idle;
	uint64_t inflight;
	struct nfsdio_req *spare; /* for reuse */
	/* Callers' threads; first come, first served by number. */
	pthread_cond_t room;
	struct nfsdio_seat *seats; /* free, the last used first */
	uint64_t seated; /* bytes of who has a seat */
	uint64_t asked, served;
	struct nfsdio_dontcache dontcache[NFSDIO_DEVICES];
	unsigned nlanes; /* 0: all on the callers' threads */
	struct nfsdio_lane lane[];
};

/* Of a thread that is one; else NULL. */
extern _Thread_local struct nfsdio_lane *nfsdio_own_lane;

struct nfsdio_file {
	struct nfsdio *n;
	struct file file;
	struct root root;
	bool owns_fds;
	atomic_uint busy; /* operations in flight */
	_Atomic uint64_t handed[2]; /* [direction] operations that a lane was given */
};

/* A seat for `count` bytes, as soon as there is room for them; NULL: no memory or descriptors. */
struct nfsdio_seat *nfsdio_seat_take(struct nfsdio *n, uint32_t count);
/* Its buffer, which stays with the seat, or NULL. */
struct buf *nfsdio_seat_buf(struct nfsdio *n, struct nfsdio_seat *s);
void nfsdio_seat_leave(struct nfsdio *n, struct nfsdio_seat *s, uint32_t count);
/* Free those there are; all are free. */
void nfsdio_seat_drop(struct nfsdio *n);

/* Free what nfsdio_req.c keeps for reuse. */
void nfsdio_req_drop(struct nfsdio *n);

#endif
