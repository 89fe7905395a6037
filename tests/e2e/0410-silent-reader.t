#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A client that asks for gigabytes and does not listen costs a bounded amount of memory and delays nobody.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"
for engine in io_uring threads; do
	ok_here "daemon starts with engine $engine" daemon_start -o io.engine=$engine || { tap_done; exit; }
	tap_adopt "$engine" "$BUILDDIR/tests/e2e/silent" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" 2000 8 "$DAEMON_PID"
	ok_here "daemon drains and exits 0" daemon_stop
done
tap_done
