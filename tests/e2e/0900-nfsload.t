#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The load generator tells the truth: what it writes is there, what is wrong it finds, its counts, latencies and rates
# are those of what happened.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss jq
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
load() { "$BUILDDIR/tools/nfsload" -p "$DAEMON_PID" "$@" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR"; }
loads() { load "$@" >"$TAP_TMP/json" && jq -e . "$TAP_TMP/json" >/dev/null; }
true_of() { jq -c . "$TAP_TMP/json"; [ -s "$TAP_TMP/json" ] && jq -e "$1" "$TAP_TMP/json" >/dev/null; }

total=$((12 << 20))
for how in "-s 1M" "-s 47008 -c 3 -d 5" "-s 4096 -R 7 -d 32" "-s 65536 -y -c 2" "-s 1000 -o 77 -d 64"; do
	t=$total
	[ "$how" != "-s 1000 -o 77 -d 64" ] || t=1000000
	ok "written and verified: $how" loads -n -v -t $t $how
	ok "every byte is counted" true_of ".bytes == $t and .errors == 0 and .verify_errors == 0"
done
ok "the file has the size" test "$(stat -c %s "$FS_DIR/nfsload")" -eq $((1000000 + 77))
ok "reading it checks contents" loads -r -v -s 1000 -o 77 -t 1000000
printf x | dd of="$FS_DIR/nfsload" bs=1 seek=500000 conv=notrunc status=none
sync "$FS_DIR/nfsload"
found() { ! load "$@" >"$TAP_TMP/json"; }
ok "one wrong byte is found" found -r -v -s 1000 -o 77 -t 1000000
ok "and counted once" true_of '.errors == 1'

ok "a mix verifies too" eval "loads -n -v -s 8192 -t $total && loads -w mix -m 70 -v -s 8192 -R 3 -c 2 -d 8 -t $total"
ok "quantiles are in order, all calls are counted" true_of ".ops == $((total / 8192)) and .mean_us > 0 and
	.p50_us <= .p99_us and .p99_us <= .p999_us and .p999_us <= .max_us"
ok "CPU is told of the client, the server, and the machine" true_of '.client_cpu_s > 0 and .server_cpu_s > 0 and
	.machine_cpu_s <= .seconds * '"$(nproc)"' + 0.1'

for w in create lookup getattr readdir readdirplus remove; do
	n=700 ops=700
	case $w in readdir*) n=3 ops=$((3 * 702));; esac
	ok "$w: $n" loads -w $w -N $n -f names -c 2 -d 8
	ok "$w: $ops results" true_of ".ops == $ops and .errors == 0"
done
ok "null calls" loads -w null -N 1000 -d 32

ok "an open loop asks at its rate" loads -w null -T 1 -a 2000 -d 32
ok "not faster, not much slower" true_of '.ops_s > 1500 and .ops_s <= 2010'
# A server that stalls is not asked less: the calls due meanwhile count from when they were due.
"$BUILDDIR/tools/nfsload" -w null -T 2 -a 1000 -d 4 "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" >"$TAP_TMP/json" &
pid=$!
busy() { ss -Htn state established "( sport = :$DAEMON_PORT )" | grep -q .; }
wait_for 10 busy
kill -STOP "$DAEMON_PID"
sleep 0.5 # the stall that is to be measured
kill -CONT "$DAEMON_PID"
ok_here "an open loop goes on over a stall" wait $pid
ok "half a second of it is in the latencies of a fifth of the calls" true_of '.max_us > 400000 and .p99_us > 300000 and
	.ops > 1500'

csv() { load -w null -N 10 -CC | awk -F, 'NR == 1 { n = NF } NR == 2 && NF == n && n > 10 { good = 1 } END { exit !good }'; }
ok "CSV has a name for each figure" csv
nothing() { ! "$BUILDDIR/tools/nfsload" -w null "$DAEMON_HOST" 1 "$FS_DIR" 2>"$TAP_TMP/err" && grep -q connect "$TAP_TMP/err"; }
ok "without a server it says so" nothing
ok_here "daemon drains and exits 0" daemon_stop
tap_done
