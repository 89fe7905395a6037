#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Opens and locks of a client that went silent give way to others when its lease is over.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
daemon_one_export -o nfsd.lease-time=3
tap_adopt expiry "$BUILDDIR/tests/e2e/expiry" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
