/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/unit.h"
#include "nfsd-io/server/control_verbs.h"
#include "nfsd-io/server/ctlclient.h"
#include "tests/lib/fakeserver.h"

static char dir[64], path[96];
static struct server server;
static struct control *control;

static void setup(void)
{
	strcpy(dir, "/tmp/nfsdio-control.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/ctl", dir);
	fakeserver_init(&server);
	server.conf.socket = path;
	server.conf.socket_mode = 0666;
	ck_assert_int_eq(control_open(&control, &server), 0);
	ck_assert_int_eq(control_serve(control), 0);
}

static void teardown(void)
{
	control_stop(control);
	fakeserver_fini(&server);
	ck_assert_int_eq(access(path, F_OK), -1);
	rmdir(dir);
}

static int dial_at(const char *where)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct timeval tv = {.tv_sec = 20};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(sun.sun_path, where);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	return fd;
}

static int dial(void)
{
	return dial_at(path);
}

/* One line, without its end. */
static char *line(int fd, char *buf, size_t len)
{
	size_t n = 0;

	while (n + 1 < len && recv(fd, buf + n, 1, 0) == 1 && buf[n] != '\n')
		n++;
	buf[n] = '\0';
	return buf;
}

static void say(int fd, const char *s)
{
	ck_assert_int_eq(send(fd, s, strlen(s), MSG_NOSIGNAL), (int)strlen(s));
}

START_TEST(words_are_cut_at_blanks_and_joined_by_quotes)
{
	char text[] = "  stats \t\"a b\"'c'd \r", empty[] = " ", open[] = "a \"b", ctl[] = "a\001";
	char many[] = "1 2 3 4 5 6 7 8 9", *w[CONTROL_WORDS_MAX];

	ck_assert_int_eq(control_verbs_split(text, w), 2);
	ck_assert_str_eq(w[0], "stats");
	ck_assert_str_eq(w[1], "a bcd");
	ck_assert_int_eq(control_verbs_split(empty, w), 0);
	ck_assert_int_eq(control_verbs_split(open, w), -EINVAL);
	ck_assert_int_eq(control_verbs_split(ctl, w), -EINVAL);
	ck_assert_int_eq(control_verbs_split(many, w), -EINVAL);
}
END_TEST

START_TEST(it_greets_then_answers_line_by_line)
{
	char buf[65536];
	int fd = dial();

	ck_assert_str_eq(line(fd, buf, sizeof(buf)),
			 "{\"nfsd-io\":\"" PACKAGE_VERSION "\",\"proto\":1}");
	say(fd, "status\nhelp\n");
	ck_assert_ptr_nonnull(
		strstr(line(fd, buf, sizeof(buf)), "\"listeners\":[\"127.0.0.1:20490\"]"));
	ck_assert_str_eq(line(fd, buf, sizeof(buf)), "{\"ok\":true}");
	while (strcmp(line(fd, buf, sizeof(buf)), "{\"ok\":true}"))
		ck_assert_ptr_nonnull(strstr(buf, "\"verb\""));
	close(fd);
}
END_TEST

START_TEST(what_it_does_not_understand_is_a_usage_error)
{
	static const char *const bad[] = {"\n", "nonsense\n", "status now\n", "\"\n"};
	char buf[4096];
	int fd = dial();

	line(fd, buf, sizeof(buf));
	for (unsigned i = 0; i < 4; i++) {
		say(fd, bad[i]);
		ck_assert_ptr_nonnull(
			strstr(line(fd, buf, sizeof(buf)), "\"ok\":false,\"code\":2"));
	}
	close(fd);
}
END_TEST

START_TEST(a_line_too_long_ends_the_connection)
{
	char buf[4096], text[2000];
	int fd = dial();

	line(fd, buf, sizeof(buf));
	memset(text, 'x', sizeof(text));
	send(fd, text, sizeof(text), MSG_NOSIGNAL);
	ck_assert_ptr_nonnull(strstr(line(fd, buf, sizeof(buf)), "line too long"));
	ck_assert_int_le(recv(fd, buf, 1, 0), 0);
	close(fd);
}
END_TEST

START_TEST(a_client_that_is_silent_or_gone_delays_nobody)
{
	char buf[65536];
	int silent = dial(), gone = dial(), fd;

	say(gone, "stats\nstats\nstats\n");
	close(gone);
	fd = dial();
	line(fd, buf, sizeof(buf));
	say(fd, "status\n");
	line(fd, buf, sizeof(buf));
	ck_assert_str_eq(line(fd, buf, sizeof(buf)), "{\"ok\":true}");
	close(fd);
	close(silent);
}
END_TEST

START_TEST(more_clients_than_it_has_places_for_wait_their_turn)
{
	char buf[4096];
	int fd[20];

	for (unsigned i = 0; i < 20; i++)
		fd[i] = dial();
	for (unsigned i = 0; i < 20; i++) {
		ck_assert_ptr_nonnull(strstr(line(fd[i], buf, sizeof(buf)), "proto"));
		close(fd[i]);
	}
}
END_TEST

START_TEST(a_silent_client_makes_room_for_one_that_comes)
{
	char buf[4096];
	int idle[16], fd;

	for (unsigned i = 0; i < 16; i++) {
		idle[i] = dial();
		line(idle[i], buf, sizeof(buf));
	}
	fd = dial();
	ck_assert_ptr_nonnull(strstr(line(fd, buf, sizeof(buf)), "proto"));
	say(fd, "status\n");
	line(fd, buf, sizeof(buf));
	ck_assert_str_eq(line(fd, buf, sizeof(buf)), "{\"ok\":true}");
	close(fd);
	for (unsigned i = 0; i < 16; i++)
		close(idle[i]);
}
END_TEST

START_TEST(reload_tells_its_errors_and_the_code)
{
	json_t *answer;

	ck_assert_int_eq(ctlclient_ask("test", path, "reload", &answer), 0);
	ck_assert_uint_eq(json_array_size(answer), 0);
	json_decref(answer);
	server.reload_result = -1;
	ck_assert_int_eq(ctlclient_ask("test", path, "reload", &answer), 6);
	ck_assert_str_eq(json_string_value(json_object_get(json_array_get(answer, 0), "message")),
			 "exports:3: wrong");
	json_decref(answer);
	ck_assert_uint_eq(server.reloads, 2);
}
END_TEST

START_TEST(others_may_look_but_not_change)
{
	json_t *answer;
	int status;
	pid_t pid;

	if (geteuid())
		return;
	pid = fork();
	if (!pid) {
		int look, change;

		if (setgid(65534) || setuid(65534))
			_exit(100);
		look = ctlclient_ask("test", path, "status", &answer);
		change = ctlclient_ask("test", path, "stop", &answer);
		_exit(look * 10 + change);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 4);
	ck_assert_uint_eq(server.stops, 0);
	ck_assert_int_eq(ctlclient_ask("test", path, "stop", &answer), 0);
	json_decref(answer);
	ck_assert_uint_eq(server.stops, 1);
}
END_TEST

START_TEST(nobody_is_answered_before_the_server_serves)
{
	struct control *second;
	char other[96], buf[4096];
	struct pollfd p = {.events = POLLIN};

	snprintf(other, sizeof(other), "%s/other", dir);
	server.conf.socket = other;
	ck_assert_int_eq(control_open(&second, &server), 0);
	p.fd = dial_at(other);
	say(p.fd, "status\n");
	ck_assert_int_eq(poll(&p, 1, 50), 0);
	if (!_i) {
		ck_assert_int_eq(control_serve(second), 0);
		ck_assert_ptr_nonnull(strstr(line(p.fd, buf, sizeof(buf)), "proto"));
		ck_assert_ptr_nonnull(strstr(line(p.fd, buf, sizeof(buf)), "listeners"));
	}
	control_stop(second); /* also when it never served: a start that failed */
	ck_assert_int_eq(access(other, F_OK), -1);
	close(p.fd);
	server.conf.socket = path;
}
END_TEST

START_TEST(a_socket_somebody_answers_at_is_left_alone)
{
	struct control *second;

	ck_assert_int_eq(control_open(&second, &server), -EADDRINUSE);
	ck_assert_int_eq(access(path, F_OK), 0);
	server.conf.embedded = true;
	ck_assert_int_eq(control_open(&second, &server), 0);
	control_stop(second);
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_stale_socket_is_replaced_and_a_file_is_not)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct control *second;
	char other[96];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	FILE *f;

	snprintf(other, sizeof(other), "%s/other", dir);
	strcpy(sun.sun_path, other);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	close(fd);
	server.conf.socket = other;
	ck_assert_int_eq(control_open(&second, &server), 0);
	control_stop(second);
	ck_assert_int_eq(access(other, F_OK), -1);
	f = fopen(other, "w");
	fclose(f);
	ck_assert_int_eq(control_open(&second, &server), -EEXIST);
	unlink(other);
}
END_TEST

START_TEST(the_socket_has_the_mode_that_was_set)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0666);
}
END_TEST

START_TEST(nobody_at_the_socket_is_exit_code_7)
{
	json_t *answer;

	ck_assert_int_eq(ctlclient_ask("test", "/nonexistent/socket", "status", &answer), 7);
	json_decref(answer);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("control");
	TCase *t = tcase_create("control");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, words_are_cut_at_blanks_and_joined_by_quotes);
	tcase_add_test(t, it_greets_then_answers_line_by_line);
	tcase_add_test(t, what_it_does_not_understand_is_a_usage_error);
	tcase_add_test(t, a_line_too_long_ends_the_connection);
	tcase_add_test(t, a_client_that_is_silent_or_gone_delays_nobody);
	tcase_add_test(t, more_clients_than_it_has_places_for_wait_their_turn);
	tcase_add_test(t, a_silent_client_makes_room_for_one_that_comes);
	tcase_add_test(t, reload_tells_its_errors_and_the_code);
	tcase_add_test(t, others_may_look_but_not_change);
	tcase_add_loop_test(t, nobody_is_answered_before_the_server_serves, 0, 2);
	tcase_add_test(t, a_socket_somebody_answers_at_is_left_alone);
	tcase_add_test(t, a_stale_socket_is_replaced_and_a_file_is_not);
	tcase_add_test(t, the_socket_has_the_mode_that_was_set);
	tcase_add_test(t, nobody_at_the_socket_is_exit_code_7);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
