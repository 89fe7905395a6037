#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Random reads, writes and truncations agree with a model in every io-mode and rule on every file system: one fixed
# seed and one new one, printed.  MODEL_SEED and MODEL_OPS repeat or lengthen a run.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/e2e/matrix.sh"
need_root
need ss
matrix_exports
new=${MODEL_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
for engine in io_uring threads; do
	ok_here "daemon starts with engine $engine" daemon_start -o "io.engine=$engine" || { tap_done; exit; }
	while IFS=$'\t' read -r name dir; do
		for seed in 20251104 "$new"; do
			tap_adopt "$engine, $name" "$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" \
				"$dir" "$seed" "${MODEL_OPS:-150}"
		done
	done <"$TAP_TMP/list"
	ok_here "daemon drains and exits 0" daemon_stop
done
tap_done
