#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4 COMPOUNDs at random, of every minor version: GRAMMAR_SEED repeats a run, GRAMMAR_SECONDS makes it longer.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
seed=${GRAMMAR_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "# GRAMMAR_SEED=$seed"
mkdir "$TAP_TMP/e"
daemon_export "$TAP_TMP/e"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
for minor in 0 1 2; do
	tap_adopt "4.$minor" timeout 120 "$BUILDDIR/tests/e2e/grammar4" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/e" $minor \
		"$seed" "${GRAMMAR_SECONDS:-3}"
done
ok_here "daemon drains and exits 0" daemon_stop
tap_done
