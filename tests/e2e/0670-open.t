#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# OPEN, OPEN_CONFIRM, OPEN_DOWNGRADE, CLOSE and stateids, as 4.0 and 4.1 clients.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
daemon_one_export
tap_adopt opens "$BUILDDIR/tests/e2e/opens" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT"
tap_adopt stateids "$BUILDDIR/tests/e2e/openids" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
