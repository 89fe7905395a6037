#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# OPEN, OPEN_CONFIRM, OPEN_DOWNGRADE, CLOSE and stateids, as 4.0 and 4.1 clients.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
mkdir -p "$TAP_TMP/export"
daemon_export "$TAP_TMP/export"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
tap_adopt opens "$BUILDDIR/tests/e2e/opens" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/export"
tap_adopt stateids "$BUILDDIR/tests/e2e/openids" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/export"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
