#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4 attributes by type of object: told, compared, set, refused.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
daemon_minor_exports
for minor in 0 1 2; do
	tap_adopt "4.$minor" "$BUILDDIR/tests/e2e/attrs" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/e$minor" $minor
done
ok_here "daemon drains and exits 0" daemon_stop
tap_done
