/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a connection is served with, as the kernel tells it. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/server/congestion.h"
#include "tests/lib/unit.h"

static struct congestion c;
static int listener, caller, accepted;
static struct sockaddr_storage peer;

static void close_all(void)
{
	int *fd[] = {&listener, &caller, &accepted};

	for (unsigned i = 0; i < 3; i++) {
		if (*fd[i] >= 0)
			close(*fd[i]);
		*fd[i] = -1;
	}
}

static void setup(void)
{
	listener = caller = accepted = -1;
}

static const char *has(int fd)
{
	static char name[CONGESTION_NAME];
	socklen_t len = sizeof(name);

	ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
	return name;
}

static const char *systems(void)
{
	static char name[CONGESTION_NAME];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	strcpy(name, has(fd));
	close(fd);
	return name;
}

/* A connection to ourselves; false when this machine has no such family. */
static bool connect_to(int family, const char *wish)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_storage at;
	struct sockaddr *a = family == AF_INET ? (void *)&v4 : (void *)&v6;
	socklen_t len = family == AF_INET ? sizeof(v4) : sizeof(v6);

	listener = socket(family, SOCK_STREAM, 0);
	if (listener < 0 || bind(listener, a, len))
		return false;
	ck_assert_int_eq(congestion_listen(&c, listener, wish), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	len = sizeof(at);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	caller = socket(family, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(caller, (struct sockaddr *)&at, len), 0);
	len = sizeof(peer);
	accepted = accept(listener, (struct sockaddr *)&peer, &len);
	ck_assert_int_ge(accepted, 0);
	congestion_accept(&c, accepted, &peer);
	return true;
}

START_TEST(a_client_on_this_host_is_not_paced)
{
	ck_assert(connect_to(AF_INET, "auto"));
	ck_assert_str_eq(has(accepted), "reno");
	ck_assert_str_eq(has(caller), systems());
	close_all();
	ck_assert(connect_to(AF_INET, NULL));
	ck_assert_str_eq(has(accepted), "reno");
	close_all();
	if (connect_to(AF_INET6, "auto"))
		ck_assert_str_eq(has(accepted), "reno");
}
END_TEST

START_TEST(a_client_elsewhere_gets_the_systems_choice)
{
	struct sockaddr_in *v4 = (void *)&peer;
	struct sockaddr_in6 *v6 = (void *)&peer;

	ck_assert(connect_to(AF_INET, "auto"));
	inet_pton(AF_INET, "192.0.2.7", &v4->sin_addr);
	congestion_accept(&c, accepted, &peer);
	ck_assert_str_eq(has(accepted), systems());
	close_all();

	ck_assert(connect_to(AF_INET, "auto"));
	peer.ss_family = AF_INET6;
	inet_pton(AF_INET6, "2001:db8::7", &v6->sin6_addr);
	congestion_accept(&c, accepted, &peer);
	ck_assert_str_eq(has(accepted), systems());
}
END_TEST

START_TEST(mapped_addresses_are_those_they_map)
{
	struct sockaddr_in6 *v6 = (void *)&peer;

	ck_assert(connect_to(AF_INET, "auto"));
	peer.ss_family = AF_INET6;
	inet_pton(AF_INET6, "::ffff:127.0.0.9", &v6->sin6_addr);
	congestion_accept(&c, accepted, &peer);
	ck_assert_str_eq(has(accepted), "reno");
	inet_pton(AF_INET6, "::ffff:192.0.2.7", &v6->sin6_addr);
	congestion_accept(&c, accepted, &peer);
	ck_assert_str_eq(has(accepted), systems());
}
END_TEST

START_TEST(system_and_names_are_for_all)
{
	ck_assert(connect_to(AF_INET, "system"));
	ck_assert_str_eq(has(accepted), systems());
	close_all();
	ck_assert(connect_to(AF_INET, "reno"));
	ck_assert_str_eq(has(accepted), "reno");
}
END_TEST

START_TEST(an_unknown_one_is_refused_and_the_known_are_told)
{
	char why[200], little[12];

	ck_assert_int_eq(congestion_check("auto"), 0);
	ck_assert_int_eq(congestion_check("system"), 0);
	ck_assert_int_eq(congestion_check("reno"), 0);
	ck_assert_int_eq(congestion_check("rneo"), -ENOENT);
	ck_assert_int_eq(congestion_check("a-name-much-longer-than-any-in-the-kernel"), -ENOENT);
	congestion_why("rneo", -ENOENT, why, sizeof(why));
	ck_assert_ptr_nonnull(strstr(why, "\"rneo\" is neither auto nor system"));
	ck_assert_ptr_nonnull(strstr(why, "reno"));
	congestion_why("rneo", -ENOENT, little, sizeof(little));
	ck_assert_str_eq(little, "\"rneo\" is n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("congestion");
	TCase *tc = tcase_create("congestion");

	tcase_add_checked_fixture(tc, setup, close_all);
	tcase_add_test(tc, a_client_on_this_host_is_not_paced);
	tcase_add_test(tc, a_client_elsewhere_gets_the_systems_choice);
	tcase_add_test(tc, mapped_addresses_are_those_they_map);
	tcase_add_test(tc, system_and_names_are_for_all);
	tcase_add_test(tc, an_unknown_one_is_refused_and_the_known_are_told);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
