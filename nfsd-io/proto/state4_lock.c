/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Byte-range locks (RFC 8881 s.9.1-9.6).  Our ranges decide between NFSv4
 * owners; each lock stateid has a file description of its own whose OFD locks
 * mirror its ranges, so that processes of this machine see them and are seen.
 * One lock operation of a file talks to the kernel at a time, without the lock.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/core/object.h"
#include "nfsd-io/proto/state4_held.h"
#include "nfsd-io/proto/status.h"
#include "nfsd-io/proto/v4.h"

static struct state4_open *by_file(struct state4_link *l)
{
	return container_of(l, struct state4_open, of_file);
}

static void conflict_of(const struct state4_open *o, const struct state4_range *g,
			struct state4_conflict *out)
{
	out->range = *g;
	out->client = state4_client_id(o->owner->client);
	out->name = malloc(o->owner->len + 1);
	out->len = out->name ? o->owner->len : 0;
	if (out->len)
		memcpy(out->name, o->owner->name, out->len);
}

uint32_t state4_lock_test(struct state4 *s, const struct state4_file *f,
			  const struct state4_owner *w, const struct state4_range *g,
			  struct state4_conflict *out, struct state4_client **courtesy)
{
	(void)s;
	for (struct state4_link *l = f->opens.next; l != &f->opens; l = l->next) {
		const struct state4_open *o = by_file(l);
		const struct state4_range *hit;

		if (!o->lock || o->owner == w)
			continue;
		hit = state4_ranges_conflict(&o->ranges, g->first, g->last, g->write);
		if (!hit)
			continue;
		if (courtesy && state4_client_courtesy(o->owner->client)) {
			*courtesy = state4_client_get(o->owner->client);
			return NFS4ERR_DENIED;
		}
		conflict_of(o, hit, out);
		return NFS4ERR_DENIED;
	}
	return NFS4_OK;
}

/* --- the kernel's --- */

/* The kernel has 63 bits; what lies beyond is between our owners only. */
static bool kernel_range(const struct state4_range *g, struct flock *l)
{
	uint64_t last = g->last > INT64_MAX ? INT64_MAX : g->last;

	if (g->first > INT64_MAX)
		return false;
	*l = (struct flock){
		.l_whence = SEEK_SET,
		.l_start = (off_t)g->first,
		/* 0: to the end of any file. */
		.l_len = last == INT64_MAX ? 0 : (off_t)(last - g->first + 1),
	};
	return true;
}

/* File systems without such locks, and files open for less than the lock wants. */
static bool not_mirrored(int err)
{
	return err == ENOSYS || err == EOPNOTSUPP || err == EINVAL || err == EBADF;
}

static uint32_t ask_kernel(int fd, const struct state4_range *g, struct state4_conflict *out)
{
	struct flock l;

	if (!kernel_range(g, &l))
		return NFS4_OK;
	l.l_type = g->write ? F_WRLCK : F_RDLCK;
	if (fcntl(fd, F_OFD_GETLK, &l))
		return not_mirrored(errno) ? NFS4_OK : status_nfs4(-errno);
	if (l.l_type == F_UNLCK)
		return NFS4_OK;
	*out = (struct state4_conflict){
		.range = {(uint64_t)l.l_start,
			  l.l_len ? (uint64_t)l.l_start + (uint64_t)l.l_len - 1 : UINT64_MAX,
			  l.l_type == F_WRLCK},
	};
	return NFS4ERR_DENIED;
}

uint32_t state4_lock_local(struct file *file, struct state4_open *mine,
			   const struct state4_range *g, struct state4_conflict *out)
{
	uint32_t st;
	int fd;

	/* Asked through its own description, its own locks do not stand in its way. */
	if (mine && mine->fd >= 0)
		return ask_kernel(mine->fd, g, out);
	fd = object_reopen(file->path_fd, O_RDONLY);
	if (fd < 0)
		return status_nfs4(fd);
	st = ask_kernel(fd, g, out);
	close(fd);
	return st;
}

/* The mirror's description: writable where possible, for locks of both kinds. */
static int mirror_open(struct state4_open *o)
{
	int fd;

	if (o->fd >= 0)
		return 0;
	fd = object_reopen(o->file->path_fd, O_RDWR);
	if (fd < 0)
		fd = object_reopen(o->file->path_fd, O_RDONLY);
	if (fd < 0)
		return fd;
	o->fd = fd;
	return 0;
}

static uint32_t mirror(struct state4_open *o, const struct state4_range *g,
		       enum state4_lock_kind kind, struct state4_conflict *out)
{
	static const short type[] = {
		[STATE4_UNLOCK] = F_UNLCK,
		[STATE4_LOCK_READ] = F_RDLCK,
		[STATE4_LOCK_WRITE] = F_WRLCK,
	};
	struct flock l;
	int err;

	if (!kernel_range(g, &l))
		return NFS4_OK;
	err = mirror_open(o);
	if (err)
		return status_nfs4(err);
	l.l_type = type[kind];
	if (!fcntl(o->fd, F_OFD_SETLK, &l) || not_mirrored(errno))
		return NFS4_OK;
	if (errno != EAGAIN && errno != EACCES)
		return errno == ENOLCK ? NFS4ERR_DELAY : status_nfs4(-errno);
	/* It may have been freed in between: then it is denied all the same, by nobody. */
	*out = (struct state4_conflict){.range = *g};
	ask_kernel(o->fd, g, out);
	return NFS4ERR_DENIED;
}

/* --- both --- */

/* Under the lock: may `o` have what it asks for, by our own ranges? */
static uint32_t admit(struct state4 *s, struct state4_open *o, const struct state4_range *g,
		      enum state4_lock_kind kind, struct state4_conflict *out,
		      struct state4_client **courtesy)
{
	if (o->gone)
		return NFS4ERR_BAD_STATEID;
	if (state4_ranges_reserve(&o->ranges))
		return NFS4ERR_DELAY;
	if (kind == STATE4_UNLOCK)
		return NFS4_OK;
	if (state4_client_held(o->owner->client)->nlocks >= state4_tables(s)->max_locks)
		return o->owner->v40 ? NFS4ERR_RESOURCE : NFS4ERR_SERVERFAULT;
	return state4_lock_test(s, o->sfile, o->owner, g, out, courtesy);
}

/* Under the lock, when the kernel has agreed. */
static uint32_t apply(struct state4 *s, struct state4_open *o, const struct state4_range *g,
		      enum state4_lock_kind kind, stateid4 *id)
{
	struct state4_tables *t = state4_tables(s);
	struct state4_held *h;
	unsigned was = o->ranges.n;

	if (o->gone)
		return NFS4ERR_BAD_STATEID;
	h = state4_client_held(o->owner->client);
	state4_ranges_set(&o->ranges, g->first, g->last, kind);
	h->nlocks += o->ranges.n - was;
	t->nlocks += o->ranges.n - was;
	state4_id_bump(o, id);
	return NFS4_OK;
}

/* Under the lock: our turn on `f`. */
static void begin(struct state4 *s, struct state4_file *f)
{
	f->users++;
	while (f->locking)
		state4_wait(s);
	f->locking = true;
}

static void end(struct state4 *s, struct state4_file *f)
{
	f->locking = false;
	f->users--;
	state4_wake(s);
	state4_file_check(s, f);
}

uint32_t state4_lock_set(struct state4 *s, struct state4_open *o, const struct state4_range *g,
			 enum state4_lock_kind kind, struct state4_conflict *out, stateid4 *id)
{
	struct state4_client *courtesy;
	struct state4_file *f;
	uint32_t st;

	do {
		courtesy = NULL;
		state4_lock(s);
		f = o->sfile;
		if (!f) {
			state4_unlock(s);
			return NFS4ERR_BAD_STATEID;
		}
		begin(s, f);
		st = admit(s, o, g, kind, out, &courtesy);
		state4_unlock(s);
		if (!st)
			st = mirror(o, g, kind, out);
		state4_lock(s);
		if (!st)
			st = apply(s, o, g, kind, id);
		end(s, f);
		state4_unlock(s);
		if (courtesy) {
			state4_client_evict(s, courtesy);
			state4_client_put(courtesy);
		}
	} while (courtesy);
	return st;
}
