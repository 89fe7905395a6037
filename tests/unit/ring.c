/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sockets, timeouts, posts and the loop itself; file I/O is in ring_file.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <netinet/in.h>
#include <unistd.h>

#include "tests/lib/ringwait.h"
#include "tests/lib/threads.h"
#include "tests/lib/unit.h"

START_TEST(names_its_engine)
{
	setup(_i);
	ck_assert_str_eq(ring_engine_name(ring), _i ? "threads" : "io_uring");
	ck_assert_uint_gt(strlen(ring_engine_why(ring)), 0);
	ring_free(ring);
}
END_TEST

START_TEST(errors_arrive_as_completions)
{
	struct wait w;
	char c;

	setup(_i);
	ring_read(ring, &waiting(&w, NULL)->op, -1, &c, 1, 0, 0, -1, NULL);
	ck_assert_int_eq(finish(&w), -EBADF);
	ring_recv(ring, &waiting(&w, NULL)->op, -1, &c, 1, 0);
	ck_assert_int_eq(finish(&w), -EBADF);
	ring_poll(ring, &waiting(&w, NULL)->op, 987654, POLLIN);
	ck_assert_int_eq(finish(&w), -EBADF);
	ring_fsync(ring, &waiting(&w, NULL)->op, -1, false);
	ck_assert_int_eq(finish(&w), -EBADF);
	ring_free(ring);
}
END_TEST

/* Completions that pile up while nothing is reaped: 4x the SQ is the CQ's size. */
START_TEST(completion_queue_overflow_loses_nothing)
{
	enum { N = 500 };
	static struct wait w[N];
	int left = N;

	ring = make(engines[_i], 4, 0);
	for (int i = 0; i < N; i++)
		ring_timeout(ring, &waiting(&w[i], &left)->op, 1000000);
	usleep(5000);
	ring_run(ring, NULL, NULL);
	for (int i = 0; i < N; i++)
		ck_assert_int_eq(w[i].res, -ETIME);
	ring_free(ring);
}
END_TEST

static void sockets(int sv[2], bool nonblock)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | (nonblock ? SOCK_NONBLOCK : 0), 0, sv),
			 0);
}

START_TEST(recv_waits_for_data_and_reports_eof)
{
	for (int nonblock = 0; nonblock < 2; nonblock++) {
		struct wait r, s;
		char buf[8];
		int sv[2], left = 2;
		struct iovec iov = { "hello", 5 };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

		sockets(sv, nonblock);
		setup(_i);
		ring_recv(ring, &waiting(&r, &left)->op, sv[0], buf, sizeof(buf), 0);
		ring_sendmsg(ring, &waiting(&s, &left)->op, sv[1], &msg, MSG_NOSIGNAL);
		ring_run(ring, NULL, NULL);
		ck_assert_int_eq(s.res, 5);
		ck_assert_int_eq(r.res, 5);
		ck_assert_mem_eq(buf, "hello", 5);
		ring_recv(ring, &waiting(&r, NULL)->op, sv[0], buf, sizeof(buf), 0);
		close(sv[1]);
		ck_assert_int_eq(finish(&r), 0);
		close(sv[0]);
		ring_free(ring);
	}
}
END_TEST

START_TEST(send_waits_for_room_and_receiving_at_once_works)
{
	static char big[4 << 20], in[65536];
	struct iovec iov = { big, sizeof(big) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct wait r, s;
	int sv[2], left;
	size_t sent = 0, got = 0;

	sockets(sv, true);
	setup(_i);
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 31 >> 3);
	/* Both directions of one descriptor busy: a recv that never ends beside the sends. */
	struct wait idle;
	ring_recv(ring, &waiting(&idle, NULL)->op, sv[1], in, 1, 0);
	while (got < sizeof(big)) {
		left = 1;
		if (sent < sizeof(big)) {
			iov = (struct iovec){ big + sent, sizeof(big) - sent };
			left++;
			ring_sendmsg(ring, &waiting(&s, &left)->op, sv[1], &msg, MSG_NOSIGNAL);
		}
		ring_recv(ring, &waiting(&r, &left)->op, sv[0], in, sizeof(in), 0);
		s.res = 0;
		ring_run(ring, NULL, NULL);
		ck_assert_int_gt(r.res, 0);
		ck_assert_int_ge(s.res, 0);
		ck_assert_mem_eq(in, big + got, (size_t)r.res);
		got += (size_t)r.res;
		sent += (size_t)s.res;
	}
	ck_assert_int_eq(idle.calls, 0);
	ring_cancel(ring, &idle.op);
	ck_assert_int_eq(finish(&idle), -ECANCELED);
	close(sv[0]);
	close(sv[1]);
	ring_free(ring);
}
END_TEST

START_TEST(accepts_one_connection_at_a_time)
{
	for (int nonblock = 0; nonblock < 2; nonblock++) {
		struct sockaddr_in a = {.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		socklen_t len = sizeof(a);
		int l = socket(AF_INET, SOCK_STREAM | (nonblock ? SOCK_NONBLOCK : 0), 0);
		struct wait w;

		ck_assert_int_eq(bind(l, (struct sockaddr *)&a, sizeof(a)), 0);
		ck_assert_int_eq(listen(l, 8), 0);
		ck_assert_int_eq(getsockname(l, (struct sockaddr *)&a, &len), 0);
		setup(_i);
		for (int i = 0; i < 3; i++) {
			int c = socket(AF_INET, SOCK_STREAM, 0);

			ring_accept(ring, &waiting(&w, NULL)->op, l);
			ck_assert_int_eq(connect(c, (struct sockaddr *)&a, sizeof(a)), 0);
			ck_assert_int_ge(finish(&w), 0);
			ck_assert_int_eq(fcntl(w.res, F_GETFD), FD_CLOEXEC);
			close(w.res);
			close(c);
		}
		close(l);
		ring_free(ring);
	}
}
END_TEST

START_TEST(poll_reports_what_is_ready)
{
	int p[2], fd = temp_file();
	struct wait w;

	ck_assert_int_eq(pipe(p), 0);
	setup(_i);
	ring_poll(ring, &waiting(&w, NULL)->op, p[0], POLLIN);
	ck_assert_int_eq(write(p[1], "x", 1), 1);
	ck_assert_int_eq(finish(&w), POLLIN);
	ring_poll(ring, &waiting(&w, NULL)->op, fd, POLLIN);
	ck_assert_int_eq(finish(&w), POLLIN);
	close(p[0]);
	close(p[1]);
	close(fd);
	ring_free(ring);
}
END_TEST

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int order[16], norder;

static void on_order(struct op *op, int res, bool more)
{
	struct wait *w = (struct wait *)op;

	(void)more;
	w->res = res;
	order[norder++] = w->calls;
	if (--*w->left == 0)
		ring_stop(w->ring);
}

START_TEST(timeouts_fire_in_order_and_not_early)
{
	static const unsigned ms[] = { 30, 10, 50, 20, 40, 60, 5 };
	static const int expect[] = { 6, 1, 3, 0, 4, 2, 5 };
	struct wait w[7];
	uint64_t t0 = now_ns();
	int left = 7;

	setup(_i);
	norder = 0;
	for (int i = 0; i < 7; i++) {
		waiting(&w[i], &left)->op.done = on_order;
		w[i].calls = i;
		ring_timeout(ring, &w[i].op, ms[i] * 1000000ull);
	}
	ring_run(ring, NULL, NULL);
	ck_assert_uint_ge(now_ns() - t0, 60000000);
	for (int i = 0; i < 7; i++) {
		ck_assert_int_eq(order[i], expect[i]);
		ck_assert_int_eq(w[i].res, -ETIME);
	}
	ring_free(ring);
}
END_TEST

START_TEST(cancel_ends_a_waiting_operation_once)
{
	struct wait r, t, p;
	int sv[2], left = 3;
	char c;

	sockets(sv, false);
	setup(_i);
	ring_recv(ring, &waiting(&r, &left)->op, sv[0], &c, 1, 0);
	ring_timeout(ring, &waiting(&t, &left)->op, 3600ull * 1000000000);
	ring_poll(ring, &waiting(&p, &left)->op, sv[1], POLLIN);
	ring_cancel(ring, &t.op);
	ring_cancel(ring, &r.op);
	ring_cancel(ring, &r.op);
	ring_cancel(ring, &p.op);
	ck_assert_int_eq(r.calls + t.calls + p.calls, 0);
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(r.res, -ECANCELED);
	ck_assert_int_eq(t.res, -ECANCELED);
	ck_assert_int_eq(p.res, -ECANCELED);
	ck_assert_int_eq(r.calls + t.calls + p.calls, 3);
	/* After the end it means nothing. */
	ring_cancel(ring, &r.op);
	ck_assert_uint_eq(ring_inflight(ring), 0);
	close(sv[0]);
	close(sv[1]);
	ring_free(ring);
}
END_TEST

START_TEST(timers_removed_in_any_order_leave_the_others)
{
	enum { N = 200 };
	static struct wait w[N];
	int left = N;

	setup(_i);
	for (int i = 0; i < N; i++)
		ring_timeout(ring, &waiting(&w[i], &left)->op,
			     (uint64_t)(1 + i * 37 % 50) * 1000000);
	for (int i = 0; i < N; i += 3)
		ring_cancel(ring, &w[i * 7 % N].op);
	ring_run(ring, NULL, NULL);
	for (int i = 0; i < N; i++)
		ck_assert_msg(w[i].res == -ETIME || (w[i].op.cancelled && w[i].res == -ECANCELED),
			      "%d: %d", i, w[i].res);
	ring_free(ring);
}
END_TEST

enum { POSTERS = 4, POSTS = 5000 };
static struct wait posts[POSTERS][POSTS];

static void *poster(void *arg)
{
	struct wait *w = arg;

	for (int i = 0; i < POSTS; i++)
		ring_post(ring, &w[i].op, i);
	return NULL;
}

START_TEST(posts_of_many_threads_all_arrive)
{
	pthread_t tid[POSTERS];
	int left = POSTERS * POSTS;

	setup(_i);
	for (int t = 0; t < POSTERS; t++)
		for (int i = 0; i < POSTS; i++)
			waiting(&posts[t][i], &left);
	for (int t = 0; t < POSTERS; t++)
		pthread_create(&tid[t], NULL, poster, posts[t]);
	ring_run(ring, NULL, NULL);
	for (int t = 0; t < POSTERS; t++) {
		pthread_join(tid[t], NULL);
		for (int i = 0; i < POSTS; i++) {
			ck_assert_int_eq(posts[t][i].calls, 1);
			ck_assert_int_eq(posts[t][i].res, i);
		}
	}
	ring_free(ring);
}
END_TEST

static void on_post_order(struct op *op, int res, bool more)
{
	(void)op;
	(void)more;
	ck_assert_int_eq(res, norder);
	if (++norder == 100)
		ring_stop(ring);
}

START_TEST(posts_of_one_thread_keep_their_order)
{
	struct wait w[100];

	setup(_i);
	norder = 0;
	for (int i = 0; i < 100; i++) {
		waiting(&w[i], NULL)->op.done = on_post_order;
		ring_post(ring, &w[i].op, i);
	}
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(norder, 100);
	ring_free(ring);
}
END_TEST

static sem_t running;

static void on_running(struct op *op, int res, bool more)
{
	(void)op;
	(void)res;
	(void)more;
	sem_post(&running);
}

static void *idler(void *arg)
{
	struct op op = { .done = on_running };
	long *switches = arg;
	struct rusage a, b;

	setup((int)*switches);
	ring_post(ring, &op, 0);
	getrusage(RUSAGE_THREAD, &a);
	ring_run(ring, NULL, NULL);
	getrusage(RUSAGE_THREAD, &b);
	*switches = b.ru_nvcsw - a.ru_nvcsw;
	ring_free(ring);
	return NULL;
}

START_TEST(an_idle_ring_does_not_wake_up)
{
	long n = _i;
	pthread_t tid;

	sem_init(&running, 0, 0);
	pthread_create(&tid, NULL, idler, &n);
	sem_wait(&running);
	usleep(300000);
	ring_stop(ring);
	pthread_join(tid, NULL);
	ck_assert_int_le(n, 6);
}
END_TEST

static int turns;

static void on_turn(void *arg)
{
	ck_assert_ptr_eq(arg, &turns);
	turns++;
}

START_TEST(turn_follows_each_batch)
{
	struct wait w;
	int left = 1;

	setup(_i);
	turns = 0;
	ring_timeout(ring, &waiting(&w, &left)->op, 1000);
	ring_run(ring, on_turn, &turns);
	ck_assert_int_eq(turns, 1);
	ring_free(ring);
}
END_TEST

/* fsync blocks, so that a kernel thread of io-wq or one of the engine's own carries it out. */
START_TEST(helping_threads_stay_on_the_cpus_they_are_given)
{
	struct ring_params p = { .engine = engines[_i], .name = "test/r0" };
	int fd = temp_file(), left = 1;
	struct wait w;
	char cpu[16];
	cpu_set_t one = threads_last_cpu(cpu, sizeof(cpu));

	p.cpus = &one;
	ck_assert_int_eq(ring_new(&ring, &p), 0);
	ck_assert_int_eq(ring_unbound(ring), 0);
	ring_fsync(ring, &waiting(&w, &left)->op, fd, false);
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(w.res, 0);
	ck_assert_uint_eq(threads_count(_i ? "test/r0-i" : "iou-wrk-", cpu), 1);
	ring_free(ring);
	close(fd);
}
END_TEST

START_TEST(auto_says_why_it_fell_back)
{
	struct rlimit none = { 0, 0 }, old;
	struct ring_params p = { .engine = RING_AUTO };
	struct ring *r;

	ck_assert_int_eq(ring_new(&r, &p), 0);
	ck_assert_ptr_nonnull(strstr(ring_engine_why(r), "entries"));
	ring_free(r);
	/* No descriptor left: both engines fail, with the number and not a crash. */
	getrlimit(RLIMIT_NOFILE, &old);
	none.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &none);
	ck_assert_int_eq(ring_new(&r, &p), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &old);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ring");
	TCase *t = tcase_create("both engines");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, names_its_engine, 0, 2);
	tcase_add_loop_test(t, errors_arrive_as_completions, 0, 2);
	tcase_add_loop_test(t, completion_queue_overflow_loses_nothing, 0, 2);
	tcase_add_loop_test(t, recv_waits_for_data_and_reports_eof, 0, 2);
	tcase_add_loop_test(t, send_waits_for_room_and_receiving_at_once_works, 0, 2);
	tcase_add_loop_test(t, accepts_one_connection_at_a_time, 0, 2);
	tcase_add_loop_test(t, poll_reports_what_is_ready, 0, 2);
	tcase_add_loop_test(t, timeouts_fire_in_order_and_not_early, 0, 2);
	tcase_add_loop_test(t, cancel_ends_a_waiting_operation_once, 0, 2);
	tcase_add_loop_test(t, timers_removed_in_any_order_leave_the_others, 0, 2);
	tcase_add_loop_test(t, posts_of_many_threads_all_arrive, 0, 3);
	tcase_add_loop_test(t, posts_of_one_thread_keep_their_order, 0, 3);
	tcase_add_loop_test(t, an_idle_ring_does_not_wake_up, 0, 3);
	tcase_add_loop_test(t, turn_follows_each_batch, 0, 2);
	tcase_add_loop_test(t, helping_threads_stay_on_the_cpus_they_are_given, 0, 2);
	suite_add_tcase(s, t);
	t = tcase_create("choice");
	tcase_add_test(t, auto_says_why_it_fell_back);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
