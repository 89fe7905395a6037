#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Long runs of one client that does everything and tidies nothing up, in 4.0 and in 4.1.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
daemon_one_export -o nfsd.lease-time=5
tap_adopt 4.0 "$BUILDDIR/tests/e2e/longrun40" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT" "${LONGRUN_CLIENTS:-200}"
for minor in 1 2; do
	tap_adopt "4.$minor" "$BUILDDIR/tests/e2e/longrun41" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT" $minor
done
ok_here "daemon drains and exits 0" daemon_stop
tap_done
