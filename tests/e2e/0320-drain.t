#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# SIGTERM under load: what was accepted is answered, the exit status is 0, a restart serves the same file.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"
for i in 1 2 3 4 5; do
	ok_here "round $i: daemon starts" daemon_start || { tap_done; exit; }
	"$BUILDDIR/tools/nfsload" -s 47008 -t 10000000000 -c 4 -d 32 "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" \
		>"$TAP_TMP/load" 2>&1 &
	load=$!
	wait_for 10 test -s "$FS_DIR/nfsload"
	ok_here "round $i: daemon drains under load and exits 0" daemon_stop
	wait $load
	is "round $i: the load ended with it" "$(($? != 0))" 1
	rm -f "$FS_DIR/nfsload"
done
ok "serve --run ends with its command and its status" bash -c "
	'$NFSD_IO' serve -f '$DAEMON_DIR/conf' -o nfsd.port=0 -o nfsd.host=127.0.0.1 -o nfsd.rpcbind=n \
		-o 'nfsd.state-directory-path=$DAEMON_DIR/state' -o 'exports.file=$DAEMON_DIR/exports' \
		-o 'exports.directory=$DAEMON_DIR/exports.d' -o 'control.socket=$DAEMON_DIR/ctl' \
		--run 'test -n \"\$NFSD_IO_PORT\" && exit 7'; [ \$? = 7 ]"
tap_done
