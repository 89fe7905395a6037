/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pipes that carry a payload from file to socket or back.  A pool of
 * them belongs to one worker's thread, bounded in number; a pipe goes back
 * empty or is closed.  What the system refuses (pipe-max-size, the user's
 * pipe-user-pages-soft, descriptors) makes borrowing fail, nothing else.
 */
#ifndef CORE_PIPE_H
#define CORE_PIPE_H

#include <stdbool.h>
#include <stdint.h>

struct pipe_pool;

struct pipe {
	int out, in;	/* ends to read from and to write to; both O_NONBLOCK */
	uint32_t slots; /* pages it holds */
	uint32_t held;	/* bytes inside, at least: those who move some keep it */
	/* pool's own */
	struct pipe_pool *pool;
	struct pipe *next;
};

/*
 * At most `max` pipes, each for a payload of `len` bytes
 * wherever in a page it starts, if the system allows.
 */
int pipe_pool_new(struct pipe_pool **out, unsigned max, uint32_t len);
void pipe_pool_free(struct pipe_pool *p); /* all pipes must be back; NULL is fine */

/*
 * One that holds bytes [offset, offset + len) of a file, or NULL: too long, none left, or refused.
 */
struct pipe *pipe_borrow(struct pipe_pool *p, uint64_t offset, uint32_t len);
/* Takes `p`; what is still inside is thrown away.  NULL is fine. */
void pipe_return(struct pipe *p);
/* Throw away the first `n` bytes; 0 or -errno (then only pipe_return() helps). */
int pipe_drop(struct pipe *p, uint32_t n);

/* Up to `n` bytes from memory into the pipe: how many fitted, or -errno; -EAGAIN: it is full. */
int pipe_write(struct pipe *p, const void *from, uint32_t n);
/* The first `n` bytes, which are inside, to memory; 0 or -errno. */
int pipe_read(struct pipe *p, void *to, uint32_t n);

unsigned pipe_pool_in_use(const struct pipe_pool *p);
/* Borrowings the system refused, for lack of pipe size, memory or descriptors. */
uint64_t pipe_pool_refused(const struct pipe_pool *p);
/* Close the idle ones. */
void pipe_pool_trim(struct pipe_pool *p);

#endif
