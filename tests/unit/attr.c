/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/attr.h"

#include <sys/xattr.h>
#include <unistd.h>

#include "tests/lib/ringwait.h"
#include "tests/lib/unit.h"

static struct file file;
static int later;
static off_t first, second, third;

/* "user::rw-,user:1:r--,group::r--,mask::r--,other::---" as the kernel keeps it. */
static const uint8_t acl[] = {
	2, 0, 0, 0,
	1, 0, 6, 0, 255, 255, 255, 255,
	2, 0, 4, 0, 1,	 0,   0,   0,
	4, 0, 4, 0, 255, 255, 255, 255,
	16, 0, 4, 0, 255, 255, 255, 255,
	32, 0, 0, 0, 255, 255, 255, 255,
};

static off_t size_now(void)
{
	struct stat st;

	ck_assert_int_eq(attr_stat(&file, &st), 0);
	return st.st_size;
}

static void file_make(void)
{
	file = (struct file){
		.fd = temp_file(), .path_fd = -1, .type = S_IFREG, .serial = attr_serial()};
}

START_TEST(outside_a_ring_every_look_is_new)
{
	file_make();
	ck_assert_int_eq(size_now(), 0);
	ck_assert_int_eq(ftruncate(file.fd, 7), 0);
	ck_assert_int_eq(size_now(), 7);
	close(file.fd);
}
END_TEST

static void in_second_batch(struct op *op, int res, bool more)
{
	(void)res;
	(void)more;
	third = size_now();
	ring_stop(((struct wait *)op)->ring);
}

static struct wait again;

static void in_first_batch(struct op *op, int res, bool more)
{
	(void)op;
	(void)res;
	(void)more;
	first = size_now();
	ck_assert_int_eq(ftruncate(file.fd, 7), 0);
	second = size_now();
	if (later) {
		attr_forget(&file);
		second = size_now();
	}
	again = (struct wait){ .op.done = in_second_batch, .ring = ring };
	ring_post(ring, &again.op, 0);
}

static void run_batches(int i)
{
	struct wait w = { .op.done = in_first_batch };

	setup(i);
	file_make();
	ring_post(ring, &w.op, 0);
	ring_run(ring, NULL, NULL);
	ring_free(ring);
	close(file.fd);
}

START_TEST(one_look_serves_a_batch_and_the_next_looks_again)
{
	later = 0;
	run_batches(_i);
	ck_assert_int_eq(first, 0);
	ck_assert_int_eq(second, 0);
	ck_assert_int_eq(third, 7);
}
END_TEST

START_TEST(what_this_thread_changed_is_looked_at_again)
{
	later = 1;
	run_batches(_i);
	ck_assert_int_eq(second, 7);
}
END_TEST

static void other_file(struct op *op, int res, bool more)
{
	int fd = file.fd;

	(void)res;
	(void)more;
	first = size_now();
	file_make();
	ck_assert_int_eq(ftruncate(file.fd, 9), 0);
	second = size_now();
	close(file.fd);
	file.fd = fd;
	file.serial = 0; /* nobody gave it one: never kept in mind */
	ck_assert_int_eq(size_now(), 0);
	ck_assert_int_eq(ftruncate(fd, 5), 0);
	third = size_now();
	ring_stop(((struct wait *)op)->ring);
}

START_TEST(files_are_told_apart)
{
	struct wait w = { .op.done = other_file };

	setup(0);
	w.ring = ring;
	file_make();
	ring_post(ring, &w.op, 0);
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(first, 0);
	ck_assert_int_eq(second, 9);
	ck_assert_int_eq(third, 5);
	ring_free(ring);
	close(file.fd);
}
END_TEST

START_TEST(tells_an_acl_by_either_descriptor)
{
	char name[] = "/tmp/nfsd-io-attr.XXXXXX";
	int fd = mkstemp(name);

	ck_assert_int_ge(fd, 0);
	file = (struct file){ .fd = fd, .path_fd = open(name, O_PATH), .type = S_IFREG };
	ck_assert(!attr_acl(&file));
	if (fsetxattr(fd, "system.posix_acl_access", acl, sizeof(acl), 0) == 0) {
		ck_assert(attr_acl(&file));
		file.fd = -1;
		ck_assert(attr_acl(&file));
	}
	close(file.path_fd);
	close(fd);
	unlink(name);
}
END_TEST

START_TEST(tells_what_nobody_may_change)
{
	file_make();
	ck_assert(!attr_immutable(&file));
	close(file.fd);
	file.fd = -1;
	ck_assert(attr_immutable(&file)); /* cannot be told */
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("attr");
	TCase *tc = tcase_create("attr");

	tcase_add_test(tc, outside_a_ring_every_look_is_new);
	tcase_add_loop_test(tc, one_look_serves_a_batch_and_the_next_looks_again, 0, 2);
	tcase_add_loop_test(tc, what_this_thread_changed_is_looked_at_again, 0, 2);
	tcase_add_test(tc, files_are_told_apart);
	tcase_add_test(tc, tells_an_acl_by_either_descriptor);
	tcase_add_test(tc, tells_what_nobody_may_change);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
