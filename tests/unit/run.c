/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/server/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "nfsd-io/server/process.h"
#include "tests/lib/unit.h"

static int status_of(const char *cmd)
{
	pid_t pid = run_start(cmd, 4711, "/srv/a b");
	int status = -1, tries;

	ck_assert_int_gt(pid, 0);
	for (tries = 0; tries < 20000 && !run_ended(pid, &status); tries++)
		poll(NULL, 0, 1);
	return status;
}

START_TEST(the_status_is_the_commands)
{
	ck_assert_int_eq(status_of("exit 0"), 0);
	ck_assert_int_eq(status_of("exit 42"), 42);
	ck_assert_int_eq(status_of("kill -9 $$"), 128 + 9);
	ck_assert_int_eq(status_of("/no/such/command"), 127);
}
END_TEST

START_TEST(the_command_is_told_port_and_export)
{
	setenv("NFSD_IO_PORT", "1", 1); /* of a server around this one */
	ck_assert_int_eq(
		status_of("test \"$NFSD_IO_PORT\" = 4711 && test \"$NFSD_IO_EXPORT\" = '/srv/a b'"),
		0);
}
END_TEST

START_TEST(what_the_server_changed_of_itself_is_not_handed_on)
{
	struct rlimit before, now;
	sigset_t waited;
	mode_t mask;
	char cmd[200];

	umask(027);
	getrlimit(RLIMIT_NOFILE, &before);
	process_prepare(&waited);
	getrlimit(RLIMIT_NOFILE, &now);
	ck_assert(now.rlim_cur == before.rlim_max);
	mask = umask(0);
	ck_assert_uint_eq(mask, 0);
	ck_assert_int_eq(status_of("test $(umask) = 0027"), 0);
	snprintf(cmd, sizeof(cmd), "test $(ulimit -Sn) = %llu",
		 (unsigned long long)before.rlim_cur);
	ck_assert_int_eq(status_of(cmd), 0);
	ck_assert_int_eq(status_of("kill -TERM $$; exit 0"), 128 + SIGTERM);
	ck_assert_int_eq(status_of("kill -PIPE $$; exit 0"), 128 + SIGPIPE);
}
END_TEST

START_TEST(descriptors_are_shared_between_connections_and_files)
{
	struct rlimit low = {.rlim_cur = 256, .rlim_max = 256};
	struct process_fds f;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	process_share_fds(4096, 0, &f);
	ck_assert_uint_eq(f.connections, 96);
	ck_assert_uint_eq(f.files, 32);
	process_share_fds(10, 0, &f);
	ck_assert_uint_eq(f.connections, 10);
	ck_assert_uint_eq(f.files, 60);
	process_share_fds(10, 30, &f);
	ck_assert_uint_eq(f.connections, 10);
	ck_assert_uint_eq(f.files, 50);
}
END_TEST

START_TEST(a_lack_of_descriptors_is_told_with_its_limit)
{
	struct rlimit low = {.rlim_cur = 77, .rlim_max = 256};

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	ck_assert_ptr_nonnull(strstr(process_why(-EMFILE), "limit of 77 open files"));
	ck_assert_str_eq(process_why(-ENOENT), strerror(ENOENT));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("run");
	TCase *tc = tcase_create("run");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, the_status_is_the_commands);
	tcase_add_test(tc, the_command_is_told_port_and_export);
	tcase_add_test(tc, what_the_server_changed_of_itself_is_not_handed_on);
	tcase_add_test(tc, descriptors_are_shared_between_connections_and_files);
	tcase_add_test(tc, a_lack_of_descriptors_is_told_with_its_limit);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
