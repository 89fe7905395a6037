/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <numaif.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nfsd-io/core/pool.h"
#include "nfsd-io/core/ring.h"
#include "tests/lib/unit.h"

enum { SMALL = 8192, LARGE = 65536, NSMALL = 4, NLARGE = 2 };

static struct pool *make(struct ring *ring, int node)
{
	struct pool_params pp = { ring, LARGE, NLARGE, SMALL, NSMALL, node };
	struct pool *p;

	ck_assert_int_eq(pool_new(&p, &pp), 0);
	return p;
}

START_TEST(buffers_are_page_aligned_distinct_and_writable)
{
	struct pool *p = make(NULL, -1);
	struct buf *b[NSMALL + NLARGE];

	for (int i = 0; i < NSMALL + NLARGE; i++) {
		b[i] = pool_borrow(p, i < NSMALL ? SMALL : SMALL + 1);
		ck_assert_ptr_nonnull(b[i]);
		ck_assert_uint_eq((uintptr_t)b[i]->base % 4096, 0);
		ck_assert_uint_ge(b[i]->size, i < NSMALL ? SMALL : LARGE);
		ck_assert_int_eq(b[i]->index, -1);
		memset(b[i]->base, i + 1, b[i]->size);
	}
	for (int i = 0; i < NSMALL + NLARGE; i++) {
		ck_assert_uint_eq(b[i]->base[0], i + 1);
		ck_assert_uint_eq(b[i]->base[b[i]->size - 1], i + 1);
	}
	ck_assert_uint_eq(pool_in_use(p), NSMALL + NLARGE);
	ck_assert_ptr_null(pool_borrow(p, 1));
	ck_assert_ptr_null(pool_borrow(p, LARGE));
	ck_assert_ptr_null(pool_borrow(p, LARGE + 1));
	for (int i = 0; i < NSMALL + NLARGE; i++)
		buf_return(b[i]);
	buf_return(NULL);
	ck_assert_uint_eq(pool_in_use(p), 0);
	pool_free(p);
}
END_TEST

START_TEST(the_largest_size_can_be_borrowed_and_no_more)
{
	struct pool *p = make(NULL, -1);
	struct buf *b = pool_borrow(p, pool_max(p));

	ck_assert_ptr_nonnull(b);
	ck_assert_ptr_null(pool_borrow(p, pool_max(p) + 1));
	buf_return(b);
	pool_free(p);
}
END_TEST

struct waiter {
	struct pool_waiter w;
	struct buf *got;
	int turn;
	bool give_back;
};

static int turn;

static void on_ready(struct pool_waiter *pw, struct buf *b)
{
	struct waiter *w = (struct waiter *)pw;

	w->turn = ++turn;
	w->got = b;
	if (w->give_back)
		buf_return(b);
}

START_TEST(waiters_are_served_first_come_first_served)
{
	struct pool *p = make(NULL, -1);
	struct buf *b[NLARGE];
	struct waiter w[4] = { 0 };

	turn = 0;
	for (int i = 0; i < NLARGE; i++)
		b[i] = pool_borrow(p, LARGE);
	for (int i = 0; i < 4; i++) {
		w[i].w.ready = on_ready;
		ck_assert_ptr_null(pool_borrow_or_wait(p, LARGE, &w[i].w));
	}
	pool_unwait(p, &w[1].w);
	pool_unwait(p, &w[1].w);
	buf_return(b[0]);
	ck_assert_int_eq(w[0].turn, 1);
	ck_assert_ptr_eq(w[0].got, b[0]);
	/* A newcomer does not overtake, even when its size would be at hand after this return. */
	buf_return(b[1]);
	ck_assert_int_eq(w[2].turn, 2);
	ck_assert_int_eq(w[1].turn, 0);
	buf_return(w[0].got);
	ck_assert_int_eq(w[3].turn, 3);
	buf_return(w[2].got);
	buf_return(w[3].got);
	ck_assert_uint_eq(pool_in_use(p), 0);
	pool_free(p);
}
END_TEST

START_TEST(small_waiters_are_not_held_up_by_large_ones)
{
	struct pool *p = make(NULL, -1);
	struct waiter w = { .w.ready = on_ready };
	struct buf *b[NLARGE], *s;

	for (int i = 0; i < NLARGE; i++)
		b[i] = pool_borrow(p, LARGE);
	ck_assert_ptr_null(pool_borrow_or_wait(p, LARGE, &w.w));
	s = pool_borrow(p, 100);
	ck_assert_ptr_nonnull(s);
	buf_return(s);
	ck_assert_ptr_null(w.got);
	pool_unwait(p, &w.w);
	for (int i = 0; i < NLARGE; i++)
		buf_return(b[i]);
	pool_free(p);
}
END_TEST

START_TEST(many_waiters_that_return_at_once_do_not_recurse)
{
	enum { N = 200000 };
	struct waiter *w = calloc(N, sizeof(*w));
	struct pool *p = make(NULL, -1);
	struct buf *b[NLARGE];

	turn = 0;
	for (int i = 0; i < NLARGE; i++)
		b[i] = pool_borrow(p, LARGE);
	for (int i = 0; i < N; i++) {
		w[i].w.ready = on_ready;
		w[i].give_back = true;
		ck_assert_ptr_null(pool_borrow_or_wait(p, LARGE, &w[i].w));
	}
	buf_return(b[0]);
	ck_assert_int_eq(turn, N);
	buf_return(b[1]);
	ck_assert_uint_eq(pool_in_use(p), 0);
	free(w);
	pool_free(p);
}
END_TEST

static struct buf *held;

static void on_ready_return_held(struct pool_waiter *w, struct buf *b)
{
	(void)w;
	buf_return(held);
	buf_return(b);
}

START_TEST(a_buffer_of_the_other_class_returned_while_handing_on_finds_its_waiter)
{
	struct waiter small = { .w.ready = on_ready, .give_back = true };
	struct waiter large = { .w.ready = on_ready_return_held };
	struct pool *p = make(NULL, -1);
	struct buf *s[NSMALL], *l[NLARGE];

	turn = 0;
	for (int i = 0; i < NSMALL; i++)
		s[i] = pool_borrow(p, SMALL);
	for (int i = 0; i < NLARGE; i++)
		l[i] = pool_borrow(p, LARGE);
	held = s[0];
	ck_assert_ptr_null(pool_borrow_or_wait(p, 1, &small.w));
	ck_assert_ptr_null(pool_borrow_or_wait(p, LARGE, &large.w));
	buf_return(l[0]);
	ck_assert_int_eq(small.turn, 1);
	for (int i = 1; i < NSMALL; i++)
		buf_return(s[i]);
	buf_return(l[1]);
	ck_assert_uint_eq(pool_in_use(p), 0);
	pool_free(p);
}
END_TEST

START_TEST(buffers_register_with_the_ring_on_first_use)
{
	struct ring_params rp = { .engine = RING_IO_URING, .buffers = 2 };
	struct buf *a, *b, *c;
	struct ring *r;
	struct pool *p;

	ck_assert_int_eq(ring_new(&r, &rp), 0);
	p = make(r, 0);
	a = pool_borrow(p, SMALL);
	b = pool_borrow(p, LARGE);
	c = pool_borrow(p, SMALL);
	ck_assert_int_eq(a->index, 0);
	ck_assert_int_eq(b->index, 1);
	/* Two slots were reserved: the third is used unregistered. */
	ck_assert_int_eq(c->index, -1);
	buf_return(a);
	ck_assert_ptr_eq(pool_borrow(p, SMALL), a);
	ck_assert_int_eq(a->index, 0);
	buf_return(a);
	buf_return(b);
	buf_return(c);
	pool_free(p);
	ring_free(r);
}
END_TEST

START_TEST(memory_is_taken_from_the_node_that_is_asked_for)
{
	struct pool *p = make(NULL, 0);
	struct buf *b = pool_borrow(p, LARGE), *s = pool_borrow(p, 1);
	unsigned long mask[17] = {0};
	int mode, node = -1;

	ck_assert_int_eq(pool_unbound(p), 0);
	memset(b->base, 1, b->size);
	ck_assert_int_eq(get_mempolicy(&mode, mask, 1025, s->base, MPOL_F_ADDR), 0);
	ck_assert_int_eq(mode, MPOL_PREFERRED);
	ck_assert_uint_eq(mask[0], 1);
	ck_assert_int_eq(get_mempolicy(&node, NULL, 0, b->base, MPOL_F_NODE | MPOL_F_ADDR), 0);
	ck_assert_int_eq(node, 0);
	buf_return(b);
	buf_return(s);
	pool_free(p);
}
END_TEST

START_TEST(a_node_that_is_not_there_is_told_and_not_fatal)
{
	static const int nodes[] = {1023, 1024, 1 << 30};
	struct pool *p = make(NULL, nodes[_i]);
	struct buf *b = pool_borrow(p, LARGE);

	ck_assert_int_eq(pool_unbound(p), -EINVAL);
	memset(b->base, 1, b->size);
	buf_return(b);
	pool_free(p);
	p = make(NULL, -1);
	ck_assert_int_eq(pool_unbound(p), 0);
	pool_free(p);
}
END_TEST

START_TEST(trim_gives_idle_memory_back)
{
	struct pool *p = make(NULL, 1000);
	struct buf *b = pool_borrow(p, LARGE), *kept = pool_borrow(p, LARGE);
	unsigned char vec[LARGE / 4096];

	memset(b->base, 1, b->size);
	memset(kept->base, 2, kept->size);
	buf_return(b);
	pool_trim(p);
	ck_assert_int_eq(mincore(b->base, LARGE, vec), 0);
	for (unsigned i = 0; i < sizeof(vec); i++)
		ck_assert_int_eq(vec[i] & 1, 0);
	ck_assert_int_eq(kept->base[LARGE - 1], 2);
	buf_return(kept);
	pool_free(p);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pool");
	TCase *t = tcase_create("pool");

	tcase_add_test(t, buffers_are_page_aligned_distinct_and_writable);
	tcase_add_test(t, the_largest_size_can_be_borrowed_and_no_more);
	tcase_add_test(t, waiters_are_served_first_come_first_served);
	tcase_add_test(t, small_waiters_are_not_held_up_by_large_ones);
	tcase_add_test(t, many_waiters_that_return_at_once_do_not_recurse);
	tcase_add_test(t, a_buffer_of_the_other_class_returned_while_handing_on_finds_its_waiter);
	tcase_add_test(t, buffers_register_with_the_ring_on_first_use);
	tcase_add_test(t, memory_is_taken_from_the_node_that_is_asked_for);
	tcase_add_loop_test(t, a_node_that_is_not_there_is_told_and_not_fatal, 0, 3);
	tcase_add_test(t, trim_gives_idle_memory_back);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
