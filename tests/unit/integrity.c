/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Data integrity over real files: random READ, WRITE and truncate in every
 * mode and rule against a model, and WRITEs from two threads whose neighbours
 * share blocks.  One fixed seed and a new one each run; NFSD_IO_SEED repeats one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/iofile.h"
#include "tests/lib/loopfs.h"
#include "tests/lib/stamp.h"
#include "tests/lib/unit.h"

enum { FILE_MAX = 1 << 20, IO_MAX = 300000, STAMPED = 4 << 20, DEPTH = 16, ROUNDS = 4 };

static const char *const fstypes[] = { "", "ext4", "xfs", "btrfs", "tmpfs" };
static struct loopfs fs[5];
static bool fs_up[5];
static uint64_t seeds[2];
static int nops = 700; /* INTEGRITY_OPS: sanitizers, which are slow, are given fewer */

static uint64_t rnd;

static unsigned below(unsigned n)
{
	return (unsigned)(stamp_random(&rnd) % n);
}

static struct ring *make_ring(unsigned engine, unsigned buffers)
{
	struct ring_params p = {.engine = engine ? RING_THREADS : RING_IO_URING,
				.buffers = buffers};
	struct ring *r;

	ck_assert_int_eq(ring_new(&r, &p), 0);
	return r;
}

/* --- against a model ---------------------------------------------------------- */

static struct iofile f;
static struct ring *ring;
static struct pool *pool;
static uint8_t model[FILE_MAX];
static uint32_t model_size;

static void stop(struct io *io)
{
	ring_stop(io->ring);
}

static struct io an_io(void)
{
	return (struct io){ .ring = ring, .file = &f.file, .verifier = &f.verifier, .done = stop };
}

/* A place and a length around which policies change their mind. */
static void pick(uint32_t *offset, uint32_t *len)
{
	static const uint32_t unit[] = { 1, 4, 512, 4096, 4096 };
	static const uint32_t typical[] = {1,     511,   512,   4096,   32767,
					   32768, 47008, 65536, 100003, 262144};
	uint32_t u = unit[below(5)], v = unit[below(5)];

	*offset = below(FILE_MAX) / u * u;
	*len = below(3) ? typical[below(10)] : below(IO_MAX) / v * v;
	if (!below(4))
		*len += below(3);
	if (*len > FILE_MAX - *offset)
		*len = FILE_MAX - *offset;
}

static void do_write(void)
{
	uint32_t offset, len;
	struct write_io w;
	struct buf *b;

	pick(&offset, &len);
	b = pool_borrow(pool, len + 4096);
	w = (struct write_io){ .io = an_io(), .offset = offset, .count = len, .buf = b };
	w.data = b->base + (below(8) ? offset % 4096 : below(4096));
	w.stable = below(12) ? IO_UNSTABLE : below(2) ? IO_DATA_SYNC : IO_FILE_SYNC;
	for (uint32_t i = 0; i < len; i++)
		((uint8_t *)w.data)[i] = (uint8_t)stamp_random(&rnd);
	write_start(&w);
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(w.io.res, len);
	ck_assert_int_ge(w.committed, w.stable);
	memcpy(model + offset, w.data, len);
	if (len && offset + len > model_size)
		model_size = offset + len;
	ck_assert_int_eq(w.io.st.st_size, model_size);
	buf_return(b);
}

static void do_read(void)
{
	uint32_t offset, len, expect;
	struct read_io r;

	pick(&offset, &len);
	r = (struct read_io){ .io = an_io(), .offset = offset, .count = len };
	r.buf = pool_borrow(pool, read_space(len));
	read_start(&r);
	ring_run(ring, NULL, NULL);
	expect = offset >= model_size ? 0 : len < model_size - offset ? len : model_size - offset;
	ck_assert_int_eq(r.io.res, expect);
	ck_assert(r.eof == (offset + expect >= model_size));
	ck_assert_msg(memcmp(r.data, model + offset, expect) == 0, "[%u, +%u) in mode %d rule %d",
		      offset, len, f.root.io.read_mode, f.root.io.rule);
	buf_return(r.buf);
}

static void do_truncate(void)
{
	uint32_t size, unused;

	pick(&size, &unused);
	ck_assert_int_eq(ftruncate(f.file.fd, size), 0);
	if (size < model_size)
		memset(model + size, 0, model_size - size);
	model_size = size;
}

static void do_commit(void)
{
	struct commit_io c = { .io = an_io() };

	commit_start(&c);
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(c.io.res, 0);
	ck_assert_uint_eq(f.file.unsynced, 0);
}

static void against_model(const char *dir, unsigned engine, uint64_t seed)
{
	rnd = seed;
	ring = make_ring(engine, 4);
	pool = iofile_pool(ring, IO_MAX, 1);
	iofile_up(&f, dir, 0);
	memset(model, 0, sizeof(model));
	model_size = 0;
	for (int i = 0; i < nops; i++) {
		unsigned what = below(100);

		iofile_mode(&f, (enum dio_mode)(below(4) ? DIO_MODE_DIRECT : below(3)),
			    (enum dio_rule)below(DIO_RULE_COUNT));
		f.root.io.min_middle = below(4) ? 0 : 8192;
		if (what < 50)
			do_write();
		else if (what < 90)
			do_read();
		else if (what < 98)
			do_truncate();
		else
			do_commit();
	}
	ck_assert_uint_eq(f.verifier.bumps, 0);
	/* tmpfs and btrfs have no RWF_DONTCACHE: there the retry without is what ran. */
	if (f.file.dio_fd >= 0)
		ck_assert_uint_gt(iofile_count(&f, ops[DIO_WRITE][DIO_SPLIT]), 0);
	ck_assert_uint_eq(iofile_count(&f, fallback_einval), 0);
	iofile_down(&f);
	pool_free(pool);
	ring_free(ring);
}

/* Loop index: file system * 4 + engine * 2 + seed. */
START_TEST(random_io_in_every_mode_and_rule_matches_the_model)
{
	if (fs_up[_i / 4])
		against_model(_i < 4 ? NULL : fs[_i / 4].dir, (unsigned)_i / 2 % 2, seeds[_i % 2]);
}
END_TEST

static void write_at(uint32_t offset, uint32_t len)
{
	struct buf *b = pool_borrow(pool, len + 4096);
	struct write_io w = { .io = an_io(), .offset = offset, .count = len, .buf = b,
			      .data = b->base + offset % 4096, .stable = IO_FILE_SYNC };

	memset((void *)w.data, 0x5a, len);
	write_start(&w);
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(w.io.res, len);
	buf_return(b);
}

static void read_across_the_end(uint32_t end)
{
	struct read_io r = { .io = an_io(), .offset = 775700, .count = 166000 };

	r.buf = pool_borrow(pool, read_space(r.count));
	read_start(&r);
	ring_run(ring, NULL, NULL);
	ck_assert_int_eq(r.io.res, end - 775700);
	ck_assert(r.eof);
	ck_assert_int_eq(r.data[r.io.res - 1], 0x5a);
	buf_return(r.buf);
}

/*
 * The head of a split WRITE makes XFS reserve space beyond it; the middle takes
 * some.  Where the tail shares the middle's last block, or there is none,
 * nothing ever allocates the rest, and a direct READ that is expanded beyond
 * the end of the file meets it.
 */
START_TEST(a_read_across_the_end_behind_a_split_write_gives_the_data)
{
	static const struct {
		enum dio_rule rule;
		uint32_t len;
	} c[] = { { DIO_RULE_SEED, 32780 }, { DIO_RULE_SEED, 32280 }, { DIO_RULE_PAGE, 28696 } };

	if (!fs_up[_i])
		return;
	ring = make_ring(0, 4);
	pool = iofile_pool(ring, IO_MAX, 1);
	iofile_up(&f, _i ? fs[_i].dir : NULL, 0);
	for (unsigned i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		iofile_mode(&f, DIO_MODE_DIRECT, c[i].rule);
		ck_assert_int_eq(ftruncate(f.file.fd, 77824), 0);
		write_at(810984, c[i].len);
		read_across_the_end(810984 + c[i].len);
	}
	iofile_down(&f);
	pool_free(pool);
	ring_free(ring);
}
END_TEST

/* --- neighbours that share blocks ----------------------------------------------- */

struct writer {
	pthread_t tid;
	struct iofile *f;
	const struct stamp_map *map;
	unsigned engine, first, step, gen; /* slots first, first+step, ... */
	unsigned next, busy, failed;
	struct ring *ring;
	struct pool *pool;
};

struct slot_io {
	struct write_io w;
	struct writer *writer;
};

static void write_next(struct slot_io *s);

static void slot_written(struct io *io)
{
	struct slot_io *s = (struct slot_io *)io;

	s->writer->failed += s->w.io.res != (int)s->w.count;
	s->writer->busy--;
	buf_return(s->w.buf);
	write_next(s);
	if (!s->writer->busy)
		ring_stop(s->writer->ring);
}

static void write_next(struct slot_io *s)
{
	struct writer *w = s->writer;
	const struct stamp_slot *slot;

	if (w->next >= w->map->n)
		return;
	slot = &w->map->slot[w->next];
	w->next += w->step;
	s->w = (struct write_io){
		.io = { .ring = w->ring, .file = &w->f->file, .verifier = &w->f->verifier,
			.done = slot_written },
		.offset = slot->offset,
		.count = slot->len,
		.buf = pool_borrow(w->pool, slot->len + 4096),
	};
	s->w.data = s->w.buf->base + slot->offset % 4096;
	stamp_fill((void *)s->w.data, slot, w->gen);
	w->busy++;
	write_start(&s->w);
}

static void *writer_thread(void *arg)
{
	struct slot_io s[DEPTH];
	struct writer *w = arg;

	w->ring = make_ring(w->engine, 0);
	w->pool = iofile_pool(w->ring, STAMP_MAX, DEPTH);
	w->next = w->first;
	for (int i = 0; i < DEPTH; i++) {
		s[i].writer = w;
		write_next(&s[i]);
	}
	if (w->busy)
		ring_run(w->ring, NULL, NULL);
	pool_free(w->pool);
	ring_free(w->ring);
	return NULL;
}

static void check_stamps(int fd, const struct stamp_map *m, unsigned gen, const char *how)
{
	static uint8_t buf[STAMP_MAX];

	for (unsigned i = 0; i < m->n; i++) {
		const struct stamp_slot *s = &m->slot[i];

		ck_assert_int_eq(pread(fd, buf, s->len, (off_t)s->offset), s->len);
		ck_assert_msg(stamp_check(buf, s, gen) < 0, "%s: slot %u at %llu, byte %ld", how, i,
			      (unsigned long long)s->offset, stamp_check(buf, s, gen));
	}
}

static atomic_bool reading;

/* Keeps pages, and by read-ahead large folios, coming back into the cache. */
static void *reader_thread(void *arg)
{
	static uint8_t buf[65536];
	uint64_t r = 1;

	while (atomic_load(&reading))
		ck_assert_int_ge(pread(*(int *)arg, buf, sizeof(buf),
				       (off_t)(stamp_random(&r) % STAMPED)), 0);
	return NULL;
}

/* BR-04: two threads, sixteen WRITEs each in flight, every neighbour the other's; a third reads. */
static void neighbours(const char *dir, unsigned engine, uint64_t seed)
{
	struct stamp_map map;
	struct iofile nf;
	pthread_t reader;

	rnd = seed;
	iofile_up(&nf, dir, 0);
	ck_assert_int_eq(stamp_map_init(&map, seed, STAMPED), 0);
	for (unsigned gen = 1; gen <= ROUNDS; gen++) {
		struct writer w[2];

		iofile_mode(&nf, DIO_MODE_DIRECT, (enum dio_rule)(gen % DIO_RULE_COUNT));
		atomic_store(&reading, true);
		ck_assert_int_eq(pthread_create(&reader, NULL, reader_thread, &nf.file.fd), 0);
		for (unsigned i = 0; i < 2; i++) {
			w[i] = (struct writer){ .f = &nf, .map = &map, .engine = engine, .first = i,
						.step = 2, .gen = gen };
			ck_assert_int_eq(pthread_create(&w[i].tid, NULL, writer_thread, &w[i]), 0);
		}
		for (int i = 0; i < 2; i++) {
			pthread_join(w[i].tid, NULL);
			ck_assert_uint_eq(w[i].failed, 0);
		}
		atomic_store(&reading, false);
		pthread_join(reader, NULL);
		check_stamps(nf.file.fd, &map, gen, "cached");
		ck_assert_int_eq(fsync(nf.file.fd), 0);
		ck_assert_int_eq(posix_fadvise(nf.file.fd, 0, 0, POSIX_FADV_DONTNEED), 0);
		check_stamps(nf.file.fd, &map, gen, "from disk");
	}
	stamp_map_fini(&map);
	iofile_down(&nf);
}

START_TEST(neighbouring_writes_of_two_threads_both_survive)
{
	if (fs_up[_i / 4])
		neighbours(_i < 4 ? NULL : fs[_i / 4].dir, (unsigned)_i / 2 % 2, seeds[_i % 2]);
}
END_TEST

/* --- a file system that fills up ------------------------------------------------ */

/*
 * BR-16: in every mode what is acknowledged before and at
 * the end is there; then NOSPC, told truthfully.
 */
START_TEST(a_full_file_system_loses_nothing_acknowledged)
{
	static uint8_t data[47008 + 4096] __attribute__((aligned(4096))), back[47008];
	uint64_t end = 1000;
	struct write_io w;
	int hog, err = 0;

	if (!fs_up[1])
		return;
	/* Leave about 3 MiB. */
	hog = open(fs[1].dir, O_TMPFILE | O_RDWR, 0600);
	ck_assert_int_ge(hog, 0);
	for (uint32_t step = 16 << 20; step >= 1 << 20; step /= 2)
		while (fallocate(hog, 0, lseek(hog, 0, SEEK_END), step) == 0)
			;
	ck_assert_int_eq(ftruncate(hog, lseek(hog, 0, SEEK_END) - (3 << 20)), 0);
	ring = make_ring(0, 0);
	iofile_up(&f, fs[1].dir, 0);
	for (int i = 0; i < 1000 && !err; i++) {
		uint8_t *p = data + end % 4096;

		iofile_mode(&f, (enum dio_mode)_i, DIO_RULE_PAGE);
		for (uint32_t k = 0; k < 47008; k++)
			p[k] = (uint8_t)((end + k) * 7 >> 3);
		w = (struct write_io){ .io = an_io(), .offset = end, .count = 47008, .data = p };
		write_start(&w);
		ring_run(ring, NULL, NULL);
		if (w.io.res < 0)
			err = w.io.res;
		else
			end += (uint64_t)w.io.res;
	}
	ck_assert_int_eq(err, -ENOSPC);
	ck_assert_uint_gt(f.verifier.bumps, 0);
	ck_assert_int_eq(fsync(f.file.fd), 0);
	ck_assert_int_eq(posix_fadvise(f.file.fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	for (uint64_t at = 1000; at < end; at += 47008) {
		uint32_t len = end - at < 47008 ? (uint32_t)(end - at) : 47008;

		ck_assert_int_eq(pread(f.file.fd, back, len, (off_t)at), len);
		for (uint32_t k = 0; k < len; k++)
			ck_assert_uint_eq(back[k], (uint8_t)((at + k) * 7 >> 3));
	}
	close(hog);
	iofile_down(&f);
	ring_free(ring);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("integrity");
	TCase *t = tcase_create("integrity");

	tcase_set_timeout(t, 240);
	tcase_add_loop_test(t, random_io_in_every_mode_and_rule_matches_the_model, 0, 20);
	tcase_add_loop_test(t, a_read_across_the_end_behind_a_split_write_gives_the_data, 0, 5);
	tcase_add_loop_test(t, neighbouring_writes_of_two_threads_both_survive, 0, 20);
	tcase_add_loop_test(t, a_full_file_system_loses_nothing_acknowledged, 0, 3);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	const char *why = NULL, *again = getenv("NFSD_IO_SEED"), *ops = getenv("INTEGRITY_OPS");
	int ret;

	seeds[0] = 20251104;
	seeds[1] =
		again ? strtoull(again, NULL, 0) : (uint64_t)time(NULL) * 1000 + (uint64_t)getpid();
	if (ops)
		nops = atoi(ops);
	printf("# NFSD_IO_SEED=%llu\n", (unsigned long long)seeds[1]);
	fs_up[0] = true;
	for (int i = 1; i < 5; i++) {
		fs_up[i] = loopfs_able(&why) && loopfs_up(&fs[i], fstypes[i]) == 0;
		if (!fs_up[i])
			printf("# no %s here%s%s\n", fstypes[i], why ? ": " : "", why ? why : "");
	}
	fflush(stdout);
	ret = unit_run(suite());
	for (int i = 1; i < 5; i++)
		if (fs_up[i])
			loopfs_down(&fs[i]);
	return ret;
}
