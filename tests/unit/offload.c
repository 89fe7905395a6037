/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/fsuid.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/core/cred.h"
#include "nfsd-io/core/offload.h"
#include "nfsd-io/core/verifier.h"
#include "tests/lib/threads.h"
#include "tests/lib/unit.h"

struct job {
	struct offload_job job;
	pthread_t ran_on;
	uid_t was;
	struct cred *as;
	int *left;
};

static struct ring *ring;
static pthread_barrier_t barrier;
static atomic_int freed;

static void on_done(struct op *op, int res, bool more)
{
	struct job *j = container_of(op, struct job, job.op);

	ck_assert_int_eq(res, 0);
	ck_assert(!more);
	ck_assert(!pthread_equal(j->ran_on, pthread_self()));
	if (--*j->left == 0)
		ring_stop(ring);
}

static void run(struct offload_job *oj)
{
	struct job *j = (struct job *)oj;

	j->ran_on = pthread_self();
	j->was = (uid_t)setfsuid((uid_t)-1);
	if (j->as)
		ck_assert_int_eq(cred_assume(j->as), 0);
}

static void run_together(struct offload_job *oj)
{
	run(oj);
	pthread_barrier_wait(&barrier);
}

static void run_and_free(struct offload_job *oj)
{
	free(oj);
	atomic_fetch_add(&freed, 1);
}

static void setup(void)
{
	struct ring_params p = { .engine = RING_AUTO };

	ck_assert_int_eq(ring_new(&ring, &p), 0);
}

START_TEST(jobs_run_elsewhere_and_report_here)
{
	enum { N = 1000 };
	static struct job j[N];
	struct offload *o;
	int left = N;

	ck_assert_int_eq(offload_new(&o, 3), 0);
	for (int i = 0; i < N; i++) {
		j[i] = (struct job){ { run, { .done = on_done }, ring, NULL }, .left = &left };
		offload_submit(o, &j[i].job);
	}
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(left, 0);
	offload_free(o);
	ring_free(ring);
}
END_TEST

START_TEST(blocked_jobs_get_threads_of_their_own_up_to_the_limit)
{
	enum { N = 5 };
	struct job j[N];
	struct offload *o;
	int left = N;

	pthread_barrier_init(&barrier, NULL, N);
	ck_assert_int_eq(offload_new(&o, N), 0);
	for (int i = 0; i < N; i++) {
		j[i] = (struct job){{run_together, {.done = on_done}, ring, NULL}, .left = &left};
		offload_submit(o, &j[i].job);
	}
	ring_run(ring, NULL, NULL);
	for (int i = 1; i < N; i++)
		ck_assert(!pthread_equal(j[0].ran_on, j[i].ran_on));
	offload_free(o);
	ring_free(ring);
}
END_TEST

START_TEST(every_job_starts_as_the_server)
{
	struct cred *c = cred_new(1234, 1234, NULL, 0);
	struct job j[20];
	struct offload *o;
	int left = 20;

	ck_assert_int_eq(offload_new(&o, 1), 0);
	for (int i = 0; i < 20; i++) {
		j[i] = (struct job){{run, {.done = on_done}, ring, NULL}, .as = c, .left = &left};
		offload_submit(o, &j[i].job);
	}
	ring_run(ring, NULL, NULL);
	for (int i = 0; i < 20; i++)
		ck_assert_uint_eq(j[i].was, (uid_t)setfsuid((uid_t)-1));
	offload_free(o);
	cred_put(c);
	ring_free(ring);
}
END_TEST

START_TEST(free_finishes_what_is_queued)
{
	struct offload *o;

	ck_assert_int_eq(offload_new(&o, 2), 0);
	for (int i = 0; i < 500; i++) {
		struct offload_job *oj = calloc(1, sizeof(*oj));

		oj->run = run_and_free;
		offload_submit(o, oj);
	}
	offload_free(o);
	ck_assert_int_eq(atomic_load(&freed), 500);
	ring_free(ring);
}
END_TEST

START_TEST(threads_stay_on_the_cpus_they_are_given_whoever_starts_them)
{
	struct job j[2];
	struct offload *o;
	char last[16];
	cpu_set_t all, one = threads_last_cpu(last, sizeof(last));
	int left = 2;

	ck_assert_int_eq(offload_new(&o, 2), 0);
	offload_confine(o, &one);
	/* The second thread is started by one that is bound elsewhere. */
	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && CPU_COUNT(&all) > 1; cpu--)
		CPU_CLR(cpu, &all);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++) {
		j[i] = (struct job){{run_together, {.done = on_done}, ring, NULL}, .left = &left};
		offload_submit(o, &j[i].job);
	}
	ring_run(ring, NULL, NULL);
	ck_assert_uint_eq(threads_count("nfsd-io/o", last), 2);
	offload_free(o);
	ring_free(ring);
	pthread_barrier_destroy(&barrier);
}
END_TEST

START_TEST(verifier_changes_on_real_errors_only)
{
	static const int same[] = {-EAGAIN, -ESTALE, -EINTR}, other[] = {-EIO, -ENOSPC, -EDQUOT};
	struct verifier v, w;
	uint64_t a;

	verifier_init(&v);
	verifier_init(&w);
	ck_assert_uint_ne(verifier_get(&v), verifier_get(&w));
	a = verifier_get(&v);
	for (int i = 0; i < 3; i++)
		verifier_error(&v, same[i]);
	ck_assert_uint_eq(verifier_get(&v), a);
	for (int i = 0; i < 3; i++) {
		verifier_error(&v, other[i]);
		ck_assert_uint_ne(verifier_get(&v), a);
		a = verifier_get(&v);
	}
	ck_assert_uint_eq(v.bumps, 3);
	ring_free(ring);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("offload");
	TCase *t = tcase_create("offload");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_set_timeout(t, 30);
	tcase_add_test(t, jobs_run_elsewhere_and_report_here);
	tcase_add_test(t, blocked_jobs_get_threads_of_their_own_up_to_the_limit);
	tcase_add_test(t, every_job_starts_as_the_server);
	tcase_add_test(t, free_finishes_what_is_queued);
	tcase_add_test(t, threads_stay_on_the_cpus_they_are_given_whoever_starts_them);
	tcase_add_test(t, verifier_changes_on_real_errors_only);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
