/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "nfsd-io/core/pipe.h"
#include "tests/lib/unit.h"

enum { LEN = 1 << 20 };

static struct pipe_pool *pool;

static void setup(void)
{
	ck_assert_int_eq(pipe_pool_new(&pool, 4, LEN), 0);
}

static void teardown(void)
{
	pipe_pool_free(pool);
}

static void fill(struct pipe *p, const char *text)
{
	ck_assert_int_eq(write(p->in, text, strlen(text)), (ssize_t)strlen(text));
	p->held += (uint32_t)strlen(text);
}

START_TEST(a_pipe_holds_what_was_asked_for)
{
	static char bytes[LEN];
	struct pipe *p = pipe_borrow(pool, 0, LEN);

	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(write(p->in, bytes, LEN), LEN);
	p->held = LEN;
	pipe_return(p);
	ck_assert_uint_eq(pipe_pool_in_use(pool), 0);
}
END_TEST

START_TEST(a_stretch_that_touches_more_pages_than_it_has_slots_gets_none)
{
	ck_assert_ptr_null(pipe_borrow(pool, 0, LEN + 1));
	ck_assert_ptr_null(pipe_borrow(pool, 1, LEN));
	ck_assert_ptr_null(pipe_borrow(pool, 4095, LEN - 4095 + 1));
	pipe_return(pipe_borrow(pool, 4095, LEN - 4095));
	ck_assert_uint_eq(pipe_pool_refused(pool), 0);
}
END_TEST

START_TEST(one_comes_back_empty_whatever_was_left_in_it)
{
	struct pipe *p = pipe_borrow(pool, 0, 100), *again;
	char c;

	fill(p, "residue of a reply that was never sent");
	p->held -= 3; /* what is told need not be exact */
	pipe_return(p);
	again = pipe_borrow(pool, 0, 100);
	ck_assert_ptr_eq(again, p);
	ck_assert_uint_eq(again->held, 0);
	ck_assert_int_lt(read(again->out, &c, 1), 0);
	pipe_return(again);
}
END_TEST

START_TEST(what_is_written_to_it_is_read_from_it)
{
	static char bytes[LEN + 10000], got[LEN];
	struct pipe *p = pipe_borrow(pool, 0, LEN);

	memset(bytes, 7, sizeof(bytes));
	ck_assert_int_eq(pipe_write(p, bytes, 10), 10);
	ck_assert_int_gt(pipe_write(p, bytes, sizeof(bytes)), LEN - 10000);
	ck_assert_int_eq(pipe_write(p, bytes, 10000), -EAGAIN);
	ck_assert_uint_le(p->held, LEN);
	ck_assert_int_eq(pipe_read(p, got, p->held), 0);
	ck_assert_mem_eq(got, bytes, LEN - 10000);
	ck_assert_uint_eq(p->held, 0);
	ck_assert_int_lt(pipe_read(p, got, 1), 0);
	pipe_return(p);
}
END_TEST

START_TEST(dropping_takes_the_first_bytes)
{
	struct pipe *p = pipe_borrow(pool, 0, 100);
	char got[8] = "";

	fill(p, "padpayload");
	ck_assert_int_eq(pipe_drop(p, 3), 0);
	ck_assert_uint_eq(p->held, 7);
	ck_assert_int_eq(read(p->out, got, 7), 7);
	ck_assert_str_eq(got, "payload");
	p->held -= 7;
	ck_assert_int_lt(pipe_drop(p, 1), 0);
	pipe_return(p);
}
END_TEST

START_TEST(there_are_never_more_than_the_most)
{
	struct pipe *p[5];

	for (int i = 0; i < 5; i++)
		p[i] = pipe_borrow(pool, 0, LEN);
	ck_assert_ptr_nonnull(p[3]);
	ck_assert_ptr_null(p[4]);
	ck_assert_uint_eq(pipe_pool_in_use(pool), 4);
	for (int i = 0; i < 5; i++)
		pipe_return(p[i]);
}
END_TEST

START_TEST(a_refusal_is_counted_once_until_some_were_closed)
{
	struct rlimit old, none;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 3, old.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_ptr_null(pipe_borrow(pool, 0, LEN));
	ck_assert_ptr_null(pipe_borrow(pool, 0, LEN));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert_uint_eq(pipe_pool_refused(pool), 1);
	pipe_pool_trim(pool);
	pipe_return(pipe_borrow(pool, 0, LEN));
	ck_assert_uint_eq(pipe_pool_refused(pool), 1);
}
END_TEST

START_TEST(a_size_the_system_refuses_is_a_refusal)
{
	struct pipe_pool *big;

	ck_assert_int_eq(pipe_pool_new(&big, 1, 1u << 30), 0);
	ck_assert_ptr_null(pipe_borrow(big, 0, LEN));
	ck_assert_uint_eq(pipe_pool_refused(big), 1);
	pipe_pool_free(big);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pipe");
	TCase *t = tcase_create("pipe");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_pipe_holds_what_was_asked_for);
	tcase_add_test(t, a_stretch_that_touches_more_pages_than_it_has_slots_gets_none);
	tcase_add_test(t, one_comes_back_empty_whatever_was_left_in_it);
	tcase_add_test(t, what_is_written_to_it_is_read_from_it);
	tcase_add_test(t, dropping_takes_the_first_bytes);
	tcase_add_test(t, there_are_never_more_than_the_most);
	tcase_add_test(t, a_refusal_is_counted_once_until_some_were_closed);
	tcase_add_test(t, a_size_the_system_refuses_is_a_refusal);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
