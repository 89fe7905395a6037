/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "nfsd-io/proto/back.h"
#include "nfsd-io/proto/demand.h"
#include "nfsd-io/proto/drc.h"
#include "nfsd-io/server/conn.h"

static void reply(struct req_owner *o, struct req *r)
{
	struct conn *c = (struct conn *)o; /* owner is the first member */

	c->running--;
	if (r->drop || c->state == CONN_DEAD) {
		r->next = c->done;
		c->done = r;
	} else {
		send_queue(c, r);
	}
	worker_mark(c);
}

static struct pipe *pipe_for(struct req_owner *o, const struct read_io *io)
{
	return send_pipe((struct conn *)o, io);
}

static void wrote(struct req_owner *o, const struct write_io *io)
{
	recv_pipe_wrote((struct conn *)o, io);
}

/* What was not foreseen is owed all the same: it is not read from until others have had theirs. */
static void borrows(struct req_owner *o, struct req *r, uint32_t bytes)
{
	struct worker_req *q = (struct worker_req *)r; /* req is the first member */

	if (bytes > q->charge.bytes)
		conn_charge((struct conn *)o, q, (uint32_t)(bytes - q->charge.bytes));
}

/* A peer gone without a word is found in two minutes, one that takes nothing in one. */
static void set_options(int fd)
{
	static const struct { int level, name, value; } options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},	 {IPPROTO_TCP, TCP_NODELAY, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 60}, {IPPROTO_TCP, TCP_KEEPINTVL, 10},
		{IPPROTO_TCP, TCP_KEEPCNT, 6},	 {IPPROTO_TCP, TCP_USER_TIMEOUT, 60000 /* ms */},
	};
	unsigned i;

	/*
	 * Any of them may fail, as on the socket pairs of the tests: the connection works without.
	 */
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

struct conn *conn_new(struct worker *w, int fd, const struct peer *peer)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	set_options(fd);
	c->w = w;
	c->fd = fd;
	c->owner.reply = reply;
	c->owner.pipe = pipe_for;
	c->owner.borrows = borrows;
	c->owner.wrote = wrote;
	c->owner.peer = *peer;
	c->reg.ring = w->ring;
	connreg_add(w->p.conns, &c->reg, fd);
	c->owner.conn = c->reg.number;
	return c;
}

void conn_start(struct conn *c)
{
	static const struct budget_use max = {.reqs = CONN_REQS_MAX}, none = {0};

	budget_init(&c->calls, &c->w->calls, &max);
	budget_init(&c->budget, &c->w->fresh, &none);
	recv_init(c);
	send_init(c);
	worker_link(c->w, c);
	worker_mark(c);
}

void conn_close(struct conn *c)
{
	if (c->state != CONN_OPEN)
		return;
	c->state = CONN_CLOSING;
	shutdown(c->fd, SHUT_RD); /* ends a receive in progress */
	worker_mark(c);
}

void conn_ended(struct conn *c)
{
	int queued = 1;

	if (c->owner.remembered && !c->running && !c->done && send_idle(c) &&
	    !ioctl(c->fd, SIOCOUTQ, &queued) && !queued)
		drc_settle(c->w->p.env->drc, c->owner.conn);
	conn_close(c);
}

void conn_abort(struct conn *c)
{
	if (c->state == CONN_DEAD)
		return;
	c->state = CONN_DEAD;
	shutdown(c->fd, SHUT_RDWR);
	worker_mark(c);
}

uint32_t conn_demand(const struct conn *c, const struct worker_req *r)
{
	return demand_reply_bytes(r->req.call, r->req.call_len, c->w->p.env->max_read);
}

bool conn_may_take(const struct conn *c)
{
	return budget_may_read(&c->budget) && (c->proven || budget_may_read(&c->w->fresh));
}

void conn_charge(struct conn *c, struct worker_req *r, uint32_t bytes)
{
	struct budget_use u = {.bufs = bytes > c->w->large_min, .bytes = bytes};

	r->charge.bufs += u.bufs;
	r->charge.bytes += u.bytes;
	budget_charge(&c->budget, &u);
}

void conn_prove(struct conn *c, bool proven)
{
	struct budget_use u = c->budget.used;

	if (c->proven == proven)
		return;
	c->proven = proven;
	c->handed = 0;
	budget_credit(c->budget.parent, &u);
	c->budget.parent = proven ? &c->w->budget : &c->w->fresh;
	budget_charge(c->budget.parent, &u);
	c->w->credited = true;
}

void conn_took(struct conn *c, size_t bytes)
{
	int queued = 0;

	c->handed += bytes;
	if (c->proven || c->handed < CONN_PROOF)
		return;
	/* What the peer has not acknowledged may be all it will ever take. */
	if (!ioctl(c->fd, SIOCOUTQ, &queued) && c->handed >= CONN_PROOF + (uint64_t)queued)
		conn_prove(c, true);
}

void conn_dispatch(struct conn *c, struct worker_req *r)
{
	static const struct budget_use one = {.reqs = 1};

	budget_charge(&c->calls, &one);
	r->charge.reqs++;
	c->running++;
	c->w->served++;
	worker_watch(c->w);
	req_dispatch(&r->req);
}

void conn_retire(struct conn *c, struct req *r)
{
	struct worker_req *wr = (struct worker_req *)r; /* req is the first member */
	struct budget_use call = {.reqs = wr->charge.reqs};

	wr->charge.reqs = 0;
	budget_credit(&c->calls, &call);
	budget_credit(&c->budget, &wr->charge);
	c->w->credited = true;
	wr->charge = (struct budget_use){0};
	req_retire(r);
	worker_req_put(c->w, wr);
}

static bool idle(const struct conn *c)
{
	return !c->running && !c->done && recv_idle(c) && send_idle(c);
}

static void reap(struct conn *c)
{
	struct worker *w = c->w;

	worker_unlink(w, c);
	connreg_remove(w->p.conns, &c->reg);
	if (c->owner.carries)
		state4_back_lost(w->p.env->state, c->owner.conn);
	back_stop(c);
	close(c->fd);
	req_owner_fini(&c->owner);
	free(c);
	atomic_fetch_sub_explicit(&w->nconns, 1, memory_order_relaxed);
}

void conn_turn(struct conn *c)
{
	struct req *r;

	while ((r = c->done)) {
		c->done = r->next;
		r->next = NULL;
		conn_retire(c, r);
	}
	recv_turn(c);
	send_turn(c);
	if (c->state == CONN_OPEN)
		return;
	if (c->state == CONN_DEAD)
		back_stop(c);
	recv_stop(c);
	if (idle(c) && !c->dirty)
		reap(c);
}

bool conn_too_slow(uint64_t elapsed_ns, uint64_t bytes, bool strict)
{
	uint64_t grace = strict ? CONN_GRACE_STRICT_NS : CONN_GRACE_NS;
	uint64_t rate = strict ? CONN_RATE_STRICT : CONN_RATE;

	return elapsed_ns > grace + bytes / rate * 1000000000;
}

static uint64_t since(const struct worker *w, uint64_t ns)
{
	return w->now_ns > ns ? w->now_ns - ns : 0;
}

static void cut(struct conn *c, _Atomic uint64_t *counter, const char *why)
{
	const struct proto_env *env = c->w->p.env;

	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
	env->log(env->arg, LOG_NOTICE, "%s: %s: connection closed", c->owner.peer.text, why);
	conn_abort(c);
}

bool conn_late(struct conn *c, bool strict)
{
	struct worker *w = c->w;
	bool partial = c->state == CONN_OPEN && c->recv.busy && recv_partial(c);
	bool unsent = (c->send.busy && c->send.head) || c->send.lent;
	bool called = back_late(c);
	uint64_t got = c->recv.req ? c->recv.req->req.record_len : 0;

	if (c->state == CONN_DEAD)
		return called;
	if ((unsent && since(w, c->send.since_ns) > CONN_DOUBT_NS) ||
	    (partial && since(w, c->recv.since_ns) > CONN_DOUBT_NS))
		conn_prove(c, false);
	/* With nothing taken but a request a slow peer is in nobody's way. */
	if (partial && conn_too_slow(since(w, c->recv.since_ns), got,
				     strict && c->recv.req && c->recv.charged))
		cut(c, &w->cuts.slow_call, "a call did not arrive in time");
	else if (unsent && conn_too_slow(since(w, c->send.since_ns), c->send.skip,
					 strict && c->budget.used.bytes))
		cut(c, &w->cuts.slow_reply, "a reply was not taken in time");
	return partial || unsent || called;
}
