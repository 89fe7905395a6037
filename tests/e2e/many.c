/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * More files than the server may have open: all written, then read round
 * robin, answered OK or (rarely, then again) JUKEBOX, never anything else.
 * Usage: many HOST PORT PATH FILES
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v3c.h"

static struct v3c c;
static unsigned delays;

/* JUKEBOX means: later. */
static int io(const struct v3c_fh *f, unsigned i, bool writing)
{
	char text[16], back[16] = "";
	int status = NFS3ERR_JUKEBOX;

	snprintf(text, sizeof text, "file %u", i);
	for (int tries = 0; tries < 100 && status == NFS3ERR_JUKEBOX; tries++) {
		if (tries) {
			delays++;
			poll(NULL, 0, 20);
		}
		status = writing ? v3c_write(&c, f, 0, sizeof text, UNSTABLE, text)
				 : v3c_read(&c, f, 0, sizeof back, back);
	}
	if (!status && !writing && strcmp(text, back))
		status = V3C_BROKEN;
	return status;
}

int main(int argc, char **argv)
{
	sattr3 mode = v3c_mode(0644);
	struct v3c_fh *f;
	unsigned n, bad = 0;

	if (argc != 5)
		return 2;
	n = atoi(argv[4]);
	f = calloc(n, sizeof *f);
	if (!f || v3c_open(&c, argv[1], atoi(argv[2]), 0, 0, 0, NULL) || v3c_mnt(&c, argv[3]))
		return !tap_ok(false, "connect and mount") && tap_done();
	for (unsigned i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof name, "many%u", i);
		bad += v3c_create(&c, &c.root, name, UNCHECKED, &mode, NULL) != NFS3_OK;
		f[i] = c.r.fh;
		bad += io(&f[i], i, true) != NFS3_OK;
	}
	tap_ok(!bad, "%u files are created and written (%u failures, %u delays)", n, bad, delays);
	bad = delays = 0;
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < n; i++)
			bad += io(&f[i], i, false) != NFS3_OK;
	tap_ok(!bad, "and read round robin, twice (%u failures, %u delays)", bad, delays);
	for (unsigned i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof name, "many%u", i);
		v3c_remove(&c, &c.root, name);
	}
	v3c_close(&c);
	free(f);
	return tap_done();
}
