#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# nfs-ganesha with our FSAL plugin on a device that fails: no COMMIT says OK for data that write-back has lost, to
# neither of two clients, and a WRITE that is to be stable fails when its flush does.  As 0240-write-back-errors.t; and
# on a device below which all fails with EIO.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/lib/ganesha.sh"
need mkfs.ext4
ganesha_need
id=0
for offset in 0 1000; do
	for mode in buffered dontcache direct; do
		dir=$TAP_TMP/$mode-$offset
		fs_mount_hollow "$dir"
		ganesha_add $((++id)) "$dir" "$(ganesha_nfsdio $mode $mode page)"
		printf '%s\t%s\t%s\t%s\n' $mode $offset "$dir" "$FS_UNDER/ballast" >>"$TAP_TMP/list"
	done
done
for mode in buffered direct; do
	dir=$TAP_TMP/$mode-eio
	fs_mount_doomed "$dir"
	ganesha_add $((++id)) "$dir" "$(ganesha_nfsdio $mode $mode page)"
	printf '%s\t%s\t%s\t%s\n' "$mode, EIO," 1000 "$dir" "$FS_UNDER" >>"$TAP_TMP/list"
done
ok_here "ganesha starts with the plugin" ganesha_start || { tap_done; exit; }
while IFS=$'\t' read -r mode offset dir ballast; do
	if [ "$mode$offset" = buffered0 ]; then
		: >"$dir/v4"
		sync -f "$dir"
		tap_adopt "$mode, NFSv4.1" ganesha_run "$BUILDDIR/tests/e2e/writeback4" 127.0.0.1 2049 "$dir" v4 "$ballast"
		rm "$dir/v4"
	fi
	tap_adopt "$mode from $offset" ganesha_run "$BUILDDIR/tests/e2e/writeback" 127.0.0.1 2049 "$dir" "$ballast" "$offset"
done <"$TAP_TMP/list"
ok "files that have lost data are counted: $(ganesha_stat .lost_files)" test "$(ganesha_stat .lost_files)" -gt 0
ok "and logged" grep -q 'NFSDIO: write-back of file .* failed' "$GANESHA_DIR/log"
ok_here "ganesha ends with status 0" ganesha_stop
tap_done
