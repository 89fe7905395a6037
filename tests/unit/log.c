/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/unit.h"
#include "nfsd-io/server/groups.h"

static int pipe_fds[2], saved;

static void setup(void)
{
	ck_assert_int_eq(pipe2(pipe_fds, O_NONBLOCK), 0);
	saved = dup(STDERR_FILENO);
	dup2(pipe_fds[1], STDERR_FILENO);
	log_open("stderr", LOG_INFO, 3600000000000u);
}

static void teardown(void)
{
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	log_close();
}

/* All that was logged since. */
static const char *logged(void)
{
	static char buf[1 << 17];
	size_t at = 0;
	ssize_t n;

	while ((n = read(pipe_fds[0], buf + at, sizeof(buf) - 1 - at)) > 0)
		at += (size_t)n;
	buf[at] = '\0';
	return buf;
}

START_TEST(a_line_is_a_line_and_less_important_ones_are_dropped)
{
	log_line(LOG_INFO, "port %u", 2049u);
	log_line(LOG_DEBUG, "not this");
	ck_assert_str_eq(logged(), "port 2049\n");
	log_set(LOG_ERR, 0);
	log_line(LOG_WARNING, "nor this");
	ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(what_a_peer_sends_cannot_forge_a_line)
{
	log_line(LOG_INFO, "path %s", "/a\nroot logged in\033[0m");
	ck_assert_str_eq(logged(), "path /a?root logged in?[0m\n");
}
END_TEST

START_TEST(one_line_a_client_and_kind_then_a_count)
{
	static const char fmt[] = "refused %d";

	for (int i = 0; i < 100; i++)
		log_limited("10.0.0.1", LOG_INFO, fmt, i);
	log_limited("10.0.0.2", LOG_INFO, fmt, 7);
	log_limited("10.0.0.1", LOG_INFO, "another kind");
	ck_assert_str_eq(logged(), "refused 0\nrefused 7\nanother kind\n");
	log_set(LOG_INFO, 1);
	log_set(LOG_INFO, 0);
	log_limited("10.0.0.1", LOG_INFO, fmt, 101);
	ck_assert_str_eq(logged(), "refused 101\n");
}
END_TEST

START_TEST(the_next_line_says_how_many_were_left_out)
{
	static const char fmt[] = "refused %d";
	const char *all;

	log_set(LOG_INFO, 20000000);
	for (int i = 0; i < 10; i++)
		log_limited("10.0.0.1", LOG_INFO, fmt, i);
	do {
		log_limited("10.0.0.1", LOG_INFO, fmt, 10);
		all = logged();
	} while (!strstr(all, "refused 10"));
	ck_assert_ptr_nonnull(strstr(all, "more like this were left out)"));
}
END_TEST

START_TEST(many_texts_of_one_kind_are_bounded_too)
{
	static const char fmt[] = "handle %d";
	const char *p;
	unsigned n = 0;

	for (int i = 0; i < 1000; i++)
		log_env(NULL, LOG_INFO, fmt, i);
	for (p = logged(); (p = strchr(p, '\n')); p++)
		n++;
	ck_assert_uint_ge(n, 1);
	ck_assert_uint_le(n, 20);
}
END_TEST

START_TEST(a_reader_that_stalls_costs_lines_not_time)
{
	char text[1500];
	uint64_t lost;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fcntl(pipe_fds[1], F_SETFL, 0);
	for (int i = 0; i < 200; i++)
		log_line(LOG_INFO, "%s", text);
	lost = log_lost();
	ck_assert_uint_gt(lost, 0);
	logged();
	log_line(LOG_INFO, "here again");
	ck_assert_ptr_nonnull(strstr(logged(), "lines lost, nobody read them\nhere again\n"));
}
END_TEST

START_TEST(an_unknown_user_has_no_groups_and_a_known_one_has_its_own)
{
	struct groups *g;
	gid_t *gids;
	unsigned n;

	ck_assert_int_eq(groups_new(&g), 0);
	for (unsigned i = 0; i < 2; i++) { /* from the database, then from memory */
		ck_assert_int_eq(groups_lookup(g, 3999999999u, 5, &gids, &n), 0);
		ck_assert_uint_eq(n, 0);
		free(gids);
		ck_assert_int_eq(groups_lookup(g, 0, 12345, &gids, &n), 0);
		ck_assert_uint_ge(n, 1);
		ck_assert_uint_eq(gids[0], 12345);
		free(gids);
	}
	groups_flush(g);
	groups_free(g);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("log");
	TCase *t = tcase_create("log");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_line_is_a_line_and_less_important_ones_are_dropped);
	tcase_add_test(t, what_a_peer_sends_cannot_forge_a_line);
	tcase_add_test(t, one_line_a_client_and_kind_then_a_count);
	tcase_add_test(t, the_next_line_says_how_many_were_left_out);
	tcase_add_test(t, many_texts_of_one_kind_are_bounded_too);
	tcase_add_test(t, a_reader_that_stalls_costs_lines_not_time);
	tcase_add_test(t, an_unknown_user_has_no_groups_and_a_known_one_has_its_own);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
