/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A struct file over a nameless temporary file, for tests of
 * plan execution, without fd cache or root table.
 */
#ifndef TESTS_LIB_IOFILE_H
#define TESTS_LIB_IOFILE_H

#include "nfsd-io/core/io.h"
#include "nfsd-io/core/file.h"

struct iofile {
	struct file file;
	struct root root;
	struct verifier verifier;
};

/*
 * A file in `dir` (NULL: TMPDIR or /tmp).  `align` > 0: the second descriptor
 * is an ordinary one and that is said to be its alignment (fake ring); 0:
 * O_DIRECT with what the file system says.
 */
void iofile_up(struct iofile *f, const char *dir, uint32_t align);
void iofile_down(struct iofile *f);

/* Set mode and rule of both directions. */
void iofile_mode(struct iofile *f, enum dio_mode mode, enum dio_rule rule);

/* A counter of the file's root. */
#define iofile_count(f, field) atomic_load(&(f)->root.stats[0].field)

/* A pool for `n` buffers of up to `size` bytes of payload. */
struct pool *iofile_pool(struct ring *ring, size_t size, unsigned n);

#endif
