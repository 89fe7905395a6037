/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * File handles on the wire: at most 64 bytes (NFSv3), opaque, stable across
 * restart and remount, and signed (SipHash-2-4, as Linux nfsd's sign_fh), so
 * that one forged, altered or moved to another export answers STALE.
 *
 *   ver 1 | kind 1 | klen 1 | ktype 1 | root id 4 | fskey 8 | kernel handle klen | MAC 8
 */
#ifndef CORE_HANDLE_H
#define CORE_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "nfsd-io/core/root.h"

#define HANDLE_MAX 64 /* NFS3_FHSIZE */
#define HANDLE_KERNEL_MAX (HANDLE_MAX - 24)

struct fh {
	uint8_t len; /* bytes */
	uint8_t data[HANDLE_MAX];
};

/* HANDLE_PSEUDO: a node of NFSv4's pseudo file system, of no root; kdata is its number. */
enum handle_kind { HANDLE_ROOT = 0, HANDLE_FILE = 1, HANDLE_PSEUDO = 2 };

/* What a verified handle says. */
struct handle_parts {
	enum handle_kind kind;
	uint32_t root_id;
	uint8_t fskey[8];
	int ktype;	 /* handle_type of name_to_handle_at */
	unsigned klen;
	uint8_t kdata[HANDLE_KERNEL_MAX];
};

struct handle_key;
struct statx;

#define HANDLE_KEY_LEN 16

/*
 * 16 secret bytes; NULL path = random, gone with the process.  A missing file
 * is made (0600, synced).  -EPERM: readable by others or not ours; -EINVAL:
 * not 16 bytes; else -errno.  handle_key_why() puts that in words.
 */
int handle_key_load(struct handle_key **out, const char *path);
const char *handle_key_why(int err);
int handle_key_new(struct handle_key **out, const uint8_t secret[HANDLE_KEY_LEN]);
void handle_key_free(struct handle_key *k);

/* Any thread.  -EOVERFLOW when the kernel handle is too long. */
int handle_encode(const struct handle_key *k, const struct handle_parts *p, struct fh *out);
/* -EBADMSG: not one of ours (NFS3ERR_BADHANDLE); -ESTALE: wrong MAC.  Constant-time compare. */
int handle_decode(const struct handle_key *k, const uint8_t *data, unsigned len,
		  struct handle_parts *out);

/*
 * The handle of the object open as `fd` (any kind of fd) under
 * root `r`; root's own directory gives HANDLE_ROOT.
 */
int handle_of(const struct handle_key *k, struct root *r, int fd, struct fh *out);
/* As handle_of for a just resolved name, when path mode must learn (parent, name). */
int handle_of_child(const struct handle_key *k, struct root *r, int dirfd, const char *name, int fd,
		    struct fh *out);
/*
 * The handle of the object with the attributes `x` (asked for with HANDLE_MEMO_MASK), when
 * handle_note() was told of it before; any thread, no system call.  The latter: of one descriptor.
 */
bool handle_recall(const struct handle_key *k, const struct root *r, const struct statx *x,
		   struct fh *out);
void handle_note(const struct root *r, const struct statx *x, const struct fh *fh);
/*
 * Attributes (basic ones and birth) and handle of what `name` in `dirfd` is, as whoever the thread
 * is, by a single system call.  False: not to be told that way; it takes object_lookup().
 */
bool handle_glance(const struct handle_key *k, const struct root *r, int dirfd, const char *name,
		   struct statx *x, struct fh *out);
/*
 * O_PATH descriptor of the object, or -ESTALE (gone, other root or file
 * system).  Server's own identity; blocks.  `p` must belong to `r`.
 */
int handle_open(struct root *r, const struct handle_parts *p);

/*
 * What the caller just did to a name, so that path mode (pathmap.h) finds the
 * object where it is now; no-ops otherwise.  Call after the rename or removal
 * succeeded.  Directories by any kind of descriptor.
 */
void handle_names_lock(struct root *r); /* around the rename and its note */
void handle_names_unlock(struct root *r);
void handle_note_rename(struct root *r, int olddir, const char *oldname, int newdir,
			const char *newname);
void handle_note_remove(struct root *r, int dirfd, const char *name);

#endif
