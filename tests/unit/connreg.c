/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/server/connreg.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/unit.h"

/* A connected pair over loopback TCP. */
static void dial(int fd[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(l, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(listen(l, 1), 0);
	ck_assert_int_eq(getsockname(l, (struct sockaddr *)&a, &len), 0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(fd[0], (struct sockaddr *)&a, sizeof(a)), 0);
	fd[1] = accept(l, NULL, NULL);
	ck_assert_int_ge(fd[1], 0);
	close(l);
}

START_TEST(numbers_are_never_given_twice)
{
	struct connreg_node n[100];
	struct connreg *r;
	uint64_t last = 0;
	unsigned i, k;

	ck_assert_int_eq(connreg_new(&r), 0);
	for (k = 0; k < 20; k++) {
		for (i = 0; i < 100; i++) {
			connreg_add(r, &n[i], -1);
			ck_assert_uint_gt(n[i].number, last);
			last = n[i].number;
		}
		ck_assert_uint_eq(connreg_count(r), 100);
		for (i = 0; i < 100; i++)
			connreg_remove(r, &n[i * 37 % 100]);
		ck_assert_uint_eq(connreg_count(r), 0);
	}
	connreg_free(r);
}
END_TEST

START_TEST(a_connection_is_alive_until_its_peer_closes_or_it_is_removed)
{
	struct connreg_node n;
	struct connreg *r;
	int fd[2];
	char c;

	ck_assert_int_eq(connreg_new(&r), 0);
	dial(fd);
	connreg_add(r, &n, fd[1]);
	ck_assert(connreg_alive(r, n.number));
	ck_assert(!connreg_alive(r, n.number + 1));
	close(fd[0]);
	ck_assert_int_eq(recv(fd[1], &c, 1, 0), 0);
	/* CLOSE_WAIT: whoever asked there will ask elsewhere */
	ck_assert(!connreg_alive(r, n.number));
	connreg_remove(r, &n);
	ck_assert(!connreg_alive(r, n.number));
	close(fd[1]);
	connreg_free(r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("connreg");
	TCase *tc = tcase_create("connreg");

	tcase_add_test(tc, numbers_are_never_given_twice);
	tcase_add_test(tc, a_connection_is_alive_until_its_peer_closes_or_it_is_removed);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
