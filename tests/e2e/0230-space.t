#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A full file system, or a quota reached: the shortage is told truthfully wherever in a WRITE it strikes, and no acknowledged byte is lost.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
for fs in ext4 xfs; do
	size=64M
	[ $fs = xfs ] && size=320M # the least mkfs.xfs makes
	for mode in direct buffered dontcache; do
		fs_mount "$fs" $size || { tap_skip "$fs" "cannot be mounted here"; continue 2; }
		# leave little, so that filling it is quick
		fallocate -l $(($(df --output=avail -B1 "$FS_DIR" | tail -1) - 7000000)) "$FS_DIR/ballast"
		daemon_export "$FS_DIR"
		daemon_conf <<-END
			[export "$FS_DIR"]
			read-mode = $mode
			write-mode = $mode
		END
		printf '%s\t%s\n' "$fs $mode" "$FS_DIR" >>"$TAP_TMP/list"
	done
done

# A quota, of the kind that any kernel with btrfs has.
if fs_mount btrfs 300M && btrfs quota enable "$FS_DIR"; then
	for mode in direct buffered; do
		btrfs -q subvolume create "$FS_DIR/$mode" && btrfs qgroup limit 6M "$FS_DIR/$mode"
		daemon_export "$FS_DIR/$mode"
		daemon_conf <<-END
			[export "$FS_DIR/$mode"]
			read-mode = $mode
			write-mode = $mode
		END
		printf '%s\t%s\t%s\n' "quota $mode" "$FS_DIR/$mode" quota >>"$TAP_TMP/list"
	done
else
	tap_skip "quota" "btrfs with quotas cannot be had here"
fi
ok_here "daemon starts" daemon_start || { tap_done; exit; }
while IFS=$'\t' read -r name dir quota; do
	for start in 0 1000 4095; do
		for len in 47008 1048576; do
			tap_adopt "$name from $start by $len" "$BUILDDIR/tests/e2e/space" "$DAEMON_HOST" "$DAEMON_PORT" \
				"$dir" $start $len $((RANDOM % 3)) $quota
		done
	done
done <"$TAP_TMP/list"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
