#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Write-back that fails is told at COMMIT, whichever way the bytes went.  The file system lies on a sparse image on a
# tmpfs that is then filled: writes to new blocks end in EIO.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss mkfs.ext4
for offset in 0 1000; do
	for mode in buffered dontcache direct; do
		dir=$TAP_TMP/$mode-$offset
		fs_mount_hollow "$dir"
		daemon_export "$dir"
		printf '[export "%s"]\nread-mode = %s\nwrite-mode = %s\n' "$dir" $mode $mode | daemon_conf
		printf '%s\t%s\t%s\t%s\n' $mode $offset "$dir" "$FS_UNDER/ballast" >>"$TAP_TMP/list"
	done
done
ok_here "daemon starts" daemon_start || { tap_done; exit; }
while IFS=$'\t' read -r mode offset dir ballast; do
	tap_adopt "$mode from $offset" "$BUILDDIR/tests/e2e/writeback" "$DAEMON_HOST" "$DAEMON_PORT" \
		"$dir" "$ballast" "$offset"
done <"$TAP_TMP/list"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
