#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# 256 descriptors for 400 connections and 2,000 files: nobody spins, nothing stops for good.  A thousand exports have room
# in little more than a thousand.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
storm() { local v=$1; shift; "$BUILDDIR/tests/e2e/storm" "$v" "$DAEMON_HOST" "$DAEMON_PORT" "$@"; }
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"
DAEMON_LIMIT=256
ok_here "daemon starts" daemon_start || { tap_done; exit; }
mkfifo "$TAP_TMP/hold"
storm idle 400 <"$TAP_TMP/hold" >"$TAP_TMP/idle" 2>&1 &
idle=$!
exec 9>"$TAP_TMP/hold"
ok "400 connections are opened" wait_for 60 grep -q . "$TAP_TMP/idle"
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$DAEMON_PID/stat"; }
a=$(ticks)
sleep 2 # a span of time to measure CPU use over
b=$(ticks)
ok "and cost no CPU while they wait: $((b - a)) ticks in 2 s" test $((b - a)) -lt 60
exec 9>&-
wait $idle
works() { "$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" 3 50; }
ok "a new client is served once they are gone" wait_for 10 works
tap_adopt "after" "$BUILDDIR/tests/e2e/many" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" 2000
ok "the daemon holds no more than it may" test "$(daemon_fds)" -le 256
ok_here "daemon drains and exits 0" daemon_stop
# Each export keeps one.
mkdir "$FS_DIR"/export{1..1000}
for i in {1..1000}; do daemon_export "$FS_DIR/export$i"; done
DAEMON_LIMIT=1300
begin=$SECONDS
ok_here "1,001 exports are opened with 1,300 descriptors" daemon_start
ok "in no time: $((SECONDS - begin)) s" test $((SECONDS - begin)) -lt 15
is "none is missing" "$(daemon_ctl exports --json | jq '[.[] | select(.state == "up")] | length')" 1001
ok_here "daemon drains and exits 0" daemon_stop
DAEMON_LIMIT=500
: >"$DAEMON_DIR/log"
daemon_start >/dev/null
is "without enough it does not start" $? 1
ok "and says which limit it is" grep -q 'the limit of 500 open files is too low' "$DAEMON_DIR/log"
tap_done
