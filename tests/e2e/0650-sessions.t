#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4.1 sessions: limits, slots, replays, connections.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
daemon_one_export
tap_adopt sessions "$BUILDDIR/tests/e2e/sessions" "$DAEMON_HOST" "$DAEMON_PORT"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
