/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order of direct WRITEs that make a file longer.  The kernel lets no
 * other write near the file while one of these is on its way to the disk, so
 * that a stream of them is written one by one, whatever the client sends at
 * once.  Of those that wait, the one that reaches furthest goes first, the
 * others right behind it: as soon as it is written they are inside the file.
 * The client had them under way at the same time, so that it may expect no
 * order among them.
 * Knows no rings or files; any thread.
 */
#ifndef CORE_REACH_H
#define CORE_REACH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct reach;

/* One a file; embedded in it. */
struct reach_gate {
	_Atomic uint64_t size; /* bytes: as far as is known; wrong only costs time */
	pthread_mutex_t lock;  /* the rest */
	bool busy;	       /* one that makes the file longer is under way */
	struct reach *waiting; /* in no order */
};

/* One WRITE; embedded in its owner. */
struct reach {
	uint64_t end;			/* set by the owner: of what is written, bytes */
	/* your turn; called once, on any thread, when enter said false */
	void (*go)(struct reach *r);
	/* private */
	struct reach *next;
	bool longer;
};

void reach_init(struct reach_gate *g, uint64_t size);
void reach_fini(struct reach_gate *g);

/* The file was looked at and has this size.  No lock: each WRITE ends with it, cached ones too. */
void reach_saw(struct reach_gate *g, uint64_t size);

/* The size it is known to have, which may be another by now. */
uint64_t reach_known(const struct reach_gate *g);

/* True: write now.  False: wait for go(). */
bool reach_enter(struct reach_gate *g, struct reach *r);
/* It was written up to `end`; 0: nothing was. */
void reach_leave(struct reach_gate *g, struct reach *r, uint64_t end);

#endif
