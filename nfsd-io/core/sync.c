/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"

/*
 * The write-back error that `fd` has not reported yet: 0 or -errno.  Waiting
 * for a range far beyond any data returns at once, but looks at the error
 * mark as fsync does; a second fsync would flush the disk's cache again.
 */
static int pending_error(int fd)
{
	const off_t beyond = (off_t)1 << 62;

	if (sync_file_range(fd, beyond, 1, SYNC_FILE_RANGE_WAIT_BEFORE) == 0)
		return 0;
	/* Not offered by the kernel or a seccomp filter: the fsync has spoken for both. */
	return errno == ENOSYS || errno == EPERM || errno == EINVAL ? 0 : -errno;
}

/*
 * Flushes of one file may overlap, even on two threads.  Each is settled alone
 * (odd epoch), so that none can find an error already reported and the
 * verifier not yet changed; and who began before another's success takes
 * nothing off `unsynced`, for the same WRITEs must not be taken off twice.
 */
static struct sync_mark mark(struct file *f)
{
	struct sync_mark m;

	m.epoch = atomic_load(&f->sync_epoch);
	m.unsynced = atomic_load(&f->unsynced);
	return m;
}

static uint32_t settle_begin(struct file *f)
{
	uint32_t e;

	for (;;) {
		e = atomic_load(&f->sync_epoch);
		if (!(e & 1) && atomic_compare_exchange_weak(&f->sync_epoch, &e, e + 1))
			return e;
		sched_yield();
	}
}

static int settle(struct file *f, struct sync_mark m, struct verifier *v, int err)
{
	uint32_t epoch = settle_begin(f);
	int other = f->dio_fd >= 0 ? pending_error(f->dio_fd) : 0;
	bool ours = m.epoch == epoch;

	if (err == 0)
		err = other;
	if (err < 0) {
		atomic_fetch_add(&f->sync_failures, 1);
		verifier_error(v, err);
	} else if (ours) {
		atomic_fetch_sub(&f->unsynced, m.unsynced);
	}
	atomic_store(&f->sync_epoch, err == 0 && ours ? epoch + 2 : epoch);
	return err;
}

static void on_fsync(struct op *op, int res, bool more)
{
	struct io *io = container_of(op, struct io, op);

	(void)more;
	io->synced(io, settle(io->file, io->mark, io->verifier, res < 0 ? res : 0));
}

void sync_start(struct io *io, bool datasync, void (*over)(struct io *io, int err))
{
	io->mark = mark(io->file);
	io->synced = over;
	io->op.done = on_fsync;
	atomic_fetch_add_explicit(&root_stats_here(io->file->root)->syncs, 1, memory_order_relaxed);
	ring_fsync(io->ring, &io->op, io->file->fd, datasync);
}

int sync_now(struct file *f, struct verifier *v)
{
	struct sync_mark m = mark(f);

	if (m.unsynced == 0)
		return 0;
	return settle(f, m, v, fdatasync(f->fd) < 0 ? -errno : 0);
}
