/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Once a file is open, the small calls take no memory and need no other thread.
 * What the harness allocates for a call is what it does for NULL.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfsd-io/core/cred.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"
#include "tests/lib/v3play.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define HOOKED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HOOKED 0
#endif
#endif
#ifndef HOOKED
#define HOOKED 1
#endif

static _Atomic unsigned allocations;

#if HOOKED
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	allocations++;
	return __libc_realloc(p, n);
}
#endif

static struct v3play p;
static struct fh root_fh, file_fh;
static nfs_fh3 root, file;
static uint8_t args[5000];
static struct cursor c;

static void setup(void)
{
	static const char data[8192];
	WRITE3res res;

	v3play_start(&p, scratch_dir(NULL));
	umask(0);
	root = v3play_root(&p, &root_fh);
	ck_assert_int_eq(v3play_create(&p, &root, "f", 0644, &file_fh), NFS3_OK);
	file = v3play_fh(&file_fh);
	ck_assert_int_eq(v3play_write(&p, &file, 0, data, sizeof(data), UNSTABLE, &res), NFS3_OK);
}

static void teardown(void)
{
	v3play_stop(&p);
	scratch_remove(p.dir);
}

static void begin(const nfs_fh3 *fh)
{
	cursor_init(&c, args, sizeof(args));
	cursor_put_opaque(&c, fh->data.data_val, fh->data.data_len);
}

/* One call, and the allocations made meanwhile.  Its status must be OK (NULL has none). */
static unsigned call(uint32_t proc)
{
	unsigned before = allocations, accept = v3play_raw(&p, proc, args, cursor_pos(&c)),
		 after = allocations;

	ck_assert_uint_eq(accept, 0);
	if (proc != NFSPROC3_NULL)
		ck_assert_uint_eq(cursor_get_u32(&p.results), NFS3_OK);
	return after - before;
}

/* The arguments at `c` are sent until nothing is new to anybody, then once more. */
static void expect_frugal(uint32_t proc)
{
	struct offload *offload = p.env.offload;
	struct cursor mine = c;
	unsigned harness;

	for (int i = 0; i < 3; i++)
		call(proc);
	cursor_init(&c, args, sizeof(args));
	harness = call(NFSPROC3_NULL);
	c = mine;
	/* Where the mode does not tell who may, a thread is asked. */
	if (cred_overrides() && root_plain_modes(p.export.root))
		p.env.offload = NULL; /* whoever submits a job falls over it */
	ck_assert_uint_eq(call(proc), harness);
	p.env.offload = offload;
}

START_TEST(getattr_takes_no_memory)
{
	begin(&file);
	expect_frugal(NFSPROC3_GETATTR);
}
END_TEST

START_TEST(access_takes_no_memory)
{
	begin(&file);
	cursor_put_u32(&c, 63);
	expect_frugal(NFSPROC3_ACCESS);
}
END_TEST

START_TEST(lookup_takes_no_memory)
{
	begin(&root);
	cursor_put_opaque(&c, "f", 1);
	expect_frugal(NFSPROC3_LOOKUP);
}
END_TEST

START_TEST(read_takes_no_memory)
{
	begin(&file);
	cursor_put_u64(&c, 4096);
	cursor_put_u32(&c, 4096);
	expect_frugal(NFSPROC3_READ);
}
END_TEST

START_TEST(write_takes_no_memory)
{
	begin(&file);
	cursor_put_u64(&c, 4096);
	cursor_put_u32(&c, 4096);
	cursor_put_u32(&c, UNSTABLE);
	cursor_put_u32(&c, 4096);
	cursor_reserve(&c, 4096);
	expect_frugal(NFSPROC3_WRITE);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfs3_heap");
	TCase *tc = tcase_create("nfs3_heap");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, getattr_takes_no_memory);
	tcase_add_test(tc, access_takes_no_memory);
	tcase_add_test(tc, lookup_takes_no_memory);
	tcase_add_test(tc, read_takes_no_memory);
	tcase_add_test(tc, write_takes_no_memory);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	if (!HOOKED) {
		printf("1..0 # SKIP a sanitizer has the allocator\n");
		return 0;
	}
	return unit_run(suite());
}
