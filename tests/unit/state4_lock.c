/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Locks between NFSv4 owners, and between them and processes of this machine. */
#include "config.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/heldplay.h"
#include "tests/lib/unit.h"

#define MAX_LOCKS 8

static struct state4_client *a, *b;
static struct file *file;
static char path[] = "/tmp/state4_lock.XXXXXX";

static void setup(void)
{
	int fd;

	play_begin(0, MAX_LOCKS);
	a = play_client("a");
	b = play_client("b");
	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	file = play_file(FILE_WRITE);
	file->path_fd = open(path, O_PATH | O_CLOEXEC);
	ck_assert_int_ge(file->path_fd, 0);
}

static void teardown(void)
{
	struct state4_files *one, *two;

	state4_lock(play_state);
	one = state4_held_drop(play_state, a);
	two = state4_held_drop(play_state, b);
	state4_unlock(play_state);
	state4_files_put(one);
	state4_files_put(two);
	state4_client_put(a);
	state4_client_put(b);
	play_end();
	close(file->path_fd);
	unlink(path);
}

/* The lock stateid of `name` on the file, pinned. */
static struct state4_open *locker(struct state4_client *c, const char *name)
{
	struct state4_owner *w;
	struct state4_open *o, *k;
	bool fresh;

	state4_lock(play_state);
	o = play_open(c, "opener", 1, 3, 0);
	o->file = file;
	w = state4_owner_find(play_state, c, true, name, (uint32_t)strlen(name));
	if (!w)
		w = state4_owner_new(play_state, c, true, name, (uint32_t)strlen(name), 1);
	k = state4_open_get(state4_lock_stateid(play_state, w, o, &fresh));
	state4_unlock(play_state);
	return k;
}

static struct state4_conflict denied;

static uint32_t set(struct state4_open *k, uint64_t offset, uint64_t length,
		    enum state4_lock_kind kind)
{
	struct state4_range g;
	stateid4 id;

	ck_assert(state4_range_of(offset, length, &g));
	g.write = kind == STATE4_LOCK_WRITE;
	free(denied.name);
	memset(&denied, 0, sizeof(denied));
	return state4_lock_set(play_state, k, &g, kind, &denied, &id);
}

/* What another process is told that wants to write-lock: 0, or F_RDLCK, F_WRLCK; -1: it gets it. */
static int local(off_t start, off_t len, bool take)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct flock l = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
		int fd = open(path, O_RDWR);

		if (take)
			_exit(fcntl(fd, F_SETLK, &l) ? 1 : 0);
		_exit(fcntl(fd, F_GETLK, &l) ? 100
		      : l.l_type == F_UNLCK  ? 0
		      : l.l_type == F_RDLCK  ? 1
					     : 2);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

START_TEST(owners_are_denied_by_name)
{
	struct state4_open *k = locker(a, "one"), *l = locker(b, "two");

	ck_assert_uint_eq(set(k, 25, 75, STATE4_LOCK_WRITE), NFS4_OK);
	ck_assert_uint_eq(set(k, 50, 75, STATE4_LOCK_WRITE), NFS4_OK);
	ck_assert_uint_eq(set(l, 0, 26, STATE4_LOCK_READ), NFS4ERR_DENIED);
	ck_assert_uint_eq(denied.range.first, 25);
	ck_assert_uint_eq(state4_range_length(&denied.range), 100);
	ck_assert(denied.range.write);
	ck_assert_uint_eq(denied.client, state4_client_id(a));
	ck_assert(denied.len == 3 && !memcmp(denied.name, "one", 3));
	ck_assert_uint_eq(set(l, 0, 25, STATE4_LOCK_READ), NFS4_OK);
	ck_assert_uint_eq(set(k, 25, 100, STATE4_UNLOCK), NFS4_OK);
	ck_assert_uint_eq(set(l, 0, UINT64_MAX, STATE4_LOCK_WRITE), NFS4_OK);
	state4_open_put(k);
	state4_open_put(l);
}
END_TEST

START_TEST(each_change_has_its_seqid)
{
	struct state4_open *k = locker(a, "one");

	ck_assert_uint_eq(set(k, 0, 1, STATE4_LOCK_READ), NFS4_OK);
	ck_assert_uint_eq(k->seqid, 1);
	ck_assert_uint_eq(set(k, 0, 1, STATE4_LOCK_WRITE), NFS4_OK);
	ck_assert_uint_eq(set(k, 0, 1, STATE4_UNLOCK), NFS4_OK);
	ck_assert_uint_eq(k->seqid, 3);
	state4_open_put(k);
}
END_TEST

START_TEST(processes_of_the_machine_see_the_locks)
{
	struct state4_open *k = locker(a, "one");

	ck_assert_int_eq(local(0, 0, false), 0);
	ck_assert_uint_eq(set(k, 10, 10, STATE4_LOCK_READ), NFS4_OK);
	ck_assert_int_eq(local(0, 0, false), 1);
	ck_assert_uint_eq(set(k, 15, 1, STATE4_LOCK_WRITE), NFS4_OK);
	ck_assert_int_eq(local(15, 1, false), 2);
	ck_assert_int_eq(local(0, 10, false), 0);
	ck_assert_uint_eq(set(k, 0, UINT64_MAX, STATE4_UNLOCK), NFS4_OK);
	ck_assert_int_eq(local(0, 0, false), 0);
	/* Beyond what the kernel counts: to the end of any file. */
	ck_assert_uint_eq(set(k, 1, UINT64_MAX, STATE4_LOCK_WRITE), NFS4_OK);
	ck_assert_int_eq(local(INT64_MAX - 1, 1, false), 2);
	state4_open_put(k);
}
END_TEST

START_TEST(dropping_the_open_frees_the_locks_of_the_kernel)
{
	struct state4_open *k = locker(a, "one");

	ck_assert_uint_eq(set(k, 0, 10, STATE4_LOCK_WRITE), NFS4_OK);
	state4_open_put(k);
	state4_lock(play_state);
	struct state4_files *dead = state4_held_drop(play_state, a);
	state4_unlock(play_state);
	state4_files_put(dead);
	ck_assert_int_eq(local(0, 0, true), 0);
}
END_TEST

START_TEST(locks_of_a_process_deny)
{
	struct state4_open *k = locker(a, "one");
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 10};
	struct state4_range g = {90, 120, false}, free_of_it = {0, 99, true};
	int fd = open(path, O_RDWR);

	ck_assert_int_eq(fcntl(fd, F_SETLK, &l), 0);
	ck_assert_uint_eq(set(k, 90, 20, STATE4_LOCK_READ), NFS4ERR_DENIED);
	ck_assert(denied.range.first == 100 && denied.range.last == 109 && denied.range.write);
	ck_assert_ptr_null(denied.name);
	ck_assert_uint_eq(k->ranges.n, 0);
	ck_assert_uint_eq(state4_lock_local(file, NULL, &g, &denied), NFS4ERR_DENIED);
	ck_assert_uint_eq(state4_lock_local(file, NULL, &free_of_it, &denied), NFS4_OK);
	ck_assert_uint_eq(set(k, 0, 100, STATE4_LOCK_WRITE), NFS4_OK);
	/* Its own locks do not stand in its way. */
	ck_assert_uint_eq(state4_lock_local(file, k, &free_of_it, &denied), NFS4_OK);
	close(fd);
	ck_assert_uint_eq(set(k, 90, 20, STATE4_LOCK_READ), NFS4_OK);
	state4_open_put(k);
}
END_TEST

START_TEST(a_client_has_no_more_locks_than_it_may)
{
	struct state4_open *k = locker(a, "one"), *l = locker(b, "two");

	for (unsigned i = 0; i < MAX_LOCKS; i++)
		ck_assert_uint_eq(set(k, 2 * i, 1, STATE4_LOCK_READ), NFS4_OK);
	ck_assert_uint_eq(set(k, 100, 1, STATE4_LOCK_READ), NFS4ERR_RESOURCE);
	ck_assert_uint_eq(set(l, 100, 1, STATE4_LOCK_READ), NFS4_OK);
	ck_assert_uint_eq(set(k, 0, UINT64_MAX, STATE4_UNLOCK), NFS4_OK);
	ck_assert_uint_eq(set(k, 200, 1, STATE4_LOCK_READ), NFS4_OK);
	ck_assert_uint_eq(state4_client_held(a)->nlocks, 1);
	state4_open_put(k);
	state4_open_put(l);
}
END_TEST

START_TEST(a_client_kept_by_courtesy_gives_way)
{
	struct state4_open *k = locker(a, "one"), *l;

	ck_assert_uint_eq(set(k, 0, 10, STATE4_LOCK_WRITE), NFS4_OK);
	state4_open_put(k);
	play_clock += 30 * PLAY_SECOND;
	state4_lock(play_state);
	state4_client_renew(play_state, b);
	state4_unlock(play_state);
	state4_sweep(play_state);
	l = locker(b, "two");
	ck_assert_uint_eq(set(l, 5, 1, STATE4_LOCK_WRITE), NFS4_OK);
	ck_assert_uint_eq(state4_client_held(a)->nopens, 0);
	state4_open_put(l);
}
END_TEST

/* Two owners take and free the same byte in turns: at no time do both have it. */
static _Atomic int holders, rounds;

static void *contend(void *arg)
{
	struct state4_open *k = arg;
	struct state4_range g = {7, 7, true};
	struct state4_conflict d;
	stateid4 id;

	while (rounds < 200) {
		memset(&d, 0, sizeof(d));
		if (state4_lock_set(play_state, k, &g, STATE4_LOCK_WRITE, &d, &id) == NFS4_OK) {
			if (++holders != 1)
				rounds = 1 << 20;
			rounds++;
			holders--;
			state4_lock_set(play_state, k, &g, STATE4_UNLOCK, &d, &id);
		}
		free(d.name);
	}
	return NULL;
}

START_TEST(two_threads_never_hold_one_byte)
{
	struct state4_open *k = locker(a, "one"), *l = locker(b, "two");
	pthread_t t[2];

	holders = rounds = 0;
	pthread_create(&t[0], NULL, contend, k);
	pthread_create(&t[1], NULL, contend, l);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	ck_assert_int_lt(rounds, 1 << 20);
	state4_open_put(k);
	state4_open_put(l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("state4_lock");
	TCase *t = tcase_create("locks");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, owners_are_denied_by_name);
	tcase_add_test(t, each_change_has_its_seqid);
	tcase_add_test(t, processes_of_the_machine_see_the_locks);
	tcase_add_test(t, dropping_the_open_frees_the_locks_of_the_kernel);
	tcase_add_test(t, locks_of_a_process_deny);
	tcase_add_test(t, a_client_has_no_more_locks_than_it_may);
	tcase_add_test(t, a_client_kept_by_courtesy_gives_way);
	tcase_add_test(t, two_threads_never_hold_one_byte);
	suite_add_tcase(s, t);
	return unit_run(s);
}
