/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tools/nfsload_loop.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "tools/nfsload_cost.h"

#define EVENTS 64
#define STALL_NS 60000000000ll

static int broken(struct client *c, const char *what, int err)
{
	if (err == -EAGAIN)
		err = -ETIMEDOUT;
	snprintf(c->error, sizeof c->error, "%s: %s", what, strerror(-err));
	return -1;
}

int loop_open(struct client *c, uint32_t lane_buf)
{
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0)
		return broken(c, "epoll_create1", -errno);
	for (unsigned i = 0; i < c->links; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.ptr = &c->link[i] };
		int err = link_open(&c->link[i], c, c->host, c->port, c->depth, lane_buf);

		if (err) {
			c->links = i;
			loop_close(c);
			return broken(c, "connect", err);
		}
		epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->link[i].fd, &e);
	}
	return 0;
}

void loop_close(struct client *c)
{
	for (unsigned i = 0; i < c->links; i++)
		link_close(&c->link[i]);
	close(c->epoll);
	c->epoll = -1;
	c->links = 0;
}

bool loop_done(struct lane *l)
{
	struct client *c = l->link->client;

	c->busy--;
	if (c->hist)
		hist_add(c->hist, c->now_ns - l->due_ns);
	l->due_ns = c->now_ns;
	return c->source->done(c->source, l);
}

/*
 * Ask the source once for this connection, due at `due_ns`; false
 * when it has no lane or the source no more.
 */
static bool issue(struct client *c, struct link *k, uint64_t due_ns)
{
	struct lane *l = c->dry ? NULL : link_lane(k);

	if (!l)
		return false;
	if (!c->source->next(c->source, l)) {
		link_lane_return(l);
		c->dry = true;
		return false;
	}
	l->due_ns = due_ns;
	c->issued++;
	link_call(l);
	return true;
}

/* Closed loop: every connection gets one call in turn until nothing is idle. */
static void refill(struct client *c)
{
	bool some = true;

	while (some && !c->dry) {
		some = false;
		for (unsigned i = 0; i < c->links; i++)
			some |= issue(c, &c->link[i], c->now_ns);
	}
}

/*
 * Open loop: what is due by now, by the schedule.  Returns ns until
 * the next is, or -1: only an answer can change that.
 */
static int64_t keep_pace(struct client *c)
{
	while (!c->dry) {
		uint64_t due = c->start_ns + c->issued * (1e9 / c->rate);
		unsigned full = 0;

		if (due > c->now_ns)
			return due - c->now_ns;
		while (full < c->links && !issue(c, &c->link[c->turn++ % c->links], due))
			full++;
		if (full == c->links)
			return -1;
	}
	return -1;
}

static int flush(struct client *c)
{
	for (unsigned i = 0; i < c->links; i++) {
		struct link *l = &c->link[i];
		struct epoll_event e = { .data.ptr = l };
		int err = link_flush(l);

		if (err)
			return broken(c, "send", err);
		if (!!l->queued == l->want_out)
			continue;
		l->want_out = l->queued;
		e.events = EPOLLIN | (l->want_out ? EPOLLOUT : 0);
		epoll_ctl(c->epoll, EPOLL_CTL_MOD, l->fd, &e);
	}
	return 0;
}

/* Wait for answers, or for room to send, at most `ns` (-1: as long as a server may be silent). */
static int wait_some(struct client *c, int64_t ns)
{
	int64_t limit = ns < 0 ? STALL_NS : ns;
	struct timespec t = { limit / 1000000000, limit % 1000000000 };
	struct epoll_event e[EVENTS];
	int n;

	n = epoll_pwait2(c->epoll, e, EVENTS, &t, NULL);
	if (n < 0 && errno != EINTR)
		return broken(c, "epoll_pwait2", -errno);
	if (!n && ns < 0)
		return broken(c, "receive", -ETIMEDOUT);
	c->now_ns = cost_now_ns();
	for (int i = 0; i < n; i++) {
		int err = e[i].events & ~EPOLLOUT ? link_input(e[i].data.ptr, false) : 0;

		if (err)
			return broken(c, "receive", err);
	}
	return 0;
}

/* With one connection and nothing else to wait for, the socket itself is where to wait. */
static int wait_one(struct client *c)
{
	int err = link_input(&c->link[0], true);

	return err ? broken(c, "receive", err) : 0;
}

int loop_run(struct client *c, struct source *s, struct hist *hist)
{
	c->source = s;
	c->hist = hist;
	c->issued = 0;
	c->dry = false;
	c->start_ns = c->now_ns = cost_now_ns();
	for (;;) {
		int64_t ns = -1;
		int err;

		if (c->rate > 0)
			ns = keep_pace(c);
		else
			refill(c);
		if (!c->busy && c->dry)
			return 0;
		err = flush(c);
		if (!err && ns < 0 && c->links == 1 && !c->link[0].want_out)
			err = wait_one(c);
		else if (!err)
			err = wait_some(c, ns);
		if (err)
			return err;
	}
}

/* --- one call ------------------------------------------------------------------------------ */

struct single {
	struct source source;
	struct op *op;
	bool asked;
};

static bool single_next(struct source *s, struct lane *l)
{
	struct single *one = (struct single *)s;

	if (one->asked)
		return false;
	one->asked = true;
	l->op = *one->op;
	return true;
}

static bool single_done(struct source *s, struct lane *l)
{
	*((struct single *)s)->op = l->op;
	return false;
}

int loop_call(struct client *c, struct op *op)
{
	struct single one = { { single_next, single_done }, op, false };
	double rate = c->rate;
	int err;

	c->rate = 0;
	err = loop_run(c, &one.source, NULL);
	c->rate = rate;
	return err ? PROTO_BROKEN : op->status;
}
