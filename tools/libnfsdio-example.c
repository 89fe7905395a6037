/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libnfsdio in a whole program: copies a file with four WRITEs in flight, makes the copy
 * stable by one COMMIT, starts over when the verifier says that something was lost on
 * the way, and tells which decisions the writing took.
 *
 *	cc libnfsdio-example.c $(pkg-config --cflags --libs nfsdio) -o libnfsdio-example
 *	libnfsdio-example SOURCE DESTINATION [RECORD-BYTES]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nfsdio.h>

#define DEPTH 4
#define MAX_RECORD (1u << 20)

/* One buffer, and what became of the operation it is for. */
struct slot {
	uint8_t *mem;
	sem_t over;
	struct nfsdio_result r;
};

static struct nfsdio *n;
static struct nfsdio_file *from, *to;
static struct slot slot[DEPTH];

/* On one of the library's threads: it must not block. */
static void on_done(void *arg, const struct nfsdio_result *r)
{
	struct slot *s = arg;

	s->r = *r;
	sem_post(&s->over);
}

static int finish(struct slot *s)
{
	while (sem_wait(&s->over) < 0)
		;
	return s->r.res;
}

/*
 * A WRITE is carried out without a copy where memory and offset agree within a page: hence the
 * shift.  A short result is a device that is full or failing; the error comes with the next try.
 */
static int copy_record(struct slot *s, uint64_t offset, uint32_t record, bool *busy)
{
	uint8_t *mem = s->mem + offset % 4096;
	int got = nfsdio_read(from, mem, record, offset, on_done, s);

	if (got == 0)
		got = finish(s);
	*busy = got > 0;
	if (got <= 0)
		return got;
	return nfsdio_write(to, mem, (uint32_t)got, offset, NFSDIO_UNSTABLE, on_done, s);
}

/* 0, -errno, or 1: the verifier changed on the way, so some of it may be lost. */
static int copy(uint32_t record)
{
	uint64_t verifier = nfsdio_verifier(n), offset = 0;
	bool busy[DEPTH] = { false }, changed = false;
	int ret = 0;

	for (unsigned i = 0;; i = (i + 1) % DEPTH, offset += record) {
		if (busy[i]) {
			int res = finish(&slot[i]);

			ret = res < 0 ? res : ret;
			changed |= slot[i].r.verifier != verifier;
			busy[i] = false;
		}
		if (ret < 0)
			break;
		ret = copy_record(&slot[i], offset, record, &busy[i]);
		if (!busy[i])
			break;
	}
	for (unsigned i = 0; i < DEPTH; i++) {
		if (busy[i] && finish(&slot[i]) < 0)
			ret = slot[i].r.res;
		changed |= busy[i] && slot[i].r.verifier != verifier;
	}
	if (ret < 0)
		return ret;
	ret = nfsdio_commit(to, 0, 0, on_done, &slot[0]);
	if (ret == 0)
		ret = finish(&slot[0]);
	return ret < 0 ? ret : changed || slot[0].r.verifier != verifier;
}

static void tell(void)
{
	struct nfsdio_stats s;

	nfsdio_file_stats(to, &s);
	printf("%s\n%" PRIu64 " bytes written:", nfsdio_engine(n), s.payload[NFSDIO_WRITE]);
	for (unsigned i = 0; nfsdio_decision_name(i); i++)
		if (s.ops[NFSDIO_WRITE][i])
			printf(" %" PRIu64 " %s", s.ops[NFSDIO_WRITE][i], nfsdio_decision_name(i));
	printf("\n");
}

static int start(const char *source, const char *destination)
{
	int ret = nfsdio_new(&n, NULL);

	if (ret == 0)
		ret = nfsdio_file_open(n, &from, source, O_RDONLY, 0, NULL);
	if (ret == 0)
		ret = nfsdio_file_open(n, &to, destination, O_RDWR | O_CREAT | O_TRUNC, 0666, NULL);
	for (unsigned i = 0; i < DEPTH && ret == 0; i++) {
		sem_init(&slot[i].over, 0, 0);
		slot[i].mem = aligned_alloc(4096, MAX_RECORD + 4096);
		if (!slot[i].mem)
			ret = -ENOMEM;
	}
	return ret;
}

int main(int argc, char **argv)
{
	uint32_t record = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 0) : MAX_RECORD;
	int ret;

	if (argc < 3 || argc > 4 || record == 0 || record > MAX_RECORD) {
		fprintf(stderr, "usage: %s SOURCE DESTINATION [RECORD-BYTES]\n", argv[0]);
		return 2;
	}
	ret = start(argv[1], argv[2]);
	if (ret == 0)
		while ((ret = copy(record)) > 0)
			fprintf(stderr, "the verifier changed: once more\n");
	if (ret < 0)
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-ret));
	else
		tell();
	nfsdio_file_close(from);
	nfsdio_file_close(to);
	nfsdio_free(n);
	for (unsigned i = 0; i < DEPTH; i++)
		free(slot[i].mem);
	return ret < 0;
}
