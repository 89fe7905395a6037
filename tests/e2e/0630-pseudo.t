#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4's pseudo file system: the way to the exports, and into them.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
dir=$TAP_TMP/world
mkdir -p "$dir/a/in/deep" "$dir/ro" "$dir/hidden"
pseudo() { "$BUILDDIR/tests/e2e/pseudo" "$DAEMON_HOST" "$DAEMON_PORT" "$dir" "$1" "$TAP_TMP/handles"; }
daemon_export "$dir/a"
daemon_export "$dir/a/in/deep"
daemon_export "$dir/ro" ro,insecure,no_subtree_check
DAEMON_CLIENT=192.0.2.7 daemon_export "$dir/hidden"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
for minor in 0 1 2; do
	tap_adopt "4.$minor" pseudo $minor
done
ok_here "daemon drains and exits 0" daemon_stop
ok_here "daemon starts again" daemon_start || { tap_done; exit; }
tap_adopt "4.0 after a restart" pseudo 0
ok_here "daemon drains and exits 0 again" daemon_stop

: >"$DAEMON_DIR/exports"
daemon_export "$dir/a" rw,fsid=0,insecure,no_subtree_check
daemon_export "$dir/a/in/deep"
ok_here "daemon starts with fsid=0" daemon_start || { tap_done; exit; }
tap_adopt "fsid=0" "$BUILDDIR/tests/e2e/pseudo" --root "$DAEMON_HOST" "$DAEMON_PORT" 0
ok_here "daemon drains and exits 0 the third time" daemon_stop
tap_done
