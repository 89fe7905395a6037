/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The register of connections: gives each a number unique for the process's
 * life, counts them exactly, and answers for the duplicate-request cache
 * whether a number is still alive.  Any thread; one lock held for a few
 * pointer moves, a getsockopt() or a ring_post().
 */
#ifndef SERVER_CONNREG_H
#define SERVER_CONNREG_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsd-io/core/ring.h"

struct connreg;

/* Embedded in a connection. */
struct connreg_node {
	uint64_t number;
	int fd;
	struct ring *ring; /* of the thread it belongs to; set before it is entered */
	struct connreg_node *next;
};

int connreg_new(struct connreg **out); /* 0 or -errno */
void connreg_free(struct connreg *r);  /* must be empty; NULL is fine */

/* Enter `fd` and give it a number. */
void connreg_add(struct connreg *r, struct connreg_node *n, int fd);
/*
 * Any thread: have `op` done on the thread of connection `number`: 0, or -ENOTCONN when there is no
 * such connection any more.  It may be gone when the op is: look it up.
 */
int connreg_post(struct connreg *r, uint64_t number, struct op *op);
/* On the thread of connection `number`, where it cannot go meanwhile: its node, or NULL. */
struct connreg_node *connreg_find(struct connreg *r, uint64_t number);
/* Before the descriptor is closed. */
void connreg_remove(struct connreg *r, struct connreg_node *n);
unsigned connreg_count(const struct connreg *r);

/*
 * Is that connection established, with its peer acknowledging what we send?
 * In the form of struct drc_params.conn_alive (`reg` is the register).
 */
bool connreg_alive(void *reg, uint64_t number);

#endif
