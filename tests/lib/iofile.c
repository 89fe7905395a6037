/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "tests/lib/iofile.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void own_stats(struct root *r)
{
	size_t size = ROOT_WORKERS * sizeof(struct root_stats);

	r->stats = aligned_alloc(_Alignof(struct root_stats), size);
	ck_assert_ptr_nonnull(r->stats);
	memset(r->stats, 0, size);
}

void iofile_up(struct iofile *f, const char *dir, uint32_t align)
{
	const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	struct probe_align a = { align, align, align };
	struct stat st;
	char path[64];
	int fd = open(dir ? dir : tmp, O_TMPFILE | O_RDWR, 0600);

	ck_assert_int_ge(fd, 0);
	memset(f, 0, sizeof(*f));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	f->file.fd = fd;
	f->file.root = &f->root;
	f->file.access = FILE_WRITE;
	if (!align)
		ck_assert_int_eq(probe_file_align(fd, &a), 0);
	f->file.dio_fd = !a.offset ? -1 : open(path, O_RDWR | (align ? 0 : O_DIRECT));
	f->file.mem_align = a.mem;
	f->file.offset_align = a.offset;
	f->file.read_align = a.read;
	ck_assert_int_eq(fstat(fd, &st), 0);
	f->file.ino = st.st_ino;
	f->root.dev = st.st_dev;
	f->root.io = (struct root_io)ROOT_IO_DEFAULT;
	f->root.probe.dontcache_read = f->root.probe.dontcache_write = true;
	own_stats(&f->root);
	verifier_init(&f->verifier);
}

void iofile_down(struct iofile *f)
{
	close(f->file.fd);
	if (f->file.dio_fd >= 0)
		close(f->file.dio_fd);
	free(f->root.stats);
}

void iofile_mode(struct iofile *f, enum dio_mode mode, enum dio_rule rule)
{
	f->root.io.read_mode = f->root.io.write_mode = mode;
	f->root.io.rule = rule;
}

struct pool *iofile_pool(struct ring *ring, size_t size, unsigned n)
{
	struct pool_params pp = {.ring = ring,
				 .large = size + 4 * 4096,
				 .nlarge = n,
				 .small = 4096,
				 .nsmall = 1,
				 .node = -1};
	struct pool *p;

	ck_assert_int_eq(pool_new(&p, &pp), 0);
	return p;
}
