#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Owners without end, by EXCHANGE_ID and SETCLIENTID: bounded records and memory, honest clients get in.
# FLOOD (20000) owners of each kind; 1000000 takes minutes.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss jq
n=${FLOOD:-20000}
mkdir -p "$TAP_TMP/export"
daemon_export "$TAP_TMP/export"
peak_kb() { awk '/^VmHWM/ { print $2 }' "/proc/$DAEMON_PID/status"; }
cpu() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$DAEMON_PID/stat"; }

ok_here "daemon starts" daemon_start || { tap_done; exit; }
before=$(daemon_rss_kb)
tap_adopt flood "$BUILDDIR/tests/e2e/flood4" "$DAEMON_HOST" "$DAEMON_PORT" "$n" 4
grown=$(($(peak_kb) - before))
ok "$n owners of each kind cost at most 64 MiB at any time ($grown KiB)" [ "$grown" -le 65536 ]
kept=$(daemon_stat '.state.clients + .state.unconfirmed')
ok "no more than 10000 are kept ($kept)" [ "$kept" -le 10000 ]
echo "# the daemon took $(cpu) s of CPU"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
