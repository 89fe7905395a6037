/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/container.h"
#include "nfsd-io/core/io_int.h"
#include "nfsd-io/core/sync.h"

static void on_synced(struct io *io, int err)
{
	struct commit_io *c = container_of(io, struct commit_io, io);

	io->res = err;
	/*
	 * After the flush: had it failed, or failed beside us,
	 * this is a new one and the client sends again.
	 */
	c->verf = verifier_get(io->verifier);
	io_stat(io);
	io->done(io);
}

/*
 * Always the whole file and its metadata: the range is a permission to do
 * less (RFC 1813 s.3.3.21), and allocation for any part needs the journal.
 */
void commit_start(struct commit_io *c)
{
	c->io.res = 0;
	c->io.have_st = false;
	sync_start(&c->io, false, on_synced);
}
