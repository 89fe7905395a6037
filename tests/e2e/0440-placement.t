#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Where the daemon's threads may run and what they are called, as /proc tells; connections spread evenly.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need ss taskset jq
mkdir "$TAP_TMP/export"
daemon_export "$TAP_TMP/export"
last=$(taskset -cp $$ | grep -oE '[0-9]+$')
all=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)

# Reads, writes and syncs files, so that every kind of thread has had something to do.
work() { "$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/export" 3 200 >/dev/null; }
status() { daemon_ctl status --json | jq -r "$1"; }
# "name cpus" of each thread
threads() {
	local t
	for t in "/proc/$DAEMON_PID/task"/*; do
		echo "$(cat "$t/comm") $(awk '/^Cpus_allowed_list/ { print $2 }' "$t/status")"
	done 2>/dev/null | sort -u
}
# Where threads whose names match may run.
where() { threads | grep -E "^($1) " | cut -d' ' -f2 | sort -u | tr '\n' ' '; }
named() { threads | grep -qE "^($1) "; }

# --- in a cpuset of one CPU ---
DAEMON_PREFIX=(taskset -c "$last")
ok_here "with one CPU allowed the daemon starts" daemon_start -o nfsd.numa=node:0
is "one worker, on that CPU, its memory on node 0" \
	"$(status '.workers | map([.cpu, .node, .memory, .unbound]) | tostring')" "[[$last,0,0,\"\"]]"
is "as planned" "$(status '[.numa.asked, .numa.nodes, .numa.why] | tostring')" '["node:0","0",""]'
ok "files are written and synced" work
if [ "$(status '.workers[0].engine')" = io_uring ]; then
	ok "io-wq threads get a name that tells whose they are" wait_for 10 named 'nfsd-io/q0'
	is "they keep to the CPU, although io-wq looks at no affinity by itself" "$(where 'nfsd-io/q0|iou-wrk.*')" "$last "
fi
is "workers and offload threads too" "$(where 'nfsd-io/[wo][0-9]+')" "$last "
ok "no thread has a name that tells nothing" test -z "$(threads | grep -vE '^nfsd-io')"
ok_here "daemon stops" daemon_stop
DAEMON_PREFIX=()

# --- the threads engine ---
ok_here "with several workers on threads the daemon starts" daemon_start -o nfsd.threads=3 -o io.engine=threads
ok "files are written and synced" work
is "a worker has a CPU to itself, its threads and those that do not belong to one the node's" \
	"$(where 'nfsd-io/w[0-9]+-i[0-9]+|nfsd-io/o[0-9]+')" "$all "

# --- connections, as of a client with nconnect=16 ---
mkfifo "$TAP_TMP/hold"
"$BUILDDIR/tests/e2e/storm" idle "$DAEMON_HOST" "$DAEMON_PORT" 16 <"$TAP_TMP/hold" >"$TAP_TMP/idle" &
idle=$!
exec 9>"$TAP_TMP/hold"
wait_for 30 grep -q holding "$TAP_TMP/idle"
connections() { [ "$(status '.workers | map(.connections) | add')" = 16 ]; }
ok "16 connections are open" wait_for 10 connections
is "no worker has more than one more than another" \
	"$(status '.workers | map(.connections) | max - min <= 1')" true
is "status says so in words" "$(daemon_ctl status | awk '$1 ~ /^w[0-9]$/ { n += $5 } END { print n }')" 16
exec 9>&-
wait $idle
ok_here "daemon stops" daemon_stop

# --- what cannot be had ---
ok_here "with a card that is not there the daemon starts" daemon_start -o nfsd.numa=netdev:nosuch0
ok "and serves" work
is "status tells" "$(status '.warnings[]')" "numa = netdev:nosuch0: there is no interface nosuch0; all nodes are used"
is "the log has one line" "$(grep -c 'nosuch0' "$DAEMON_DIR/log")" 1
ok_here "daemon stops" daemon_stop
ok_here "with numa = off the daemon starts" daemon_start -o nfsd.numa=off
ok "and serves" work
is "nothing is bound" "$(where '.*')" "$all "
is "and status has no CPU for it" "$(status '.workers | map(.cpu) | unique | tostring')" "[-1]"
ok_here "daemon stops" daemon_stop
tap_done
