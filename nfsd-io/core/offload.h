/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads for calls that block and that io_uring lacks.  A job runs on one of
 * them as the server; inside, cred_assume() takes on the caller.  The result
 * comes back as job->op.done on the ring's own thread.
 */
#ifndef CORE_OFFLOAD_H
#define CORE_OFFLOAD_H

#include "nfsd-io/core/ring.h"

struct offload;

struct offload_job {
	void (*run)(struct offload_job *job); /* on an offload thread; may block */
	struct op op;			      /* op.done is called on `ring`'s thread afterwards */
	struct ring *ring;		      /* NULL: nobody is told; run() may free the job */
	struct offload_job *next;
};

int offload_new(struct offload **out, unsigned max_threads); /* 0 = 16; started on demand */
/*
 * Have its threads, those to come too, run on `cpus`
 * (copied); a wish: CPUs that are gone are no error.
 */
void offload_confine(struct offload *o, const cpu_set_t *cpus);
/* Finishes what is queued, then joins. */
void offload_free(struct offload *o);
void offload_submit(struct offload *o, struct offload_job *job); /* any thread */

#endif
