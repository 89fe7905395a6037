#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every NFSv4 operation on an object of each type, in all minor versions.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
for minor in 0 1 2; do
	mkdir -p "$TAP_TMP/e$minor"
	daemon_export "$TAP_TMP/e$minor"
done
ok_here "daemon starts" daemon_start || { tap_done; exit; }
for minor in 0 1 2; do
	tap_adopt "4.$minor" "$BUILDDIR/tests/e2e/types4" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/e$minor" $minor
done
ok_here "daemon drains and exits 0" daemon_stop
tap_done
