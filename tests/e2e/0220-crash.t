#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# kill -9 at random moments of a write load: what was acknowledged FILE_SYNC, or UNSTABLE under a COMMIT with an
# unchanged verifier, is there after each restart.  CRASH_LIVES (50) kills.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
lives=${CRASH_LIVES:-50}
seed=${CRASH_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
"$BUILDDIR/tests/e2e/crash" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" "$seed" "$lives" >"$TAP_TMP/crash" 2>&1 &
writer=$!
writing() { grep -q "^# life $1: writing" "$TAP_TMP/crash" || ! kill -0 $writer; }
started=0
for ((life = 1; life <= lives; life++)); do
	wait_for 60 writing $life || break
	sleep 0.$((RANDOM % 4))$((RANDOM % 10)) # the moment is what is random here
	daemon_kill
	daemon_restart >/dev/null || break
	started=$((started + 1))
	kill -0 $writer 2>/dev/null || break
done
is "the server came back after each kill" $started "$lives"
wait $writer
tap_adopt "seed $seed" cat "$TAP_TMP/crash"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
