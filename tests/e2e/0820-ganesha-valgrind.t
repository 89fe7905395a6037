#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# nfs-ganesha with our FSAL plugin under valgrind: no byte is read or written that is not there, all memory of the
# plugin's that is kept included.  Small loads: it is fifty times as slow.  On ganesha's own threads, and on the
# library's: not by io_uring, as valgrind 3.19 stops all threads while one waits for a ring.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/lib/ganesha.sh"
need valgrind
ganesha_need
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
for mode in direct dontcache; do
	mkdir -m 1777 "$FS_DIR/$mode"
	head -c 100000 /dev/zero >"$FS_DIR/$mode/shared"
	ganesha_add $((++id)) "$FS_DIR/$mode" "$(ganesha_nfsdio $mode $mode page)"
done
client() { local name=$1; shift; ganesha_run "$BUILDDIR/tests/e2e/$name" 127.0.0.1 2049 "$@"; }
GANESHA_PATIENCE=100
# (It does not know each ioctl of VFS's.)
no_errors() { ! grep -vE 'unhandled ioctl|could cause spurious|README_MISSING' "$TAP_TMP/valgrind"; }
sed -i 's/NFSDIO {/NFSDIO { Engine = ;/' "$GANESHA_DIR/conf"
for engine in inline threads; do
	sed -i "s/Engine = [a-z]*;/Engine = $engine;/" "$GANESHA_DIR/conf"
	ok_here "$engine: ganesha starts under valgrind" \
		ganesha_start valgrind -q --error-exitcode=99 --log-file="$TAP_TMP/valgrind" || { tap_done; exit; }
	for mode in direct dontcache; do
		tap_adopt "$mode" client shares "$FS_DIR/$mode" shared
		tap_adopt "$mode" client model "$FS_DIR/$mode" "${MODEL_SEED:-5}" 30
		tap_adopt "$mode" client mixed "$FS_DIR/$mode" 5 300000
	done
	ok_here "$engine: ganesha ends with status 0" ganesha_stop
	ok "$engine: valgrind has nothing to say" no_errors
done
tap_done
