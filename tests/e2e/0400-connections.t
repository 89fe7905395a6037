#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Connections come and go by the thousand, stay idle, or bring rubbish: memory and descriptors are what they were.
# STORM_OPEN (20000), STORM_IDLE (2000), STORM_GARBAGE (1000000).
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
storm() { local v=$1; shift; "$BUILDDIR/tests/e2e/storm" "$v" "$DAEMON_HOST" "$DAEMON_PORT" "$@"; }
fs_mount tmpfs
daemon_export "$FS_DIR"
ulimit -n "$(ulimit -Hn)"
export ASAN_OPTIONS=quarantine_size_mb=4:thread_local_quarantine_size_kb=64 # which is no growth of ours
ok_here "daemon starts" daemon_start || { tap_done; exit; }
seed=${STORM_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
model() { "$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR/${2:-}" "${1:-3}" 200; }
fds_are() { [ "$(daemon_fds)" -le "$1" ]; }
mkfifo "$TAP_TMP/hold"
hold() { # idle connections, until release
	storm idle "${STORM_IDLE:-2000}" <"$TAP_TMP/hold" >"$TAP_TMP/idle" &
	idle=$!
	exec 9>"$TAP_TMP/hold"
	wait_for 60 grep -q holding "$TAP_TMP/idle"
}
release() {
	exec 9>&-
	wait $idle
}
# what it needs once, it has now: every buffer it may use has been touched
for s in 3 4 5 6; do model $s >/dev/null; done
models=()
for s in 7 8 9 10; do mkdir "$FS_DIR/$s"; model $s $s >/dev/null & models+=($!); done
wait "${models[@]}"
storm open 500
hold
model >/dev/null
storm null 1000 >/dev/null
release
storm garbage "${STORM_WARMUP:-100000}" "$seed" >/dev/null
settled() { local n; n=$(daemon_fds); sleep 0.3; [ "$n" = "$(daemon_fds)" ]; }
wait_for 10 settled
fds=$(daemon_fds) rss=$(daemon_rss_kb)
ok "connections open and close, half of them by reset" storm open "${STORM_OPEN:-20000}"
ok "descriptors are back" wait_for 30 fds_are "$fds"
hold
ok "idle connections are held" grep -q holding "$TAP_TMP/idle"
ok "a new client is served beside them" model
worst=$(storm null 1000)
ok "and quickly: the slowest of 1000 calls took $worst us" test "${worst:-9999999}" -lt 500000
release
ok "descriptors are back" wait_for 30 fds_are "$fds"
ok "random records, seed $seed" storm garbage "${STORM_GARBAGE:-1000000}" "$seed"
ok "descriptors are back" wait_for 30 fds_are "$fds"
ok "the daemon serves" model
now=$(daemon_rss_kb)
# A buffer of a pool that was never needed before is touched once; what leaks does so each time.
if [ $((now * 10)) -gt $((rss * 11)) ]; then
	echo "# $rss kB before, $now kB after: once more"
	rss=$now
	storm garbage "${STORM_GARBAGE:-1000000}" "$((seed + 1))" >/dev/null
	model >/dev/null
	now=$(daemon_rss_kb)
fi
ok "memory is what it was: $rss kB before, $now kB after" test $((now * 10)) -le $((rss * 11))
lines=$(wc -l <"$DAEMON_DIR/log")
ok "the log was not flooded: $lines lines" test "$lines" -lt 2000
ok_here "daemon drains and exits 0" daemon_stop
tap_done
