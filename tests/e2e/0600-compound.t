#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4's COMPOUND by itself: order, limits, what is illegal or cut short.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
daemon_one_export
tap_adopt compound "$BUILDDIR/tests/e2e/compound" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT"
if command -v jq >/dev/null; then
	counted() { [ "$(daemon_stat ".operations[] | select(.name == \"$1\") | .$2")" -gt 0 ]; }
	ok_here "stats count operations" counted WRITE calls
	ok_here "stats count those that fail" counted ILLEGAL errors
fi
ok_here "daemon drains and exits 0" daemon_stop
tap_done
