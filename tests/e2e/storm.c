/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hostile and careless peers, with plain sockets:
 *
 *	storm open HOST PORT N		open, call NULL on every tenth, close
 *	storm idle HOST PORT N		hold N connections until standard input ends ("holding"
 *					when they stand)
 *	storm garbage HOST PORT N SEED	N records of chance bytes or of a damaged call, over
 *					reconnecting sockets
 *	storm null HOST PORT N		N NULL calls one after the other; prints the slowest, us
 *	storm partial HOST PORT N	N connections with half a record each, until standard
 *					input ends
 *	storm split HOST PORT N		a NULL call sent one byte at a time, N times
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
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

#include "tests/lib/stamp.h"

static struct sockaddr_in server;

static int dial(void)
{
	int fd, one = 1;

	for (int tries = 0; tries < 200; tries++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && !connect(fd, (struct sockaddr *)&server, sizeof server)) {
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
			return fd;
		}
		if (fd >= 0)
			close(fd);
		poll(NULL, 0, 10); /* out of ports or a full backlog: the next try */
	}
	perror("connect");
	return -1;
}

static void put32(unsigned char *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
}

#define NULL_CALL 44

/* mark, xid, CALL, RPC 2, program, version, procedure, AUTH_NONE twice */
static void null_call(unsigned char *p, uint32_t xid)
{
	uint32_t w[] = { 0x80000000u | (NULL_CALL - 4), xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0 };

	for (unsigned i = 0; i < NULL_CALL / 4; i++)
		put32(p + 4 * i, w[i]);
}

static bool read_all(int fd, void *buf, size_t n)
{
	unsigned char *p = buf;

	while (n) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		ssize_t k = poll(&pfd, 1, 30000) == 1 ? read(fd, p, n) : -1;

		if (k <= 0)
			return false;
		p += k;
		n -= k;
	}
	return true;
}

static bool null_answer(int fd, uint32_t xid)
{
	unsigned char r[28], want[8];

	put32(want, 0x80000000u | 24);
	put32(want + 4, xid);
	return read_all(fd, r, sizeof r) && !memcmp(r, want, 8);
}

static bool null_once(int fd, uint32_t xid)
{
	unsigned char call[NULL_CALL];

	null_call(call, xid);
	return write(fd, call, sizeof call) == sizeof call && null_answer(fd, xid);
}

static int do_open(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int fd = dial();
		struct linger reset = { 1, 0 };

		if (fd < 0 || (i % 10 == 0 && !null_once(fd, i))) {
			printf("connection %u failed: %m\n", i);
			return 1;
		}
		if (i % 2) /* half of them go away rudely */
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
		close(fd);
	}
	return 0;
}

static int do_hold(unsigned n, bool partial)
{
	int *fd = calloc(n, sizeof *fd);
	unsigned char call[NULL_CALL];
	int bad = 0;

	null_call(call, 1);
	for (unsigned i = 0; i < n && !bad; i++) {
		fd[i] = dial();
		if (fd[i] < 0 || (partial && write(fd[i], call, 5 + i % 30) < 0))
			bad = 1;
	}
	puts(bad ? "failed" : "holding");
	fflush(stdout);
	while (read(0, call, sizeof call) > 0)
		;
	for (unsigned i = 0; i < n && !bad; i++)
		close(fd[i]);
	free(fd);
	return bad;
}

/*
 * One record: chance, or a NULL call with some bytes changed; its mark is right nine times in ten.
 */
static size_t garbage(unsigned char *p, uint64_t *seed)
{
	size_t len = stamp_random(seed) % 200;

	if (stamp_random(seed) % 2) {
		null_call(p, stamp_random(seed));
		len = NULL_CALL - 4;
		for (unsigned k = stamp_random(seed) % 4; k; k--)
			p[4 + stamp_random(seed) % len] = stamp_random(seed);
	} else {
		for (size_t i = 0; i < len; i++)
			p[4 + i] = stamp_random(seed);
	}
	put32(p, stamp_random(seed) % 10 ? 0x80000000u | len : stamp_random(seed));
	return 4 + len;
}

/* Send what fits, throw away what comes; false when the connection ended. */
static bool pump(int fd, const unsigned char *p, size_t n)
{
	static unsigned char sink[65536];

	while (n) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLOUT };

		if (poll(&pfd, 1, 10000) <= 0)
			return false;
		if (pfd.revents & POLLIN && recv(fd, sink, sizeof sink, MSG_DONTWAIT) <= 0)
			return false;
		if (pfd.revents & POLLOUT) {
			ssize_t k = send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);

			if (k < 0 && errno != EAGAIN)
				return false;
			p += k > 0 ? k : 0;
			n -= k > 0 ? k : 0;
		}
	}
	return true;
}

static int do_garbage(unsigned n, uint64_t seed)
{
	static unsigned char batch[64 * 1024];
	unsigned connections = 0;
	int fd = -1;

	for (unsigned sent = 0; sent < n;) {
		unsigned k = 1 + stamp_random(&seed) % 64;
		size_t len = 0;

		for (unsigned i = 0; i < k; i++)
			len += garbage(batch + len, &seed);
		sent += k;
		if (fd < 0) {
			fd = dial();
			connections++;
		}
		if (fd < 0)
			return 1;
		if (!pump(fd, batch, len)) {
			close(fd);
			fd = -1;
		}
	}
	if (fd >= 0)
		close(fd);
	printf("%u records over %u connections\n", n, connections);
	return 0;
}

static int do_null(unsigned n)
{
	struct timespec a, b;
	long worst = 0;
	int fd = dial();

	for (unsigned i = 0; i < n; i++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		if (fd < 0 || !null_once(fd, i))
			return 1;
		clock_gettime(CLOCK_MONOTONIC, &b);
		long us = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;

		worst = us > worst ? us : worst;
	}
	close(fd);
	printf("%ld\n", worst);
	return 0;
}

static int do_split(unsigned n)
{
	unsigned char call[NULL_CALL];
	int fd = dial();

	for (unsigned i = 0; i < n; i++) {
		null_call(call, i);
		for (int k = 0; k < NULL_CALL; k++)
			if (fd < 0 || write(fd, call + k, 1) != 1)
				return 1;
		if (!null_answer(fd, i))
			return 1;
	}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit lim;
	unsigned n;

	if (argc < 5)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	getrlimit(RLIMIT_NOFILE, &lim);
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);
	server.sin_family = AF_INET;
	server.sin_port = htons(atoi(argv[3]));
	inet_pton(AF_INET, argv[2], &server.sin_addr);
	n = strtoul(argv[4], NULL, 0);
	if (!strcmp(argv[1], "open"))
		return do_open(n);
	if (!strcmp(argv[1], "idle") || !strcmp(argv[1], "partial"))
		return do_hold(n, argv[1][0] == 'p');
	if (!strcmp(argv[1], "garbage") && argc > 5)
		return do_garbage(n, strtoull(argv[5], NULL, 0));
	if (!strcmp(argv[1], "null"))
		return do_null(n);
	if (!strcmp(argv[1], "split"))
		return do_split(n);
	return 2;
}
