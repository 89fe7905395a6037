/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An instance of libnfsdio with one engine or another, a file to try it on, and
 * the wait for what became of an operation.
 */
#ifndef TESTS_LIB_NFSDIO_TRIAL_H
#define TESTS_LIB_NFSDIO_TRIAL_H

#include <check.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nfsdio.h>

struct outcome {
	sem_t sem;
	struct nfsdio_result r;
	struct stat st;
};

static struct nfsdio *n;
static char path[] = "/tmp/nfsdio-XXXXXX";

static void on_done(void *arg, const struct nfsdio_result *r)
{
	struct outcome *o = arg;

	o->r = *r;
	if (r->st)
		o->st = *r->st;
	sem_post(&o->sem);
}

static void wait_for(struct outcome *o)
{
	while (sem_wait(&o->sem) < 0)
		ck_assert_int_eq(errno, EINTR);
	ck_assert_ptr_nonnull(o->r.st);
}

/* Loop index 0: io_uring where there is one; 1: threads; 2: inline; 3: mixed. */
static const enum nfsdio_engine engines[] = {NFSDIO_ENGINE_AUTO, NFSDIO_ENGINE_THREADS,
					     NFSDIO_ENGINE_INLINE, NFSDIO_ENGINE_MIXED};

static void setup(int i)
{
	struct nfsdio_params p = { .engine = engines[i],
				   .threads = 2, .max_bytes = 2 << 20 };
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(nfsdio_new(&n, &p), 0);
	ck_assert_uint_gt(strlen(nfsdio_engine(n)), 0);
}

static void teardown(void)
{
	unlink(path);
	nfsdio_free(n);
}

static void round_trip(struct nfsdio_file *f, uint8_t *mem, uint64_t offset, uint32_t count,
		       enum nfsdio_stable stable)
{
	static uint8_t back[1 << 20] __attribute__((aligned(4096)));
	struct outcome o;

	sem_init(&o.sem, 0, 0);
	for (uint32_t i = 0; i < count; i++)
		mem[i] = (uint8_t)(i * 11 + offset + i / 249);
	ck_assert_int_eq(nfsdio_write(f, mem, count, offset, stable, on_done, &o), 0);
	wait_for(&o);
	ck_assert_int_eq(o.r.res, count);
	ck_assert_int_ge(o.r.committed, stable);
	ck_assert_uint_eq(o.r.verifier, nfsdio_verifier(n));
	ck_assert_int_eq(nfsdio_read(f, back, count, offset, on_done, &o), 0);
	wait_for(&o);
	ck_assert_int_eq(o.r.res, count);
	ck_assert_mem_eq(back, mem, count);
	ck_assert(o.r.eof == (offset + count >= (uint64_t)o.st.st_size));
	/* And to memory that is in phase with nothing. */
	ck_assert_int_eq(nfsdio_read(f, back + 1, count - 1, offset + 1, on_done, &o), 0);
	wait_for(&o);
	ck_assert_int_eq(o.r.res, (int)count - 1);
	ck_assert_mem_eq(back + 1, mem + 1, count - 1);
	sem_destroy(&o.sem);
}

#endif
