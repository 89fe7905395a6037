/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * churn HOST PORT DIR SECONDS: clients that come, open, lock, write and go, or go silent, all over
 * the same few files, at a server whose lease is a second.  What each call answers depends on the
 * others; that there is an answer, and that in the end a newcomer gets everything, does not.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4owner.h"

#define CLIENTS 6
#define FILES 3

static const char *host, *dir;
static int port;
static struct v4c_fh root;

static uint32_t chance(unsigned *seed, uint32_t n)
{
	return (uint32_t)rand_r(seed) % n;
}

/* A client of any version under one of a few names, so that they also meet themselves. */
static bool come(struct v4c *c, unsigned *seed)
{
	char owner[16], verf[9];
	uint32_t minor = chance(seed, 3), st;

	if (v4c_open(c, host, port, minor))
		return false;
	snprintf(owner, sizeof(owner), "churn %u.%u", minor, chance(seed, CLIENTS));
	snprintf(verf, sizeof(verf), "%08u", chance(seed, 3));
	if (!minor)
		st = v4c_setclientid(c, owner, verf);
	else
		st = v4c_hello(c, owner);
	return st != V4C_BROKEN;
}

static void anonymous_write(struct v4c *c, const struct v4c_fh *fh)
{
	v4c_begin(c);
	v4c_putfh(c, fh);
	v4c_write(c, &v4c_anonymous, 0, UNSTABLE4, "anonymous", 9);
	v4c_run(c);
}

/* One life: false when the server gave no answer. */
static bool live(unsigned *seed)
{
	struct v4owner w = {"opener", 1}, k = {"locker", 1};
	uint32_t n, acts = 2 + chance(seed, 10), st;
	char name[8];
	struct v4c c;
	bool good = come(&c, seed);

	for (n = 0; good && n < acts; n++) {
		struct v4open o = {.access = 1 + chance(seed, 3),
				   .deny = chance(seed, 6) ? 0 : 2,
				   .create = true,
				   .set_mode = true,
				   .mode = 0666};
		struct v4lock l = {.type = chance(seed, 2) ? READ_LT : WRITE_LT,
				   .offset = chance(seed, 50),
				   .length = 10};

		snprintf(name, sizeof(name), "f%u", chance(seed, FILES));
		st = v4owner_open(&c, &w, &root, name, &o);
		good = st != V4C_BROKEN;
		if (st)
			continue;
		v4lock_new(&c, &w, &o.fh, &o.id, &k, &l);
		anonymous_write(&c, &o.fh);
		if (chance(seed, 3))
			v4owner_close(&c, &w, &o.fh, &o.id);
		good = c.err == 0;
	}
	if (good && !chance(seed, 8))
		poll(NULL, 0, 1500); /* longer than a lease, and then it goes on */
	v4c_close(&c);
	return good;
}

static int churn(unsigned seed, time_t end)
{
	unsigned lives = 0;

	while (time(NULL) < end) {
		if (!live(&seed))
			return 1;
		lives++;
	}
	return lives ? 0 : 2;
}

/* All that the others left gives way. */
static uint32_t get_everything(struct v4c *c, struct v4open *o, struct v4owner *w, const char *name)
{
	time_t end = time(NULL) + 20;
	uint32_t st;

	do
		st = v4owner_open(c, w, &root, name, o);
	while ((st == NFS4ERR_SHARE_DENIED || st == NFS4ERR_DELAY || st == NFS4ERR_GRACE) &&
	       !poll(NULL, 0, 100) && time(NULL) < end);
	return st;
}

static void newcomer(void)
{
	struct v4owner w = {"newcomer", 1};
	struct v4c c;
	unsigned i;

	v4c_open(&c, host, port, 1);
	tap_is(v4c_hello(&c, "newcomer"), NFS4_OK, "a newcomer");
	for (i = 0; i < FILES; i++) {
		struct v4open o = {
			.access = 3, .deny = 3, .create = true, .set_mode = true, .mode = 0666};
		char name[8];

		snprintf(name, sizeof(name), "f%u", i);
		tap_is(get_everything(&c, &o, &w, name), NFS4_OK, name);
	}
	v4c_close(&c);
}

int main(int argc, char **argv)
{
	int i, status, good = 0;
	struct v4c c;
	time_t end;

	if (argc != 5)
		return 2;
	host = argv[1];
	port = atoi(argv[2]);
	dir = argv[3];
	end = time(NULL) + atoi(argv[4]);
	if (v4c_open(&c, host, port, 1) || v4c_mount(&c, dir, &root))
		return 1;
	v4c_close(&c);
	fflush(stdout);
	for (i = 0; i < CLIENTS; i++)
		if (!fork())
			_exit(churn((unsigned)i + 1, end));
	while (wait(&status) > 0)
		good += WIFEXITED(status) && !WEXITSTATUS(status);
	tap_is(good, CLIENTS, "every call of every client is answered");
	newcomer();
	return tap_done();
}
