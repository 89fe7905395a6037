/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads of clients create, rename and remove the same few names: each reply
 * speaks of one object (the handle's fileid is the attributes' fileid), no call
 * breaks the connection.  Usage: race HOST PORT PATH SECONDS SEED
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/lib/stamp.h"
#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

#define THREADS 8
#define NAMES 16

static char **args;
static time_t end;
static atomic_uint calls, mixed, broken, odd;

static void note(struct v3c *c)
{
	calls++;
	switch (c->r.status) {
	case NFS3_OK:
	case NFS3ERR_NOENT:
	case NFS3ERR_EXIST:
	case NFS3ERR_STALE:
	case NFS3ERR_JUKEBOX:
		break;
	case V3C_BROKEN:
		broken++;
		break;
	default:
		odd++;
		printf("# status %d\n", c->r.status);
	}
}

/* The handle and the attributes of the last reply are of one file. */
static void same_object(struct v3c *c)
{
	struct v3c_result r = c->r;

	if (r.status || !r.has_fh || !r.has_attr)
		return;
	if (!v3c_getattr(c, &r.fh))
		mixed += c->r.attr.fileid != r.attr.fileid;
	note(c);
}

static void *play(void *arg)
{
	uint64_t seed = strtoull(args[5], NULL, 0) + (uintptr_t)arg;
	sattr3 mode = v3c_mode(0644);
	struct v3c c;

	if (v3c_open(&c, args[1], atoi(args[2]), 0, 0, 0, NULL) || v3c_mnt(&c, args[3])) {
		broken++;
		return NULL;
	}
	while (time(NULL) < end && !broken) {
		char a[8], b[8];

		snprintf(a, sizeof a, "n%u", (unsigned)(stamp_random(&seed) % NAMES));
		snprintf(b, sizeof b, "n%u", (unsigned)(stamp_random(&seed) % NAMES));
		switch (stamp_random(&seed) % 5) {
		case 0:
			v3c_create(&c, &c.root, a, UNCHECKED, &mode, NULL);
			break;
		case 1:
			v3c_create(&c, &c.root, a, GUARDED, &mode, NULL);
			break;
		case 2:
			v3c_rename(&c, &c.root, a, &c.root, b);
			break;
		case 3:
			v3c_remove(&c, &c.root, a);
			break;
		default:
			v3c_lookup(&c, &c.root, a);
		}
		note(&c);
		same_object(&c);
	}
	v3c_close(&c);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	if (argc != 6)
		return 2;
	args = argv;
	end = time(NULL) + atoi(argv[4]);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, play, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	tap_ok(!broken, "no connection breaks in %u calls (seed %s)", (unsigned)calls, argv[5]);
	tap_ok(!mixed, "every reply speaks of one object (%u did not)", (unsigned)mixed);
	tap_ok(!odd, "no status but OK, NOENT, EXIST, STALE (%u others)", (unsigned)odd);
	return tap_done();
}
