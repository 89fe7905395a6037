/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An fdcache and everything it needs, over a fresh directory; for its tests. */
#ifndef TESTS_LIB_FDWORLD_H
#define TESTS_LIB_FDWORLD_H

#include <dirent.h>
#include <time.h>

#include "nfsd-io/core/file.h"
#include "tests/lib/scratch.h"

static struct world {
	const char *dir;
	struct root *root;
	struct handle_key *key;
	struct offload *offload;
	struct verifier verifier;
	struct fdcache *cache;
} w;

static inline void world_make(const char *base, unsigned max_files)
{
	struct root_params rp = { 0 };
	struct fdcache_params p = { .max_files = max_files };
	const char *why;

	w.dir = scratch_dir(base);
	rp.path = w.dir;
	ck_assert_int_eq(root_open(&w.root, &rp, &why), 0);
	ck_assert_int_eq(handle_key_load(&w.key, NULL), 0);
	ck_assert_int_eq(offload_new(&w.offload, 4), 0);
	verifier_init(&w.verifier);
	p.offload = w.offload;
	p.verifier = &w.verifier;
	ck_assert_int_eq(fdcache_new(&w.cache, &p), 0);
}

static inline void world_end(void)
{
	fdcache_free(w.cache);
	offload_free(w.offload);
	ck_assert_uint_eq(w.root->refs, 1);
	root_put(w.root);
	handle_key_free(w.key);
	scratch_remove(w.dir);
}

static inline int dirfd_of_world(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open(w.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static inline struct fh fh_of(const char *name)
{
	int fd = scratch_path(w.root->fd, name);
	struct fh fh;

	ck_assert_int_eq(handle_of_child(w.key, w.root, w.root->fd, name, fd, &fh), 0);
	close(fd);
	return fh;
}

static inline int open_fh(const struct fh *fh, enum file_access a, struct file **out)
{
	struct handle_parts p;

	ck_assert_int_eq(handle_decode(w.key, fh->data, fh->len, &p), 0);
	return fdcache_open(w.cache, w.root, fh, &p, a, out);
}

static inline struct file *must_open(const struct fh *fh, enum file_access a)
{
	struct file *f;
	int rc = open_fh(fh, a, &f);

	ck_assert_msg(rc == 0, "%s", strerror(-rc));
	return f;
}

static inline unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Closing is done by other threads: wait for the number of descriptors, 10 s at most. */
static inline bool fds_fall_to(unsigned want)
{
	for (int i = 0; i < 10000; i++) {
		if (open_fds() <= want)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return false;
}

/* A new file "n<i>"; its handle. */
static inline struct fh numbered(int i)
{
	char name[16];

	snprintf(name, sizeof(name), "n%d", i);
	scratch_write(dirfd_of_world(), name, name);
	return fh_of(name);
}

#endif
