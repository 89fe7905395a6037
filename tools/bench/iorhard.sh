#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the policy's rules cost: sequential 47,008-byte UNSTABLE WRITEs (IOR-hard's record) and a COMMIT to one file,
# new and then overwritten, through the server.  The rules take turns, five rounds; the table shows medians.
#
#	tools/bench/iorhard.sh [DIR]	DIR: where to write (default /var/tmp); its file system decides the alignment
#
# TOTAL (bytes, 1 GiB), ROUNDS (5), CONNECTIONS (1), DEPTH (16), RULES, BUILDDIR (.).
set -u
srcdir=$(cd "$(dirname "$0")/../.." && pwd)
. "$srcdir/tests/lib/daemon.sh"
NFSLOAD=$BUILDDIR/tools/nfsload
dir=$(mktemp -d "${1:-/var/tmp}/iorhard.XXXXXX") || exit 1
trap 'rm -rf "$dir"; cleanup' EXIT
RULES=${RULES:-page seed mainline dontcache-ends}
TOTAL=${TOTAL:-1073741824} ROUNDS=${ROUNDS:-5} CONNECTIONS=${CONNECTIONS:-1} DEPTH=${DEPTH:-16}

for r in $RULES; do
	mkdir "$dir/$r"
	daemon_export "$dir/$r"
	daemon_conf <<-END
		[export "$dir/$r"]
		read-mode = direct
		write-mode = direct
		rule = $r
	END
done
daemon_start || { echo "the daemon did not start"; exit 1; }

load() { # RULE WHAT OPTION...
	local rule=$1 what=$2
	shift 2
	sync -f "$dir"
	"$NFSLOAD" -s 47008 -t "$TOTAL" -c "$CONNECTIONS" -d "$DEPTH" -p "$DAEMON_PID" "$@" \
		"$DAEMON_HOST" "$DAEMON_PORT" "$dir/$rule" >"$TAP_TMP/line" || { cat "$TAP_TMP/line"; exit 1; }
	jq -r "[.mib_s, .server_cpu_s] | @tsv" "$TAP_TMP/line" >>"$TAP_TMP/$rule.$what"
}

median() { cut -f "$2" "$TAP_TMP/$1" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for ((i = 0; i < ROUNDS; i++)); do
	for r in $RULES; do
		load "$r" new -n
		load "$r" again
	done
done
printf '%s of 47,008-byte WRITEs + COMMIT, %s connection(s) x %s in flight, %s on %s, medians of %s\n' \
	"$(numfmt --to=iec-i --suffix=B "$TOTAL")" "$CONNECTIONS" "$DEPTH" "$(df --output=fstype "$dir" | tail -1)" "$(uname -r)" "$ROUNDS"
printf '%-16s %12s %10s %12s %10s\n' rule 'new MiB/s' 'CPU s' 'again MiB/s' 'CPU s'
for r in $RULES; do
	printf '%-16s %12s %10s %12s %10s\n' "$r" "$(median "$r.new" 1)" "$(median "$r.new" 2)" \
		"$(median "$r.again" 1)" "$(median "$r.again" 2)"
done
