/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads engine's file I/O: named threads, started on demand, that carry
 * out RING_OP_READ, RING_OP_WRITE and RING_OP_FSYNC as the operation's identity and hand the
 * result back by ring_ready_remote().
 */
#ifndef CORE_RING_IOTHREADS_H
#define CORE_RING_IOTHREADS_H

#include "nfsd-io/core/ring.h"

struct ring_iothreads;

/* At most `max` threads, on `cpus` (copied; NULL: where the ring's thread may run). */
int ring_iothreads_new(struct ring_iothreads **out, struct ring *r, unsigned max, const char *name,
		       const cpu_set_t *cpus);
void ring_iothreads_free(struct ring_iothreads *io); /* nothing may be queued */
/* 0, or -errno when no thread at all could be started. */
int ring_iothreads_submit(struct ring_iothreads *io, struct op *op);
/* Take `op` back; false: it runs or is over. */
bool ring_iothreads_remove(struct ring_iothreads *io, struct op *op);

#endif
