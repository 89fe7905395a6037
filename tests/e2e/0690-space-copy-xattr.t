#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4.2: room and holes, COPY and CLONE, extended attributes, on every file system.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
for fs in ext4 xfs btrfs; do
	fs_mount "$fs" 512M || { tap_skip "$fs" "cannot be mounted here"; continue; }
	mkdir "$FS_DIR/e" "$FS_DIR/ro"
	echo kept >"$FS_DIR/ro/file"
	daemon_export "$FS_DIR/e"
	daemon_export "$FS_DIR/ro" ro,no_root_squash,insecure,no_subtree_check
	echo "$fs $FS_DIR" >>"$TAP_TMP/list"
done
mkdir "$TAP_TMP/other"
daemon_export "$TAP_TMP/other"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
while read -r fs dir; do
	tap_adopt "$fs" "$BUILDDIR/tests/e2e/v42" "$DAEMON_HOST" "$DAEMON_PORT" "$dir" "$TAP_TMP/other" "$fs"
done <"$TAP_TMP/list"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
