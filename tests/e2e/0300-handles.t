#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A handle names the same object after restart, kill, remount, another loop device and exports in another order;
# it is refused when its export is gone.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss losetup
handles() { # LABEL VERB
	tap_adopt "$fs, $1" "$BUILDDIR/tests/e2e/handles" "$2" "$DAEMON_HOST" "$DAEMON_PORT" "$dir" "$TAP_TMP/handles"
}
for fs in ext4 xfs btrfs; do
	: >"$DAEMON_DIR/exports"
	fs_mount "$fs" || { tap_skip "$fs" "cannot be mounted here"; continue; }
	dir=$FS_DIR image=$FS_IMAGE
	fs_mount dir
	other=$FS_DIR
	daemon_export "$dir"
	ok_here "$fs: daemon starts" daemon_start || break
	handles "new" save
	handles "same life" check
	ok_here "$fs: daemon drains" daemon_stop
	ok_here "$fs: daemon starts again" daemon_restart
	handles "after a restart" check
	daemon_kill
	ok_here "$fs: daemon starts after a kill" daemon_restart
	handles "after kill -9" check
	daemon_stop >/dev/null
	umount "$dir"
	spare=$(losetup -f --show "$image")
	mount -t "$fs" "$spare" "$dir"
	: >"$DAEMON_DIR/exports"
	daemon_export "$other"
	daemon_export "$dir"
	ok_here "$fs: daemon starts with another device and exports in another order" daemon_restart
	handles "after a remount" check
	: >"$DAEMON_DIR/exports"
	daemon_export "$other"
	ok_here "$fs: reload without the export" daemon_ctl reload
	handles "export gone" stale
	daemon_export "$dir"
	ok_here "$fs: reload with the export" daemon_ctl reload
	handles "export back" check
	ok_here "$fs: daemon drains" daemon_stop
	umount "$dir"
	losetup -d "$spare"
done

# The number of an inode that was freed comes again, with another generation.
fs=ext4 dir=$TAP_TMP/again
truncate -s 64M "$dir.img"
if mkfs.ext4 -q -F -O ^metadata_csum "$dir.img" && mkdir "$dir" && mount -o loop "$dir.img" "$dir"; then
	FS_DIRS+=("$dir")
	: >"$DAEMON_DIR/exports"
	daemon_export "$dir"
	ok_here "$fs: daemon starts" daemon_start
	handles "before" save
	ok_here "$fs: daemon drains" daemon_stop
	ok "$fs: another generation" chattr -v 4711 "$dir/kept/file"
	ok_here "$fs: daemon starts again" daemon_restart
	handles "number used again" replaced
	ok_here "$fs: daemon drains" daemon_stop
else
	tap_skip "generations" "ext4 cannot be mounted here"
fi
tap_done
