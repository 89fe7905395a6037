#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Directories that do not fit one reply: 100,000 entries on ext4, fewer elsewhere.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
for fs in ext4 xfs btrfs tmpfs; do
	n=20000
	[ $fs = ext4 ] && n=100000
	fs_mount "$fs" 3G || { tap_skip "$fs" "cannot be mounted here"; continue; }
	mkdir "$FS_DIR/d"
	(cd "$FS_DIR/d" && seq -f f%g $n | xargs touch)
	for i in {1..10}; do ln "$FS_DIR/d/f$i" "$FS_DIR/link$i"; done
	daemon_export "$FS_DIR/d"
	echo "$fs $FS_DIR/d $n" >>"$TAP_TMP/list"
done
ok_here "daemon starts" daemon_start || { tap_done; exit; }
while read -r fs dir n; do
	tap_adopt "$fs" "$BUILDDIR/tests/e2e/dirs" "$DAEMON_HOST" "$DAEMON_PORT" "$dir" "$n"
done <"$TAP_TMP/list"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
