/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/core/pathmap.h"

static _Thread_local unsigned root_bank;
static _Thread_local char root_why[256];

/* FNV-1a with a final mix: identities, not security (handles are signed). */
static uint64_t root_hash(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return h;
}

static uint64_t root_hash_end(uint64_t h)
{
	h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
	return h ^ h >> 33;
}

#define ROOT_HASH_START 0xcbf29ce484222325

static uint32_t root_path_id(const char *path)
{
	uint32_t id = root_hash_end(root_hash(ROOT_HASH_START, path, strlen(path))) >> 32;

	return id ? id : 1;
}

/*
 * With a number given by the administrator (fsid=) and no lasting UUID the
 * number alone tells file systems apart, so that handles outlive a remount.
 */
static void root_set_fskey(struct root *r, bool numbered)
{
	uint64_t h = ROOT_HASH_START;

	if (r->probe.uuid_stable || !numbered)
		h = root_hash(h, r->probe.uuid, sizeof(r->probe.uuid));
	h = root_hash_end(root_hash(h, &r->id, sizeof(r->id)));
	memcpy(r->fskey, &h, sizeof(r->fskey));
}

static int root_open_dir(struct root *r, const char *path, const char **why)
{
	struct stat st;

	r->path = realpath(path, NULL);
	if (!r->path) {
		*why = strerror(errno);
		return -errno;
	}
	r->fd = open(r->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->fd < 0 || fstat(r->fd, &st) < 0) {
		*why = errno == ENOTDIR ? "not a directory" : strerror(errno);
		return -errno;
	}
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	/* Everything is opened from its O_PATH descriptor through there. */
	if (access("/proc/self/fd", X_OK) < 0) {
		*why = "/proc is not mounted";
		return -ENOTSUP;
	}
	return 0;
}

static int root_open_paths(struct root *r, const struct root_params *p)
{
	char log[PATH_MAX] = "";

	if (p->state_dir && snprintf(log, sizeof(log), "%s/paths-%08x.log", p->state_dir, r->id) >=
				    (int)sizeof(log))
		log[0] = 0;
	/* A log that does not work leaves the map in memory: served all the same. */
	return pathmap_new(&r->paths, r->fd, log[0] ? log : NULL, NULL);
}

static bool root_fstype_in(const struct root *r, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(r->probe.fstype, names[i]))
			return true;
	return false;
}

static int root_open_handles(struct root *r, const struct root_params *p, const char **why)
{
	int rc;

	static const char *const births[] = { "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs" };

	r->path_mode = p->force_path_mode || !r->probe.handles;
	r->tells_births =
		!r->path_mode && root_fstype_in(r, births, sizeof(births) / sizeof(births[0]));
	if (!r->path_mode) {
		r->mount_fd = openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (r->mount_fd < 0) {
			*why = strerror(errno);
			return -errno;
		}
		close(r->fd); /* with thousands of exports each descriptor counts */
		r->fd = r->mount_fd;
	}
	rc = r->path_mode ? khandle_identify(r->fd, &r->self) : khandle_of(r->fd, &r->self);
	if (rc == 0 && r->path_mode)
		rc = root_open_paths(r, p);
	if (rc < 0)
		*why = "its file handle cannot be read";
	return rc;
}

/* on-unsupported = fail: what was asked must be what is done. */
static int root_check_modes(const struct root *r, const char **why)
{
	const enum dio_mode asked[] = {
		[DIO_READ] = r->io.read_mode, [DIO_WRITE] = r->io.write_mode};
	const char *reason;

	if (!r->io.fail_unsupported)
		return 0;
	for (int op = DIO_READ; op <= DIO_WRITE; op++) {
		if (op == DIO_WRITE && r->probe.read_only)
			continue;
		if (probe_effective(&r->probe, op, asked[op], &reason) == asked[op])
			continue;
		snprintf(root_why, sizeof(root_why), "%s-mode %s cannot be done: %s",
			 op == DIO_READ ? "read" : "write", dio_mode_name(asked[op]), reason);
		*why = root_why;
		return -ENOTSUP;
	}
	return 0;
}

static struct root *root_alloc(const struct root_params *p)
{
	size_t size = ROOT_WORKERS * sizeof(struct root_stats);
	struct root *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->stats = aligned_alloc(_Alignof(struct root_stats), size);
	if (!r->stats) {
		free(r);
		return NULL;
	}
	memset(r->stats, 0, size);
	r->refs = 1;
	r->fd = r->mount_fd = -1;
	r->io = p->io;
	return r;
}

int root_open(struct root **out, const struct root_params *p, const char **why)
{
	struct root *r = root_alloc(p);
	int rc;

	*why = "out of memory";
	if (!r)
		return -ENOMEM;
	rc = root_open_dir(r, p->path, why);
	if (rc < 0)
		goto fail;
	rc = probe_run(r->fd, &r->probe);
	if (rc < 0) {
		*why = strerror(-rc);
		goto fail;
	}
	r->id = p->id ? p->id : root_path_id(r->path);
	root_set_fskey(r, p->id != 0);
	rc = root_open_handles(r, p, why);
	if (rc == 0)
		rc = root_check_modes(r, why);
	if (rc < 0)
		goto fail;
	*why = "";
	*out = r;
	return 0;
fail:
	root_put(r);
	return rc;
}

unsigned root_mount_flags(struct root *r)
{
	uint64_t old = atomic_load_explicit(&r->mount_flags, memory_order_relaxed), now;
	struct timespec ts;
	struct statvfs sv;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now = (uint64_t)ts.tv_sec + 1; /* never 0, which is "not read yet" */
	if (old >> 32 == now)
		return (uint32_t)old;
	/* What cannot be told is what allows least. */
	if (fstatvfs(r->fd, &sv) < 0)
		sv.f_flag = ST_RDONLY | ST_NOEXEC;
	atomic_store_explicit(&r->mount_flags, now << 32 | (uint32_t)sv.f_flag,
			      memory_order_relaxed);
	return (uint32_t)sv.f_flag;
}

bool root_plain_modes(const struct root *r)
{
	static const char *const plain[] = { "ext2", "ext3", "ext4", "xfs", "tmpfs", "f2fs" };

	return root_fstype_in(r, plain, sizeof(plain) / sizeof(plain[0]));
}

bool root_tells_births(const struct root *r)
{
	return r->tells_births;
}

struct root *root_get(struct root *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void root_put(struct root *r)
{
	if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
		return;
	pathmap_free(r->paths);
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
	free(r->stats);
	free(r);
}

/* A bank is counters only, so it can be summed word by word. */
#define ROOT_COUNTERS (sizeof(struct root_stats) / sizeof(_Atomic uint64_t))

void root_stats_sum(const struct root *r, struct root_stats *out)
{
	_Atomic uint64_t *sum = (_Atomic uint64_t *)out;

	memset(out, 0, sizeof(*out));
	for (unsigned w = 0; w < ROOT_WORKERS; w++) {
		_Atomic uint64_t *bank = (_Atomic uint64_t *)&r->stats[w];

		for (size_t i = 0; i < ROOT_COUNTERS; i++) {
			uint64_t n = atomic_load_explicit(&bank[i], memory_order_relaxed);

			n += atomic_load_explicit(&sum[i], memory_order_relaxed);
			atomic_store_explicit(&sum[i], n, memory_order_relaxed);
		}
	}
}

struct root_stats *root_stats_here(struct root *r)
{
	return &r->stats[root_bank];
}

void root_stats_bank_set(unsigned worker)
{
	root_bank = worker % ROOT_WORKERS;
}
