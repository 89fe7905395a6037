/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What it costs to take payloads from a socket to a cached file, four ways;
 * one payload at a time, the first 64 MiB not counted.  A peer of its own
 * sends without end.  Usage: recv_splice WAY SIZE MIB FILE, WAY one of
 *
 *	uring-copy	io_uring receives into a buffer and writes it
 *	uring-splice	splice(2) into a pipe, io_uring from there to the file
 *	copy		recv(2), pwrite(2)
 *	splice		splice(2) twice
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 64 << 20, WINDOW = 64 << 20, PIECE = 256 << 10 };

static struct io_uring ring;
static int sock, file, pipe_fd[2];
static uint8_t *buf;
static size_t size;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double cpu(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The one operation queued, to its end. */
static size_t carry_out(const char *what)
{
	struct io_uring_cqe *cqe;
	int res;

	io_uring_submit_and_wait(&ring, 1);
	if (io_uring_wait_cqe(&ring, &cqe) < 0)
		die(what);
	res = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	if (res <= 0) {
		fprintf(stderr, "%s: %s\n", what, res ? strerror(-res) : "end");
		exit(1);
	}
	return (size_t)res;
}

static void uring_copy(size_t off)
{
	size_t n = 0, left;

	while (n < size) {
		left = size - n < PIECE ? size - n : PIECE;
		io_uring_prep_recv(io_uring_get_sqe(&ring), sock, buf + n, left, MSG_WAITALL);
		n += carry_out("recv");
	}
	for (n = 0; n < size; ) {
		io_uring_prep_write(io_uring_get_sqe(&ring), file, buf + n, (unsigned)(size - n),
				    off + n);
		n += carry_out("write");
	}
}

static void copy(size_t off)
{
	size_t n = 0;

	while (n < size) {
		ssize_t ret = recv(sock, buf + n, size - n < PIECE ? size - n : PIECE, MSG_WAITALL);

		if (ret <= 0)
			die("recv");
		n += (size_t)ret;
	}
	if (pwrite(file, buf, size, (off_t)off) != (ssize_t)size)
		die("pwrite");
}

/* As much of `len` as there is and the pipe takes. */
static size_t fill_pipe(size_t len)
{
	size_t n = 0;

	while (n < len) {
		ssize_t ret = splice(sock, NULL, pipe_fd[1], NULL, len - n,
				     SPLICE_F_MOVE | (n ? SPLICE_F_NONBLOCK : 0));

		if (ret <= 0)
			break;
		n += (size_t)ret;
	}
	if (!n)
		die("splice from the socket");
	return n;
}

static size_t uring_out(size_t off, size_t n)
{
	io_uring_prep_splice(io_uring_get_sqe(&ring), pipe_fd[0], -1, file, (int64_t)off,
			     (unsigned)n, 0);
	return carry_out("io_uring splice to the file");
}

static size_t splice_out(size_t off, size_t n)
{
	off_t o = (off_t)off;
	ssize_t ret = splice(pipe_fd[0], NULL, file, &o, n, SPLICE_F_MOVE);

	if (ret <= 0)
		die("splice to the file");
	return (size_t)ret;
}

static void through_pipe(size_t off, size_t (*out)(size_t off, size_t n))
{
	size_t in = 0, done = 0;

	while (done < size) {
		if (in < size)
			in += fill_pipe(size - in);
		while (done < in)
			done += out(off + done, in - done);
	}
}

static void uring_splice(size_t off)
{
	through_pipe(off, uring_out);
}

static void splice_splice(size_t off)
{
	through_pipe(off, splice_out);
}

/* A peer that sends payloads for ever; the socket to receive them from. */
static int peer_start(pid_t *pid)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), one = 1, fd;

	if (bind(l, (void *)&a, len) < 0 || listen(l, 1) < 0 ||
	    getsockname(l, (void *)&a, &len) < 0)
		die("listen");
	*pid = fork();
	if (*pid == 0) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (connect(fd, (void *)&a, len) < 0)
			die("connect");
		while (write(fd, buf, size) > 0)
			;
		_exit(0);
	}
	fd = accept(l, NULL, NULL);
	close(l);
	return fd;
}

static void run(const char *way, void (*move)(size_t off), size_t total)
{
	double c = 0, t = 0, gib = (double)total / (1 << 30);
	size_t done = 0;

	while (done < WARM + total) {
		if (done < WARM) {
			c = cpu();
			t = now();
		}
		move(done % WINDOW);
		done += size;
	}
	printf("%s, %zu bytes: %.3f s/GiB, %.2f GiB/s\n", way, size, (cpu() - c) / gib,
	       gib / (now() - t));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*move)(size_t off);
	} ways[] = {
		{ "uring-copy", uring_copy }, { "uring-splice", uring_splice },
		{ "copy", copy }, { "splice", splice_splice },
	};
	unsigned i;
	pid_t peer;

	for (i = 0; argc == 5 && i < 4 && strcmp(argv[1], ways[i].name); i++)
		;
	size = argc == 5 ? strtoul(argv[2], NULL, 0) : 0;
	if (argc != 5 || i == 4 || !size || posix_memalign((void **)&buf, 4096, size)) {
		fprintf(stderr,
			"usage: recv_splice uring-copy|uring-splice|copy|splice SIZE MIB FILE\n");
		return 2;
	}
	memset(buf, 7, size);
	file = open(argv[4], O_RDWR | O_CREAT, 0600);
	if (file < 0 || pipe(pipe_fd) < 0 || fcntl(pipe_fd[1], F_SETPIPE_SZ, 1 << 20) < 0)
		die(argv[4]);
	if (io_uring_queue_init(64, &ring,
				IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN) < 0)
		die("io_uring");
	sock = peer_start(&peer);
	run(ways[i].name, ways[i].move, strtoul(argv[3], NULL, 0) << 20);
	kill(peer, SIGKILL);
	return 0;
}
