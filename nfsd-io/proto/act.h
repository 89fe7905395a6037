/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What procedures do to names, whatever the version that asked: the system
 * calls, in whose name, and stable before the reply on sync exports.  Knows no
 * wire format and no status.  Offload threads, with r->cred known; -errno.
 *
 * Who the thread is: everything but act_stable() and act_finish() begins as
 * the caller (act_as_caller()); the making acts end as they began unless they
 * fail, the others end as the server.  The procedure undoes it at its end.
 */
#ifndef PROTO_ACT_H
#define PROTO_ACT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nfsd-io/proto/req.h"
#include "nfsd-io/proto/sattr.h"

/* Act as the caller from here on. */
int act_as_caller(struct req *r);
/* On a sync export make `fd`'s metadata stable, as the server. */
int act_stable(struct req *r, int fd);
/*
 * Open again what `fd` names, for calls that refuse O_PATH
 * descriptors: through /proc, as whoever the thread is.
 */
void act_proc_path(char out[32], int fd);

/*
 * A new name in the directory r->file: a descriptor (of any kind, taken by the caller) of what was
 * made and given its attributes, but for the size.
 */
int act_mkdir(struct req *r, const char *name, const struct sattr *a);
int act_symlink(struct req *r, const char *name, const char *target, const struct sattr *a);
/* `type`: S_IFCHR, S_IFBLK (root only), S_IFSOCK, S_IFIFO. */
int act_mknod(struct req *r, const char *name, mode_t type, dev_t dev, const struct sattr *a);

enum act_how {
	/*
	 * take what is there; only the size applies to it, as
	 * every client expects of O_CREAT|O_TRUNC
	 */
	ACT_UNCHECKED,
	ACT_GUARDED,   /* -EEXIST */
	ACT_EXCLUSIVE, /* -EEXIST unless it has the same verifier */
};

/* A regular file to be there. */
struct act_create {
	enum act_how how;
	const struct sattr *attrs; /* ACT_EXCLUSIVE: may be NULL; no times then */
	const uint8_t *verf;	   /* 8 bytes; ACT_EXCLUSIVE */
	/* ACT_UNCHECKED: the caller sees to the size of what was there */
	bool leave_size;
	/* told: it was there already (ACT_EXCLUSIVE: by an earlier call of the same) */
	bool existed;
};
/* As the above; may end as the server. */
int act_create(struct req *r, const char *name, struct act_create *c);

/*
 * As the server: what was made in r->file, and r->file, are
 * stable; its handle.  fh->len 0: it has none.
 */
int act_finish(struct req *r, const char *name, int fd, struct fh *fh);

/* `flags` of unlinkat(). */
int act_remove(struct req *r, struct file *dir, const char *name, int flags);
int act_rename(struct req *r, struct file *olddir, const char *from, struct file *newdir,
	       const char *to);
int act_link(struct req *r, struct file *f, struct file *dir, const char *name);

#endif
