/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rival HOST PORT DIR FILE STATUS: another client wants the lock another has.  Opens DIR/FILE and
 * asks for a write lock on all of it, again while the answer is GRACE or DELAY; what came at last
 * must be STATUS: 0 or 10010 (DENIED).  It prints what it was told.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/v4c.h"

#define TRIES 600
#define WAIT_MS 100

static struct v4c c;
static stateid4 open_id;

static bool again(uint32_t status)
{
	return status == NFS4ERR_GRACE || status == NFS4ERR_DELAY;
}

static void walk_to(char *dir)
{
	char *save = NULL;

	v4c_begin(&c);
	v4c_putrootfh(&c);
	for (char *name = strtok_r(dir, "/", &save); name; name = strtok_r(NULL, "/", &save))
		v4c_lookup(&c, name);
}

static uint32_t open_file(const char *dir, const char *file)
{
	char *path = strdup(dir);
	uint32_t status;

	walk_to(path);
	v4c_opens(&c, "rival", 5, 0, file, OPEN4_SHARE_ACCESS_BOTH, OPEN4_SHARE_DENY_NONE, false);
	status = v4c_run(&c);
	if (!status)
		open_id = v4c_res(&c, OP_OPEN)->nfs_resop4_u.opopen.OPEN4res_u.resok4.stateid;
	free(path);
	return status;
}

static uint32_t lock_file(const char *dir, const char *file)
{
	char *path = strdup(dir);
	LOCK4args *a;
	uint32_t status;

	walk_to(path);
	v4c_lookup(&c, file);
	a = &v4c_op(&c, OP_LOCK)->nfs_argop4_u.oplock;
	a->locktype = WRITE_LT;
	a->length = UINT64_MAX;
	a->locker.new_lock_owner = true;
	a->locker.locker4_u.open_owner.open_stateid = open_id;
	a->locker.locker4_u.open_owner.lock_owner.clientid = c.clientid;
	a->locker.locker4_u.open_owner.lock_owner.owner.owner_len = 5;
	a->locker.locker4_u.open_owner.lock_owner.owner.owner_val = (char *)"rival";
	status = v4c_run(&c);
	free(path);
	return status;
}

/* Until it is neither GRACE nor DELAY. */
static uint32_t insist(uint32_t (*ask)(const char *, const char *), const char *dir,
		       const char *file)
{
	uint32_t status = ask(dir, file);

	for (unsigned i = 0; i < TRIES && again(status); i++) {
		poll(NULL, 0, WAIT_MS);
		status = ask(dir, file);
	}
	return status;
}

/* Nothing stays behind that a restarted server would have to wait for. */
static void leave(const char *dir, const char *file)
{
	char *path = strdup(dir);
	CLOSE4args *a;

	walk_to(path);
	v4c_lookup(&c, file);
	a = &v4c_op(&c, OP_CLOSE)->nfs_argop4_u.opclose;
	a->open_stateid = open_id;
	v4c_run(&c); /* with its locks */
	free(path);
	v4c_begin_bare(&c);
	memcpy(v4c_op(&c, OP_DESTROY_SESSION)->nfs_argop4_u.opdestroy_session.dsa_sessionid,
	       c.sessionid, sizeof(c.sessionid));
	v4c_run(&c);
	v4c_begin_bare(&c);
	v4c_op(&c, OP_DESTROY_CLIENTID)->nfs_argop4_u.opdestroy_clientid.dca_clientid = c.clientid;
	printf("left: %u\n", v4c_run(&c));
	v4c_close(&c);
}

int main(int argc, char **argv)
{
	uint32_t status;
	char owner[32];

	if (argc != 6) {
		fprintf(stderr, "usage: rival HOST PORT DIR FILE STATUS\n");
		return 2;
	}
	snprintf(owner, sizeof(owner), "rival %ld", (long)getpid());
	if (v4c_open(&c, argv[1], atoi(argv[2]), 1) || v4c_hello(&c, owner)) {
		printf("no session\n");
		return 1;
	}
	status = insist(open_file, argv[3], argv[4]);
	printf("OPEN: %u\n", status);
	if (!status) {
		status = insist(lock_file, argv[3], argv[4]);
		printf("LOCK: %u\n", status);
	}
	leave(argv[3], argv[4]);
	return status != strtoul(argv[5], NULL, 10);
}
