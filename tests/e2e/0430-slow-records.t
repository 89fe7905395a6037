#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Records that never end, arrive byte by byte, or claim to be huge.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
storm() { local v=$1; shift; "$BUILDDIR/tests/e2e/storm" "$v" "$DAEMON_HOST" "$DAEMON_PORT" "$@"; }
fs_mount tmpfs
daemon_export "$FS_DIR"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
ok "calls sent one byte at a time are answered" storm split 20
storm open 100
rss=$(daemon_rss_kb)
mkfifo "$TAP_TMP/hold"
storm partial 1000 <"$TAP_TMP/hold" >"$TAP_TMP/idle" &
idle=$!
exec 9>"$TAP_TMP/hold"
ok "1000 connections each hold half a record" wait_for 60 grep -q holding "$TAP_TMP/idle"
now=$(daemon_rss_kb)
ok "which costs little: $rss kB before, $now kB now" test $((now - rss)) -lt 65536
worst=$(storm null 200)
ok "and delays nobody: the slowest of 200 calls took $worst us" test "${worst:-9999999}" -lt 500000
exec 9>&-
wait $idle
ok_here "daemon drains and exits 0" daemon_stop
tap_done
