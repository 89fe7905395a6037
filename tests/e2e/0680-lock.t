#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# LOCK, LOCKT, LOCKU, RELEASE_LOCKOWNER, as 4.0 and 4.1 clients, and as a process of this machine.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
daemon_one_export
tap_adopt locks "$BUILDDIR/tests/e2e/locks" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT"
tap_adopt lockrace "$BUILDDIR/tests/e2e/lockrace" "$DAEMON_HOST" "$DAEMON_PORT" "$EXPORT" "${LOCKRACE_ROUNDS:-3000}"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
