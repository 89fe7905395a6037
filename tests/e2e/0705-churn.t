#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4 clients come and go over the same files with a lease of a second, looked at and thrown out meanwhile.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss jq
mkdir -p "$TAP_TMP/export"
chmod 777 "$TAP_TMP/export"
daemon_export "$TAP_TMP/export"
ok_here "daemon starts" daemon_start -o nfsd.lease-time=1 -o nfsd.grace-time=1 || { tap_done; exit; }
meddle() {
	local n
	while [ ! -e "$TAP_TMP/over" ]; do
		daemon_ctl clients states >/dev/null
		n=$(daemon_ctl clients --json | jq -r '.[0].number // empty')
		[ -z "$n" ] || daemon_ctl clients expire "$n" 2>/dev/null
		daemon_ctl stats --json >/dev/null
		sleep 0.2
	done
}
meddle >/dev/null 2>&1 &
tap_adopt churn "$BUILDDIR/tests/e2e/churn" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/export" "${CHURN_SECONDS:-6}"
touch "$TAP_TMP/over"
wait $!
ok_here "daemon drains and exits 0" daemon_stop
tap_done
