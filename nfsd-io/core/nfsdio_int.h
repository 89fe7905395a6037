/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the public library's files share: nfsdio.c threads, nfsdio_file.c files, nfsdio_req.c operations. */
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

/* Does a device's file system take RWF_DONTCACHE?  One place for several devices: the last asked about. */
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
	pthread_mutex_t lock; /* inflight, spare, dontcache */
	pthread_cond_t idle;
	uint64_t inflight;
	struct nfsdio_req *spare; /* for reuse */
	struct nfsdio_dontcache dontcache[NFSDIO_DEVICES];
	unsigned nlanes;
	struct nfsdio_lane lane[];
};

struct nfsdio_file {
	struct nfsdio *n;
	struct file file;
	struct root root;
	bool owns_fds;
	atomic_uint busy; /* operations in flight */
};

/* Free what nfsdio_req.c keeps for reuse. */
void nfsdio_req_drop(struct nfsdio *n);

#endif
