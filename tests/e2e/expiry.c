/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * expiry HOST PORT DIR: what a client that went silent held gives way to
 * others, and not before its lease is over.  The server's lease is a few seconds.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4owner.h"

#define PATIENCE_S 30
#define PAUSE_MS 50

static struct v4c silent, active;
static struct v4c_fh root;
static struct v4owner w = {"silent", 1}, k = {"locker", 0}, v = {"active", 1}, l = {"locker", 0};
static struct v4open o = {.access = 3, .deny = 2, .create = true, .set_mode = true, .mode = 0666};
static struct v4lock held = {.type = WRITE_LT, .offset = 0, .length = 10},
		     wanted = {.type = READ_LT, .length = 5};

static bool patient(time_t end)
{
	return !poll(NULL, 0, PAUSE_MS) && time(NULL) < end;
}

/* Until it is no longer denied: the last status. */
static uint32_t open_at_last(struct v4open *p)
{
	time_t end = time(NULL) + PATIENCE_S;
	uint32_t st;

	do
		st = v4owner_open(&active, &v, &root, "f", p);
	while (st == NFS4ERR_SHARE_DENIED && patient(end));
	return st;
}

static uint32_t lock_at_last(const struct v4open *p)
{
	time_t end = time(NULL) + PATIENCE_S;
	uint32_t st;

	do
		st = v4lock_new(&active, &v, &p->fh, &p->id, &l, &wanted);
	while (st == NFS4ERR_DENIED && patient(end));
	return st;
}

static void shares(void)
{
	struct v4open p = {.access = 2};

	tap_is(v4owner_open(&silent, &w, &root, "f", &o), NFS4_OK, "writing is denied by a client");
	tap_is(v4owner_open(&active, &v, &root, "f", &p), NFS4ERR_SHARE_DENIED, "to another");
	tap_is(open_at_last(&p), NFS4_OK, "until it has been silent for a lease");
	tap_is(v4owner_close(&silent, &w, &o.fh, &o.id), NFS4ERR_EXPIRED,
	       "whose open is gone then");
	tap_is(v4owner_close(&active, &v, &p.fh, &p.id), NFS4_OK, "closed");
}

/* Without an open of its own the other waits too: it is told to come back. */
static void special(void)
{
	time_t end = time(NULL) + PATIENCE_S;
	uint32_t st;

	tap_is(v4c_setclientid(&silent, "silent", "verifie1"), NFS4_OK, "it comes back");
	w = (struct v4owner){"silent", 1};
	tap_is(v4owner_open(&silent, &w, &root, "f", &o), NFS4_OK, "and denies writing again");
	do {
		v4c_begin(&active);
		v4c_putfh(&active, &o.fh);
		v4c_write(&active, &v4c_anonymous, 0, FILE_SYNC4, "data", 4);
		st = v4c_run(&active);
	} while ((st == NFS4ERR_LOCKED || st == NFS4ERR_DELAY) && patient(end));
	tap_is(st, NFS4_OK,
	       "a WRITE by the anonymous stateid is let through when its lease is over");
	tap_is(v4owner_close(&silent, &w, &o.fh, &o.id), NFS4ERR_EXPIRED,
	       "whose open is gone then");
}

static void locks(void)
{
	struct v4open p = {.access = 3};

	tap_is(v4c_setclientid(&silent, "silent", "verifie2"), NFS4_OK, "it comes back");
	w = (struct v4owner){"silent", 1};
	o.deny = 0;
	tap_is(v4owner_open(&silent, &w, &root, "f", &o), NFS4_OK, "opens");
	tap_is(v4lock_new(&silent, &w, &o.fh, &o.id, &k, &held), NFS4_OK, "and locks");
	tap_is(v4owner_open(&active, &v, &root, "f", &p), NFS4_OK, "as the other opens");
	tap_is(v4lock_new(&active, &v, &p.fh, &p.id, &l, &wanted), NFS4ERR_DENIED,
	       "which may not lock");
	tap_is(lock_at_last(&p), NFS4_OK, "until the first was silent for a lease");
	tap_is(v4lock_free(&silent, &k, &o.fh, &held.id, 0, 10), NFS4ERR_EXPIRED,
	       "whose lock is gone then");
}

int main(int argc, char **argv)
{
	if (argc != 4 || v4c_open(&silent, argv[1], atoi(argv[2]), 0) ||
	    v4c_open(&active, argv[1], atoi(argv[2]), 1))
		return 1;
	tap_is(v4c_mount(&silent, argv[3], &root), 0, "the export's root");
	tap_is(v4c_setclientid(&silent, "silent", "verifier"), NFS4_OK, "a client of 4.0");
	tap_is(v4c_hello(&active, "active"), NFS4_OK, "and one of 4.1");
	shares();
	special();
	locks();
	v4c_close(&silent);
	v4c_close(&active);
	return tap_done();
}
