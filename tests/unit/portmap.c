/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In a network and mount namespace of its own, with a real rpcbind and with
 * stand-ins that are silent or talk nonsense.  Needs root and rpcbind, else skips.
 */
#include "config.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/server/log.h"
#include "nfsd-io/server/portmap.h"
#include "tests/lib/unit.h"

#define SOCKET "/run/rpcbind.sock"

static const struct portmap_entry entries[] = {{100003, 3, 20490}, {100005, 3, 20491}};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool loopback_up(void)
{
	struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool good = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r) == 0;

	close(fd);
	return good;
}

static bool enter_namespaces(void)
{
	return unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/run", "tmpfs", 0, NULL) == 0 && loopback_up();
}

/* Until `want` is what rpcbind says of our ports, or 10 s; its last words. */
static const char *mappings_become(bool want)
{
	static char text[4096];
	double end = seconds() + 10;
	bool have;

	do {
		FILE *f = popen("rpcinfo -p 127.0.0.1 2>&1", "r");

		ck_assert_ptr_nonnull(f);
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		pclose(f);
		have = strstr(text, "20490") && strstr(text, "20491");
		poll(NULL, 0, have == want ? 0 : 20);
	} while (have != want && seconds() < end);
	return text;
}

static pid_t start_rpcbind(void)
{
	double end = seconds() + 10;
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rpcbind", "rpcbind", "-f", "-w", NULL);
		_exit(127);
	}
	while (!portmap_answers() && seconds() < end)
		poll(NULL, 0, 20);
	ck_assert(portmap_answers());
	return pid;
}

static void stop_rpcbind(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(SOCKET);
}

START_TEST(nothing_there_is_found_out_at_once)
{
	double start = seconds();

	ck_assert(!portmap_answers());
	portmap_stop(portmap_start(entries, 2, PORTMAP_TCP | PORTMAP_TCP6, true));
	portmap_stop(NULL);
	ck_assert(seconds() - start < 1.5);
}
END_TEST

START_TEST(ports_are_registered_and_taken_back)
{
	pid_t pid = start_rpcbind();
	struct portmap *p = portmap_start(entries, 2, PORTMAP_TCP | PORTMAP_TCP6, true);
	const char *text = mappings_become(true);

	ck_assert_msg(strstr(text, "100003    3   tcp  20490") &&
			      strstr(text, "100005    3   tcp  20491"),
		      "%s", text);
	portmap_stop(p);
	text = mappings_become(false);
	ck_assert_msg(!strstr(text, "100003") && !strstr(text, "100005") && strstr(text, "100000"),
		      "%s", text);
	stop_rpcbind(pid);
}
END_TEST

START_TEST(what_a_dead_instance_left_is_replaced)
{
	static const struct portmap_entry old[] = {{100003, 3, 1000}, {100005, 3, 1001}};
	pid_t pid = start_rpcbind(), child = fork();
	struct portmap *p;
	const char *text;
	FILE *f;

	if (child == 0) {
		portmap_start(old, 2, PORTMAP_TCP, true);
		poll(NULL, 0, 10000);
		_exit(0);
	}
	do {
		char line[4096];

		f = popen("rpcinfo -p 127.0.0.1", "r");
		line[fread(line, 1, sizeof(line) - 1, f)] = '\0';
		pclose(f);
		if (strstr(line, " 1001"))
			break;
		poll(NULL, 0, 20);
	} while (waitpid(child, NULL, WNOHANG) == 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	p = portmap_start(entries, 2, PORTMAP_TCP, true);
	text = mappings_become(true);
	ck_assert_msg(!strstr(text, " 1000 ") && strstr(text, "20490"), "%s", text);
	portmap_stop(p);
	stop_rpcbind(pid);
}
END_TEST

/* A listener on rpcbind's socket that answers each connection with `say` and then reads on. */
static pid_t start_impostor(const void *say, size_t len)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = SOCKET};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), c;
	char sink[512];
	pid_t pid;

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	pid = fork();
	while (pid == 0) {
		c = accept(fd, NULL, NULL);
		if (len && send(c, say, len, MSG_NOSIGNAL) < 0)
			_exit(1);
		while (read(c, sink, sizeof(sink)) > 0)
			;
		close(c);
	}
	close(fd);
	return pid;
}

START_TEST(deaf_rpcbind_delays_a_stop_by_seconds_at_most)
{
	pid_t pid = start_impostor(NULL, 0);
	double start = seconds();
	struct portmap *p;

	ck_assert(!portmap_answers());
	p = portmap_start(entries, 2, PORTMAP_TCP, true);
	ck_assert(seconds() - start < 2.5);
	portmap_stop(p);
	ck_assert(seconds() - start < 7);
	stop_rpcbind(pid);
}
END_TEST

START_TEST(nonsense_from_rpcbind_is_no_answer)
{
	static const char *const junk[] = {"HTTP/1.1 400 Bad Request\r\n\r\n",
					   "\x80\x00\x00\x04zzzz", "\xff\xff\xff\xff",
					   "\x00\x00\x00\x01x"};
	static const size_t len[] = {28, 8, 4, 5};

	for (int i = 0; i < 4; i++) {
		pid_t pid = start_impostor(junk[i], len[i]);

		ck_assert(!portmap_answers());
		portmap_stop(portmap_start(entries, 2, PORTMAP_TCP, true));
		stop_rpcbind(pid);
	}
}
END_TEST

START_TEST(an_rpcbind_started_anew_gets_the_ports_again)
{
	pid_t pid = start_rpcbind();
	struct portmap *p = portmap_start(entries, 2, PORTMAP_TCP | PORTMAP_TCP6, false);
	const char *text = mappings_become(true);

	for (int i = 0; i < 2; i++) {
		ck_assert_msg(strstr(text, " 20490") && strstr(text, " 20491"), "%s", text);
		stop_rpcbind(pid);
		pid = start_rpcbind();
		text = mappings_become(true);
	}
	ck_assert_msg(strstr(text, " 20490") && strstr(text, " 20491"), "%s", text);
	portmap_stop(p);
	text = mappings_become(false);
	ck_assert_msg(!strstr(text, "100003") && strstr(text, "100000"), "%s", text);
	stop_rpcbind(pid);
}
END_TEST

START_TEST(one_that_is_expected_is_waited_for)
{
	struct portmap *p = portmap_start(entries, 2, PORTMAP_TCP, true);
	pid_t pid = start_rpcbind();
	const char *text = mappings_become(true);

	ck_assert_msg(strstr(text, " 20490") && strstr(text, " 20491"), "%s", text);
	portmap_stop(p);
	stop_rpcbind(pid);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("portmap");
	TCase *t = tcase_create("portmap");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, nothing_there_is_found_out_at_once);
	tcase_add_test(t, ports_are_registered_and_taken_back);
	tcase_add_test(t, what_a_dead_instance_left_is_replaced);
	tcase_add_test(t, deaf_rpcbind_delays_a_stop_by_seconds_at_most);
	tcase_add_test(t, nonsense_from_rpcbind_is_no_answer);
	tcase_add_test(t, an_rpcbind_started_anew_gets_the_ports_again);
	tcase_add_test(t, one_that_is_expected_is_waited_for);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	if (system("command -v rpcbind rpcinfo >/dev/null") != 0) {
		puts("1..0 # SKIP rpcbind is not installed");
		return 77;
	}
	if (!enter_namespaces()) {
		printf("1..0 # SKIP no namespaces of our own: %s\n", strerror(errno));
		return 77;
	}
	return unit_run(suite());
}
