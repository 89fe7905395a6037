#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Offsets and counts at the ends of their types, zero lengths, lengths that lie (BR-12, BR-33), in every mode.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"
for mode in direct buffered dontcache; do
	ok_here "$mode: daemon starts" daemon_start -o io.read-mode=$mode -o io.write-mode=$mode || continue
	tap_adopt "$mode" "$BUILDDIR/tests/e2e/edges" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR"
	ok_here "$mode: daemon drains and exits 0" daemon_stop
done
tap_done
