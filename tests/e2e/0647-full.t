#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# As many confirmed NFSv4 clients as are kept, all of one address: those of another get in, also
# where each of the many has a reply kept, and who alone has one is not put out for them.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need jq
DAEMON_CLIENT=127.0.0.0/8
daemon_one_export -o nfsd.lease-time=3600 # none ends while the others come
full() { # NAME [replies]
	tap_adopt "$1" "$BUILDDIR/tests/e2e/fill4" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT" 10000 ${2:+"$2"}
	is "$1: no more than 10000 are kept" "$(daemon_stat '.state.clients + .state.unconfirmed')" 10000
	echo "# the daemon has $(daemon_rss_kb) KiB"
	ok_here "$1: daemon drains and exits 0" daemon_stop
}
full fill
rm -rf "${EXPORT:?}"/*
ok_here "daemon starts again" daemon_start -o nfsd.lease-time=3600 || { tap_done; exit; }
ok "nobody reclaims" wait_for 10 daemon_ctl grace end
full replies replies
tap_done
