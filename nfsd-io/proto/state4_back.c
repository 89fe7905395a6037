/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/back.h"
#include "nfsd-io/proto/state4_int.h"
#include "rpc/msg.h"

/* RFC 8881 s.18.36.3 says 4, the RFCs' own XDR 1: clients serve that. */
#define CB_VERSION 1

/* A call on its way; one a session. */
struct inquiry {
	struct back_call b; /* first */
	struct state4 *s;
	struct state4_session *session; /* pinned */
	bool sequence;			/* CB_SEQUENCE; else CB_NULL */
	unsigned epoch;
};

/* --- what is bound --------------------------------------------------------------- */

static struct state4_link *bucket(struct state4 *s, uint64_t conn)
{
	return &s->by_conn[conn % STATE4_CONN_BUCKETS];
}

/*
 * Bindings or what is known of them changed: count the
 * session among those that can be reached, or not.
 */
static void look(struct state4_session *n)
{
	struct state4_back *cb = &n->cb;
	bool reached = false;
	unsigned i;

	for (i = 0; i < STATE4_BINDS; i++)
		reached |= cb->bind[i].conn && cb->bind[i].is != STATE4_SILENT;
	if (reached && !cb->reached)
		n->client->nreached++;
	else if (!reached && cb->reached)
		n->client->nreached--;
	cb->reached = reached;
}

static void unbind(struct state4_bind *b)
{
	state4_list_del(&b->of_conn);
	b->conn = 0;
}

static struct state4_bind *find(struct state4_session *n, uint64_t conn)
{
	unsigned i;

	for (i = 0; i < STATE4_BINDS; i++)
		if (n->cb.bind[i].conn == conn)
			return &n->cb.bind[i];
	return NULL;
}

/* A place for one more: a free one, else the oldest gives way. */
static struct state4_bind *place(struct state4_session *n)
{
	struct state4_bind *b = find(n, 0);

	if (b)
		return b;
	b = &n->cb.bind[n->cb.oldest++ % STATE4_BINDS];
	unbind(b);
	return b;
}

static void bind_conn(struct state4 *s, struct state4_session *n, uint64_t conn)
{
	struct state4_bind *b = find(n, conn);

	if (!b) {
		b = place(n);
		b->conn = conn;
		state4_list_add_tail(bucket(s, conn), &b->of_conn);
	}
	b->is = STATE4_BOUND;
	if (!n->cb.asked) {
		n->cb.asked = true;
		n->client->nasked++;
	}
	look(n);
}

static void take_caller(struct state4_back *cb, struct state4_caller *caller)
{
	free(cb->cred);
	cb->program = caller->program;
	cb->cred = caller->cred;
	cb->cred_len = caller->cred_len;
	caller->cred = NULL;
}

void state4_back_init(struct state4 *s, struct state4_session *n, struct state4_caller *caller)
{
	unsigned i;

	state4_list_init(&n->cb.of_again);
	for (i = 0; i < STATE4_BINDS; i++) {
		n->cb.bind[i].session = n;
		state4_list_init(&n->cb.bind[i].of_conn);
	}
	take_caller(&n->cb, caller);
	if (caller->conn)
		bind_conn(s, n, caller->conn);
}

void state4_back_drop(struct state4 *s, struct state4_session *n)
{
	unsigned i;

	(void)s;
	state4_list_del(&n->cb.of_again);
	for (i = 0; i < STATE4_BINDS; i++)
		if (n->cb.bind[i].conn)
			unbind(&n->cb.bind[i]);
	look(n);
	if (n->cb.asked)
		n->client->nasked--;
	n->cb.asked = false;
}

uint32_t state4_back_bind(struct state4 *s, const uint8_t id[16], uint64_t conn)
{
	struct state4_session *n;

	state4_lock(s);
	n = state4_session_find(s, id);
	if (n) {
		n->cb.epoch++;
		bind_conn(s, n, conn);
	}
	state4_unlock(s);
	return n ? NFS4_OK : NFS4ERR_BADSESSION;
}

void state4_back_set(struct state4 *s, struct state4_session *n, struct state4_caller *caller)
{
	unsigned i;

	state4_lock(s);
	take_caller(&n->cb, caller);
	n->cb.epoch++;
	n->cb.proven = false;
	for (i = 0; i < STATE4_BINDS; i++)
		/* perhaps it was the program that did not answer */
		n->cb.bind[i].is = STATE4_BOUND;
	if (!n->gone)
		look(n);
	state4_unlock(s);
}

void state4_back_lost(struct state4 *s, uint64_t conn)
{
	struct state4_link *l, *next, *head = bucket(s, conn);

	state4_lock(s);
	for (l = head->next; l != head; l = next) {
		struct state4_bind *b = (struct state4_bind *)l; /* its first member */

		next = l->next;
		if (b->conn != conn)
			continue;
		unbind(b);
		look(b->session);
	}
	state4_unlock(s);
}

uint32_t state4_back_flags(const struct state4_session *n)
{
	uint32_t flags = n->cb.fault ? SEQ4_STATUS_BACKCHANNEL_FAULT : 0;

	if (n->cb.asked && !n->cb.reached)
		flags |= SEQ4_STATUS_CB_PATH_DOWN_SESSION;
	if (n->client->nasked && !n->client->nreached)
		flags |= SEQ4_STATUS_CB_PATH_DOWN;
	return flags;
}

/* --- what is to be asked ---------------------------------------------------------- */

static struct state4_bind *bound_as(struct state4_session *n, int is)
{
	unsigned i;

	for (i = 0; i < STATE4_BINDS; i++)
		if (n->cb.bind[i].conn && (int)n->cb.bind[i].is == is)
			return &n->cb.bind[i];
	return NULL;
}

/* Over which connection, and what; NULL: nothing. */
static struct state4_bind *to_ask(struct state4 *s, struct state4_session *n, bool *sequence)
{
	const struct state4_back *cb = &n->cb;
	struct state4_bind *b;

	if (n->gone || !cb->reached || cb->calling || !s->p.call)
		return NULL;
	if (cb->again_ns && state4_now_ns(s) < cb->again_ns)
		return NULL;
	*sequence = false;
	b = bound_as(n, STATE4_BOUND);
	if (b || cb->proven || cb->fault || !n->known)
		return b;
	*sequence = true;
	return bound_as(n, STATE4_ANSWERS);
}

bool state4_back_wants(struct state4 *s, const struct state4_session *n)
{
	bool sequence;

	return to_ask(s, (struct state4_session *)n, &sequence);
}

static void put_sequence(struct cursor *c, const struct state4_session *n)
{
	cursor_put_u32(c, 0); /* tag */
	cursor_put_u32(c, n->client->minor);
	cursor_put_u32(c, 0); /* callback_ident: 4.0's */
	cursor_put_u32(c, 1);
	cursor_put_u32(c, OP_CB_SEQUENCE);
	cursor_put_fixed(c, n->id, 16);
	cursor_put_u32(c, n->cb.seqid + 1);
	cursor_put_u32(c, 0); /* slot, and the highest */
	cursor_put_u32(c, 0);
	cursor_put_bool(c, false);
	cursor_put_u32(c, 0); /* referring calls */
}

/* As knfsd. */
static uint64_t patience(const struct state4 *s)
{
	uint64_t ns = s->p.lease_s * STATE4_SECOND / 10;

	return ns < STATE4_SECOND ? STATE4_SECOND : ns;
}

static void answered(struct back_call *b, int err, const uint8_t *reply, uint32_t len);

/* The next question, ready to go; NULL: there is none, or no memory. */
static struct inquiry *make(struct state4 *s, struct state4_session *n)
{
	bool sequence;
	struct state4_bind *at = to_ask(s, n, &sequence);
	struct inquiry *p = at ? malloc(sizeof(*p)) : NULL;
	struct cursor c;

	if (!p)
		return NULL;
	memset(&p->b.op, 0, sizeof(p->b.op));
	p->b.conn = at->conn;
	p->b.wait_ns = patience(s);
	p->b.done = answered;
	p->s = s;
	p->session = n;
	p->sequence = sequence;
	p->epoch = n->cb.epoch;
	cursor_init(&c, p->b.call, sizeof(p->b.call));
	msg_call_put(&c, n->cb.program, CB_VERSION, sequence ? CB_COMPOUND : CB_NULL, n->cb.cred,
		     n->cb.cred_len);
	if (sequence)
		put_sequence(&c, n);
	p->b.len = (uint32_t)cursor_pos(&c);
	n->refs++;
	n->cb.calling = true;
	n->cb.again_ns = 0;
	state4_list_del(&n->cb.of_again);
	return p;
}

static void ask(struct state4 *s, struct inquiry *p)
{
	int err;

	if (!p)
		return;
	atomic_fetch_add_explicit(&s->cb_calls, 1, memory_order_relaxed);
	err = s->p.call(s->p.arg, &p->b);
	if (err)
		answered(&p->b, err, NULL, 0);
}

void state4_back_probe(struct state4 *s, struct state4_session *n)
{
	struct inquiry *p;

	state4_lock(s);
	p = make(s, n);
	state4_unlock(s);
	ask(s, p);
}

/*
 * Under the lock: asked again when a second has passed, then two, four and so on up to a lease.
 * Nobody else may do it: a client that is content is silent for most of a lease.
 */
static void put_off(struct state4 *s, struct state4_back *cb)
{
	uint64_t ns = STATE4_SECOND << (cb->put_off < 16 ? cb->put_off : 16),
		 most = s->p.lease_s * STATE4_SECOND;

	cb->put_off++;
	cb->again_ns = state4_now_ns(s) + (ns < most ? ns : most);
	state4_list_del(&cb->of_again);
	state4_list_add_tail(&s->again, &cb->of_again);
}

/* Under the lock: the first of those waiting goes to their end, or is to be asked now. */
static struct inquiry *turn(struct state4 *s)
{
	struct state4_link *l = s->again.next;
	struct state4_session *n = container_of(l, struct state4_session, cb.of_again);

	state4_list_del(l);
	if (n->client->courtesy)
		return NULL;
	if (state4_now_ns(s) >= n->cb.again_ns)
		return make(s, n);
	state4_list_add_tail(&s->again, l);
	return NULL;
}

void state4_back_sweep(struct state4 *s)
{
	struct state4_link *l;
	struct inquiry *p;
	unsigned left = 0;

	state4_lock(s);
	for (l = s->again.next; l != &s->again; l = l->next)
		left++;
	/* Others may take some meanwhile. */
	for (; left && !state4_list_empty(&s->again); left--) {
		p = turn(s);
		if (!p)
			continue;
		state4_unlock(s);
		ask(s, p);
		state4_lock(s);
	}
	state4_unlock(s);
}

/* --- what was answered --------------------------------------------------------------- */

/* The status of the COMPOUND, which is CB_SEQUENCE's: an nfsstat4, or -EPROTO. */
static int sequence_status(struct cursor *c)
{
	uint32_t status = cursor_get_u32(c);

	return cursor_ok(c) && status <= INT32_MAX ? (int)status : -EPROTO;
}

/* The client's slot moves on whatever was bound meanwhile. */
static void take_sequence(struct state4 *s, struct state4_back *cb, int status, bool fresh)
{
	switch (status) {
	case NFS4_OK:
	case NFS4ERR_RETRY_UNCACHED_REP: /* it took the one before, whose answer we did not see */
		cb->seqid++;
		cb->proven |= fresh;
		cb->put_off = 0;
		break;
	case NFS4ERR_DELAY:
	case NFS4ERR_BACK_CHAN_BUSY:
		put_off(s, cb);
		break;
	default: /* BADSESSION, BADSLOT, SEQ_MISORDERED, no COMPOUND at all */
		cb->fault = true;
	}
}

static void take_answer(struct inquiry *p, int err, struct cursor *c)
{
	struct state4_back *cb = &p->session->cb;
	struct state4_bind *b = find(p->session, p->b.conn);
	bool fresh = p->epoch == cb->epoch, ok = !err && msg_reply_accepted(c);

	if (err == -EBUSY)
		put_off(p->s, cb);
	else if (err == -ENOTCONN && b)
		unbind(b); /* its end may have been told before it was bound */
	else if (err != -ENOTCONN && b && fresh)
		b->is = ok ? STATE4_ANSWERS : STATE4_SILENT;
	if (ok && p->sequence)
		take_sequence(p->s, cb, sequence_status(c), fresh);
	look(p->session);
}

/* A worker's thread, or the asker's when nobody took the call. */
static void answered(struct back_call *b, int err, const uint8_t *reply, uint32_t len)
{
	struct inquiry *p = (struct inquiry *)b, *next = NULL;
	struct state4 *s = p->s;
	struct state4_session *n = p->session;
	struct cursor c;

	cursor_init_const(&c, reply, len);
	if (!err)
		atomic_fetch_add_explicit(&s->cb_answers, 1, memory_order_relaxed);
	state4_lock(s);
	n->cb.calling = false;
	if (!n->gone) {
		take_answer(p, err, &c);
		next = make(s, n);
	}
	state4_session_unref(s, n);
	state4_unlock(s);
	free(p);
	ask(s, next);
}
