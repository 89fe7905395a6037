#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4.1 backchannels: the client is called out of its own connections, and SEQUENCE tells what came of it.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need jq
daemon_one_export -o nfsd.lease-time=10
tap_adopt back "$BUILDDIR/tests/e2e/back" "$DAEMON_HOST" "$DAEMON_PORT"
counted() { [ "$(daemon_stat .connections.unasked_replies)" -ge 1000 ]; }
ok_here "replies nobody asked for are counted" counted
ok_here "daemon drains and exits 0" daemon_stop
tap_done
