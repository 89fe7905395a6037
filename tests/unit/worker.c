/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Workers and ports on real sockets, with both engines; the protocol is a
 * stand-in that answers a call with its own first 40 bytes.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nfsd-io/server/conn.h"
#include "nfsd-io/server/port.h"
#include "tests/lib/unit.h"

#define NWORKERS 3
#define SECOND 1000000000ull

static struct worker *workers[NWORKERS];
static struct connreg *conns;
static struct port *port;
static uint16_t number;
static _Atomic unsigned ndispatched, shed;
static _Atomic bool hold;
static struct req *_Atomic held;
static struct export_table table;
static uint8_t big[1 << 20];

/* --- the protocol --------------------------------------------------------------- */

void req_begin(struct req *r, const struct proto_env *env, struct ring *ring, struct pool *pool,
	       struct req_stats *stats, struct req_owner *owner)
{
	(void)stats;
	memset(r, 0, offsetof(struct req, call));
	r->call = r->call_buf;
	r->call_max = REQ_CALL_MAX;
	r->call_len = r->record_len = 0;
	r->data_len = 0;
	r->env = env;
	r->ring = ring;
	r->pool = pool;
	r->owner = owner;
}

void req_dispatch(struct req *r)
{
	cursor_init(&r->reply, r->reply_buf, sizeof(r->reply_buf));
	cursor_put_fixed(&r->reply, r->call, 40);
	ndispatched++;
	if (hold) {
		held = r;
		return;
	}
	if (r->call_len > 40 && r->call[40]) { /* a large answer is asked for */
		r->data = big;
		r->data_len = sizeof(big);
	}
	r->owner->reply(r->owner, r);
}

void req_retire(struct req *r) { buf_return(r->payload); }
int req_payload_unpipe(struct req *r, struct buf *b, uint64_t offset)
{
	(void)r, (void)b, (void)offset;
	return -EIO;
}
void req_owner_fini(struct req_owner *o) { (void)o; }
void req_set_state(struct req *r, enum req_state s) { r->state = s; }
void drc_settle(struct drc *d, uint64_t conn) { (void)d, (void)conn; }
void state4_back_lost(struct state4 *s, uint64_t conn) { (void)s, (void)conn; }

uint32_t req_reply_len(const struct req *r)
{
	return (uint32_t)cursor_pos(&r->reply) + r->data_len;
}

bool req_call_may_grow(const uint8_t *buf, size_t len)
{
	(void)buf;
	(void)len;
	return false;
}

void req_call_move(struct req *r, struct buf *b)
{
	(void)r;
	(void)b;
}

enum req_peek req_peek_payload(const uint8_t *buf, size_t len, struct req_payload *o)
{
	(void)buf; (void)len; (void)o;
	return REQ_PEEK_PLAIN;
}

unsigned fdcache_shed(struct fdcache *c, unsigned want)
{
	(void)c;
	shed++;
	return want;
}

void export_table_put(struct export_table *t) { (void)t; }

static struct export_table *exports(void *arg)
{
	(void)arg;
	return &table;
}

static void log_line(void *arg, int priority, const char *fmt, ...)
{
	(void)arg; (void)priority; (void)fmt;
}

static struct proto_env env = {
	.max_read = 1 << 20, .max_write = 1 << 20, .log = log_line, .exports = exports,
};

/* --- helpers --------------------------------------------------------------------- */

static void start(enum ring_engine engine, unsigned max)
{
	struct port_params pp = {.hosts = (char *[]){"127.0.0.1"}, .nhosts = 1};
	struct port_service s = {
		.workers = workers, .nworkers = NWORKERS, .max_connections = max, .env = &env};
	char why[256] = "";
	unsigned i;
	int ret;

	ck_assert_int_eq(connreg_new(&conns), 0);
	s.conns = conns;
	ck_assert_int_eq(port_new(&port), 0);
	ret = port_bind(port, &pp, 0, why, sizeof(why));
	ck_assert_msg(ret > 0, "%s", why);
	number = (uint16_t)ret;
	for (i = 0; i < NWORKERS; i++) {
		struct worker_params p = {.number = i,
					  .cpu = -1,
					  .node = -1,
					  .engine = engine,
					  .env = &env,
					  .conns = conns,
					  .pool_bytes = 8 << 20};

		ck_assert_int_eq(worker_new(&workers[i], &p), 0);
	}
	ck_assert_int_eq(port_start(port, &s), 0);
}

static void stop(void)
{
	unsigned i;

	port_stop(port);
	for (i = 0; i < NWORKERS; i++)
		worker_drain(workers[i]);
	for (i = 0; i < NWORKERS; i++) {
		ck_assert_int_eq(worker_wait(workers[i], worker_clock_ns() + 20 * SECOND), 0);
		worker_free(workers[i]);
	}
	port_free(port);
	ck_assert_uint_eq(connreg_count(conns), 0);
	connreg_free(conns);
}

static int dial(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(number),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void call(int fd, uint8_t tag, bool large)
{
	uint8_t rec[4 + 44] = {0x80, 0, 0, 44};

	memset(rec + 4, tag, 40);
	rec[44] = large;
	ck_assert_int_eq(send(fd, rec, sizeof(rec), MSG_NOSIGNAL), sizeof(rec));
}

static void answer(int fd, uint8_t tag)
{
	uint8_t rec[44];

	ck_assert_int_eq(recv(fd, rec, sizeof(rec), MSG_WAITALL), sizeof(rec));
	ck_assert_uint_eq(rec[3], 40);
	ck_assert_uint_eq(rec[43], tag);
}

static bool eventually(bool (*what)(void))
{
	uint64_t end = worker_clock_ns() + 20 * SECOND;

	while (!what()) {
		if (worker_clock_ns() > end)
			return false;
		poll(NULL, 0, 1);
	}
	return true;
}

static bool none_left(void) { return !connreg_count(conns); }
static bool one_runs(void) { return held; }

static const enum ring_engine engines[] = {RING_IO_URING, RING_THREADS};

/* --- tests ------------------------------------------------------------------------- */

START_TEST(connections_spread_over_the_workers)
{
	int fd[30];
	unsigned i;

	start(engines[_i], 100);
	for (i = 0; i < 30; i++) {
		fd[i] = dial();
		call(fd[i], (uint8_t)i, false);
		answer(fd[i], (uint8_t)i);
	}
	for (i = 0; i < NWORKERS; i++)
		ck_assert_uint_eq(workers[i]->nconns, 10);
	for (i = 0; i < 30; i++)
		close(fd[i]);
	ck_assert(eventually(none_left));
	stop();
}
END_TEST

static unsigned expected;

static bool that_many_are_left(void)
{
	unsigned i, sum = 0;

	for (i = 0; i < NWORKERS; i++)
		sum += workers[i]->nconns;
	return sum == expected;
}

static unsigned spread(void)
{
	unsigned i, least = UINT_MAX, most = 0;

	for (i = 0; i < NWORKERS; i++) {
		least = workers[i]->nconns < least ? workers[i]->nconns : least;
		most = workers[i]->nconns > most ? workers[i]->nconns : most;
	}
	return most - least;
}

/* As nconnect=16 does; then all of one worker's and some others are closed and opened again. */
START_TEST(one_clients_connections_are_even_and_become_so_again)
{
	unsigned i, round;
	int fd[16];

	start(engines[_i], 100);
	for (i = 0; i < 16; i++) {
		fd[i] = dial();
		call(fd[i], 1, false);
		answer(fd[i], 1);
	}
	ck_assert_uint_le(spread(), 1);
	for (round = 0; round < 10; round++) {
		expected = 16;
		for (i = round % 2; i < 16; i += round < 5 ? NWORKERS : 2, expected--)
			close(fd[i]);
		ck_assert(eventually(that_many_are_left));
		for (i = round % 2; i < 16; i += round < 5 ? NWORKERS : 2) {
			fd[i] = dial();
			call(fd[i], 1, false);
			answer(fd[i], 1);
		}
		ck_assert_uint_le(spread(), 1);
	}
	for (i = 0; i < 16; i++)
		close(fd[i]);
	ck_assert(eventually(none_left));
	stop();
}
END_TEST

START_TEST(pipelined_calls_of_many_connections_are_all_answered)
{
	int fd[16];
	unsigned i, k;

	start(engines[_i], 100);
	for (i = 0; i < 16; i++)
		fd[i] = dial();
	for (k = 0; k < 500; k++)
		for (i = 0; i < 16; i++)
			call(fd[i], (uint8_t)k, false);
	for (i = 0; i < 16; i++)
		for (k = 0; k < 500; k++)
			answer(fd[i], (uint8_t)k);
	stop();
	for (i = 0; i < 16; i++)
		close(fd[i]);
}
END_TEST

START_TEST(connections_over_the_limit_are_closed)
{
	struct port_stats st;
	int fd[12];
	unsigned i, closed = 0;
	char c;

	start(engines[_i], 10);
	for (i = 0; i < 12; i++) {
		fd[i] = dial();
		call(fd[i], 1, false);
		if (recv(fd[i], &c, 1, MSG_PEEK) <= 0)
			closed++;
	}
	ck_assert_uint_eq(closed, 2);
	port_stats(port, &st);
	ck_assert_uint_eq(st.refused, 2);
	for (i = 0; i < 12; i++)
		close(fd[i]);
	ck_assert(eventually(none_left));
	i = (unsigned)dial();
	call((int)i, 7, false);
	answer((int)i, 7);
	close((int)i);
	stop();
}
END_TEST

START_TEST(a_silent_reader_does_not_hold_up_others_or_the_end)
{
	int silent, busy;
	unsigned i;

	start(engines[_i], 10);
	silent = dial();
	for (i = 0; i < 40; i++)
		call(silent, 1, true);
	busy = dial();
	for (i = 0; i < 1000; i++) {
		call(busy, 2, false);
		answer(busy, 2);
	}
	port_stop(port);
	for (i = 0; i < NWORKERS; i++)
		worker_drain(workers[i]);
	/* What is not read cannot be drained: it is cut. */
	for (i = 0; i < NWORKERS; i++) {
		if (worker_wait(workers[i], worker_clock_ns() + SECOND / 10))
			worker_abort(workers[i]);
		ck_assert_int_eq(worker_wait(workers[i], worker_clock_ns() + 20 * SECOND), 0);
		worker_free(workers[i]);
	}
	port_free(port);
	connreg_free(conns);
	close(silent);
	close(busy);
}
END_TEST

static void resume(struct op *op, int res, bool more)
{
	struct req *r = held;

	(void)op;
	(void)res;
	(void)more;
	r->owner->reply(r->owner, r);
}

START_TEST(draining_answers_what_runs)
{
	struct op op = {.done = resume};
	struct worker *w;
	unsigned i;
	int fd;
	char c;

	start(engines[_i], 10);
	hold = true;
	held = NULL;
	fd = dial();
	call(fd, 9, false);
	ck_assert(eventually(one_runs));
	port_stop(port);
	for (i = 0; i < NWORKERS; i++)
		worker_drain(workers[i]);
	w = ((struct conn *)held->owner)->w;
	ck_assert_int_eq(worker_wait(w, worker_clock_ns() + SECOND / 20), -ETIMEDOUT);
	ring_post(w->ring, &op, 0);
	answer(fd, 9);
	ck_assert_int_eq(recv(fd, &c, 1, 0), 0);
	hold = false;
	stop();
	close(fd);
}
END_TEST

START_TEST(out_of_descriptors_new_connections_wait_and_the_thread_sleeps)
{
	struct rlimit old, low;
	struct timespec before, after;
	clockid_t clock;
	int fd[4], fill[600];
	unsigned n = 0, i;

	start(engines[_i], 100);
	getrlimit(RLIMIT_NOFILE, &old);
	for (i = 0; i < 4; i++)
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	low = old;
	low.rlim_cur = 256;
	setrlimit(RLIMIT_NOFILE, &low);
	while (n < 600 && (fill[n] = dup(0)) >= 0)
		n++;
	for (i = 0; i < 4; i++) {
		struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(number),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

		ck_assert_int_eq(connect(fd[i], (struct sockaddr *)&a, sizeof(a)), 0);
		call(fd[i], 3, false);
	}
	ck_assert_int_eq(clock_getcpuclockid(getpid(), &clock), 0);
	clock_gettime(clock, &before);
	poll(fd[0] >= 0 ? &(struct pollfd){.fd = fd[0], .events = POLLIN} : NULL, 1, 300);
	clock_gettime(clock, &after);
	ck_assert_uint_gt(shed, 0);
	ck_assert_int_lt((after.tv_sec - before.tv_sec) * 1000 +
				 (after.tv_nsec - before.tv_nsec) / 1000000,
			 100);
	while (n)
		close(fill[--n]);
	for (i = 0; i < 4; i++) {
		answer(fd[i], 3);
		close(fd[i]);
	}
	setrlimit(RLIMIT_NOFILE, &old);
	ck_assert(eventually(none_left));
	stop();
}
END_TEST

START_TEST(a_port_in_use_names_its_holder)
{
	struct port_params pp = {.hosts = (char *[]){"127.0.0.1"}, .nhosts = 1};
	char why[256] = "", pid[32];
	struct port *other;

	start(RING_AUTO, 10);
	ck_assert_int_eq(port_new(&other), 0);
	ck_assert_int_eq(port_bind(other, &pp, number, why, sizeof(why)), -EADDRINUSE);
	snprintf(pid, sizeof(pid), "(pid %d)", getpid());
	ck_assert_msg(strstr(why, pid), "%s", why);
	port_free(other);
	stop();
}
END_TEST

START_TEST(every_address_is_listened_on_at_the_same_free_port)
{
	struct port_params pp = {0};
	char why[256], **text, v4[32];
	unsigned n, i;
	bool found = false;
	int ret;

	ck_assert_int_eq(port_new(&port), 0);
	ret = port_bind(port, &pp, 0, why, sizeof(why));
	ck_assert_int_gt(ret, 0);
	n = port_addresses(port, &text);
	ck_assert_uint_ge(n, 1);
	snprintf(v4, sizeof(v4), "0.0.0.0:%d", ret);
	for (i = 0; i < n; i++) {
		found |= !strcmp(text[i], v4);
		ck_assert_int_eq(atoi(strrchr(text[i], ':') + 1), ret);
		free(text[i]);
	}
	free(text);
	ck_assert(found);
	port_free(port);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("worker");
	TCase *tc = tcase_create("worker");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, connections_spread_over_the_workers, 0, 2);
	tcase_add_loop_test(tc, one_clients_connections_are_even_and_become_so_again, 0, 2);
	tcase_add_loop_test(tc, pipelined_calls_of_many_connections_are_all_answered, 0, 2);
	tcase_add_loop_test(tc, connections_over_the_limit_are_closed, 0, 2);
	tcase_add_loop_test(tc, a_silent_reader_does_not_hold_up_others_or_the_end, 0, 2);
	tcase_add_loop_test(tc, draining_answers_what_runs, 0, 2);
	tcase_add_loop_test(tc, out_of_descriptors_new_connections_wait_and_the_thread_sleeps, 0,
			    2);
	tcase_add_test(tc, a_port_in_use_names_its_holder);
	tcase_add_test(tc, every_address_is_listened_on_at_the_same_free_port);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
