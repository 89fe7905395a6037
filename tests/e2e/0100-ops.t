#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every NFSv3 and MOUNT procedure, as it should work and as it should fail, on each file system.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
for fs in ext4 xfs btrfs tmpfs; do
	fs_mount "$fs" || { tap_skip "$fs" "cannot be mounted here"; continue; }
	daemon_export "$FS_DIR"
	echo "$fs $FS_DIR" >>"$TAP_TMP/list"
done
ok_here "daemon starts" daemon_start || { tap_done; exit; }
while read -r fs dir; do
	tap_adopt "$fs" "$BUILDDIR/tests/e2e/ops" "$DAEMON_HOST" "$DAEMON_PORT" "$dir"
done <"$TAP_TMP/list"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
