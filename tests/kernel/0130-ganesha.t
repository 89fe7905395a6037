#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A Linux kernel client of NFSv3, 4.0 and 4.1 on nfs-ganesha with our FSAL plugin, over ext4, in one boot.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/lib/ganesha.sh"
. "$srcdir/tests/kernel/uml.sh"
uml_need
ganesha_need
DRILL=$(realpath "$BUILDDIR/tests/kernel/drill")
uml_up
trap 'ganesha_kill; uml_down; cleanup' EXIT
GANESHA_PREFIX=("${DAEMON_PREFIX[@]}")
fs_in_memory 2
fs_mount ext4 2G || skip_all "ext4 cannot be mounted here"
mkdir "$FS_DIR/direct" "$FS_DIR/dontcache"
ganesha_add 1 "$FS_DIR/direct" "$(ganesha_nfsdio direct direct page)"
ganesha_add 2 "$FS_DIR/dontcache" "$(ganesha_nfsdio dontcache dontcache page)"
printf '%s\t%s\t%s\n' 3 65536 "$FS_DIR/direct" 3 1048576 "$FS_DIR/dontcache" 4.0 1048576 "$FS_DIR/direct" 4.1 262144 "$FS_DIR/direct" \
	4.1 32768 "$FS_DIR/dontcache" >"$UML_WORK/exports"

ok_here "ganesha starts with the plugin" ganesha_start || { tap_done; exit; }
ok_here "the guest boots and runs its script to the end" \
	uml_run "${KERNEL_TIMEOUT:-900}" "$(realpath "$srcdir/tests/kernel/guest-ganesha")" 2049 20048 "$DRILL"
tap_adopt guest cat "$UML_WORK/tap"
ok "requests went past the page cache" test "$(ganesha_stat '.exports[] | select(.id == 1) | .write.direct')" -gt 0
ok_here "ganesha ends with status 0" ganesha_stop
tap_done
