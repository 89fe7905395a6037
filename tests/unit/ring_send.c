/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pipes to sockets and sends without a copy, by both engines over real loopback TCP. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/ringwait.h"
#include "tests/lib/unit.h"

enum { LEN = 1 << 20, ROUNDS = 20 };

static int sock, peer, pipe_fd[2];
static uint8_t bytes[LEN], got[LEN + 4];

static void tcp_pair(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(l, (void *)&a, n), 0);
	ck_assert_int_eq(listen(l, 1), 0);
	ck_assert_int_eq(getsockname(l, (void *)&a, &n), 0);
	peer = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(peer, (void *)&a, n), 0);
	sock = accept4(l, NULL, NULL, SOCK_NONBLOCK);
	ck_assert_int_ge(sock, 0);
	close(l);
}

static void up(int i)
{
	signal(SIGPIPE, SIG_IGN);
	setup(i);
	tcp_pair();
	ck_assert_int_eq(pipe2(pipe_fd, O_NONBLOCK), 0);
	fcntl(pipe_fd[1], F_SETPIPE_SZ, LEN);
	for (size_t k = 0; k < LEN; k++)
		bytes[k] = (uint8_t)(k * 7 + k / 251);
}

static void down(void)
{
	ring_free(ring);
	close(sock);
	close(peer);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

/* Everything sent, `arg` bytes of it. */
static void *drain(void *arg)
{
	size_t want = (size_t)arg, n = 0;

	while (n < want) {
		ssize_t ret = read(peer, got + n, want - n);

		if (ret <= 0)
			break;
		n += (size_t)ret;
	}
	return (void *)n;
}

START_TEST(a_header_and_a_file_through_a_pipe_arrive_whole)
{
	static char mark[4] = "HEAD";
	struct iovec iov = { mark, sizeof(mark) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd = temp_file();
	pthread_t t;
	void *n;

	up(_i);
	ck_assert_int_eq(pwrite(fd, bytes, LEN, 0), LEN);
	for (int round = 0; round < ROUNDS; round++) {
		size_t sent = 0, all = sizeof(mark) + LEN;
		struct wait w;

		ring_splice_in(ring, &waiting(&w, NULL)->op, fd, 0, pipe_fd[1], LEN);
		ck_assert_int_eq(finish(&w), LEN);
		pthread_create(&t, NULL, drain, (void *)all);
		while (sent < all) {
			ring_splice_out(ring, &waiting(&w, NULL)->op, sock, sent ? NULL : &msg,
					pipe_fd[0], (uint32_t)(sent ? all - sent : LEN), false);
			ck_assert_int_gt(finish(&w), 0);
			sent += (size_t)w.res;
		}
		pthread_join(t, &n);
		ck_assert_uint_eq((size_t)n, all);
		ck_assert_mem_eq(got, mark, sizeof(mark));
		ck_assert_mem_eq(got + sizeof(mark), bytes, LEN);
	}
	close(fd);
	down();
}
END_TEST

START_TEST(a_full_pipe_and_a_dead_socket_are_completions)
{
	int fd = temp_file();
	struct wait w;

	up(_i);
	ck_assert_int_eq(pwrite(fd, bytes, LEN, 0), LEN);
	ck_assert_int_eq(write(pipe_fd[1], bytes, LEN), LEN);
	ring_splice_in(ring, &waiting(&w, NULL)->op, fd, 0, pipe_fd[1], LEN);
	ck_assert_int_eq(finish(&w), -EAGAIN);
	shutdown(sock, SHUT_RDWR);
	ring_splice_out(ring, &waiting(&w, NULL)->op, sock, NULL, pipe_fd[0], LEN, false);
	ck_assert_int_eq(finish(&w), -EPIPE);
	close(fd);
	down();
}
END_TEST

static void cut(struct op *op, int res, bool more)
{
	(void)op;
	(void)res;
	(void)more;
	shutdown(sock, SHUT_RDWR);
}

START_TEST(a_splice_that_waits_for_its_peer_ends_with_the_connection)
{
	struct op later = { .done = cut };
	struct wait w;

	up(_i);
	/* Until one waits: nobody reads. */
	do {
		while (write(pipe_fd[1], bytes, LEN) > 0)
			;
		if (send(sock, bytes, 1, MSG_DONTWAIT) < 0)
			ring_timeout(ring, &later, 20000000);
		ring_splice_out(ring, &waiting(&w, NULL)->op, sock, NULL, pipe_fd[0], LEN, false);
	} while (finish(&w) > 0);
	ck_assert_int_eq(w.res, -EPIPE);
	down();
}
END_TEST

static void *fill_socket(void *arg)
{
	(void)arg;
	for (size_t n = 0; n < LEN; ) {
		ssize_t ret = write(peer, bytes + n, LEN - n);

		if (ret <= 0)
			break;
		n += (size_t)ret;
	}
	return NULL;
}

START_TEST(a_stream_through_a_pipe_arrives_in_the_file)
{
	int fd = temp_file();
	pthread_t t;

	up(_i);
	for (int round = 0; round < ROUNDS; round++) {
		size_t in = 0, done = 0;
		struct wait w;

		pthread_create(&t, NULL, fill_socket, NULL);
		while (done < LEN) {
			if (in < LEN) {
				ring_splice_recv(ring, &waiting(&w, NULL)->op, sock, pipe_fd[1],
						 (uint32_t)(LEN - in));
				if (finish(&w) != -ENOSPC) {
					ck_assert_int_gt(w.res, 0);
					in += (size_t)w.res;
				}
			}
			ring_splice_write(ring, &waiting(&w, NULL)->op, fd, pipe_fd[0],
					  (uint32_t)(in - done), 1000 + done, NULL);
			ck_assert_int_gt(finish(&w), 0);
			done += (size_t)w.res;
		}
		pthread_join(t, NULL);
		ck_assert_int_eq(pread(fd, got, LEN, 1000), LEN);
		ck_assert_mem_eq(got, bytes, LEN);
	}
	close(fd);
	down();
}
END_TEST

START_TEST(a_pipe_that_takes_no_more_and_a_stream_that_ends_are_told)
{
	struct op later = { .done = cut };
	struct wait w;

	up(_i);
	ck_assert_int_eq(write(pipe_fd[1], bytes, LEN), LEN);
	ck_assert_int_eq(write(peer, bytes, 100), 100);
	ring_splice_recv(ring, &waiting(&w, NULL)->op, sock, pipe_fd[1], 100);
	ck_assert_int_eq(finish(&w), -ENOSPC);
	ck_assert_int_eq(read(pipe_fd[0], got, LEN), LEN);
	ring_splice_recv(ring, &waiting(&w, NULL)->op, sock, pipe_fd[1], LEN);
	ck_assert_int_eq(finish(&w), 100);
	ring_timeout(ring, &later, 20000000);
	ring_splice_recv(ring, &waiting(&w, NULL)->op, sock, pipe_fd[1], LEN);
	ck_assert_int_eq(finish(&w), 0);
	down();
}
END_TEST

static int told[2], ntold;

static void zc_done(struct op *op, int res, bool more)
{
	(void)op;
	ck_assert_int_lt(ntold, 2);
	told[ntold++] = res;
	if (!more)
		ring_stop(ring);
}

START_TEST(a_send_without_a_copy_tells_how_much_and_then_that_it_is_over)
{
	pthread_t t;
	void *n;

	up(0);
	if (!ring_zerocopy(ring)) {
		down();
		return;
	}
	for (int round = 0; round < ROUNDS; round++) {
		size_t sent = 0;

		pthread_create(&t, NULL, drain, (void *)LEN);
		while (sent < LEN) {
			struct op op = { .done = zc_done };

			ntold = 0;
			ring_send_zc(ring, &op, sock, bytes + sent, LEN - sent, MSG_NOSIGNAL, -1);
			ring_run(ring, NULL, NULL);
			ck_assert_int_eq(ntold, 2);
			ck_assert_int_gt(told[0], 0);
			ck_assert_int_eq(told[1], 0);
			ck_assert(op.copied); /* loopback */
			sent += (size_t)told[0];
		}
		pthread_join(t, &n);
		ck_assert_mem_eq(got, bytes, LEN);
	}
	down();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ring_send");
	TCase *t = tcase_create("ring_send");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_header_and_a_file_through_a_pipe_arrive_whole, 0, 2);
	tcase_add_loop_test(t, a_full_pipe_and_a_dead_socket_are_completions, 0, 2);
	tcase_add_loop_test(t, a_splice_that_waits_for_its_peer_ends_with_the_connection, 0, 2);
	tcase_add_loop_test(t, a_stream_through_a_pipe_arrives_in_the_file, 0, 2);
	tcase_add_loop_test(t, a_pipe_that_takes_no_more_and_a_stream_that_ends_are_told, 0, 2);
	tcase_add_test(t, a_send_without_a_copy_tells_how_much_and_then_that_it_is_over);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
