#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Three clients write aligned and misaligned neighbours of one file at once, in every io-mode and rule.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/e2e/matrix.sh"
need_root
need ss
matrix_exports
seed=${MIXED_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
ok_here "daemon starts" daemon_start || { tap_done; exit; }
while IFS=$'\t' read -r name dir; do
	tap_adopt "$name" "$BUILDDIR/tests/e2e/mixed" "$DAEMON_HOST" "$DAEMON_PORT" "$dir" "$seed" 12000000
done <"$TAP_TMP/list"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
