#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4 COMPOUNDs that have a large buffer and ask for another do not wait for each other.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
mkdir -p "$TAP_TMP/e"
daemon_export "$TAP_TMP/e"
for reply in sendmsg splice; do
	ok_here "daemon starts with few buffers, reply = $reply" \
		daemon_start -o nfsd.threads=1 -o io.buffer-pool=1 -o io.reply=$reply || { tap_done; exit; }
	tap_adopt "$reply" timeout 200 "$BUILDDIR/tests/e2e/buffers" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/e"
	ok_here "daemon drains and exits 0" daemon_stop
done
tap_done
