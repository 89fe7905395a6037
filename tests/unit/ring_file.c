/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* File I/O over all engines: data, identities, registered buffers, more than the queue holds. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfsd-io/core/cred.h"
#include "tests/lib/ringwait.h"
#include "tests/lib/unit.h"

START_TEST(writes_syncs_and_reads_back)
{
	char in[5000], out[5000];
	struct wait w;
	int fd = temp_file();

	setup(_i);
	memset(out, 'x', sizeof(out));
	ring_write(ring, &waiting(&w, NULL)->op, fd, out, sizeof(out), 3, 0, -1, NULL);
	ck_assert_int_eq(w.calls, 0);
	ck_assert_uint_ge(ring_inflight(ring), 1);
	ck_assert_int_eq(finish(&w), sizeof(out));
	ring_fsync(ring, &waiting(&w, NULL)->op, fd, true);
	ck_assert_int_eq(finish(&w), 0);
	ring_fsync(ring, &waiting(&w, NULL)->op, fd, false);
	ck_assert_int_eq(finish(&w), 0);
	ring_read(ring, &waiting(&w, NULL)->op, fd, in, sizeof(in), 3, 0, -1, NULL);
	ck_assert_int_eq(finish(&w), sizeof(in));
	ck_assert_mem_eq(in, out, sizeof(in));
	ring_read(ring, &waiting(&w, NULL)->op, fd, in, sizeof(in), 5000, 0, -1, NULL);
	ck_assert_int_eq(finish(&w), 3);
	ck_assert_uint_eq(ring_inflight(ring), 0);
	close(fd);
	ring_free(ring);
}
END_TEST

/* tmpfs takes no NOWAIT: with O_NONBLOCK on the descriptor that must not surface as EAGAIN. */
START_TEST(nonblocking_descriptor_of_a_file_never_yields_eagain)
{
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_NONBLOCK, 0600);
	char buf[70000] = "y";
	struct wait w;

	if (fd < 0)
		fd = temp_file();
	setup(_i);
	ring_write(ring, &waiting(&w, NULL)->op, fd, buf, sizeof(buf), 0, 0, -1, NULL);
	ck_assert_int_eq(finish(&w), sizeof(buf));
	ring_read(ring, &waiting(&w, NULL)->op, fd, buf, sizeof(buf), 0, 0, -1, NULL);
	ck_assert_int_eq(finish(&w), sizeof(buf));
	close(fd);
	ring_free(ring);
}
END_TEST

START_TEST(more_operations_than_the_queue_holds_all_complete)
{
	enum { N = 3000 };
	static struct wait w[N];
	static char data[N];
	int fd = temp_file(), left = N;

	ring = make(engines[_i], 8, 0);
	for (int i = 0; i < N; i++) {
		data[i] = (char)(i * 7);
		ring_write(ring, &waiting(&w[i], &left)->op, fd, &data[i], 1, (uint64_t)i, 0, -1,
			   NULL);
	}
	ring_run(ring, NULL, NULL);
	for (int i = 0; i < N; i++) {
		char c;

		ck_assert_int_eq(w[i].calls, 1);
		ck_assert_int_eq(w[i].res, 1);
		ck_assert_int_eq(pread(fd, &c, 1, i), 1);
		ck_assert_int_eq(c, data[i]);
	}
	close(fd);
	ring_free(ring);
}
END_TEST

START_TEST(write_as_another_clears_setuid_and_obeys_modes)
{
	char dir[] = "/tmp/ring-cred-XXXXXX", path[64];
	const gid_t groups[] = { 4321 };
	struct cred *c = cred_new(1234, 1234, groups, 1);
	struct stat st;
	struct wait w;
	int fd;

	if (!cred_switchable())
		return;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/f", dir);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	ck_assert_int_eq(fchown(fd, 1234, 1234), 0);
	setup(_i);
	for (int as_server = 1; as_server >= 0; as_server--) {
		ck_assert_int_eq(fchmod(fd, 06755), 0);
		ring_write(ring, &waiting(&w, NULL)->op, fd, "abc", 3, 0, 0, -1,
			   as_server ? NULL : c);
		ck_assert_int_eq(finish(&w), 3);
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_uint_eq(st.st_mode & 07777, as_server ? 06755 : 0755);
	}
	/* The ring's own thread is the server again, or, inline, as soon as it says so. */
	ck_assert_int_eq(cred_assume(NULL), 0);
	ck_assert_int_eq(unlink(path), 0);
	rmdir(dir);
	close(fd);
	ring_free(ring);
	cred_put(c);
}
END_TEST

START_TEST(more_identities_than_the_cache_holds)
{
	enum { N = 300 };
	static struct wait w[N];
	struct cred *c[N];
	int fd = temp_file(), left = N;

	setup(_i);
	for (int i = 0; i < N; i++) {
		c[i] = cred_new((uid_t)(2000 + i), 2000, NULL, 0);
		ring_write(ring, &waiting(&w[i], &left)->op, fd, "z", 1, (uint64_t)i, 0, -1, c[i]);
	}
	ring_run(ring, NULL, NULL);
	for (int i = 0; i < N; i++) {
		ck_assert_int_eq(w[i].res, 1);
		cred_put(c[i]);
	}
	close(fd);
	ring_free(ring);
}
END_TEST

START_TEST(registered_buffers_carry_data)
{
	static char mem[2][8192] __attribute__((aligned(4096)));
	int fd = temp_file(), index = -1;
	struct wait w;

	ring = make(engines[_i], 0, 2);
	if (ring_buffer_register(ring, 1, mem[1], sizeof(mem[1])) == 0)
		index = 1;
	else
		ck_assert_int_ge(_i, 1);
	ck_assert_int_lt(ring_buffer_register(ring, 2, mem[0], sizeof(mem[0])), 0);
	memset(mem[1], 'r', sizeof(mem[1]));
	ring_write(ring, &waiting(&w, NULL)->op, fd, mem[1] + 100, 5000, 7, 0, index, NULL);
	ck_assert_int_eq(finish(&w), 5000);
	memset(mem[1], 0, sizeof(mem[1]));
	ring_read(ring, &waiting(&w, NULL)->op, fd, mem[1], 6000, 7, 0, index, NULL);
	ck_assert_int_eq(finish(&w), 5000);
	ck_assert_int_eq(mem[1][0], 'r');
	ck_assert_int_eq(mem[1][4999], 'r');
	ck_assert_int_eq(mem[1][5000], 0);
	close(fd);
	ring_free(ring);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ring_file");
	TCase *t = tcase_create("all engines");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, writes_syncs_and_reads_back, 0, 3);
	tcase_add_loop_test(t, nonblocking_descriptor_of_a_file_never_yields_eagain, 0, 3);
	tcase_add_loop_test(t, more_operations_than_the_queue_holds_all_complete, 0, 3);
	tcase_add_loop_test(t, write_as_another_clears_setuid_and_obeys_modes, 0, 3);
	tcase_add_loop_test(t, more_identities_than_the_cache_holds, 0, 3);
	tcase_add_loop_test(t, registered_buffers_carry_data, 0, 3);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
