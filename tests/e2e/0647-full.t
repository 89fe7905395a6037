#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# As many confirmed NFSv4 clients as are kept, all of one address: those of another get in.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need jq
DAEMON_CLIENT=127.0.0.0/8
daemon_one_export -o nfsd.lease-time=3600 # none ends while the others come
tap_adopt fill "$BUILDDIR/tests/e2e/fill4" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT" 10000
is "no more than 10000 are kept" "$(daemon_stat '.state.clients + .state.unconfirmed')" 10000
echo "# the daemon has $(daemon_rss_kb) KiB"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
