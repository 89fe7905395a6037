/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who a call acts as: uid, gid and supplementary groups after squashing.
 * Counted and immutable, so one may be shared by requests and threads.
 */
#ifndef CORE_CRED_H
#define CORE_CRED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cred {
	_Atomic unsigned refs;
	uint64_t key; /* hash over the rest; equal creds have equal keys */
	uid_t uid;
	gid_t gid;
	unsigned ngids;
	gid_t gids[];
};

/* A new counted identity, or NULL when memory is out.  `gids` is copied. */
struct cred *cred_new(uid_t uid, gid_t gid, const gid_t *gids, unsigned ngids);
struct cred *cred_get(struct cred *c);
void cred_put(struct cred *c); /* NULL is fine */
bool cred_equal(const struct cred *a, const struct cred *b);
bool cred_in_group(const struct cred *c, gid_t gid);

/*
 * May this process act as others (CAP_SETUID and CAP_SETGID)?
 * When not, cred_assume() changes nothing.
 */
bool cred_switchable(void);

/*
 * Is the server root with CAP_DAC_OVERRIDE, and may it act as others?  Then
 * mode bits and ACLs alone say what anybody else may do.
 */
bool cred_overrides(void);

/*
 * Take on `c` for the file system calls of this thread only (raw setgroups,
 * setfsgid, setfsuid); NULL is the server itself.  Remembers what the thread
 * has, so that repeating costs nothing.  0 or -errno; on failure the thread
 * is the server again.
 */
int cred_assume(const struct cred *c);

#endif
