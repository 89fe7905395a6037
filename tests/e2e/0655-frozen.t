#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4 requests that take long: one sent again on another connection is answered by the end of the first, and its
# client keeps its lease.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"
ok_here "daemon starts" daemon_start -o nfsd.lease-time=2 || { tap_done; exit; }
tap_adopt frozen timeout 120 "$BUILDDIR/tests/e2e/frozen" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR"
command -v fsfreeze >/dev/null && fsfreeze -u "$FS_DIR" 2>/dev/null # whatever became of it
ok_here "daemon drains and exits 0" daemon_stop
tap_done
