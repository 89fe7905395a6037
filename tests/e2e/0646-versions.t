#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vers3 = n: NFSv3 and MOUNT are refused, not registered with rpcbind; NFSv4 is served.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
daemon_one_export -o nfsd.vers3=n
tap_adopt versions "$BUILDDIR/tests/e2e/versions" "$DAEMON_HOST" "$DAEMON_PORT"
ok_here "daemon drains and exits 0" daemon_stop
daemon_start -o nfsd.vers3=n -o nfsd.vers4=n
is "with no version left it does not start" $? 6
tap_done
