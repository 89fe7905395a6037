/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Owners on the wire of NFSv4 (RFC 8881 s.5.9).  Told as numbers, which AUTH_SYS clients of all
 * kinds take, or as name@domain; understood as numbers and as names of this server's users.
 * Wherever a map is taken, NULL is the one that tells numbers.
 */
#ifndef PROTO_IDMAP_H
#define PROTO_IDMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsd-io/proto/hostdb.h"

#define IDMAP_MAX 128 /* bytes of a text told, at most: what Linux takes */

struct idmap;

/* An owner as it is told; not terminated. */
struct idmap_text {
	uint32_t len;
	char text[IDMAP_MAX];
};

/* `domain` is copied.  0 or -errno. */
int idmap_new(struct idmap **out, const char *domain);
void idmap_free(struct idmap *m);
/* Forget the names found so far (reload).  Any thread. */
void idmap_flush(struct idmap *m);

/*
 * The text for `id`: name@domain, or its number when the host has no name for it that can be
 * told.  What was found is kept for ten minutes, for one when there is no name; while one thread
 * asks again the others go on with the old text.  0, or -EAGAIN: it must be looked up, which
 * blocks, and `may_block` is not set.  `now_s`: a monotonic clock.  Any thread.
 */
int idmap_tell(struct idmap *m, enum hostdb db, uint32_t id, bool may_block, uint64_t now_s,
	       struct idmap_text *out);
/*
 * The number `text` stands for.  Names are looked up, which blocks: offload threads.  With a map a
 * name must be of its domain; without, what follows "@" does not matter.  0; -EINVAL: empty;
 * -ENOENT: nobody's (NFS4ERR_BADOWNER); -EAGAIN: cannot be said now.
 */
int idmap_understand(const struct idmap *m, enum hostdb db, const char *text, uint32_t len,
		     uint32_t *id);

#endif
